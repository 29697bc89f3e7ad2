"""What a publisher asks for: the request, its options, the method's parameters and the forms."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, NamedTuple

from shoal.core.errors import UsageError, refuse_database_address
from shoal.core.model import Model
from shoal.core.schema import Schema
from shoal.core.spend import Number, Spend, parse_spend, to_exact
from shoal.engines.one_row import OneRow
from shoal.engines.source import STANDARD_STYLE, TextStyle
from shoal.engines.writers import find_format
from shoal.methods import find_method, list_method_names

Progress = Callable[[str, int, int], None]
"""Called with a step's name, how much is done and how much there is."""

PARTITION, BUCKETS, CENTROIDS = "partition", "buckets", "centroids"
RANDOMISED, COUNTS, SYNTHETIC = "randomised", "counts", "synthetic"
NOISY = (RANDOMISED, COUNTS, SYNTHETIC)
"""The forms that noise makes, under differential privacy: generalised cells beside values that may
have been exchanged for others, tables of noisy counts, or people made up from such counts."""
NO_INDIVIDUAL_ROWS = (COUNTS, SYNTHETIC)
"""The forms that noise alone makes, without a rule: no row of theirs is anybody's."""
FORMS = (PARTITION, BUCKETS, CENTROIDS, *NOISY)
"""The forms of a release: generalised cells, or exact ones beside values permuted per class, or one
made-up person for each class; and those of noise."""

DEFAULT_METHOD = "mondrian"

LIKE_INPUT, STANDARD_CSV = "input", "standard"
"""How CSV is written: with the delimiter, decimal sign and encoding of the table that is read, or
with a comma, a point and UTF-8."""

ABSENT, STARRED = "absent", "starred"
"""What becomes of suppressed rows: they are left out, or printed as a class of ``*``."""


def ignore_progress(step: str, done: int, total: int) -> None:
    """Show nothing."""


def missing_rule_error() -> UsageError:
    """Nothing says what the columns are, or what is to hold."""
    return UsageError(
        "publish needs a schema and a rule.",
        'shoal.publish(table, shoal.Schema.of(quasi=["age"]), "k-anonymity k=5")',
    )


def missing_budget_error(form: str) -> UsageError:
    """Nobody says how much noise there is to be."""
    return UsageError(
        f"A release of the form {form} is made by noise, and nobody says how much.",
        "say how much of a privacy budget it may spend: --epsilon 1.",
    )


def parse_optional_spend(epsilon: Number | None, delta: Number = 0) -> Spend | None:
    """What is to be spent; None where there is no epsilon, beside which alone a delta counts."""
    if epsilon is not None:
        return parse_spend(epsilon, delta)
    if to_exact(delta):
        raise UsageError(
            "A delta is given, and no epsilon beside it.", "add --epsilon 1, or leave --delta out."
        )
    return None


def check_form_name(form: str) -> None:
    """Refuse a form that no release has."""
    if form not in FORMS:
        raise UsageError(f"There is no form {form!r}.", f"the forms are: {', '.join(FORMS)}.")


def check_seed(seed: int | None) -> None:
    """Refuse what no generator starts from."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise UsageError("A seed is a whole number from 0 on.", "write for example --seed 1.")


class OutputPlace(NamedTuple):
    """Where a release is written, and in which format."""

    out: Path | None
    companion: Path | None
    format: str

    @classmethod
    def of(
        cls, out: str | Path | None, companion: str | Path | None, format: str, dry_run: bool
    ) -> OutputPlace:
        """As somebody asks for it; nowhere in a dry run. Formats have names with or without dots.

        >>> OutputPlace.of("rel", None, ".csv", dry_run=True)
        OutputPlace(out=None, companion=None, format='csv')
        """
        for path in (out, companion):
            if path is not None:
                refuse_database_address(path)
        return cls(
            None if out is None or dry_run else _with_final_name(Path(out)),
            None if companion is None else Path(companion),
            find_format(Path(f"table.{format.lstrip('.')}")).lstrip("."),
        )


def _with_final_name(out: Path) -> Path:
    """The folder by a path that ends in its name, which ``.`` and ``..`` do not."""
    return out if out.name not in ("", "..") else Path(os.path.abspath(out))


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to publish, and how."""

    schema: Schema
    rule: Model
    method: str = DEFAULT_METHOD
    parameters: Mapping[str, Any] = field(default_factory=dict)
    out: Path | None = None
    """The release's folder; None: nothing is written."""
    companion: Path | None = None
    """The private companion's folder; None: beside the release's."""
    form: str = PARTITION
    two_tables: bool = False
    """Buckets only: the people in one file and the counts of the values in another."""
    format: str = "csv"
    style: TextStyle = STANDARD_STYLE
    """How CSV is written."""
    csv_style: str = LIKE_INPUT
    replace: bool = False
    hold_back: float = 0.0
    """The share of rows that may be suppressed."""
    held_back_as: str = ABSENT
    accept_keep: bool = False
    population: Any = None
    based_on: Any = None
    """An earlier release of the table, than whose cells none becomes finer; None: there is none."""
    like: Any = None
    """The ``Recoding`` of a release that is applied (successors/like); None: one is made."""
    auto_hierarchies: bool = False
    """Whether columns without levels get some, where the method works by levels."""
    spend: Spend | None = None
    """The epsilon and delta of a release that noise makes; None: it is none."""
    seed: int | None = None
    """Noise from a seed, for tests and studies: such a release is marked as not to be released."""
    ledger: Any = None
    """The ledger that the release is judged by and recorded in; None: there is none."""
    admission: Mapping[str, Any] = field(default_factory=dict)
    """What the ledger is told: to whom, about whom, which limit (see ``shoal.Ledger.admit``)."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """How the table is read, where that is not to be recognised: options of ``shoal.open``."""
    one_row: OneRow | None = None
    """Which row stands for a person; None: each has one row."""
    progress: Progress = ignore_progress

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Schema) or not isinstance(self.rule, Model):
            raise missing_rule_error()
        if isinstance(self.hold_back, bool) or not isinstance(self.hold_back, (int, float)):
            raise UsageError("hold_back is a number.", "write for example 0.05.")
        if not 0 <= self.hold_back <= 1:
            raise UsageError("hold_back is a share between 0 and 1.", "write for example 0.05.")
        check_form_name(self.form)
        if self.two_tables and self.form != BUCKETS:
            raise UsageError("Only buckets come in two tables.", f"add --form {BUCKETS}.")
        self._check_noise()
        if self.csv_style not in (LIKE_INPUT, STANDARD_CSV):
            raise UsageError(
                f"There is no CSV style {self.csv_style!r}.",
                f"write --csv-style {LIKE_INPUT} or --csv-style {STANDARD_CSV}.",
            )
        if self.held_back_as not in (ABSENT, STARRED):
            raise UsageError(
                "Rows held back are absent or starred.", f"write --held-back-as {STARRED}."
            )

    def _check_noise(self) -> None:
        """Refuse noise that nobody can draw, and settings of noise where there is none."""
        check_seed(self.seed)
        if self.form == RANDOMISED and self.spend is None:
            raise missing_budget_error(self.form)
        if self.form != RANDOMISED and (self.spend is not None or self.seed is not None):
            raise UsageError(
                f"The form {self.form} has no noise that an epsilon or a seed could set.",
                f"add --form {' or '.join(NOISY)}, or leave it out.",
            )


# The parameters of a method: on the command line they are text, read as the kind that its signature
# states.

GIVEN_TO_EVERY_METHOD = {"tally", "model", "rng", "progress", "hold_back"}
"""What every method is given; the rest are its parameters."""
YES, NO = frozenset({"yes", "true", "1"}), frozenset({"no", "false", "0"})


def parse_method_parameters(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as the method takes them; refuses a method or a parameter there is not.

    >>> texts = {"measure": "height", "nodes": "200", "minimal": "no"}
    >>> parse_method_parameters("full-domain", texts)
    {'measure': 'height', 'nodes': 200, 'minimal': False}
    """
    if name not in list_method_names():
        raise UsageError(
            f"There is no method {name!r}.", f"the methods are: {', '.join(list_method_names())}."
        )
    own = {
        p.name: p
        for p in signature(find_method(name)).parameters.values()
        if p.name not in GIVEN_TO_EVERY_METHOD
    }
    if unknown := sorted(set(settings) - set(own)):
        raise UsageError(
            f"{name} has no parameter {unknown[0]!r}.",
            f"its parameters are: {', '.join(sorted(own))}." if own else "leave it out.",
        )
    return {key: _read(own[key], value) for key, value in settings.items()}


def _read(parameter: Parameter, value: Any) -> Any:
    kind = str(parameter.annotation).removesuffix(" | None")
    if kind not in KINDS or (value is None and parameter.default is None):
        return value
    read, meant, example = KINDS[kind]
    try:
        return read(value)
    except (ValueError, TypeError, OverflowError):
        hint = f"write for example {parameter.name}={example}."
        raise UsageError(f"{parameter.name} is {meant}.", hint) from None


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = _text(value).lower()
    if word not in YES | NO:
        raise ValueError
    return word in YES


def _whole(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and value != int(value)):
        raise ValueError
    return int(value)


def _number(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


KINDS: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "bool": (_truth, "yes or no", "yes"),
    "int": (_whole, "a whole number", "10"),
    "float": (_number, "a number", "0.1"),
    "str": (_text, "a text", '"…"'),
}
"""How a parameter of each annotation is read, and what it is called where it cannot be."""
