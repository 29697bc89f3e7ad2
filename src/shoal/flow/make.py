"""Make the classes: the method's cut, settled so that what is published meets the rule."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np

from shoal.cells import Cells, everything
from shoal.errors import NotMetError
from shoal.flow.judge import judge
from shoal.flow.request import STARRED, Request
from shoal.kernels import disclose
from shoal.methods import kernels, method, promises
from shoal.methods.lattice.ladder import printed_at
from shoal.model import Model, parts, products, spoiling
from shoal.release import short
from shoal.tally import Cut, Groups, Tally

PROMISING = ("mondrian", "full-domain")
COMPILING = "compiling kernels (once per machine)"


def make(tally: Tally, request: Request) -> Cut:
    """The method's cut, with the classes held back that the final distributions break."""
    allowed = allowance(tally, request)
    cut = by_method(tally, request, allowed)
    try:
        return settle(tally, cut, request.rule, allowed)
    except NotMetError as error:
        if promises(request.method):
            raise
        raise NotMetError(
            f"The method {request.method} does not promise any rule, and did not meet this one. "
            f"{error.fact}",
            f"use a method that does, such as {' or '.join(PROMISING)}.",
        ) from None


def allowance(tally: Tally, request: Request) -> int:
    """How many of the table's rows may be held back."""
    return int(Fraction(str(request.hold_back)) * tally.rows)


def by_method(tally: Tally, request: Request, hold_back: int) -> Cut:
    """The method's own cut of a tally, with at most so many rows held back."""
    if not compiled(request.method, request.rule):
        request.progress(COMPILING, 0, 1)
    return method(request.method)(
        tally,
        request.rule,
        rng=np.random.default_rng(0),
        hold_back=hold_back,
        progress=lambda done, total: request.progress("making classes", done, total),
        **request.parameters,
    )


def compiled(name: str, rule: Model) -> bool:
    """Whether numba's cache holds the kernels already that a method and a rule need."""
    needed = [*kernels(name), *(() if rule.local else (disclose,))]
    return all(map(_cached, needed))


def _cached(kernel: ModuleType) -> bool:
    """Whether anything of a file of kernels was compiled before."""
    caches = (getattr(one, "_cache", None) for one in vars(kernel).values())
    folder = next((one.cache_path for one in caches if one is not None), None)
    stem = kernel.__name__.rpartition(".")[2]
    return folder is None or any(Path(folder).glob(f"{stem}.*.nbi"))


def settle(tally: Tally, cut: Cut, rule: Model, allowed: int) -> Cut:
    """Hold back classes that fail once the reference is that of the published rows alone.

    Where classes are judged together, how many must go is known only once the rest holds.
    """
    while True:
        groups = Groups.of(tally, cut, products(rule))
        bad = spoiling(rule, groups)
        needed = cut.held_back + int(groups.rows[bad].sum())
        known = rule.local or not bad.any()
        if (known and needed > allowed) or needed == tally.rows:
            raise _too_many(tally, rule, groups, needed, allowed)
        if not bad.any():
            _check_providers_left(rule, groups)
            return cut
        cut = cut.without(bad)


def _check_providers_left(rule: Model, groups: Groups) -> None:
    """A promise against m providers is empty where holding rows back left no more of them."""
    if "provider" not in rule.needs:
        return
    there, m = len(groups.brought.contributors), max(getattr(p, "m", 0) for p in parts(rule))
    if there <= m:
        raise NotMetError(
            f"Once rows are held back the providers left in the table are {there:,}, of whom {m:,} "
            "may work together.",
            "hold fewer rows back, or weaken the rule.",
        )


def _too_many(tally: Tally, rule: Model, groups: Groups, needed: int, allowed: int) -> NotMetError:
    told = _failed(rule, groups) or str(rule)
    share = min(1.0, needed / tally.rows + 0.0005)
    return NotMetError(
        f"No way was found to place {needed:,} of {tally.rows:,} rows in a class that meets the "
        f"rule, {allowed:,} may be held back: {told}.",
        f"allow more with --hold-back {share:.3f}, or weaken the rule."
        if needed < tally.rows
        else "weaken the rule: no class can meet it with the others."
        if not rule.local
        else "weaken the rule, or use another method: no class was found that meets it.",
    )


def starred(tally: Tally, cut: Cut) -> tuple[Cut, int]:
    """The cut with the rows held back as a class of ``*``, and the number of that class."""
    top = np.array([[axis.size - 1 for axis in tally.quasi]], np.int32)
    sets = {j: everything(tally.quasi[j])[np.newaxis] for j in cut.cells.sets}
    tops = [axis.height for axis in tally.quasi]
    star = printed_at(tally.quasi, Cells(np.zeros_like(top), top, sets), tops)
    cells = Cells.joined([cut.cells, star])
    class_ = np.where(cut.class_ < 0, cut.classes, cut.class_).astype(np.int32)
    merged = Cut(cut.entry, class_, cut.count, cells, cut.facts).merged()
    return merged, int(merged.class_[np.flatnonzero(cut.class_ < 0)[0]])


def finish(tally: Tally, cut: Cut, request: Request) -> Cut:
    """The cut as it is published: rows held back are absent, or a class that meets the rule."""
    if request.held_back_as != STARRED or not cut.held_back:
        return cut
    whole, _ = starred(tally, cut)
    failed = _failed(request.rule, Groups.of(tally, whole, products(request.rule)))
    if failed:
        raise NotMetError(
            f"With the {cut.held_back:,} rows held back printed as *, the rule is not met: "
            f"{failed}.",
            "leave them out (--held-back-as absent), or weaken the rule.",
        )
    return whole


def _failed(rule: Model, groups: Groups) -> str:
    """The requirements that do not hold, with what the classes reach."""
    failed = [part for part in judge(rule, groups) if not part.holds] if len(groups) else []
    return "; ".join(f"{p.model} (reaches {short(p.reached)})" for p in failed)


def explain(tally: Tally, cut: Cut, rule: Model) -> str:
    """Why rows are held back: what each requirement says of them as a class of their own."""
    if not cut.held_back:
        return "No row is held back."
    whole, number = starred(tally, cut)
    groups = Groups.of(tally, whole, products(rule)).take(np.array([number]))
    lines = [f"{cut.held_back:,} rows are held back. As a class by themselves:"]
    judged = judge(rule, groups)
    for part in judged:
        told, word = ("meets", "reaches") if part.holds else ("fails", "would pass at")
        at = f" ({word} {short(part.reached)})" if part.reached >= 0 else ""
        lines.append(f"  {told} {part.model}{at}")
    if all(part.holds for part in judged):
        lines.append("So they may be printed as one class of * (--held-back-as starred).")
    return "\n".join(lines)
