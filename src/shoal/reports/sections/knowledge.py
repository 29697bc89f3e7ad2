"""What if somebody knows more? A report's part on the worst that pieces of knowledge could do.

The attack `background` supposes what nobody is shown to know, so its findings stand apart: they
are in no ranking and against no limit. Two charts follow Martin et al., ICDE 2007 (Figures 5 and
6); the knowledge that discloses most is told as a story. All of it is about extremes of classes,
and none of it is for the public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.adversary.context import AttackContext, build_context
from shoal.adversary.runner import AttackRequest, attack_view, describe_error
from shoal.attacks import needs_of
from shoal.core.errors import InputError, UsageError
from shoal.core.histogram import Histogram
from shoal.core.model import parse_whole_number, unwrap_rule
from shoal.core.release import Finding, Verdict
from shoal.core.schema import Schema
from shoal.core.tally import Groups
from shoal.core.theory.disclosure import (
    IMPLICATIONS,
    NEGATIONS,
    disclosure_curve,
    disclosure_per_class,
    max_disclosure,
)
from shoal.core.theory.disclosure import parse_pieces as counted_with
from shoal.models import rule as parse_rule
from shoal.models.ck_safety import CkSafety
from shoal.models.entropy_diversity import EntropyDiversity
from shoal.releases.options import Progress, ignore_progress
from shoal.reports.charts import knowledge as charts
from shoal.reports.charts.knowledge import Promise, cut_when_certain, find_tightest_promises
from shoal.reports.charts.knowledge import format_piece_count as in_words
from shoal.reports.document import Block, Callout, Chart, Fact, Fields, Table, Text
from shoal.reports.format import format_percent, speak_share

ATTACK = "background"
PIECES = 6
"""How many pieces of knowledge a report supposes, unless it is told."""
HIGH_CONFIDENCE = 0.8
"""Who can be believed that much with a single piece of knowledge is worth a warning."""


@dataclass(frozen=True)
class KnowledgeEvidence:
    """The worst that knowledge could do about the column that is learnt."""

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
    """The classes that break the promise that is compared with, where one was made."""
    promises: tuple[Promise, ...] = ()
    """What the requirement promises about the column: those that no other makes needless."""
    least: float = 0.0
    """What k pieces could do if the whole table were one class: nothing published is below."""
    others: tuple[KnowledgeEvidence, ...] = ()
    """The same of the other columns that are learnt, of which this is the worst."""

    @property
    def promise(self) -> Promise | None:
        """The one that classes are compared with: the first that is broken, else the last."""
        return _compared(self.promises)

    @property
    def breaks_promise(self) -> bool:
        """Whether what is promised about the column does not hold."""
        return self.promise is not None and not self.promise.met

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
            "by_column": [one.in_short() for one in (self, *self.others)] if self.others else [],
        }

    def in_short(self) -> dict[str, Any]:
        """The worst about one of several columns."""
        promise = self.promise
        return {
            "column": self.column,
            "k": self.k,
            "worst": self.worst,
            "promised": None if promise is None else promise.c,
            "kept": None if promise is None else promise.met,
        }


def _compared(promises: Sequence[Promise]) -> Promise | None:
    broken = (one for one in promises if not one.met)
    return next(broken, promises[-1] if promises else None)


def check_pieces(pieces: int) -> int:
    """A number of pieces of knowledge to suppose, at least one; anything else is refused."""
    return counted_with(parse_whole_number(pieces, "pieces", 1))


Reasons = tuple[tuple[str, str], ...]
"""Attacks that did not run, and why."""


def explain_not_run(
    skipped: Reasons, found: KnowledgeEvidence | None, unexamined: Reasons
) -> Reasons:
    """Why attacks did not run: what only supposes did, in this part, where it was examined.

    ``unexamined`` are the columns about which it could not be said, with the reasons.
    """
    if found is None and not unexamined:
        return skipped
    others = ((name, why) for name, why in skipped if name != ATTACK)
    several = found is not None or len(unexamined) > 1
    names = ((f"{ATTACK} on {column}" if several else ATTACK, why) for column, why in unexamined)
    return (*others, *names)


def examine_knowledge(
    release: Any,
    schema: Schema | None,
    columns: Sequence[str],
    pieces: int,
    verdict: Verdict | None,
    *,
    show: bool = False,
    seed: int = 0,
    progress: Progress = ignore_progress,
) -> tuple[KnowledgeEvidence | None, Reasons]:
    """What knowledge could do about the column where that is worst, with the others; and about
    which columns it cannot be said, with the reasons. None where no column is learnt.
    """
    found: list[KnowledgeEvidence] = []
    unexamined: list[tuple[str, str]] = []
    known: AttackContext | None = None
    for column in columns:
        try:
            known = known or build_context([release], schema, show=show, progress=progress)
            found.append(_known(known, column, pieces, _promised(verdict, column), seed))
        except (InputError, UsageError) as error:  # labels nobody can read, values that are hidden
            unexamined.append((column, describe_error(error)))
    ranked = sorted(found, key=lambda one: (one.breaks_promise, one.worst), reverse=True)
    worst = replace(ranked[0], others=tuple(ranked[1:])) if ranked else None
    return worst, tuple(unexamined)


def _known(
    known: AttackContext, column: str, pieces: int, rules: Sequence[CkSafety], seed: int
) -> KnowledgeEvidence:
    view = known.view((0,), replace(needs_of(ATTACK), name_option=""), column)
    assert view.sensitive is not None
    h = view.releases[0].histogram(view.sensitive)
    groups = Groups(h.rows, (h,))
    h = h.concentrated
    held = [(rule, rule.holds(groups)) for rule in rules]
    beyond = {Promise(float(one.c), one.k, bool(kept.all())): ~kept for one, kept in held}
    promises = find_tightest_promises(beyond)
    compared = _compared(promises)
    k = 1 if compared is None else compared.k
    most = max((pieces, *(one.k for one in promises)))
    story = attack_view(
        ATTACK, known, view, AttackRequest(on=column, seed=seed, options={"pieces": k})
    )
    return KnowledgeEvidence(
        column,
        tuple(cut_when_certain(disclosure_curve(h, most, IMPLICATIONS).tolist())),
        tuple(cut_when_certain(disclosure_curve(h, most, NEGATIONS).tolist())),
        k,
        story,
        np.log2(EntropyDiversity(1, column).per_class(groups)),
        disclosure_per_class(h, k),
        None if compared is None else beyond[compared],
        promises,
        _least(h, k),
    )


def _least(h: Histogram, k: int) -> float:
    """Merging classes never discloses more (theorem 14), so one class of all discloses least."""
    return float(max_disclosure([h.total[h.total > 0].tolist()], k)[-1])


def _promised(verdict: Verdict | None, column: str) -> list[CkSafety]:
    """The parts of the verified rule that limit what knowledge about this column can do."""
    found: list[CkSafety] = []
    for judged in () if verdict is None else verdict.judgements:
        try:
            models = unwrap_rule(parse_rule(judged.model))
        except UsageError:  # a model of the user's own, which has no text
            continue
        limits = (one for one in models if isinstance(one, CkSafety) and one.on in (None, column))
        found += (replace(one, gamma=None) for one in limits)  # promised, however it was kept
    return found


# The page


def build_knowledge_blocks(
    found: KnowledgeEvidence | None, kept: Sequence[str] = ()
) -> list[Block]:
    """The part of the page; nothing where nothing was examined."""
    if found is None:
        return []
    intro = [_INTRO, _KINDS]
    if kept:
        intro.append(
            "Classes are those of the quasi-identifiers; whoever tells them apart by kept columns "
            f"too ({', '.join(kept)}) may believe more."
        )
    return [Text("What if somebody knows more?", tuple(intro)), *_by_column(found), *_about(found)]


def _by_column(found: KnowledgeEvidence) -> list[Block]:
    """The worst about each column that is learnt, where there are several."""
    if not found.others:
        return []
    rows = tuple(
        (one.column, in_words(one.k), format_percent(one.worst, 1), _promise_in_words(one))
        for one in (found, *found.others)
    )
    head = ("sensitive column", "with", "somebody can become so sure of it", "promised")
    return [Table(head, rows, f"The worst about each column; drawn below: {found.column}")]


def _promise_in_words(one: KnowledgeEvidence) -> str:
    if one.promise is None:
        return "nothing"
    return f"less than {_limit(one.promise)}{'' if one.promise.met else ': NOT KEPT'}"


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


def _about(one: KnowledgeEvidence) -> list[Block]:
    drawn = charts.chart_belief_by_entropy(
        one.entropy, one.belief, one.k, one.column, one.promise, one.beyond
    )
    return [
        Chart(charts.chart_disclosure(one.implications, one.negations, one.column, one.promises)),
        Chart(drawn),
        Callout(_meaning(one), _tone(one)),
        Fields(tuple(_told(one))),
    ]


def _meaning(one: KnowledgeEvidence) -> str:
    """One sentence: what the worst case means for somebody."""
    if one.promise is not None and one.promise.met:
        return _kept(one)
    sure = "certain" if one.worst >= 1 else f"{speak_share(format_percent(one.worst, 1))} sure"
    said = f"With {in_words(one.k)} somebody can become {sure} of a person's {one.column}"
    if one.promise is None:
        return f"{said}; the release promises nothing about that."
    return f"{said}, though less than {_limit(one.promise)} is promised."


def _kept(one: KnowledgeEvidence) -> str:
    """That every promise is kept."""
    first, *others = ((f"{_limit(each)} sure", in_words(each.k)) for each in one.promises)
    also = "".join(f", nor {sure} with {known}" for sure, known in others)
    return (
        f"With {first[1]} nobody can become {first[0]} of anybody's {one.column}{also}, as "
        "promised; with more nothing is promised."
    )


def _limit(promise: Promise) -> str:
    return f"{100 * promise.c:.3g}%"


def _tone(one: KnowledgeEvidence) -> str:
    if one.promise is not None:
        return "good" if one.promise.met else "danger"
    return "warning" if one.worst >= HIGH_CONFIDENCE else "note"


def _told(one: KnowledgeEvidence) -> list[Fact]:
    exact = str(one.story.witness["exact"])
    note = "" if f"({exact})" in one.story.example else f"(a belief of {exact})"
    return [
        Fact("The worst case as a story", one.story.example, note),
        Fact("Assumes that", "; ".join(one.story.assumptions)),
        Fact("What helps", advise_on_knowledge(one)),
    ]


def advise_on_knowledge(one: KnowledgeEvidence) -> str:
    """What to ask for: half-way from what is to the least that any release of the table could do.

    A rule that is there and holds needs no other; where nothing is to be gained, that is said.
    """
    least = speak_share(format_percent(one.least, 1))
    floor = f"even the whole table as one class leaves {least}"
    if one.promise is not None and one.promise.met:
        return f"it is limited already; {floor} with {in_words(one.k)}."
    c = f"{(one.least + one.worst) / 2:.2g}"
    if not one.least < float(c) <= one.worst:
        return f"little: {floor} with {in_words(one.k)}. Coarser values would help more."
    return f"ask for `{CkSafety(c, one.k, one.column)}`; {floor}."
