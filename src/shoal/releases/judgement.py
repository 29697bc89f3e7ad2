"""Ask every model of a rule about every class, and put the answers into words."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np

from shoal.core.column import join_column_names
from shoal.core.errors import NotEvaluatedError, UsageError
from shoal.core.labels import format_value
from shoal.core.model import Model, format_parameter, list_joint_columns, split_rule, unwrap_rule
from shoal.core.release import Judgement, Verdict, VerdictBasis
from shoal.core.tally import Groups

Labels = Callable[[int], dict[str, Any]]
"""The published labels of one class, by its number."""


def judge_classes(
    rule: Model, groups: Groups, how: VerdictBasis, labels: Labels | None = None
) -> Verdict:
    """Whether classes meet a rule."""
    judgements = judge_models(rule, groups, labels)
    holds = len(groups) > 0 and all(part.holds for part in judgements)
    single = (h for h in groups.sensitive if "*" not in h.axis.name)
    missing = {h.axis.name: blanks for h in single if (blanks := int(h.blanks.sum()))}
    rows = int(groups.row_counts.sum())
    return Verdict(holds, how, rows, len(groups), judgements, missing=missing)


def find_unjudged_columns(rule: Model, sensitive: Sequence[str]) -> list[str]:
    """The sensitive columns that no part of a rule judges by themselves.

    Pairs of values (``on=a*b``) may be diverse where one of the two is everybody's.
    """
    only = sensitive[0] if len(sensitive) == 1 else ""
    parts = [part for part in unwrap_rule(rule) if "sensitive" in part.needs]
    judged = {getattr(part, "on", None) or only for part in parts}
    return [name for name in sensitive if name not in judged]


def check_columns_named(rule: Model, sensitive: Sequence[str]) -> None:
    """Refuse a requirement that does not say which of several sensitive columns it is about.

    The product of all of them would be met where one of them is the same for everybody.
    """
    for part in split_rule(rule):
        asked: Any = part
        names_none = is_dataclass(part) and getattr(part, "on", "") is None
        apart = "sensitive" in part.needs and not str(part).startswith("m-invariance ")
        if len(sensitive) > 1 and names_none and apart:  # m-invariance is about one column alone
            each = (str(replace(asked, on=name)) for name in sensitive)
            flags = (
                f"-m {shlex.quote(requirement)}" if '"' in requirement else f'-m "{requirement}"'
                for requirement in each
            )
            raise UsageError(
                f"{len(sensitive)} columns are sensitive, and {part} names none of them.",
                f"ask for one requirement per column: {' '.join(flags)}.",
            )


def describe_unjudged_columns(columns: Sequence[str]) -> str:
    """What it means that no requirement is about sensitive columns, and what to ask for."""
    return (
        f"no requirement is about {join_column_names(columns)}: everybody in a class may share one "
        "value there, and whoever finds the class knows it. Ask for one, such as -m "
        f'"distinct-diversity l=2 on={format_parameter(columns[0])}".'
    )


def can_judge_in_parts(rule: Model) -> bool:
    """Whether the classes of a table can be made and judged part by part.

    Providers are known by the place of a row in the whole table.
    """
    whole = {"population", "provider"} & rule.needs
    return rule.local and rule.monotone and not whole and not list_joint_columns(rule)


def combine_verdicts(
    rule: Model, verdicts: Sequence[Verdict], k_with_kept: int | None = None
) -> Verdict:
    """The verdict on a table from those on its parts; ``k_with_kept``: k with kept columns."""
    judgements = zip(*(verdict.judgements for verdict in verdicts), strict=True)
    joined = tuple(map(_combine_judgements, split_rule(rule), judgements))
    rows, classes = (
        sum(verdict.rows for verdict in verdicts),
        sum(verdict.classes for verdict in verdicts),
    )
    names = dict.fromkeys(name for verdict in verdicts for name in verdict.missing)
    missing = {name: sum(verdict.missing.get(name, 0) for verdict in verdicts) for name in names}
    holds = all(verdict.holds for verdict in verdicts)
    return Verdict(holds, verdicts[0].how, rows, classes, joined, k_with_kept, missing)


def _combine_judgements(model: Model, judgements: Sequence[Judgement]) -> Judgement:
    smaller_is_worse = getattr(model, "strongest", "largest") == "largest"
    worst = (min if smaller_is_worse else max)(judgements, key=lambda judgement: judgement.reached)
    return replace(
        worst,
        holds=all(judgement.holds for judgement in judgements),
        failing_classes=sum(judgement.failing_classes for judgement in judgements),
        failing_rows=sum(judgement.failing_rows for judgement in judgements),
    )


def judge_models(
    rule: Model, groups: Groups, labels: Labels | None = None
) -> tuple[Judgement, ...]:
    """One judgement per model of the rule; the worst class is named where ``labels`` are given."""
    judgements = []
    for part in split_rule(rule):
        try:
            judgements.append(_evaluate(part, groups, labels))
        except NotEvaluatedError as error:
            judgements.append(Judgement(str(part), False, math.nan, reason=error.fact))
    return tuple(judgements)


def _evaluate(model: Model, groups: Groups, labels: Labels | None) -> Judgement:
    holds = model.holds(groups)
    choose_worst = getattr(model, "worst_class", None)
    worst = int(choose_worst(groups) if choose_worst else np.argmin(holds))
    witness: dict[str, Any] = {"rows": int(groups.row_counts[worst])}
    if groups.written_rows is not None:
        witness["people"] = int(groups.rows[worst])
    if labels is not None:
        witness["class"] = labels(worst)
    own = getattr(model, "witness", None)
    if own is not None:
        witness |= _show_witness(own(groups, worst), groups, labels is not None)
    return Judgement(
        str(model),
        bool(holds.all()),
        float(model.reached(groups)),
        int((~holds).sum()),
        int(groups.row_counts[~holds].sum()),
        witness,
    )


def _show_witness(witness: dict[str, Any], groups: Groups, names: bool) -> dict[str, Any]:
    """A model's own witness, with the size of a coalition; its names only where asked for."""
    if "coalition" not in witness:
        return witness
    shown, leaves = dict(witness), groups.contributed.provider.leaves
    coalition = shown.pop("coalition")
    shown["members"] = len(coalition)
    if names:
        shown["coalition"] = sorted(format_value(leaves[code]) for code in coalition)
    return shown
