"""Background knowledge: a report's part on the worst that pieces of knowledge could do.

The attack `background` supposes what nobody is shown to know, so its findings stand apart: they
are in no ranking and against no limit. Two charts follow Martin et al., ICDE 2007 (Figures 5 and
6); the knowledge that discloses most is written as a story. All of it is about extremes of classes,
and none of it is for the public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.adversary.context import AttackContext, build_context
from shoal.adversary.one_attack import AttackRequest, attack_view, describe_error
from shoal.attacks import get_attack_needs
from shoal.core.errors import InputError, UsageError
from shoal.core.histogram import Histogram
from shoal.core.model import parse_whole_number, unwrap_rule
from shoal.core.release import Finding, Verdict
from shoal.core.schema import Schema
from shoal.core.tally import Groups
from shoal.core.theory.worst_case_disclosure import (
    IMPLICATIONS,
    NEGATIONS,
    disclosure_curve,
    disclosure_per_class,
    max_disclosure,
    parse_pieces,
)
from shoal.models import rule as parse_rule
from shoal.models.ck_safety import CkSafety
from shoal.models.entropy_diversity import EntropyDiversity
from shoal.releases.options import Progress, ignore_progress
from shoal.reports.charts import knowledge as charts
from shoal.reports.charts.knowledge import (
    Promise,
    cut_when_certain,
    find_tightest_promises,
    format_piece_count,
)
from shoal.reports.document import Block, Callout, Chart, Fact, Fields, Table, Text
from shoal.reports.format import format_percent, speak_share

ATTACK = "background"
PIECES = 6
"""How many pieces of knowledge a report supposes by default."""
HIGH_BELIEF = 0.8
"""Who can be believed that much with a single piece of knowledge is worth a warning."""


@dataclass(frozen=True)
class KnowledgeEvidence:
    """The worst that knowledge could do about one column."""

    column: str
    implications: tuple[float, ...]
    """The largest belief with 0, 1, … pieces of knowledge, up to certainty."""
    negations: tuple[float, ...]
    k: int
    """The pieces with which classes are compared and the story is written."""
    finding: Finding
    entropy: NDArray[np.float64] = field(repr=False)
    """Per class, in bits."""
    belief: NDArray[np.float64] = field(repr=False)
    """Per class the largest belief about one of its people with k pieces."""
    breaking_classes: NDArray[np.bool_] | None = field(repr=False, default=None)
    """The classes that break the promise that is compared with, where one was made."""
    promises: tuple[Promise, ...] = ()
    """What the requirement promises about the column: those that no other makes needless."""
    min_belief: float = 0.0
    """What k pieces could do if the whole table were one class: nothing published is below."""
    others: tuple[KnowledgeEvidence, ...] = ()
    """The same of the other attacked columns, of which this is the worst."""

    @property
    def promise(self) -> Promise | None:
        """The one that classes are compared with: the first that is broken, else the last."""
        return _select_promise(self.promises)

    @property
    def breaks_promise(self) -> bool:
        """Whether what is promised about the column does not hold."""
        return self.promise is not None and not self.promise.met

    @property
    def max_belief(self) -> float:
        """The largest belief with k pieces."""
        return float(self.belief.max())

    def to_json(self) -> dict[str, Any]:
        """The curves, the finding, and each column in short where there are several."""
        return {
            "column": self.column,
            "implications": list(self.implications),
            "negations": list(self.negations),
            "k": self.k,
            "worst": self.max_belief,
            "finding": self.finding.to_json(),
            "by_column": [evidence.summarise() for evidence in (self, *self.others)]
            if self.others
            else [],
        }

    def summarise(self) -> dict[str, Any]:
        """The worst about one of several columns."""
        promise = self.promise
        return {
            "column": self.column,
            "k": self.k,
            "worst": self.max_belief,
            "promised": None if promise is None else promise.c,
            "kept": None if promise is None else promise.met,
        }


def _select_promise(promises: Sequence[Promise]) -> Promise | None:
    broken = (promise for promise in promises if not promise.met)
    return next(broken, promises[-1] if promises else None)


def check_pieces(pieces: int) -> int:
    """A number of pieces of knowledge to suppose, at least one; anything else is refused."""
    return parse_pieces(parse_whole_number(pieces, "pieces", 1))


Reasons = tuple[tuple[str, str], ...]
"""Attacks that did not run, and why."""


def explain_not_run(
    skipped: Reasons, evidence: KnowledgeEvidence | None, unexamined: Reasons
) -> Reasons:
    """Why attacks did not run; `background` did, in this part, where it was examined.

    ``unexamined`` are the columns about which it could not be said, with the reasons.
    """
    if evidence is None and not unexamined:
        return skipped
    others = ((name, why) for name, why in skipped if name != ATTACK)
    several = evidence is not None or len(unexamined) > 1
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
    which columns it cannot be said, with the reasons. None where no column is attacked.
    """
    results: list[KnowledgeEvidence] = []
    unexamined: list[tuple[str, str]] = []
    context: AttackContext | None = None
    for column in columns:
        try:
            context = context or build_context([release], schema, show=show, progress=progress)
            limits = _list_limits(verdict, column)
            results.append(_examine_column(context, column, pieces, limits, seed))
        except (InputError, UsageError) as error:  # labels nobody can read, values that are hidden
            unexamined.append((column, describe_error(error)))
    ranked = sorted(results, key=lambda each: (each.breaks_promise, each.max_belief), reverse=True)
    worst = replace(ranked[0], others=tuple(ranked[1:])) if ranked else None
    return worst, tuple(unexamined)


def _examine_column(
    context: AttackContext, column: str, pieces: int, rules: Sequence[CkSafety], seed: int
) -> KnowledgeEvidence:
    view = context.view((0,), replace(get_attack_needs(ATTACK), name_option=""), column)
    assert view.sensitive is not None
    h = view.releases[0].histogram(view.sensitive)
    groups = Groups(h.rows, (h,))
    h = h.concentrated
    outcomes = [(rule, rule.holds(groups)) for rule in rules]
    breaking = {
        Promise(float(rule.c), rule.k, bool(holds.all())): ~holds for rule, holds in outcomes
    }
    promises = find_tightest_promises(breaking)
    compared_promise = _select_promise(promises)
    k = 1 if compared_promise is None else compared_promise.k
    max_pieces = max((pieces, *(promise.k for promise in promises)))
    finding = attack_view(
        ATTACK, context, view, AttackRequest(on=column, seed=seed, options={"pieces": k})
    )
    return KnowledgeEvidence(
        column,
        tuple(cut_when_certain(disclosure_curve(h, max_pieces, IMPLICATIONS).tolist())),
        tuple(cut_when_certain(disclosure_curve(h, max_pieces, NEGATIONS).tolist())),
        k,
        finding,
        np.log2(EntropyDiversity(1, column).per_class(groups)),
        disclosure_per_class(h, k),
        None if compared_promise is None else breaking[compared_promise],
        promises,
        _find_min_belief(h, k),
    )


def _find_min_belief(h: Histogram, k: int) -> float:
    """Merging classes never discloses more (theorem 14), so one class of all has the minimum."""
    return float(max_disclosure([h.total[h.total > 0].tolist()], k)[-1])


def _list_limits(verdict: Verdict | None, column: str) -> list[CkSafety]:
    """The parts of the verified rule that limit what knowledge about this column can do."""
    limits: list[CkSafety] = []
    for judged in () if verdict is None else verdict.judgements:
        try:
            models = unwrap_rule(parse_rule(judged.model))
        except UsageError:  # a model of the user's own, which has no text
            continue
        limits += (
            replace(model, gamma=None)  # promised, however it was kept
            for model in models
            if isinstance(model, CkSafety) and model.on in (None, column)
        )
    return limits


# The page


def build_knowledge_blocks(
    evidence: KnowledgeEvidence | None, kept_columns: Sequence[str] = ()
) -> list[Block]:
    """The part of the page; nothing where nothing was examined."""
    if evidence is None:
        return []
    intro = [_INTRO, _KINDS]
    if kept_columns:
        intro.append(
            "Classes are those of the quasi-identifiers; whoever tells them apart by kept columns "
            f"too ({', '.join(kept_columns)}) may believe more."
        )
    return [
        Text("What if somebody knows more?", tuple(intro)),
        *_tabulate_columns(evidence),
        *_render_evidence(evidence),
    ]


def _tabulate_columns(evidence: KnowledgeEvidence) -> list[Block]:
    if not evidence.others:
        return []
    rows = tuple(
        (
            part.column,
            format_piece_count(part.k),
            format_percent(part.max_belief, 1),
            _describe_promise(part),
        )
        for part in (evidence, *evidence.others)
    )
    head = ("sensitive column", "with", "somebody can become so sure of it", "promised")
    return [Table(head, rows, f"The worst about each column; drawn below: {evidence.column}")]


def _describe_promise(evidence: KnowledgeEvidence) -> str:
    if evidence.promise is None:
        return "nothing"
    outcome = "" if evidence.promise.met else ": NOT KEPT"
    return f"less than {_format_limit(evidence.promise)}{outcome}"


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


def _render_evidence(evidence: KnowledgeEvidence) -> list[Block]:
    spec = charts.chart_belief_by_entropy(
        evidence.entropy,
        evidence.belief,
        evidence.k,
        evidence.column,
        evidence.promise,
        evidence.breaking_classes,
    )
    return [
        Chart(
            charts.chart_disclosure(
                evidence.implications, evidence.negations, evidence.column, evidence.promises
            )
        ),
        Chart(spec),
        Callout(_explain_belief(evidence), _choose_tone(evidence)),
        Fields(tuple(_list_facts(evidence))),
    ]


def _explain_belief(evidence: KnowledgeEvidence) -> str:
    if evidence.promise is not None and evidence.promise.met:
        return _state_kept_promises(evidence)
    belief = speak_share(format_percent(evidence.max_belief, 1))
    certainty = "certain" if evidence.max_belief >= 1 else f"{belief} sure"
    pieces, column = format_piece_count(evidence.k), evidence.column
    text = f"With {pieces} somebody can become {certainty} of a person's {column}"
    if evidence.promise is None:
        return f"{text}; the release promises nothing about that."
    return f"{text}, though less than {_format_limit(evidence.promise)} is promised."


def _state_kept_promises(evidence: KnowledgeEvidence) -> str:
    first, *others = (
        (f"{_format_limit(promise)} sure", format_piece_count(promise.k))
        for promise in evidence.promises
    )
    also = "".join(f", nor {confidence} with {pieces}" for confidence, pieces in others)
    return (
        f"With {first[1]} nobody can become {first[0]} of anybody's {evidence.column}{also}, as "
        "promised; with more nothing is promised."
    )


def _format_limit(promise: Promise) -> str:
    return f"{100 * promise.c:.3g}%"


def _choose_tone(evidence: KnowledgeEvidence) -> str:
    if evidence.promise is not None:
        return "good" if evidence.promise.met else "danger"
    return "warning" if evidence.max_belief >= HIGH_BELIEF else "note"


def _list_facts(evidence: KnowledgeEvidence) -> list[Fact]:
    exact = str(evidence.finding.witness["exact"])
    note = "" if f"({exact})" in evidence.finding.example else f"(a belief of {exact})"
    return [
        Fact("The worst case as a story", evidence.finding.example, note),
        Fact("Assumes that", "; ".join(evidence.finding.assumptions)),
        Fact("What helps", advise_on_knowledge(evidence)),
    ]


def advise_on_knowledge(evidence: KnowledgeEvidence) -> str:
    """The rule to ask for: half-way from the largest belief to the smallest that is possible.

    A rule that is there and holds needs no other; where nothing is to be gained, it says so.
    """
    minimum = speak_share(format_percent(evidence.min_belief, 1))
    floor, pieces = (
        f"even the whole table as one class leaves {minimum}",
        format_piece_count(evidence.k),
    )
    if evidence.promise is not None and evidence.promise.met:
        return f"it is limited already; {floor} with {pieces}."
    c = f"{(evidence.min_belief + evidence.max_belief) / 2:.2g}"
    if not evidence.min_belief < float(c) <= evidence.max_belief:
        return f"little: {floor} with {pieces}. Coarser values would help more."
    return f"ask for `{CkSafety(c, evidence.k, evidence.column)}`; {floor}."
