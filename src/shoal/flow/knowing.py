"""What if somebody knows more? A report's part on the worst that pieces of knowledge could do.

The attack `background` supposes what nobody is shown to know, so its findings stand apart: they
are in no ranking and against no limit. Two charts follow Martin et al., ICDE 2007 (Figures 5 and
6); the knowledge that discloses most is told as a story. All of it is about extremes of classes,
and none of it is for the public.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks import attacks, needs
from shoal.disclosure import IMPLICATIONS, NEGATIONS, curve, each, max_disclosure
from shoal.errors import InputError, UsageError
from shoal.flow.adversary import Asked, carried_out, told
from shoal.flow.request import Progress, quiet
from shoal.flow.view import Scene, scene
from shoal.model import parts, whole
from shoal.models import rule as parse_rule
from shoal.models.ck_safety import CkSafety
from shoal.models.entropy_diversity import EntropyDiversity
from shoal.pages import Callout, Chart, Fact, Fields, Text
from shoal.pages import knowing as charts
from shoal.pages.knowing import Promise, until_certain
from shoal.pages.knowing import pieces as in_words
from shoal.pages.page import Block
from shoal.pages.words import percent, spoken
from shoal.release import Finding, Verdict
from shoal.schema import Schema
from shoal.tally import Groups, Histogram

ATTACK = "background"
PIECES, MOST = 6, 30
"""How many pieces of knowledge a report supposes, and the most that it can be asked to."""
SURE = 0.8
"""Who can be believed that much with a single piece of knowledge is worth a warning."""


@dataclass(frozen=True)
class Knowing:
    """The worst that knowledge could do about one column."""

    column: str
    implications: tuple[float, ...]
    """The largest belief with 0, 1, … pieces of knowledge, up to certainty."""
    negations: tuple[float, ...]
    k: int
    """The pieces with which classes are compared and the story is told."""
    story: Finding
    entropy: NDArray[np.float64] = field(repr=False)
    """Per class, in bits."""
    belief: NDArray[np.float64] = field(repr=False)
    """Per class the largest belief about one of its people with k pieces."""
    beyond: NDArray[np.bool_] | None = field(repr=False, default=None)
    """The classes that break the promise, where one was made."""
    promise: Promise | None = None
    least: float = 0.0
    """What k pieces could do if the whole table were one class: nothing published is below."""

    @property
    def worst(self) -> float:
        """The largest belief with k pieces."""
        return float(self.belief.max())

    def to_json(self) -> dict[str, Any]:
        """The curves, and what the story tells."""
        return {
            "column": self.column,
            "implications": list(self.implications),
            "negations": list(self.negations),
            "k": self.k,
            "worst": self.worst,
            "finding": self.story.to_json(),
        }


def checked(pieces: int) -> int:
    """A number of pieces of knowledge to suppose; anything else is refused."""
    if (number := whole(pieces, "pieces", 1)) > MOST:
        raise UsageError(f"pieces is at most {MOST}.", f"leave it out for {PIECES}.")
    return number


Reasons = tuple[tuple[str, str], ...]
"""Attacks that did not run, and why."""


def not_run(skipped: Reasons, reasons: Reasons, examined: bool) -> Reasons:
    """Why attacks did not run: what only supposes did, in this part, where it was examined."""
    if not examined and not reasons:
        return skipped
    ran = [name for name in attacks() if needs(name).supposed]
    return (*((name, why) for name, why in skipped if name not in ran), *reasons)


def knowing(
    release: Any,
    schema: Schema | None,
    columns: Sequence[str],
    pieces: int,
    verdict: Verdict | None,
    *,
    show: bool = False,
    seed: int = 0,
    progress: Progress = quiet,
) -> tuple[tuple[Knowing, ...], Reasons]:
    """What knowledge could do about each of the columns, and why that cannot be said of others."""
    found: list[Knowing] = []
    reasons: list[tuple[str, str]] = []
    if not columns:
        return (), ()
    try:
        known = scene([release], schema, show=show, progress=progress)
    except InputError as error:  # labels that only the people looked for make readable
        return (), ((ATTACK, told(error)),)
    for name in columns:
        try:
            found.append(_known(known, name, pieces, _promised(verdict, name), seed))
        except (InputError, UsageError) as error:  # a column that this release hides, for example
            label = ATTACK if len(columns) == 1 else f"{ATTACK} on {name}"
            reasons.append((label, told(error)))
    return tuple(found), tuple(reasons)


def _known(known: Scene, column: str, pieces: int, rule: CkSafety | None, seed: int) -> Knowing:
    view = known.view((0,), replace(needs(ATTACK), named=""), column)
    assert view.sensitive is not None
    h = view.releases[0].histogram(view.sensitive)
    k = 1 if rule is None else rule.k
    most, groups = max(pieces, k), Groups(h.rows, (h,))
    beyond = None if rule is None else ~rule.holds(groups)
    story = carried_out(ATTACK, known, view, Asked(on=column, seed=seed, options={"pieces": k}))
    return Knowing(
        column,
        tuple(until_certain(curve(h, most, IMPLICATIONS).tolist())),
        tuple(until_certain(curve(h, most, NEGATIONS).tolist())),
        k,
        story,
        np.log2(EntropyDiversity(1, column).per_class(groups)),
        each(h, k),
        beyond,
        None if rule is None or beyond is None else Promise(float(rule.c), k, not beyond.any()),
        _least(h, k),
    )


def _least(h: Histogram, k: int) -> float:
    """Merging classes never discloses more (theorem 14), so one class of all discloses least."""
    return float(max_disclosure([h.total[h.total > 0].tolist()], k)[-1])


def _promised(verdict: Verdict | None, column: str) -> CkSafety | None:
    """The part of the verified rule that limits what knowledge about this column can do."""
    for judged in () if verdict is None else verdict.judgements:
        try:
            models = parts(parse_rule(judged.model))
        except UsageError:  # a model of the user's own, which has no text
            continue
        for model in models:
            if isinstance(model, CkSafety) and model.on in (None, column):
                return replace(model, gamma=None)  # what is promised, however it was kept
    return None


# The page


def knowledge(found: Iterable[Knowing], kept: Sequence[str] = ()) -> list[Block]:
    """The part of the page; nothing where nothing was examined."""
    examined = tuple(found)
    if not examined:
        return []
    intro = [_INTRO, _KINDS]
    if kept:
        intro.append(
            "Classes are those of the quasi-identifiers; whoever tells them apart by kept columns "
            f"too ({', '.join(kept)}) may believe more."
        )
    blocks: list[Block] = [Text("What if somebody knows more?", tuple(intro))]
    for one in examined:
        blocks += [] if len(examined) == 1 else [Text(f"About {one.column}")]
        blocks += _about(one)
    return blocks


_INTRO = (
    "An adversary may know things that no table tells: that a colleague does not have the flu, or "
    "that whoever infected her must have it too. Nobody can list what others know, but its size "
    "can be limited. Here the worst is computed that so many pieces of knowledge could do, "
    "whatever they are about: nobody was shown to have them, so this counts against no limit."
)
_KINDS = (
    "A piece of knowledge is an implication (if one person has this value, another has that one); "
    "a negation (somebody does not have a value) is a weaker kind, and the one that l-diversity "
    "has in mind."
)


def _about(one: Knowing) -> list[Block]:
    drawn = charts.varied(one.entropy, one.belief, one.k, one.column, one.promise, one.beyond)
    return [
        Chart(charts.disclosure(one.implications, one.negations, one.column, one.promise)),
        Chart(drawn),
        Callout(_meaning(one), _tone(one)),
        Fields(tuple(_told(one))),
    ]


def _meaning(one: Knowing) -> str:
    """One sentence: what the worst case means for somebody."""
    start, limit = f"With {in_words(one.k)}", one.promise and f"{100 * one.promise.c:.3g}%"
    if one.promise is not None and one.promise.met:
        return (
            f"{start} nobody can become {limit} sure of anybody's {one.column}, as promised; with "
            "more nothing is promised."
        )
    sure = "certain" if one.worst >= 1 else f"{spoken(percent(one.worst, 1))} sure"
    said = f"{start} somebody can become {sure} of a person's {one.column}"
    if limit is None:
        return f"{said}; the release promises nothing about that."
    return f"{said}, though less than {limit} is promised."


def _tone(one: Knowing) -> str:
    if one.promise is not None:
        return "good" if one.promise.met else "danger"
    return "warning" if one.worst >= SURE else "note"


def _told(one: Knowing) -> list[Fact]:
    exact = one.story.witness["exact"]
    return [
        Fact("The worst case as a story", one.story.example, f"(a belief of {exact})"),
        Fact("Assumes that", "; ".join(one.story.assumptions)),
        Fact("What helps", advice(one)),
    ]


def advice(one: Knowing) -> str:
    """What to ask for: half-way from what is to the least that any release of the table could do.

    A rule that is there and holds needs no other; where nothing is to be gained, that is said.
    """
    least = spoken(percent(one.least, 1))
    floor = f"even the whole table as one class leaves {least}"
    if one.promise is not None and one.promise.met:
        return f"it is limited already; {floor} with {in_words(one.k)}."
    c = f"{(one.least + one.worst) / 2:.2g}"
    if not one.least < float(c) <= one.worst:
        return f"little: {floor} with {in_words(one.k)}. Coarser values would help more."
    return f"ask for `{CkSafety(c, one.k, one.column)}`; {floor}."
