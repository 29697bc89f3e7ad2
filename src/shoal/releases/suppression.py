"""Suppressed rows: how many there may be, which they are, and whether they are printed as ``*``.

A method may leave rows in no class. Beyond these, whole classes are suppressed that fail once the
reference is that of the published rows alone. Suppressed rows are absent from the published table,
or stand in it as one class of ``*`` that has to meet the rule like any other.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shoal.core.cells import Cells, all_leaves
from shoal.core.errors import NotMetError
from shoal.core.model import Model, find_spoiling_classes, list_joint_columns, split_rule
from shoal.core.release import format_reached
from shoal.core.tally import Cut, Groups, Tally
from shoal.methods._lattice.ladder import relabel_cells
from shoal.releases.judgement import judge_models
from shoal.releases.options import STARRED, Request


def count_suppressible(tally: Tally, request: Request) -> int:
    """How many of the table's rows may be suppressed."""
    return int(Fraction(str(request.hold_back)) * tally.rows)


def suppress_failing_classes(tally: Tally, cut: Cut, rule: Model, allowed: int) -> Cut:
    """Suppress classes that fail once the reference is that of the published rows alone.

    Where classes are judged together, how many must go is known only once the rest holds.
    """
    while True:
        groups = Groups.of(tally, cut, list_joint_columns(rule))
        bad = find_spoiling_classes(rule, groups)
        needed = cut.suppressed + int(groups.rows[bad].sum())
        is_final = rule.local or not bad.any()
        if (is_final and needed > allowed) or needed == tally.rows:
            raise _too_many_suppressed_error(tally, rule, groups, needed, allowed)
        if not bad.any():
            _check_providers_left(rule, groups)
            return cut
        cut = cut.without(bad)


def _check_providers_left(rule: Model, groups: Groups) -> None:
    """A promise against m providers is empty where suppression left no more of them."""
    if "provider" not in rule.needs:
        return
    left = len(groups.contributed.contributors)
    m = max(getattr(part, "m", 0) for part in split_rule(rule))
    if left <= m:
        raise NotMetError(
            f"Once rows are held back the providers left in the table are {left:,}, of whom {m:,} "
            "may work together.",
            "hold fewer rows back, or weaken the rule.",
        )


def _too_many_suppressed_error(
    tally: Tally, rule: Model, groups: Groups, needed: int, allowed: int
) -> NotMetError:
    failed = _list_failed(rule, groups) or str(rule)
    share = min(1.0, needed / tally.rows + 0.0005)
    return NotMetError(
        f"No way was found to place {needed:,} of {tally.rows:,} rows in a class that meets the "
        f"rule, {allowed:,} may be held back: {failed}.",
        f"allow more with --hold-back {share:.3f}, or weaken the rule."
        if needed < tally.rows
        else "weaken the rule: no class can meet it with the others."
        if not rule.local
        else "weaken the rule, or use another method: no class was found that meets it.",
    )


def add_starred_class(tally: Tally, cut: Cut) -> tuple[Cut, int]:
    """The cut with the suppressed rows as a class of ``*``, and the number of that class."""
    top = np.array([[axis.size - 1 for axis in tally.quasi]], np.int32)
    sets = {j: all_leaves(tally.quasi[j])[np.newaxis] for j in cut.cells.sets}
    tops = [axis.height for axis in tally.quasi]
    star = relabel_cells(tally.quasi, Cells(np.zeros_like(top), top, sets), tops)
    cells = Cells.joined([cut.cells, star])
    class_ = np.where(cut.class_ < 0, cut.classes, cut.class_).astype(np.int32)
    merged = Cut(cut.entry, class_, cut.count, cells, cut.facts).merged()
    return merged, int(merged.class_[np.flatnonzero(cut.class_ < 0)[0]])


def place_suppressed_rows(tally: Tally, cut: Cut, request: Request) -> Cut:
    """The cut as it is published: suppressed rows are absent, or a class that meets the rule."""
    if request.held_back_as != STARRED or not cut.suppressed:
        return cut
    whole, _ = add_starred_class(tally, cut)
    failed = _list_failed(request.rule, Groups.of(tally, whole, list_joint_columns(request.rule)))
    if failed:
        raise NotMetError(
            f"With the {cut.suppressed:,} rows held back printed as *, the rule is not met: "
            f"{failed}.",
            "leave them out (--held-back-as absent), or weaken the rule.",
        )
    return whole


def _list_failed(rule: Model, groups: Groups) -> str:
    failed = [part for part in judge_models(rule, groups) if not part.holds] if len(groups) else []
    return "; ".join(f"{p.model} (reaches {format_reached(p.reached)})" for p in failed)


def explain_suppression(tally: Tally, cut: Cut, rule: Model) -> str:
    """Why rows are suppressed: what each requirement says of them as a class of their own."""
    if not cut.suppressed:
        return "No row is held back."
    whole, number = add_starred_class(tally, cut)
    groups = Groups.of(tally, whole, list_joint_columns(rule)).take(np.array([number]))
    lines = [f"{cut.suppressed:,} rows are held back. As a class by themselves:"]
    judgements = judge_models(rule, groups)
    for part in judgements:
        outcome, word = ("meets", "reaches") if part.holds else ("fails", "would pass at")
        at = f" ({word} {format_reached(part.reached)})" if part.reached >= 0 else ""
        lines.append(f"  {outcome} {part.model}{at}")
    if all(part.holds for part in judgements):
        lines.append("So they may be printed as one class of * (--held-back-as starred).")
    return "\n".join(lines)
