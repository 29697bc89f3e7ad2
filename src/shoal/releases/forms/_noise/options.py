"""What a publisher asks for where noise makes the release: counts, or people made up from them."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from shoal.core.errors import UsageError
from shoal.core.schema import Schema
from shoal.core.spend import Number, Spend
from shoal.engines.one_row import OneRow
from shoal.releases.options import (
    ABSENT,
    COUNTS,
    LIKE_INPUT,
    OutputPlace,
    Progress,
    check_seed,
    ignore_progress,
    missing_budget_error,
    parse_optional_spend,
)

AskedMarginals = int | Sequence[str | Sequence[str]] | None
"""Marginals as somebody writes them: 2, ["age,sex"], or [["age", "sex"]]; a name that has a comma
stands in double quotes as in CSV, or alone."""
Marginals = int | tuple[tuple[str, ...], ...] | None
"""How many columns are counted together, or which; None: the form's own choice."""


@dataclass(frozen=True, kw_only=True)
class NoisyRequest:
    """What to publish under differential privacy, and how. There is no rule beside the noise."""

    schema: Schema
    form: str
    spend: Spend
    marginals: Marginals = None
    seed: int | None = None
    """For tests and studies: the release is then marked as not to be released."""
    out: Path | None = None
    """The release's folder; None: nothing is written."""
    companion: Path | None = None
    format: str = "csv"
    replace: bool = False
    ledger: Any = None
    admission: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)
    one_row: OneRow | None = None
    """Which row stands for a person; None: each has one row."""
    progress: Progress = ignore_progress

    @classmethod
    def of(
        cls,
        meaningless: Mapping[str, Any],
        *,
        schema: Schema | None,
        form: str,
        epsilon: Number | None,
        delta: Number,
        marginals: AskedMarginals,
        seed: int | None,
        place: OutputPlace,
        replace: bool,
        ledger: Any,
        admission: Mapping[str, Any] | None,
        reading: Mapping[str, Any] | None,
        one_row: OneRow | None,
        progress: Progress,
    ) -> NoisyRequest:
        """The request of what ``shoal.publish`` was given; ``meaningless``: what does not apply.

        Whatever of that is set is refused: a rule that nobody keeps would be a promise.
        """
        if unfit := [
            name.replace("_", "-") for name, value in meaningless.items() if _is_set(value)
        ]:
            raise UsageError(
                f"The form {form} is made by noise alone; it has no {unfit[0]}.",
                f"leave {', '.join(unfit)} out, or choose --form randomised or partition.",
            )
        if not isinstance(schema, Schema):
            raise UsageError(
                f"The form {form} needs a schema.", "say what each column is: -s schema.toml."
            )
        check_seed(seed)
        spend = parse_optional_spend(epsilon, delta)
        if spend is None:
            raise missing_budget_error(form)
        return cls(
            schema=schema,
            form=form,
            spend=spend,
            marginals=_parse_marginals(marginals, schema),
            seed=seed,
            out=place.out,
            companion=place.companion,
            format=place.format,
            replace=replace,
            ledger=ledger,
            admission=admission or {},
            reading=reading or {},
            one_row=one_row,
            progress=progress,
        )


def _is_set(value: Any) -> bool:
    """Whether a setting is not at its default: nothing, none, no, or rows held back being absent.

    A table is never asked whether it is true.
    """
    if isinstance(value, str | int | float | Sequence):
        return bool(value) and value not in (ABSENT, LIKE_INPUT)
    return value is not None


def _parse_marginals(marginals: AskedMarginals, schema: Schema) -> Marginals:
    if marginals is None:
        return None
    if isinstance(marginals, int) and not isinstance(marginals, bool):
        if marginals < 1:
            raise UsageError("At least one column is counted at a time.", "write --marginals 2.")
        return marginals
    if not _are_lists(marginals):
        raise UsageError(
            "Marginals are a number of columns, or lists of columns.",
            'write marginals=2, or marginals=[["age", "sex"]].',
        )
    names = schema.names
    return tuple(
        tuple(
            _split_names(columns, names)
            if isinstance(columns, str)
            else (_strip_name(n, names) for n in columns)
        )
        for columns in marginals
    )


def _are_lists(value: Any) -> TypeGuard[Sequence[str | Sequence[str]]]:
    several = isinstance(value, Sequence) and not isinstance(value, str)
    return several and all(
        isinstance(columns, str)
        or (isinstance(columns, Sequence) and all(isinstance(name, str) for name in columns))
        for columns in value
    )


def _split_names(written: str, names: Sequence[str]) -> list[str]:
    """The columns of a marginal, written as a record of CSV; a column's whole name is that column.

    >>> _split_names('"Age, years", sex', ["Age, years", "sex"])
    ['Age, years', 'sex']
    >>> _split_names("Age, years", ["Age, years"])
    ['Age, years']
    """
    if written.strip() in names:
        return [written.strip()]
    try:
        rows = list(csv.reader([written], skipinitialspace=True, strict=True))
    except csv.Error:
        raise UsageError(
            "A marginal is not written as a record of CSV.",
            """put names that have a comma in double quotes: --marginal '"Age, years",sex'.""",
        ) from None
    return [_strip_name(name, names) for name in rows[0]]


def _strip_name(name: str, names: Sequence[str]) -> str:
    return name if name in names else name.strip()


def write_marginal(names: Sequence[str]) -> str:
    """A marginal as a record of CSV: names in double quotes where they must be.

    >>> print(write_marginal(["Age, years", "sex"]))
    "Age, years",sex
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def write_marginal_option(names: Sequence[str]) -> str:
    """The same as it is typed in a shell.

    >>> print(write_marginal_option(["age", "sex"]), write_marginal_option(["Age, years"]))
    --marginal age,sex --marginal '"Age, years"'
    """
    return f"--marginal {shlex.quote(write_marginal(names))}"


def unwanted_marginals_error() -> UsageError:
    """Marginals were asked for where nothing is counted."""
    return UsageError(
        "Marginals are of counts and synthetic tables.", f"add --form {COUNTS}, or leave them out."
    )
