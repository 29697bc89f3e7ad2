"""The check of a request before a row is read: all that is wrong is reported together.

Each check raises what it would raise later; here none of them keeps the others from being made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from shoal.adversary.mechanism_audit import AUDITING
from shoal.adversary.one_attack import RED_TEAM, check_attack_options, find_usage_error
from shoal.core.errors import (
    InputError,
    OutputError,
    ShoalError,
    UsageError,
    refuse_database_address,
)
from shoal.core.model import Model, format_parameter, unwrap_rule
from shoal.core.schema import Schema
from shoal.engines.open_table import glimpse_fields
from shoal.ledger.chain.database import check_ledger_file
from shoal.ledger.chain.keys import Keys
from shoal.models import rule as parse_rule
from shoal.releases.folder import repair
from shoal.releases.judgement import check_columns_named
from shoal.releases.options import parse_method_parameters
from shoal.releases.people import parse_one_row
from shoal.releases.reader import find_release_unchecked, parse_released_schema
from shoal.reports.document import check_page_place

SchemaSource = Schema | None | Callable[[], Schema | None]
"""A schema, or what reads one."""


def check_request(
    *further: Callable[[], object],
    tables: Sequence[Any] = (),
    releases: Sequence[Any] = (),
    files: Sequence[Any] = (),
    schema: SchemaSource = None,
    some_columns: bool = True,
    rules: Sequence[str] = (),
    one_column_each: bool = False,
    on: Sequence[str] = (),
    attack: str = "",
    options: Mapping[str, Any] | None = None,
    relation: str = "",
    has_targets: bool = False,
    method: str = "",
    parameters: Mapping[str, Any] | None = None,
    has_population: bool = True,
    one_row: str | None = None,
    outputs: Sequence[Path | None] = (),
    page: Path | None = None,
    page_name: str = "report",
    page_is_public: bool = False,
    ledger: Any = None,
    key: Any = None,
    reading: Mapping[str, Any] | None = None,
) -> None:
    """Check what is asked of a verb before a row is read, and raise all that is wrong as one error.

    Parameters
    ----------
    *further
        Checks of the verb's own, each of which raises a ``ShoalError`` or does nothing.
    tables
        Tables that the ``schema`` is about: its columns must be in their headers.
    releases, files
        Releases and other files that must be there; None is passed over.
    schema
        The columns' roles, or a function that reads them.
    some_columns
        Whether it is enough that the schema has a role for some of a table's columns.
    rules
        Requirements; they may name sensitive columns only.
    one_column_each
        Whether each rule is about one column, and must name it where several are sensitive.
    on
        The columns to learn.
    attack, options, relation, has_targets
        An attack, its own options, what the releases are to each other, and whether there are
        people to look for.
    method, parameters
        A method, and its parameters.
    has_population
        Whether there is a population for rules that compare with one.
    one_row
        The row that stands for a person, as in ``shoal.publish``.
    outputs
        New files, which must not be there yet.
    page, page_name, page_is_public
        A page that may be replaced, what it is called, and whether it is to be published.
    ledger, key
        Where a ledger is, and its key.
    reading
        How the tables are written, as in ``shoal.open``.

    Raises
    ------
    ShoalError
        Everything that is wrong as one error: of its kind where there is one, else ``UsageError``.

    Examples
    --------
    >>> check_request(rules=["k-anonymity k=0"], method="chain", parameters={"speed": 2})
    Traceback (most recent call last):
    shoal.core.errors.UsageError: k must be a whole number, at least 1.
    chain has no parameter 'speed'.
    Hint: write k=5.
    its parameters are: order.
    """
    parsed_schema, schema_error = try_making(lambda: schema() if callable(schema) else schema)
    parsed = [try_making(partial(parse_rule, text)) for text in rules]
    models = [model for model, error in parsed if error is None and model is not None]
    sources = [table for table in tables if isinstance(table, str | Path)]
    published = [release for release in releases if release is not None]
    columns = (
        _find_columns([*sources, *published], parsed_schema)
        if on and schema_error is None
        else None
    )
    ShoalError.collect(
        *further,
        *(partial(raise_if_error, error) for _, error in parsed),
        partial(raise_if_error, schema_error),
        *(
            partial(check_rule_columns, model, parsed_schema, one_column_each)
            for model in models
            if parsed_schema is not None
        ),
        *(partial(_check_population, model, has_population) for model in models),
        lambda: _check_attack(attack, options or {}, published, relation, has_targets),
        lambda: parse_method_parameters(method, parameters or {}) if method else None,
        lambda: None if schema_error else parse_one_row(one_row, parsed_schema),
        lambda: None if columns is None else _check_learnt_columns(on, columns),
        *(partial(_check_file, source) for source in [*sources, *files]),
        *(partial(find_release_unchecked, release) for release in published),
        *(
            partial(_check_header, source, parsed_schema, some_columns, reading or {})
            for source in sources
            if parsed_schema is not None
        ),
        *(partial(_check_new_file, output) for output in outputs if output is not None),
        lambda: None if page is None else check_page_place(page, not page_is_public, page_name),
        lambda: _check_ledger(ledger, key),
    )


def check_rule_columns(rule: Model, schema: Schema, one_column_each: bool) -> None:
    """Refuse a rule about a column that the schema gives another role than sensitive.

    ``one_column_each``: where there are several, a rule has to name one.
    """
    sensitive = [column.name for column in schema.sensitive]
    if one_column_each:
        check_columns_named(rule, sensitive)
    others = {column.name for column in schema.columns} - set(sensitive)
    for part in unwrap_rule(rule):
        for name in (getattr(part, "on", None) or "").split("*"):
            if name in others:
                choices = (
                    ", ".join(f"on={format_parameter(column)}" for column in sensitive) or "none"
                )
                raise UsageError(f"There is no sensitive column {name!r}.", f"name one: {choices}.")


def try_making(make: Callable[[], Any]) -> tuple[Any, ShoalError | None]:
    """What is made, or the error that keeps it from being made."""
    try:
        return make(), None
    except ShoalError as error:
        return None, error


def raise_if_error(error: ShoalError | None) -> None:
    """Raise an error that was put off, if there is one."""
    if error is not None:
        raise error


def _check_population(rule: Model, has_population: bool) -> None:
    if "population" in rule.needs and not has_population:
        raise UsageError(
            f"{rule} needs a population table.", "add --population FILE, or ask for k-anonymity."
        )


def _check_attack(
    name: str, options: Mapping[str, Any], releases: Sequence[Any], relation: str, has_targets: bool
) -> None:
    if not name or name == AUDITING:
        return
    check_attack_options(name, options)
    if name != RED_TEAM:
        raise_if_error(find_usage_error(name, len(releases), relation, has_targets))


def _find_columns(sources: Iterable[Any], schema: Schema | None) -> set[str] | None:
    """The columns that may be learnt; None where a table does not say so before it is read."""
    if schema is not None:
        return {column.name for column in schema.columns}
    columns: set[str] = set()
    for source in sources:
        release, _ = try_making(partial(find_release_unchecked, source))
        if release is None:
            return None
        released, error = try_making(partial(parse_released_schema, release[1]))
        if error is not None:
            return None
        columns |= set(released.names)
    return columns


def _check_learnt_columns(on: Sequence[str], columns: set[str]) -> None:
    if unknown := [name for name in on if name not in columns]:
        raise UsageError(
            f"There is no column {unknown[0]!r} to learn.",
            f"name one of: {', '.join(sorted(columns))}." if columns else "leave --on out.",
        )


def _check_file(source: Any) -> None:
    if not isinstance(source, str | Path) or "://" in str(source):
        return
    path = Path(source)
    repair(path)
    if not path.exists():
        refuse_database_address(source)
        raise InputError(f"There is no file {path.name}.", "Check the path.")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path.name} cannot be opened.", "Check who may read it.")


def _check_header(
    source: Any, schema: Schema, some_columns: bool, reading: Mapping[str, Any]
) -> None:
    fields, _ = try_making(partial(glimpse_fields, source, **reading))
    if fields is not None:
        if some_columns:  # a table that was published lacks what is never published
            columns = tuple(
                column for column in schema.columns if column.role not in ("identifier", "drop")
            )
            schema = replace(schema, columns=columns)
        schema.check_names(fields, some=some_columns)


def _check_new_file(output: Path) -> None:
    folder = output.absolute().parent
    if not folder.is_dir():
        raise OutputError(f"There is no folder {folder}.", "create it, or choose another place.")
    if output.exists():
        raise OutputError(f"{output} exists already.", "name another file with -o.")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{folder} cannot be written.", "choose another folder.")


def _check_ledger(ledger: Any, key: Any) -> None:
    if isinstance(ledger, str | Path) and "://" not in str(ledger):
        refuse_database_address(ledger)
        ShoalError.collect(
            partial(check_ledger_file, Path(ledger)),
            *([] if key is None else [partial(Keys.read, key)]),
        )
