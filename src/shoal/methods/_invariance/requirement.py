"""What a rule asks of m-invariant classes: m, the column it is about, and all else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import NotMetError, UsageError
from shoal.core.model import All, Model, list_joint_columns, min_class_rows, split_rule
from shoal.core.tally import Tally, sensitive_columns

NAME = "m-invariance"
APART, FILL = "apart", "fill"
"""What newcomers do in a release based on another: keep to themselves, or fill the gaps."""


def find_invariance(model: Model) -> Any:
    """The strongest m-invariance in a rule; None where it has none."""
    return max(_list_invariances(model), key=lambda one: one.m, default=None)


def _list_invariances(model: Model) -> list[Any]:
    return [part for part in split_rule(model) if is_invariance(part)]


def is_invariance(model: Model) -> bool:
    """Whether a part of a rule is m-invariance: the one that counterfeits count for."""
    return bool(getattr(model, "name", str)() == NAME)


def drop_invariance(model: Model) -> Model | None:
    """What a rule asks for besides m-invariance; None: nothing."""
    others = tuple(part for part in split_rule(model) if not is_invariance(part))
    return All(others) if others else None


def check_newcomers(newcomers: str) -> str:
    """What newcomers are to do; refuses a word that there is not."""
    if newcomers not in (APART, FILL):
        raise UsageError(
            f"Newcomers keep apart or fill gaps: newcomers is {APART} or {FILL}.",
            f"leave it out: {APART} is the safer one.",
        )
    return newcomers


def read_requirement(tally: Tally, model: Model) -> tuple[int, str | None, NDArray[np.int32]]:
    """m, the sensitive column, and the code of each entry there; refuses rules without one.

    Where the rule asks for more rows than m in a class, it has as many values: m is that.
    """
    strongest = find_invariance(model)
    if strongest is None:
        raise NotMetError(
            f"The method invariant makes classes for m-invariance, and the rule is {model}.",
            'add -m "m-invariance m=3", or use another method.',
        )
    if not model.local:
        raise UsageError(
            "The method invariant judges each class by itself, and the rule all of them together.",
            "leave the other requirement out, or use another method.",
        )
    columns = {
        axis.name: codes for axis, codes in sensitive_columns(tally, list_joint_columns(model))
    }
    if any(other.on != strongest.on for other in _list_invariances(model)):
        raise UsageError(
            "The rule asks for m-invariance on several columns.",
            'name one, or their product: on="a*b".',
        )
    if strongest.on is None and len(columns) != 1:
        raise UsageError(
            f"m-invariance is about one sensitive column, and the schema has {len(columns)}.",
            "name it: m-invariance m=3 on=COLUMN.",
        )
    name = strongest.on or next(iter(columns))
    if name not in columns:
        raise UsageError(f"There is no sensitive column {name!r}.", "name a sensitive column.")
    return max(strongest.m, min_class_rows(model)), strongest.on, columns[name]
