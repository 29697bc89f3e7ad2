"""Ask every model of a rule about every class, and put the answers into words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.model import Model, parts
from shoal.release import How, Judgement, Verdict
from shoal.tally import Groups

Labels = Callable[[int], dict[str, Any]]
"""The published labels of one class, by its number."""


def verdict(
    rule: Model, groups: Groups, how: How, labels: Labels | None = None, kept: int | None = None
) -> Verdict:
    """Whether classes meet a rule; ``kept`` is the smallest class with the kept columns."""
    found = judge(rule, groups, labels)
    holds = all(part.holds for part in found)
    return Verdict(holds, how, int(groups.rows.sum()), len(groups), found, kept)


def judge(rule: Model, groups: Groups, labels: Labels | None = None) -> tuple[Judgement, ...]:
    """One judgement per model of the rule; the worst class is named where ``labels`` are given."""
    return tuple(_judge(part, groups, labels) for part in parts(rule))


def _judge(model: Model, groups: Groups, labels: Labels | None) -> Judgement:
    holds = model.holds(groups)
    worst = _worst(model, groups, holds)
    witness: dict[str, Any] = {"rows": int(groups.rows[worst])}
    if labels is not None:
        witness["class"] = labels(worst)
    return Judgement(
        str(model),
        bool(holds.all()),
        float(model.reached(groups)),
        int((~holds).sum()),
        int(groups.rows[~holds].sum()),
        witness,
    )


def _worst(model: Model, groups: Groups, holds: NDArray[np.bool_]) -> int:
    """The witness: the model's own choice, or the first class that fails."""
    own = getattr(model, "worst", None)
    return int(own(groups)) if own else int(np.argmin(holds))
