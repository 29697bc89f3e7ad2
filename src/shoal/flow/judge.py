"""Ask every model of a rule about every class, and put the answers into words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shoal.model import Model, parts
from shoal.release import Judgement
from shoal.tally import Groups

Labels = Callable[[int], dict[str, Any]]
"""The published labels of one class, by its number."""


def judge(model: Model, groups: Groups, labels: Labels | None = None) -> tuple[Judgement, ...]:
    """One judgement per model of the rule; the worst class is named where ``labels`` are given."""
    return tuple(_judge(part, groups, labels) for part in parts(model))


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


def _worst(model: Model, groups: Groups, holds: Any) -> int:
    """The witness: the model's own choice, or the first class that fails."""
    own = getattr(model, "worst", None)
    return int(own(groups)) if own else int(np.argmin(holds))
