"""Providers: who provided the rows of a table, which is never published.

A rule against coalitions (m-privacy; Goryczka, Xiong and Fung: m-privacy for collaborative data
publishing, CollaborateCom 2011) is judged by the provider of each row. Once a release is made only
its private companion tells that, row by row in the table's order: the labels and values are still
counted from the file, and the companion adds who provided them.

Which providers there are is taken as the column names them. It does not see that two names are one
institution, unless they differ by case or space alone: that is refused.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.errors import InputError, UsageError
from shoal.core.labels import format_count, format_value
from shoal.core.model import Model, split_rule, unwrap_rule
from shoal.core.schema import Schema
from shoal.releases.companion import read_companion, read_providers
from shoal.releases.tallying import Survey


@dataclass(frozen=True)
class RowProviders:
    """Who provided each row of a published table, in its order: no file for the public tells."""

    axis: Axis
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, name: str, words: Sequence[str | None], codes: NDArray[Any]) -> RowProviders:
        """A column given as codes of words: by ascending name, whichever way it was read."""
        leaves = tuple(sorted({word for word in words if word is not None}))
        axis = Axis(name, "category", "flat", leaves, null=None in words)
        return cls(axis, axis.codes(words)[codes])

    def check(self, rows: int, table: str = "The table") -> None:
        """Refuse a table of another number of rows."""
        if rows != len(self.codes):
            raise InputError(
                f"{table} has {rows:,} rows and its private companion {len(self.codes):,}.",
                "take the release and the companion that were written together.",
            )


def needs_providers(rule: Model) -> bool:
    """Whether a rule is about who provided the rows."""
    return "provider" in rule.needs


def check_provider_column(rule: Model, schema: Schema) -> None:
    """Refuse a rule about providers where no column says who provided a row."""
    if needs_providers(rule) and schema.provider is None:
        raise UsageError(
            f"{_provider_parts(rule)} needs to know who provided each row, and no column says so.",
            'give a column the role "provider": --provider COLUMN.',
        )


def check_surveyed_providers(rule: Model, plan: Survey) -> None:
    """Refuse a table whose providers a rule about them cannot tell apart, before classes are made.

    Where the schema lists the providers, each of them must have rows.
    """
    column = plan.schema.provider
    if not needs_providers(rule) or column is None:
        return
    axis = next(axis for axis in plan.axes if axis.name == column.name)
    distinct = plan.distinct[column.name]
    if absent := len(axis.leaves) - len(distinct.values):
        raise InputError(
            f"{format_count(absent, 'provider')} of the declared domain of column {column.name!r} "
            f"{'has' if absent == 1 else 'have'} no rows.",
            "add their rows, or take them out of the domain.",
        )
    check_providers(axis, find_largest_m(rule), distinct.nulls)


def check_providers(axis: Axis, m: int | None = None, unnamed: int = 0) -> None:
    """Refuse providers who cannot be told apart, or coalitions of ``m`` that are all of them.

    ``axis`` has the providers of a table; ``unnamed`` of its rows have none.

    >>> check_providers(Axis("site", "category", "flat", ("North", "north ", "South")))
    Traceback (most recent call last):
    shoal.core.errors.InputError: 2 providers in column 'site' differ by case or space only.
    Hint: write each provider's name in one way.
    """
    if axis.null:
        rows = f"{format_count(unnamed, 'row')} have" if unnamed > 1 else "A row has"
        raise InputError(f"{rows} no provider (column {axis.name!r}).", "name one in every row.")
    names = Counter(_fold_name(format_value(leaf)) for leaf in axis.leaves)
    if alike := sum(times for times in names.values() if times > 1):
        raise InputError(
            f"{alike:,} providers in column {axis.name!r} differ by case or space only.",
            "write each provider's name in one way.",
        )
    if len(names) < 2:
        raise InputError(
            f"All rows are of one provider (column {axis.name!r}): nobody can work together.",
            "ask for the rule inside m-privacy alone, or add the rows of others.",
        )
    if m is not None and m >= len(names):
        raise UsageError(
            f"m={m} of {len(names):,} providers leaves nobody whom the rule could protect.",
            f"ask for m={len(names) - 1} at most.",
        )


def _fold_name(name: str) -> str:
    """A name without case and spaces, however its letters are composed."""
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


def find_largest_m(rule: Model) -> int | None:
    """The most providers that a part of the rule supposes to work together; None: none says."""
    sizes = [getattr(part, "m", None) for part in split_rule(rule) if needs_providers(part)]
    return max((m for m in sizes if m is not None), default=None)


def missing_providers_error(rule: Model) -> UsageError:
    """The error for a published table without its companion."""
    return UsageError(
        f"{_provider_parts(rule)} is judged by who provided each row, which a published table does "
        "not tell.",
        "verify the release's folder, with its private companion beside it; a table with a "
        "provider column is judged by shoal m-privacy.",
    )


def read_row_providers(source: Any, table: Path, rule: Model | None = None) -> RowProviders:
    """Who provided each row of a release's table, by its private companion.

    ``rule``: what needs it, for the error where there is no companion.
    """
    try:
        companion = read_companion(source, table)
    except InputError as error:
        raise (error if rule is None else _needed_companion_error(rule, error)) from None
    return read_row_providers_in(companion.folder, companion.schema)


def _needed_companion_error(rule: Model, error: InputError) -> InputError:
    inside = " & ".join(map(str, unwrap_rule(rule)))
    return InputError(
        f"{error.fact} It alone tells who provided each row, by which {_provider_parts(rule)} is "
        "judged.",
        f"{error.hint} Whoever has none can verify the rule inside: -m {inside!r}.",
    )


def read_row_providers_in(folder: Path, schema: Schema) -> RowProviders:
    """The same by the companion's folder and the publisher's schema."""
    providers = read_providers(folder)
    if providers.null_count:
        raise InputError(
            f"{format_count(providers.null_count, 'row')} of the release came without a provider.",
            "publish the table with a provider in every row.",
        )
    return _read_names("provider" if schema.provider is None else schema.provider.name, providers)


def _read_names(name: str, providers: pa.Array) -> RowProviders:
    """Providers by their names, however the companion writes them."""
    if not (pa.types.is_string(providers.type) or pa.types.is_date(providers.type)):
        # as numbers are counted when published
        providers = providers.cast(pa.float64(), safe=False)
    words = providers.dictionary_encode()
    names = [format_value(value) for value in words.dictionary.to_pylist()]
    return RowProviders.of(name, names, words.indices.to_numpy())


def _provider_parts(rule: Model) -> str:
    return " & ".join(str(part) for part in split_rule(rule) if needs_providers(part))
