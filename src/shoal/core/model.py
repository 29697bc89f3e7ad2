"""What a guarantee is: a value that judges classes, composes with ``&`` and reads as text.

``Model`` is the protocol any requirement meets, a user's own included. ``Rule`` is what the
models shipped with Shoal inherit: text, ``&``, and the defaults of the protocol. Thresholds are
exact: ``parse_fraction`` keeps what the user wrote; ``is_at_most`` and ``decide_near_ties`` decide
without rounding.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.errors import UsageError
from shoal.core.tally import Groups

Mask = NDArray[np.bool_]
Number = float | str | Fraction
"""A parameter as a user may write it; models keep it as an exact ``Fraction``."""
EXACT = Context(prec=60)
"""Sixty digits: what is computed from a logarithm must be computed in this context too."""
NEAR = 1e-9
"""Relative distance to a threshold under which floats are not trusted to decide."""
_MAX_MAGNITUDE = 2**512
"""The largest parameter, and the inverse of the smallest: floats hold what is computed from it."""
_MAX_WHOLE = 2**53
"""The largest whole parameter: larger ones are not exact as floats."""


@runtime_checkable
class Model(Protocol):
    """A privacy requirement, judged on many classes at once."""

    @property
    def needs(self) -> frozenset[str]:
        """Of {"sensitive", "provider", "population", "total", "cells"}: what ``holds`` reads."""

    @property
    def monotone(self) -> bool:
        """Merging classes never breaks it, so a search may prune."""

    @property
    def local(self) -> bool:
        """A class can be judged alone; where not, the model is ``GlobalModel`` too."""

    def holds(self, groups: Groups) -> Mask:
        """Which classes meet the requirement."""

    def reached(self, groups: Groups) -> float:
        """The strongest parameter that all classes together meet."""


class GlobalModel(Protocol):
    """What a model that is not local adds: it admits the cuts of a method one after the other."""

    def start(self, groups: Groups) -> Any:
        """The state of a table cut into these classes, which are numbered 0, 1, …"""

    def admit(self, state: Any, class_: NDArray[np.int64], halves: Groups) -> tuple[Any, Mask]:
        """Try cuts in their order; returns the state after those that are made, and which.

        Cut i makes of class ``class_[i]`` the two classes ``halves[2 i]``, which keeps its number,
        and ``halves[2 i + 1]``, which gets the next free one. Of several cuts of one class the
        first that the table survives is made, and no other. A state is never changed in place.
        """

    def holds_alone(self, groups: Groups) -> Mask:
        """Which classes would meet the requirement if each were the whole table."""


class Rule(ABC):
    """Text, ``&`` and defaults for a frozen dataclass of parameters."""

    needs: ClassVar[frozenset[str]] = frozenset()
    monotone: ClassVar[bool] = True
    local: ClassVar[bool] = True
    parameter: ClassVar[str] = ""
    """The parameter that ``per_class``, ``worst`` and ``reached`` are about."""
    strongest: ClassVar[str] = "largest"
    """Whether the "largest" or the "smallest" parameter is the strongest guarantee."""
    strict: ClassVar[bool] = False
    """The requirement is a strict inequality, so the reached parameter itself just fails."""
    identity: ClassVar[bool] = False
    """It limits how well a person's row can be found, which published quasi-identifiers defeat."""
    row_monotone: ClassVar[bool] = False
    """More rows never break it, so that a coalition does worst by removing all of its rows."""

    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    """The settings besides ``parameter`` that an audit measures, each by itself."""

    @property
    def symmetric(self) -> bool:
        """Renaming or reordering the sensitive values changes nothing."""
        return True

    @property
    def min_rows(self) -> int:
        """The smallest number of rows of a class that meets the requirement can have."""
        return 1

    @classmethod
    def name(cls) -> str:
        """The model's name: that of its file."""
        return cls.__module__.rpartition(".")[2].replace("_", "-")

    @classmethod
    def probes(cls, axis: Axis | None) -> list[tuple[Mapping[str, Any], Self]]:
        """Each variant with an instance whose ``reached`` measures a table on a column."""
        column = {} if axis is None else {"on": axis.name}
        required = {f.name: 1 for f in fields(cls) if f.default is MISSING}  # type: ignore[arg-type]
        return [(variant, cls(**(required | column | dict(variant)))) for variant in cls.variants]

    @abstractmethod
    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """The strongest parameter that each class alone meets."""

    def worst_class(self, groups: Groups) -> int:
        """The class that meets the least: the witness of ``reached``."""
        if not len(groups):
            raise UsageError("There is no class to judge.", "publish at least one row.")
        values = self.per_class(groups)
        return int(values.argmin() if self.strongest == "largest" else values.argmax())

    def reached(self, groups: Groups) -> float:
        """The strongest parameter that all classes meet; with no class, one that promises nothing.

        Where the requirement is strict, the bound that every weaker parameter keeps.
        """
        if not len(groups):
            return 0.0 if self.strongest == "largest" else math.inf
        values = self.per_class(groups)
        return float(values.min() if self.strongest == "largest" else values.max())

    def advice(self, groups: Groups) -> str:
        """What to ask for where these classes fail and what they reach does not tell."""
        return ""

    def __and__(self, other: Model) -> All:
        return All((*split_rule(self), *split_rule(other)))

    def __str__(self) -> str:
        words = [self.name()]
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if value != field.default:
                words.append(f"{field.name}={format_parameter(value)}")
        return " ".join(words)


@dataclass(frozen=True)
class All(Rule):
    """The conjunction of models: a class meets it when it meets each of them."""

    models: tuple[Model, ...]

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """All that any of the models needs."""
        return frozenset().union(*(model.needs for model in self.models))

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Monotone where each model is."""
        return all(model.monotone for model in self.models)

    @property
    def local(self) -> bool:  # type: ignore[override]
        """Local where each model is."""
        return all(model.local for model in self.models)

    @property
    def min_rows(self) -> int:
        """The largest of the models' own."""
        return max(min_class_rows(model) for model in self.models)

    def __post_init__(self) -> None:
        if not self.models:
            raise UsageError("The rule is empty.", "name at least one model.")

    def holds(self, groups: Groups) -> Mask:
        """Which classes meet every model."""
        return np.asarray(np.all([model.holds(groups) for model in self.models], axis=0))

    @property
    def symmetric(self) -> bool:
        """Symmetric where each model is."""
        return all(getattr(model, "symmetric", True) for model in self.models)

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """1 for a class that meets every model, else 0."""
        return self.holds(groups).astype(np.float64)

    def reached(self, groups: Groups) -> float:
        """The share of classes that meet every model; ask each model for its own figure."""
        return float(self.holds(groups).mean()) if len(groups) else 0.0

    @property
    def _global(self) -> list[Any]:
        return [model for model in self.models if not model.local]

    def holds_alone(self, groups: Groups) -> Mask:
        """Which classes would meet every model if each were the whole table."""
        masks = [m.holds(groups) if m.local else m.holds_alone(groups) for m in self.models]  # type: ignore[attr-defined]
        return np.asarray(np.all(masks, axis=0))

    def start(self, groups: Groups) -> tuple[Any, ...]:
        """One state for each model that is not local."""
        return tuple(model.start(groups) for model in self._global)

    def admit(
        self, state: tuple[Any, ...], class_: NDArray[np.int64], halves: Groups
    ) -> tuple[tuple[Any, ...], Mask]:
        """The cuts whose halves meet every local model and that all the others admit."""
        masks = [m.holds(halves).reshape(-1, 2).all(axis=1) for m in self.models if m.local]
        admitted = np.all(masks, axis=0) if masks else np.ones(len(class_), bool)
        at = np.flatnonzero(admitted)
        if len(self._global) == 1:
            both = halves.take(np.stack((2 * at, 2 * at + 1), axis=1).ravel())
            after, admitted[at] = self._global[0].admit(state[0], class_[at], both)
            return (after,), admitted
        cut: set[int] = set()
        for i in at.tolist():
            both = halves.take(np.array([2 * i, 2 * i + 1]))
            again = int(class_[i]) in cut
            after = None if again else self._admit_one(state, class_[i : i + 1], both)
            admitted[i] = after is not None
            if after is not None:
                state = after
                cut.add(int(class_[i]))
        return state, admitted

    def _admit_one(
        self, state: tuple[Any, ...], class_: NDArray[np.int64], halves: Groups
    ) -> tuple[Any, ...] | None:
        after = []
        for model, own in zip(self._global, state, strict=True):
            new, admitted = model.admit(own, class_, halves)
            if not admitted.all():
                return None
            after.append(new)
        return tuple(after)

    def __str__(self) -> str:
        return " & ".join(str(model) for model in self.models)


def split_rule(model: Model | Rule) -> tuple[Model, ...]:
    """The models of a conjunction, or the model itself."""
    return model.models if isinstance(model, All) else (model,)  # type: ignore[return-value]


def unwrap_rule(model: Model | Rule) -> tuple[Model, ...]:
    """The models of a rule, with those inside a wrapper (m-privacy) instead of it."""
    unwrapped: list[Model] = []
    for part in split_rule(model):
        unwrapped += unwrap_rule(part.rule) if hasattr(part, "rule") else (part,)
    return tuple(unwrapped)


def find_spoiling_classes(model: Model, groups: Groups) -> Mask:
    """The classes to leave out next, where not all can be published; none where all can.

    Those that fail; but where a model judges all classes together one bad class fails the others
    too, so first those that would fail alone, and if none would, the worst.
    """
    failing = ~model.holds(groups)
    if model.local or not failing.any():
        return failing
    alone = ~model.holds_alone(groups)  # type: ignore[attr-defined]
    if alone.any():
        return np.asarray(alone)
    worst = np.zeros(len(groups), bool)
    for part in split_rule(model):
        if not part.local and isinstance(part, Rule) and not part.holds(groups).all():
            badness = part.per_class(groups) * (-1 if part.strongest == "largest" else 1)
            worst |= badness >= badness.max() - NEAR
    return worst if worst.any() else failing


def min_class_rows(model: Model) -> int:
    """The smallest number of rows of a class that could meet the model; 1: it does not say."""
    return int(getattr(model, "min_rows", 1))


def list_joint_columns(model: Model) -> tuple[str, ...]:
    """The joint sensitive columns (``on="a*b"``) that a rule names."""
    columns = (getattr(part, "on", None) for part in unwrap_rule(model))
    return tuple(dict.fromkeys(on for on in columns if on and "*" in on))


def parse_fraction(
    value: Number,
    name: str,
    low: float | Fraction,
    high: float = math.inf,
    *,
    above: bool = False,
    example: str = "",
) -> Fraction:
    """The number as the user wrote it, exact, and inside its bounds (``above``: not ``low``).

    >>> parse_fraction(0.2, "t", 0, 1)
    Fraction(1, 5)
    """
    hint = f"write for example {name}={example or (high if high < math.inf else low + 1)}."
    if isinstance(value, str) and re.fullmatch(r"\d*,\d+", value):
        hint = f"write a point: {name}={value.replace(',', '.')}."
    try:
        if re.search(r"[eE][+-]?0*[1-9]\d{3}", str(value)):  # would take forever to write out
            raise OverflowError
        exact = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, TypeError, ZeroDivisionError, OverflowError) as error:
        raise UsageError(f"{name} is not a number.", hint) from error
    if exact and not Fraction(1, _MAX_MAGNITUDE) <= abs(exact) <= _MAX_MAGNITUDE:
        raise UsageError(f"{name} is beyond all numbers that are computed with.", hint)
    if exact < low or exact > high or (above and exact == low):
        limits = f"above {low}" if above else f"at least {low}"
        limits += f" and at most {high}" if high < math.inf else ""
        raise UsageError(f"{name} must be {limits}.", hint)
    return exact


def parse_whole_number(value: float | str, name: str, low: int) -> int:
    """A whole number of at least ``low``."""
    try:
        number, few = int(value), max(low, 5)
        exact = float(value) == number
    except (ValueError, TypeError, OverflowError):
        exact, number, few = False, 0, max(low, 5)
    if exact and number > _MAX_WHOLE:
        raise UsageError(f"{name} must be at most {_MAX_WHOLE:,}.", f"write {name}={few}.")
    if not exact or number < low:
        raise UsageError(f"{name} must be a whole number, at least {low}.", f"write {name}={few}.")
    return number


def format_parameter(value: object) -> str:
    """A parameter as text that parses back to itself."""
    if isinstance(value, Fraction):
        decimal = repr(float(value)).removesuffix(".0")
        return decimal if Fraction(decimal) == value else str(value)
    if not isinstance(value, str) or re.fullmatch(r"[\w.*/+:%-]+", value):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def decide_near_ties(
    value: NDArray[np.float64], bound: float, holds: Mask, exact: Callable[[int], bool]
) -> Mask:
    """``holds`` as floats decided it, with the near-ties to ``bound`` decided by ``exact``."""
    for i in np.flatnonzero(is_near(value, bound)):
        holds[i] = exact(int(i))
    return holds


def is_near(value: NDArray[np.float64], bound: float | NDArray[np.float64]) -> Mask:
    """Where floats lie too close to a bound to decide."""
    return np.asarray(np.abs(value - bound) <= NEAR * np.maximum(1.0, np.abs(bound)))


def is_at_most(
    over: Sequence[Any], under: Sequence[Any], bound: Fraction, *, strict: bool = False
) -> Mask:
    """Where the product of ``over`` <= ``bound`` times that of ``under`` (``strict``: <), exactly.

    Each is a sequence of whole numbers or arrays of them. Floats decide; near-ties, however many,
    are decided with whole numbers of any length.

    >>> is_at_most([np.array([1, 2])], [3, np.array([1, 2])], Fraction(1, 3)).tolist()
    [True, True]
    """
    value = np.atleast_1d(divide_products(over, under))
    holds: Mask = value < float(bound) if strict else value <= float(bound)
    tied = np.flatnonzero(is_near(value, float(bound)))
    if len(tied):
        left, right = (_whole_product(side, len(value), tied) for side in (over, under))
        left, right = left * bound.denominator, right * bound.numerator
        holds[tied] = left < right if strict else left <= right
    return holds


def divide_products(over: Sequence[Any], under: Sequence[Any]) -> NDArray[np.float64]:
    """The product of ``over`` divided by that of ``under``; infinite where divided by zero."""
    left = math.prod(np.asarray(factor, dtype=np.float64) for factor in over)
    right = math.prod(np.asarray(factor, dtype=np.float64) for factor in under)
    with np.errstate(divide="ignore"):
        return np.asarray(left / right)


def _whole_product(factors: Sequence[Any], size: int, at: NDArray[Any]) -> NDArray[np.object_]:
    columns = (np.broadcast_to(np.asarray(f), size)[at].astype(object) for f in factors)
    return np.asarray(math.prod(columns), dtype=object)


def compute_logarithm(value: Fraction) -> Decimal:
    """The natural logarithm to sixty digits: enough to tell any two numbers counts can make."""
    with localcontext(EXACT):
        return Decimal(value.numerator).ln() - Decimal(value.denominator).ln()
