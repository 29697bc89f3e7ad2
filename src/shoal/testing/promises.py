"""What the checks share: a promise that is kept or broken, and what a member needs to be tried."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.model import Model, unwrap_rule


def list_needed_columns(model: Model) -> tuple[str, ...]:
    """The sensitive columns that a table must have for a model to be tried on it."""
    named = (getattr(part, "on", None) for part in unwrap_rule(model))
    columns = dict.fromkeys(name for on in named if on for name in on.split("*"))
    return tuple(columns) or ("sensitive",)


def check_documented(member: Any) -> None:
    """A member cites its source, and says what it does not do."""
    module = sys.modules.get(getattr(member, "__module__", ""))
    text = f"{member.__doc__ or ''}\n{getattr(module, '__doc__', '') or ''}"
    name = getattr(member, "__name__", str(member))
    check_true(bool(re.search(r"\b(19|20)\d\d\b", text)), f"{name}: its docstring cites no source")
    limits = re.search(r"does not\s+(protect|give|see|say)", text, re.IGNORECASE)
    check_true(bool(limits), f"{name}: its docstring does not say what it does not protect")


def check_equal(actual: NDArray[Any], expected: NDArray[Any], promise: str) -> None:
    """Two arrays are the same, or the promise is broken."""
    check_true(np.array_equal(actual, expected), promise)


def check_true(holds: bool | np.bool_, promise: str) -> None:
    """It is so, or the promise is broken."""
    if not holds:
        raise AssertionError(promise)
