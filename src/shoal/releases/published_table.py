"""A published table as an adversary finds it: its rows as they stand, and what is said of them.

A release folder says what its columns are, and how it was made; its private companion, where it is
at hand, also what the columns are that it leaves out and how labels were made. Tables of others
need a schema, or borrow the roles that a release folder beside them gives to columns of the same
names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.column import PUBLISHED_ROLES, Column
from shoal.core.errors import InputError, UsageError
from shoal.core.hierarchy import Hierarchy, Ordered
from shoal.core.model import unwrap_rule
from shoal.core.schema import Schema
from shoal.core.tally import Cut, Tally
from shoal.kernels.grouping import number_combinations
from shoal.methods import list_method_names, load_methods, splits_locally
from shoal.models import rule as parse_rule
from shoal.releases.companion import Companion, find_companion, find_release
from shoal.releases.forms._noise.answers import Answers, read_answers, with_answer_columns
from shoal.releases.manifest import publishes_buckets, publishes_centroids, refuse_noisy
from shoal.releases.options import Progress
from shoal.releases.providers import (
    RowProviders,
    check_providers,
    find_largest_m,
    read_row_providers_in,
)
from shoal.releases.reader import open_frame, open_labels, parse_released_schema
from shoal.releases.recount import Recount
from shoal.releases.row_listing import Listing, read_columns

Method = Callable[[Tally], Cut]
"""A method with its rule and parameters: what it makes of a table."""


MANY = 4096
"""A column with more values is held in ranges, not in sets of them."""


@dataclass(frozen=True)
class KeyedPersons:
    """Whose each row of a release is, as hashes under a key: known to its publisher alone."""

    key: bytes
    person: pa.Array


@dataclass(frozen=True)
class PublishedTable:
    """One release: its columns as they stand, before anybody says what the labels mean."""

    name: str
    roles: Schema
    """What is said of columns, also of those that it does not publish."""
    listings: Mapping[str, Listing]
    """The columns that it publishes."""
    manifest: Mapping[str, Any] | None = None
    """What its folder says, where Shoal made it."""
    companion: Companion | None = None
    """Its private companion, where that is at hand."""
    provider_column: Listing | None = None
    """Its provider column, where a table of others still has one."""
    person_column: Listing | None = None
    """Its person column, where a table of others still has one."""
    keyed: KeyedPersons | None = None
    """Whose its rows are, where that is known without a companion's folder: from a ledger."""
    source: Any = None
    """A table of others, to read more of its columns."""
    undeclared: tuple[str, ...] = ()
    """The columns of a table of others that nobody gave a role."""
    shared_columns: Mapping[str, Listing] = field(default_factory=dict)
    """Those of them that another table has too."""
    single_valued: frozenset[str] = frozenset()
    """Quasi-identifiers whose cells are values, for the column is kept or sensitive there."""

    @cached_property
    def schema(self) -> Schema:
        """The columns that it publishes."""
        return Schema(tuple(c for c in self.roles.columns if c.name in self.listings))

    @property
    def buckets(self) -> bool:
        """Whether its classes are buckets: which row has which value is then not published."""
        return publishes_buckets(self.manifest or {})

    @property
    def centroids(self) -> bool:
        """Whether its cells are centroids, which no person need be in."""
        return publishes_centroids(self.manifest or {})

    @cached_property
    def answers(self) -> dict[str, Answers]:
        """The columns that have answers in place of values, which may have been exchanged."""
        return read_answers(self.manifest or {})

    @cached_property
    def exact_quasi(self) -> tuple[Column, ...]:
        """In buckets the quasi-identifiers, published as they are; hierarchies where known."""
        named = (self.manifest or {}).get("exact", ()) if self.buckets else ()
        stated = self.companion.schema.columns if self.companion else ()
        own = {column.name: column for column in stated}
        columns = [c for c in self.schema.keep if isinstance(named, list) and c.name in named]
        return tuple(
            replace(c if c.hierarchy else own.get(c.name, c), role="quasi", kind=c.kind)
            for c in columns
        )

    @property
    def lookup_columns(self) -> tuple[Column, ...]:
        """The columns by which people are found in it: exact ones too in buckets."""
        return (*self.schema.quasi, *(self.schema.keep if self.buckets else ()))

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers that it publishes."""
        return tuple(column.name for column in self.schema.quasi)

    @property
    def unchanged_columns(self) -> tuple[str, ...]:
        """The columns that it publishes as they are."""
        return tuple(c.name for c in self.schema.columns if c.role in ("sensitive", "keep"))

    def with_role(self, role: str, names: Sequence[str]) -> PublishedTable:
        """The same, with some of its columns, declared or not, in another role."""
        more = {name: self.shared_columns[name] for name in names if name in self.shared_columns}
        columns = [
            replace(c, role=role, hierarchy=c.hierarchy or self._by_value(c.name), missing="")
            if c.name in names
            else c
            for c in self.schema.columns
        ]
        columns += [Column(name, role, hierarchy=self._by_value(name)) for name in more]
        hidden = [c for c in self.roles.columns if c.name not in self.listings]
        roles = Schema((*columns, *(c for c in hidden if c.name not in more)))
        values = self.single_valued | {name for name in names if name in self.unchanged_columns}
        listings = {**self.listings, **more}
        return replace(self, roles=roles, listings=listings, single_valued=frozenset(values))

    def _by_value(self, name: str) -> Hierarchy | None:
        """How a column is read whose cells are single values, or so many that sets are too large;
        None: as its kind is.
        """
        listing = self.listings.get(name) or self.shared_columns[name]
        return Ordered() if self.manifest is not None or len(listing.values) > MANY else None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.listings.values())).codes)

    def classes(self, names: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The class of each row by the labels of some columns, and each class's first row."""
        if not names:
            return np.zeros(self.rows, np.int32), np.zeros(1, np.int64)
        columns = [self.listings[name] for name in names]
        return number_combinations(
            [listing.codes for listing in columns], [len(listing.values) for listing in columns]
        )

    @cached_property
    def count(self) -> Recount:
        """The classes that its labels make, each an entry of its own."""
        axes = tuple(_build_label_axis(name, self.listings[name]) for name in self.quasi)
        number, first = self.classes(self.quasi)
        keys = np.stack([self.listings[name].codes[first] for name in self.quasi]).astype(np.int32)
        entry = np.arange(len(first), dtype=np.int32)
        rows = np.bincount(number, minlength=len(first)).astype(np.int64)
        tally = Tally(axes, (), keys, np.zeros((0, len(first)), np.int32), rows)
        return Recount(tally, Cut(entry, entry, rows, Cells(keys.T.copy(), keys.T.copy())))

    @property
    def knows_providers(self) -> bool:
        """Whether it is known who provided its rows."""
        private = self.companion is not None and self.companion.schema.provider is not None
        return private or self.provider_column is not None

    @cached_property
    def row_providers(self) -> RowProviders:
        """Who provided each of its rows, who must be told apart by their names."""
        provider, column = self.roles.provider, self.provider_column
        if column is not None and provider is not None:
            providers = RowProviders.of(provider.name, column.words(), column.codes)
        else:
            assert self.companion is not None
            providers = read_row_providers_in(self.companion.folder, self.companion.schema)
        providers.check(self.rows, self.name)
        check_providers(
            providers.axis, unnamed=int((providers.codes == providers.axis.null_code).sum())
        )
        return providers

    @cached_property
    def splits_locally(self) -> bool:
        """Whether a class of it can be made again without the others, method and rule allowing."""
        return is_made_class_by_class(self.manifest or {})

    @cached_property
    def max_coalition(self) -> int:
        """How many providers together it promises to withstand; 1 where it promises none."""
        try:
            rule = parse_rule(str((self.manifest or {}).get("rule", "")))
        except UsageError:  # a table that others made, or a model of the user's own
            return 1
        return find_largest_m(rule) or 1

    @property
    def columns_in_rule(self) -> tuple[str, ...]:
        """The sensitive columns that its requirement looks at, by themselves or as a product."""
        names = [column.name for column in self.schema.sensitive]
        text = str((self.manifest or {}).get("rule", ""))
        try:
            parts = [part for part in unwrap_rule(parse_rule(text)) if "sensitive" in part.needs]
        except UsageError:  # it has none, or one of its maker's own
            return ()
        stated = [getattr(part, "on", None) for part in parts]
        judged = {name for on in stated for name in (names if on is None else on.split("*"))}
        return tuple(name for name in names if name in judged)

    @cached_property
    def method(self) -> Method | None:
        """The method that made it of its people, with its rule; None where nobody says."""
        stated = self.manifest or {}
        make = load_methods().get(str(stated.get("method")))
        if make is None or not stated.get("rule") or stated.get("like"):
            return None
        rule, parameters = parse_rule(str(stated["rule"])), dict(stated.get("parameters", {}))

        def run(tally: Tally) -> Cut:
            rng = np.random.default_rng(0)
            return make(tally, rule, rng=rng, progress=None, hold_back=0, **parameters)

        return run


def is_made_class_by_class(manifest: Mapping[str, Any]) -> bool:
    """Whether each class of a release was made by its own people alone, and judged alone."""
    method = str(manifest.get("method"))
    if method not in list_method_names() or not splits_locally(method) or manifest.get("like"):
        return False
    rule = parse_rule(str(manifest.get("rule")))
    return rule.local and "provider" not in rule.needs  # who provided which row is not published


def _build_label_axis(name: str, listing: Listing) -> Axis:
    words = listing.words()
    null = None in words
    return Axis(name, "category", "flat", tuple(word for word in words if word is not None), null)


def as_release_list(releases: Any) -> list[Any]:
    """Several releases, or one, as a list."""
    return list(releases) if isinstance(releases, list | tuple) else [releases]


def read_published_tables(
    releases: Sequence[Any], schema: Schema | Sequence[Schema] | None, progress: Progress
) -> tuple[PublishedTable, ...]:
    """Read every release; two that give one column different roles are an error.

    One that was read before (a ``PublishedTable``) is taken as it is; schemas are for the others.
    """
    unread = [source for source in releases if not isinstance(source, PublishedTable)]
    read = iter(_read_releases(unread, schema, progress))
    tables = [table if isinstance(table, PublishedTable) else next(read) for table in releases]
    _check_same_roles(tables)
    names = [table.name for table in tables]
    return tuple(
        replace(table, name=f"{table.name} ({i})") if names.count(table.name) > 1 else table
        for i, table in enumerate(tables, 1)
    )


def _read_releases(
    releases: Sequence[Any], schema: Schema | Sequence[Schema] | None, progress: Progress
) -> list[PublishedTable]:
    folders = [find_release(source) for source in releases]
    for _, manifest in filter(None, folders):
        refuse_noisy(manifest, "has no people to look for")
    private = [
        None if folder is None else find_companion(source, folder[0])
        for source, folder in zip(releases, folders, strict=True)
    ]
    manifests = [folder and folder[1] for folder in folders]
    schemas = _choose_schemas(schema, releases, manifests, private)
    tables = []
    for i, (source, folder, roles) in enumerate(zip(releases, folders, schemas, strict=True)):
        progress("reading releases", i, len(releases))
        tables.append(replace(_read(source, folder, roles, i + 1), companion=private[i]))
    return tables


def _choose_schemas(
    schema: Schema | Sequence[Schema] | None,
    releases: Sequence[Any],
    manifests: Sequence[dict[str, Any] | None],
    private: Sequence[Companion | None],
) -> list[Schema]:
    """For each release what its columns are: as given, as its folder says, or as another's does."""
    schemas: list[Schema | None] = []
    if schema is None or isinstance(schema, Schema):
        schemas += [schema] * len(manifests)
    else:
        schemas += schema
    if len(schemas) != len(manifests):
        raise UsageError("There is not one schema for each release.", "give one for all of them.")
    own = [None if manifest is None else parse_released_schema(manifest) for manifest in manifests]
    for i, manifest in enumerate(manifests):
        if manifest is not None and publishes_buckets(manifest):
            schemas[i] = _with_bucket_roles(schemas[i], parse_released_schema(manifest))
        if manifest is not None:
            schemas[i] = with_answer_columns(schemas[i], manifest)
    if schema is None:  # whoever gives one has said what matters
        own = [
            public and _add_private_columns(public, more)
            for public, more in zip(own, private, strict=True)
        ]
    lent = next((public for public in own if public is not None), None)
    chosen = [_join_schemas(*three) or lent for three in zip(schemas, own, private, strict=True)]
    for source in (source for source, roles in zip(releases, chosen, strict=True) if roles is None):
        with open_frame(source):  # what is no table at all is told as that
            raise UsageError(
                "Nothing says what the columns are.",
                "add -s schema.toml (shoal schema writes one), or --quasi COLUMN and so on.",
            )
    return [roles for roles in chosen if roles is not None]


def _with_bucket_roles(schema: Schema | None, own_schema: Schema) -> Schema | None:
    """The given schema with the roles that buckets give: exact columns make no classes there."""
    if schema is None:
        return None
    roles = {column.name: column.role for column in own_schema.columns}
    return Schema(tuple(replace(c, role=roles.get(c.name, c.role)) for c in schema.columns))


def _add_private_columns(public: Schema, private: Companion | None) -> Schema:
    """What a release's folder says of its columns, and its companion of what that leaves out.

    Bounds and domains are not taken: they bind the publisher's table, not what others look for.
    """
    if private is None:
        return public
    stated = {column.name: column for column in private.schema.columns}
    labels = [stated[column.name] for column in public.quasi if column.name in stated]
    labelled = {c.name: Column(c.name, "quasi", c.kind, c.hierarchy) for c in labels}
    columns = [labelled.get(column.name, column) for column in public.columns]
    person = private.schema.person  # other dropped columns may repeat: a ward, a day
    return Schema((*columns, *([person] if person else [])))


def _join_schemas(
    schema: Schema | None, own_schema: Schema | None, private: Companion | None
) -> Schema | None:
    """The given schema, and what the release says of kinds and of columns that it does not name.

    A column that the release publishes as it is may be given as a quasi-identifier: its values
    are cells of one value each.
    """
    if schema is None or own_schema is None:
        return schema or own_schema
    for column in own_schema.columns:
        role = schema.column(column.name).role if column.name in schema.names else column.role
        if role not in (column.role, "quasi"):
            raise _different_roles_error(column.name, column.role, role)
    stated = (*(private.schema.columns if private else ()), *own_schema.columns)
    kinds = {column.name: column.kind for column in stated if column.kind}
    columns = [replace(c, kind=c.kind or kinds.get(c.name, "")) for c in schema.columns]
    more = [column for column in own_schema.columns if column.name not in schema.names]
    return Schema((*columns, *more))


def _read(
    source: Any, release: tuple[Path, dict[str, Any]] | None, roles: Schema, number: int
) -> PublishedTable:
    table, own = (source, False) if release is None else (release[0], True)
    kinds = {} if own else _recognise_kinds(source, [c.name for c in roles.keep if not c.kind])
    with open_labels(table, roles, exact=own, partial=True, recognised=kinds) as frame:
        there = [field.name for field in frame.fields]
        columns = [c for c in roles.columns if c.name in there and c.role in PUBLISHED_ROLES]
        name = _name_release(source, release, number)
        if not any(column.role == "quasi" for column in columns):
            raise InputError(
                f"{name} has none of the schema's quasi-identifiers.",
                "name the columns by which people can be looked up, with --quasi.",
            )
        provider = [roles.provider.name] if roles.provider and roles.provider.name in there else []
        person = [roles.person.name] if roles.person and roles.person.name in there else []
        listings = read_columns(frame, [*(column.name for column in columns), *provider, *person])
    provider_column = listings.pop(provider[0]) if provider else None
    person_column = listings.pop(person[0]) if person else None
    if release is not None:
        return PublishedTable(name, roles, listings, release[1], provider_column=provider_column)
    stated = roles.expand(there).columns  # a pattern leaves columns out
    decided = {column.name for column in stated if column.role != "undecided"}
    undeclared = tuple(column for column in there if column not in decided)
    return PublishedTable(
        name,
        roles,
        listings,
        provider_column=provider_column,
        person_column=person_column,
        source=source,
        undeclared=undeclared,
    )


def _recognise_kinds(source: Any, names: Sequence[str]) -> dict[str, str]:
    """Columns of somebody's table that are published as they are, and are numbers or dates.

    Another table may write them otherwise, with a decimal comma or the day first.
    """
    if not names:
        return {}
    with open_frame(source) as frame:
        kinds = {field.name: field.kind for field in frame.fields}
    return {name: kinds[name] for name in names if kinds.get(name) in ("number", "date")}


def with_shared_columns(
    tables: Sequence[PublishedTable], people_columns: Collection[str]
) -> tuple[PublishedTable, ...]:
    """The releases with those columns that nobody gave a role and another table has too.

    ``people_columns``: those of a table of people. Where one release says what such a column is, it
    is that in the others; one that says who somebody is, or who provided a row, is no such column.
    """
    named = Counter(name for table in tables for name in (*table.listings, *table.undeclared))
    secret = {
        c.name
        for table in tables
        for c in table.roles.columns
        if c.role not in PUBLISHED_ROLES and c.role != "undecided"
    }
    shared = {
        name
        for table in tables
        for name in table.undeclared
        if (name in people_columns or named[name] > 1) and name not in secret
    }
    return tuple(
        _with_shared_columns(table, [n for n in table.undeclared if n in shared])
        for table in tables
    )


def _with_shared_columns(table: PublishedTable, names: Sequence[str]) -> PublishedTable:
    if not names:
        return table
    labels = Schema(tuple(Column(name, "keep") for name in names))
    kinds = _recognise_kinds(table.source, names)
    with open_labels(table.source, labels, exact=False, partial=True, recognised=kinds) as frame:
        return replace(table, shared_columns=read_columns(frame, names))


def _name_release(source: Any, release: tuple[Path, Any] | None, number: int) -> str:
    if release is not None:
        return release[0].resolve().parent.name
    return Path(source).name if isinstance(source, str | Path) else f"release {number}"


def _check_same_roles(tables: Sequence[PublishedTable]) -> None:
    roles: dict[str, Column] = {}
    for table in (table for table in tables if not table.buckets):  # their roles are the form's own
        for column in table.schema.columns:
            first = roles.setdefault(column.name, column)
            if first.role != column.role:
                raise _different_roles_error(column.name, first.role, column.role)


def _different_roles_error(name: str, role: str, other: str) -> UsageError:
    return UsageError(
        f"Column {name!r} is {role} in one place and {other} in another.",
        f"give it one role in all releases, such as --quasi {name}.",
    )
