"""From files to an adversary's view: labels read on common axes, values numbered alike.

The axes grow from the people's values and from values that the releases' labels cover, under the
schema's hierarchies. Everything is read once; each attack then gets the releases and the columns
that it can use. A quasi-identifier that a release does not publish says nothing there: its cells
are everything. One that the people's table lacks is one that the adversary does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.adversary.common_axes import (
    LabelReading,
    build_common_axes,
    build_value_axis,
    read_known_cells,
)
from shoal.adversary.targets import (
    PeopleTable,
    count_rows_per_person,
    find_rows_of_people,
    number_people_of_rows,
    read_people_table,
)
from shoal.core.axis import Axis
from shoal.core.cells import Cells, all_leaves, ranges_to_sets
from shoal.core.column import MISSING_IS_VALUE
from shoal.core.errors import InputError, UsageError
from shoal.core.missing_marks import is_suppressed_value
from shoal.core.schema import Schema
from shoal.core.theory.adversary_view import Needs, ReleaseView, RowsOnlyError, Targets, View
from shoal.releases.forms._noise.answers import Answers, compute_answer_chances
from shoal.releases.forms.buckets import (
    grow_exact_axes,
    list_columns_compared_as_text,
    number_rows_alike,
)
from shoal.releases.manifest import BUCKET
from shoal.releases.options import Progress, ignore_progress
from shoal.releases.published_table import (
    Method,
    PublishedTable,
    read_published_tables,
    with_shared_columns,
)
from shoal.releases.recount import read_cells
from shoal.releases.row_listing import Listing, code_on_axis, unify_spellings


class NothingSharedError(InputError):
    """The tables share no quasi-identifier."""


@dataclass(frozen=True)
class AttackContext:
    """All that was given: releases with their cells on common axes, targets and a control group."""

    releases: tuple[PublishedTable, ...]
    axes: Mapping[str, Axis]
    cells: tuple[Cells, ...]
    """Each release's, on its own quasi-identifiers in their order."""
    targets: PeopleTable | None = None
    sampled_targets: PeopleTable | None = None
    """The targets that are attacked, where they are a sample."""
    control: PeopleTable | None = None
    show: bool = False
    unmatched: tuple[Mapping[str, tuple[int, int]], ...] = ()
    """Of each release by column: labels, and rows with them, that may be groups of values."""
    by_quasi_only: bool = False
    """Whether people are looked up by the quasi-identifiers alone, whatever else is shared."""
    valued_blanks: frozenset[str] = frozenset()
    """The columns of which the schema says that an empty cell is a value of its own."""
    _rows_of_targets: dict[int, NDArray[np.int64] | None] = field(
        default_factory=dict, compare=False
    )
    """By release: the row of each of the targets' persons, where that is known."""
    _person_of_row: dict[int, NDArray[np.int32] | None] = field(default_factory=dict, compare=False)
    """By release: whose each row is, where somebody has several."""
    _with_roles: dict[tuple[str, ...], AttackContext] = field(default_factory=dict, compare=False)
    """By a role and names: the same context with these columns in that role."""

    def columns(
        self, which: Sequence[int], needs: Needs, requested: Sequence[str] = ()
    ) -> tuple[str | None, ...]:
        """The columns to learn, one after the other: those asked for, else every one that is
        sensitive in all of the releases. None alone: there is nothing to learn, nor need there be.
        """
        releases = [self.releases[i] for i in which]
        names = (
            _check_requested_columns(releases, requested)
            if requested
            else _list_sensitive_columns(releases)
        )
        if not names and needs.sensitive:
            raise InputError(
                "The releases share no sensitive column.", "name columns that mean the same alike."
            )
        if not (requested or needs.reads_answers or needs.sensitive):
            answered = {name for release in releases for name in release.answers}
            names = [name for name in names if name not in answered]
        if not needs.learns:
            return (names[0] if len(names) == 1 else None,)
        return tuple(names) or (None,)

    def view(self, which: Sequence[int], needs: Needs, on: str | None = None) -> View:
        """What an attack with such needs sees of some of the releases.

        It sees the quasi-identifiers. Where more columns are shared, the view knows how to widen
        itself; where these are all that is shared, it is the wider one. ``on`` is the column to
        learn, one of `columns`; without it the only one that there is.
        """
        try:
            view = self._view(which, needs, on)
        except NothingSharedError:
            if not (further := self._list_further_columns(which, needs, on)[0]):
                raise
            return self._with_columns_in_role(further, needs)._view(which, needs, on)
        further, held_by_tester = self._list_further_columns(which, needs, on)

        def widen(names: tuple[str, ...]) -> Callable[[], View]:
            return lambda: self._with_columns_in_role(names, needs)._view(which, needs, on)

        return replace(
            view,
            wider=widen(further) if further else None,
            insider=widen((*further, *held_by_tester)) if held_by_tester else None,
        )

    def _find_learnt_column(self, which: Sequence[int], needs: Needs, on: str | None) -> str | None:
        return _single_column(self.columns(which, needs, () if on is None else (on,)), needs)

    def _with_columns_in_role(self, names: tuple[str, ...], needs: Needs) -> AttackContext:
        """The same context, where these columns are looked up too, or rows joined on them."""
        role = "quasi" if self.get_attacked(needs) is not None else "keep"
        if (role, *names) not in self._with_roles:
            releases = tuple(release.with_role(role, names) for release in self.releases)
            people_tables = self.targets, self.control
            context = _build_on_axes(releases, *people_tables, people_tables, self.show)
            self._with_roles[role, *names] = replace(
                context,
                sampled_targets=self.sampled_targets,
                valued_blanks=self.valued_blanks,
                _rows_of_targets=self._rows_of_targets,
                _person_of_row=self._person_of_row,
            )
        return self._with_roles[role, *names]

    def _list_further_columns(
        self, which: Sequence[int], needs: Needs, on: str | None
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Columns beside the quasi-identifiers that are shared, and those that a tester holds.

        Of the sensitive columns the one to learn is never among them. A people's table that holds
        it was made to score attacks by, and its other sensitive columns may be there for the same
        reason; in one that lacks it, they can only be what the adversary knows.
        """
        releases, people = [self.releases[i] for i in which], self.get_attacked(needs)
        if self.by_quasi_only or needs.method or any(release.buckets for release in releases):
            return (), ()
        undeclared = dict.fromkeys(name for release in releases for name in release.shared_columns)
        if people is None:
            everywhere = [
                name
                for name in undeclared
                if all(name in release.shared_columns for release in releases)
            ]
            return tuple(everywhere), ()
        answered = {name for release in releases for name in release.answers}
        kept_columns = dict.fromkeys(c.name for release in releases for c in release.schema.keep)
        sensitive = dict.fromkeys(c.name for release in releases for c in release.schema.sensitive)
        learnt = self._find_learnt_column(which, needs, on)
        known = set(people.listings) - {learnt, *answered}
        known_plain = tuple(name for name in (*kept_columns, *undeclared) if name in known)
        known_sensitive = tuple(
            name for name in sensitive if name in known and name not in kept_columns
        )
        is_tested = learnt is None or learnt in people.listings
        return (
            (known_plain, known_sensitive) if is_tested else ((*known_plain, *known_sensitive), ())
        )

    def _view(self, which: Sequence[int], needs: Needs, on: str | None) -> View:
        releases = [self.releases[i] for i in which]
        people_table = self.get_attacked(needs)
        _refuse_buckets(releases, needs, people_table)
        _refuse_centroids(releases, needs)
        _refuse_answers(releases, needs, on)
        exact = grow_exact_axes(releases[0]) if needs.method else {}
        context = self._with_axes(exact)
        names = [*exact, *_list_known_columns(releases, people_table)]
        answered = {name for release in releases for name in release.answers}
        learnt = self._find_learnt_column(which, needs, on)
        sensitive, values = (None, None) if learnt is None else _code_column(releases, learnt)
        joined = releases if len(releases) > 1 else []  # of one release there is nothing to join
        shared = [
            name
            for name in releases[0].unchanged_columns
            if joined and all(name in r.unchanged_columns for r in joined)
        ]
        shared = [name for name in shared if name not in answered]  # nobody has the same answer
        columns = [_code_column(releases, name)[1] for name in shared]
        judged = _code_judged_columns(releases[0]) if needs.method and sensitive is not None else []
        provided = releases[0].row_providers if needs.provider else None
        published = [
            replace(
                context._view_release(i, names, people_table),
                values=None if values is None else values[j],
                response=_find_response(releases[j], sensitive),
                spent_epsilon=_sum_epsilon(releases[j]),
                judged=np.stack([codes for _, codes in judged]) if judged else None,
                providers=None if provided is None else provided.codes,
                shared=np.stack([codes[j] for codes in columns]) if columns else None,
            )
            for j, i in enumerate(which)
        ]
        axes = tuple(context.axes[name] for name in names)
        _refuse_rows_as_people(
            published, people_table, needs, any(release.buckets for release in releases)
        )
        people = None if people_table is None else self._code_targets(people_table, axes, sensitive)
        if people is not None and people_table is not None and needs.name_option:
            people = replace(people, names=people_table.name_texts)
        if people is not None and people_table is not None and judged:
            people = replace(
                people, judged=_code_true_values(people_table, [axis for axis, _ in judged])
            )
        return View(
            axes=axes,
            releases=tuple(published),
            sensitive=sensitive,
            shared=tuple(shared),
            people=people and replace(people, present=self._find_present(which, people_table)),
            method=_find_method(releases[0], exact) if len(releases) == 1 else None,
            judged=tuple(axis for axis, _ in judged),
            show=self.show,
            max_coalition=releases[0].max_coalition,
            has_other_sensitive=len({c.name for r in releases for c in r.schema.sensitive}) > 1,
            providers=None if provided is None else provided.axis,
        )

    def _with_axes(self, axes: Mapping[str, Axis]) -> AttackContext:
        return replace(self, axes={**self.axes, **axes}) if axes else self

    def get_attacked(self, needs: Needs) -> PeopleTable | None:
        """The people whom an attack with such needs looks up.

        Who knows how a release was made reasons about all of its people: no sample will do. Nor
        where people are spoken of by name: any of them may be.
        """
        if needs.name_option:
            return self.targets
        if not needs.people:
            return None
        return (
            self.targets if self.sampled_targets is None or needs.method else self.sampled_targets
        )

    def sampled(self, size: int | None, seed: int) -> AttackContext:
        """The same, to attack so many of the targets, drawn by the seed."""
        if size is None:
            return self
        if self.targets is None:
            raise UsageError("There are no targets to sample.", "add --targets FILE.")
        if size >= len(self.targets):
            return self
        return replace(self, sampled_targets=self.targets.sample(size, seed))

    def view_control_group(self, view: View) -> View:
        """The same view of the releases, looking for the control group instead."""
        assert self.control is not None
        releases = tuple(replace(release, true_class=None) for release in view.releases)
        people = self._code_targets(self.control, view.axes, view.sensitive)
        return replace(view, releases=releases, people=people)

    def describe_unmatched(self, name: str) -> str:
        """Who lacks the values that a column's unmatched labels are."""
        people_tables = (self.targets, self.control)
        is_known = any(people is not None and name in people.listings for people in people_tables)
        return "none of the people has" if is_known else "no other release has"

    def _view_release(
        self, i: int, names: Sequence[str], people: PeopleTable | None
    ) -> ReleaseView:
        """One release by the labels of some columns; without its other columns."""
        release = self.releases[i]
        own = [name for name in names if name in release.quasi]
        class_, first = release.classes(own)
        whole, _ = release.classes(release.quasi)
        cells = self._arrange_cells(release, self.cells[i].take(whole[first]), names)
        person = self._number_people(i)
        rows = (
            None if people is None or person is not None else self._find_rows_of_people(i, people)
        )
        true_class = None if rows is None else np.where(rows < 0, -1, class_[rows]).astype(np.int32)
        persons = None if people is None else people.persons
        rows_held = (
            None
            if persons is None or person is None
            else count_rows_per_person(release, person, persons)
        )

        def labels(number: int) -> dict[str, Any]:
            listings = (release.listings[name] for name in own)
            words = (listing.values[listing.codes[first[number]]] for listing in listings)
            return dict(zip(own, words, strict=True))

        return ReleaseView(
            release.name,
            cells,
            class_,
            true_class=true_class,
            labels=labels,
            centroids=release.centroids,
            person=person,
            rows_held=rows_held,
        )

    def _number_people(self, i: int) -> NDArray[np.int32] | None:
        if i not in self._person_of_row:
            self._person_of_row[i] = number_people_of_rows(self.releases[i])
        return self._person_of_row[i]

    def _find_present(
        self, which: Sequence[int], people: PeopleTable | None
    ) -> NDArray[np.bool_] | None:
        """Whether each person is in every release, as far as the private companions tell."""
        if people is None:
            return None
        rows = [self._find_rows_of_people(i, people) for i in which]
        known = [own_rows >= 0 for own_rows in rows if own_rows is not None]
        return np.logical_and.reduce(known) if known else None

    def _find_rows_of_people(self, i: int, people: PeopleTable) -> NDArray[np.int64] | None:
        """The row of a release that is each person's own, where its companion is at hand."""
        if people.persons is None:
            return None
        if i not in self._rows_of_targets:  # a sample has the persons of all, and codes of its own
            self._rows_of_targets[i] = find_rows_of_people(self.releases[i], people.persons.values)
        rows = self._rows_of_targets[i]
        return None if rows is None else rows[people.persons.codes]

    def _arrange_cells(self, release: PublishedTable, cells: Cells, names: Sequence[str]) -> Cells:
        ends = np.zeros((2, len(cells), len(names)), np.int32)
        sets = {}
        for j, name in enumerate(names):
            axis = self.axes[name]
            ends[1, :, j] = axis.size - 1
            if name in release.quasi:
                at = release.quasi.index(name)
                ends[0, :, j], ends[1, :, j] = cells.low[:, at], cells.high[:, at]
                if at in cells.sets:
                    sets[j] = cells.sets[at]
            elif axis.shape == "flat":
                sets[j] = np.tile(all_leaves(axis), (len(cells), 1))
        return Cells(ends[0], ends[1], sets)

    def _code_targets(
        self, people: PeopleTable, axes: Sequence[Axis], sensitive: Axis | None
    ) -> Targets:
        keys, cells = _code_people(people, axes, self.valued_blanks)
        truth = None
        if sensitive is not None and sensitive.name in people.listings:
            known = _name_as_answers(self.releases, sensitive.name, people.listings[sensitive.name])
            truth = code_on_axis(known, sensitive)
        return Targets(keys, people.rows, truth, cells=cells, person=people.person)


def _code_people(
    people: PeopleTable, axes: Sequence[Axis], valued_blanks: Collection[str]
) -> tuple[NDArray[np.int32], Cells | None]:
    listings = [people.listings[axis.name] for axis in axes]
    known_cells = [
        read_known_cells(
            listing.values,
            axis,
            register=people.is_register and axis.name != BUCKET,
            blank_is_value=axis.name in valued_blanks,
        )
        for listing, axis in zip(listings, axes, strict=True)
    ]

    def of_people(columns: Iterable[NDArray[np.int32]]) -> list[NDArray[np.int32]]:
        return [codes[listing.codes] for codes, listing in zip(columns, listings, strict=True)]

    keys = np.stack(of_people(cells.code for cells in known_cells))
    if all(cells.is_certain for cells in known_cells):
        return keys, None
    low, high = (
        np.stack(of_people(ends), axis=1)
        for ends in ([cells.low for cells in known_cells], [cells.high for cells in known_cells])
    )
    sets = {
        j: known_cells[j].sets()[listings[j].codes]
        for j, axis in enumerate(axes)
        if axis.shape == "flat"
    }
    return keys, Cells(low, high, sets)


def _code_judged_columns(release: PublishedTable) -> list[tuple[Axis, NDArray[np.int32]]]:
    numbered = [_code_column([release], name) for name in release.columns_in_rule]
    return [(axis, codes[0]) for axis, codes in numbered]


def _code_true_values(people: PeopleTable, axes: Sequence[Axis]) -> NDArray[np.int32] | None:
    if any(axis.name not in people.listings for axis in axes):
        return None
    return np.stack([code_on_axis(people.listings[axis.name], axis) for axis in axes])


def _find_method(release: PublishedTable, exact: Mapping[str, Axis]) -> Method | None:
    """How the release was made. The number of a bucket, the last axis beside exact ones, is not
    one of the columns that the method saw.
    """
    method, columns = release.method, len(exact)
    if method is None or not exact:
        return method
    return lambda tally: method(
        replace(tally, quasi=tally.quasi[:columns], keys=tally.keys[:columns])
    )


def _refuse_rows_as_people(
    releases: Sequence[ReleaseView], people_table: PeopleTable | None, needs: Needs, buckets: bool
) -> None:
    """An attack that takes a row for a person says nothing where people have several.

    In buckets nobody knows whose the values are.
    """
    if needs.counts_people and not needs.name_option and not buckets:
        return
    for release in releases:
        if release.person is not None:
            rows, people = len(release.class_), release.persons
            raise RowsOnlyError(
                f"this attack takes a row for a person, and the {rows:,} rows of {release.name} "
                f"are about {people:,} people"
            )
    if people_table is not None and people_table.person is not None:
        raise RowsOnlyError(
            f"this attack takes a row for a person, and the {len(people_table.rows):,} rows of the "
            f"people's table are about {len(people_table):,} people"
        )


def build_context(
    releases: Sequence[Any],
    schema: Schema | Sequence[Schema] | None = None,
    targets: Any = None,
    control: Any = None,
    show: bool = False,
    progress: Progress = ignore_progress,
    reading: Mapping[str, Any] | None = None,
    names: str | None = None,
    publisher: bool = False,
) -> AttackContext:
    """Read everything that was given, and put it on common axes.

    ``publisher``: the people are the publisher's own table, looked up by the quasi-identifiers
    that its requirement is about.
    """
    tables = read_published_tables(releases, schema, progress)
    kinds = {c.name: c.kind for release in tables for c in release.lookup_columns if c.kind}
    progress("reading people", 0, 1)
    people = (
        None
        if targets is None
        else read_people_table(targets, tables, kinds, reading, names, not publisher)
    )
    kinds |= {} if people is None else people.readable
    control_group = (
        None
        if control is None
        else read_people_table(control, tables, kinds, reading, register=not publisher)
    )
    if people is not None and control_group is not None:
        _check_same_columns(
            people, control_group, [c.name for release in tables for c in release.lookup_columns]
        )
    people_tables = [
        people_table for people_table in (people, control_group) if people_table is not None
    ]
    tables = with_shared_columns(tables, () if people is None else people.listings)
    people, control_group = (
        table and place_in_buckets(table, tables) for table in (people, control_group)
    )
    progress("reading labels", 0, 1)
    context = _build_on_axes(tables, people, control_group, people_tables, show)
    valued_blanks = {
        c.name for release in tables for c in release.roles.columns if c.missing == MISSING_IS_VALUE
    }
    return replace(context, by_quasi_only=publisher, valued_blanks=frozenset(valued_blanks))


def _build_on_axes(
    releases: tuple[PublishedTable, ...],
    people: PeopleTable | None,
    control: PeopleTable | None,
    people_tables: Iterable[PeopleTable | None],
    show: bool,
) -> AttackContext:
    readings = build_common_axes(
        releases, [people_table for people_table in people_tables if people_table is not None]
    )
    axes: dict[str, Axis] = {}
    for name, axis in (pair for reading in readings for pair in reading.axes.items()):
        if name not in axes or axis.shape == "flat":  # sets can hold what ranges do
            axes[name] = axis
    cells = tuple(
        _read_release_cells(release, reading, axes)
        for release, reading in zip(releases, readings, strict=True)
    )
    unmatched = tuple(reading.unmatched for reading in readings)
    return AttackContext(
        releases, axes, cells, people, control=control, show=show, unmatched=unmatched
    )


def _check_same_columns(people: PeopleTable, control: PeopleTable, names: Sequence[str]) -> None:
    known = [name for name in dict.fromkeys(names) if name in people.listings]
    if missing := [name for name in known if name not in control.listings]:
        raise InputError(
            f"The control group lacks columns that the targets have: {', '.join(missing)}.",
            "give both the same columns.",
        )


def _read_release_cells(
    release: PublishedTable, reading: LabelReading, axes: Mapping[str, Axis]
) -> Cells:
    """The release's cells, in sets where that is the axes' form.

    A label that cannot be read is an error, whoever wrote it.
    """
    wanted = [reading.axes[name] for name in release.quasi]
    foreign = release.manifest is None
    try:
        cells = read_cells(release.count, wanted, suppressed=foreign, spellings=reading.spellings)
    except InputError as error:
        raise InputError(f"{release.name}: {error.fact}", error.hint) from None
    low, high, sets = cells.low.copy(), cells.high.copy(), dict(cells.sets)
    for j, name in enumerate(release.quasi):
        if axes[name].shape == "flat" and j not in sets:
            sets[j] = ranges_to_sets(axes[name], low[:, j], high[:, j])
            low[:, j], high[:, j] = 0, axes[name].size - 1
    return Cells(low, high, sets)


def _refuse_buckets(
    releases: Sequence[PublishedTable], needs: Needs, people: PeopleTable | None
) -> None:
    """Which of a bucket's rows is whose value is not published, so that rows cannot be compared."""
    release = next((release for release in releases if release.buckets), None)
    if release is None:
        return
    known = {} if people is None else people.listings
    if len(releases) > 1 or (needs.method and BUCKET not in known):
        raise InputError(
            f"{release.name} is published in buckets, which cannot be compared with other tables.",
            "attack it alone.",
        )
    if needs.people and not needs.method:
        raise InputError(
            f"{release.name} publishes the quasi-identifiers as they are: everybody in it can be "
            "found.",
            "ask what is learnt from a bucket: homogeneity, skewness, minimality, background.",
        )
    if needs.provider:
        raise InputError(
            f"{release.name} is published in buckets: which value came from whom is not known.",
            "ask what is learnt from a bucket: homogeneity, skewness, minimality, background.",
        )
    unknown = [column.name for column in release.exact_quasi if column.name not in known]
    if needs.method and unknown:
        raise InputError(
            f"The people's table lacks columns that the buckets of {release.name} were made by: "
            f"{', '.join(unknown)}.",
            "give the people with all quasi-identifiers of the release.",
        )
    if needs.method and not release.exact_quasi:
        raise InputError(
            f"{release.name} does not say which columns its buckets were made by.",
            "take its manifest as it was published.",
        )


def _refuse_centroids(releases: Sequence[PublishedTable], needs: Needs) -> None:
    """A centroid can only be looked for as the nearest: it holds nobody, and meets no cell."""
    release = next((release for release in releases if release.centroids), None)
    compared = needs.releases > 1 and not needs.people
    if release is not None and (compared or needs.method or needs.name_option):
        raise InputError(
            f"{release.name} publishes centroids, which are no cells that hold people or meet "
            "others.",
            "ask who is nearest (linking, intersection), or what a class gives away (homogeneity, "
            "skewness).",
        )


def _shares_a_column(release: PublishedTable, releases: Sequence[PublishedTable]) -> bool:
    """Whether a release has a quasi-identifier that another of them has too, if there are others.

    Of three releases none need be in all: a column that one lacks says nothing there.
    """
    others = [other for other in releases if other is not release]
    return bool(release.quasi) and (
        not others or any(name in other.quasi for other in others for name in release.quasi)
    )


def _list_known_columns(
    releases: Sequence[PublishedTable], people: PeopleTable | None
) -> list[str]:
    names = list(dict.fromkeys(name for release in releases for name in release.quasi))
    if not all(_shares_a_column(release, releases) for release in releases):
        raise NothingSharedError(
            "The releases have no quasi-identifier in common.",
            "name columns that mean the same alike.",
        )
    known = [name for name in names if people is None or name in people.listings]
    if people is not None:
        for name in (name for name in names if name not in known):
            _refuse_misspelt(name, people.kinds)
    if not known:
        raise NothingSharedError(
            "The targets have none of the releases' quasi-identifiers.",
            f"name their columns as the releases do: {', '.join(names)}.",
        )
    return known


def _refuse_misspelt(name: str, names: Iterable[str]) -> None:
    """A column that is there under nearly the same name would be left out without need."""
    for other in names:
        if _letters_of(other) == _letters_of(name):
            raise InputError(
                f"The releases have a column {name!r}, and the people's table has {other!r}.",
                "name columns that mean the same alike.",
            )


def _letters_of(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()


def _single_column(columns: Sequence[str | None], needs: Needs) -> str | None:
    """The one column; where there are several and one is needed, a caller names it."""
    if len(columns) == 1:
        return columns[0]
    if needs.sensitive:
        raise UsageError("Several columns are sensitive.", "look at them one after the other.")
    return None


def _check_requested_columns(releases: Sequence[PublishedTable], names: Sequence[str]) -> list[str]:
    for name in names:
        for release in releases:
            if name not in release.unchanged_columns:
                raise InputError(
                    f"{release.name} has no column {name!r} to learn.", "name another."
                )
    return list(dict.fromkeys(names))


def _list_sensitive_columns(releases: Sequence[PublishedTable]) -> list[str]:
    stated = [[column.name for column in release.schema.sensitive] for release in releases]
    return [name for name in stated[0] if all(name in names for names in stated)]


def _code_column(
    releases: Sequence[PublishedTable], name: str
) -> tuple[Axis, list[NDArray[np.int32]]]:
    for release in releases:
        _refuse_suppressed(release, name)
    kind, listings = unify_spellings(_list_as_answers(releases, name))
    column = next(release.schema.column(name) for release in releases)
    axis = build_value_axis(
        column, kind, [value for listing in listings for value in listing.values]
    )
    return axis, [listing.on(axis) for listing in listings]


def _refuse_suppressed(release: PublishedTable, name: str) -> None:
    """A suppressed value may be any; to take it for one of its own would make others certain."""
    if release.manifest is not None:
        return
    listing = release.listings[name]
    hidden = np.array([is_suppressed_value(word or "") for word in listing.words()], np.bool_)
    if rows := int(hidden[listing.codes].sum()):
        raise InputError(
            f"{release.name}: Column {name!r} is suppressed in {rows:,} rows, and may hold any "
            "value there.",
            "leave these rows out, or the column.",
        )


def place_in_buckets(people: PeopleTable, releases: Sequence[PublishedTable]) -> PeopleTable:
    """The people with the bucket of the rows that have their cells, where that is one bucket.

    Whoever fits rows in several buckets, or none, has no number: the bucket is not known. Buckets
    of several releases are numbered apart, so that no column could have the numbers of all.
    """
    in_buckets = [release for release in releases if release.buckets]
    if len(in_buckets) != 1 or BUCKET in people.listings:
        return people
    release = in_buckets[0]
    names = [c.name for c in release.schema.keep if c.name in people.listings]
    if not names:
        raise InputError(
            f"The people have none of the columns that {release.name} publishes as they are.",
            f"name their columns as the release does, or add the column {BUCKET!r}.",
        )
    words = list_columns_compared_as_text(release.schema)
    rows, person_number = number_rows_alike(release.listings, people.listings, names, words)
    bucket = release.listings[BUCKET]
    size = 1 + int(max(rows.max(), person_number.max(initial=0)))
    first_bucket, last_bucket = np.full(size, len(bucket.values)), np.full(size, -1)
    np.minimum.at(first_bucket, rows, bucket.codes)
    np.maximum.at(last_bucket, rows, bucket.codes)
    bucket_of_person = np.where(first_bucket == last_bucket, first_bucket, len(bucket.values))[
        person_number
    ]
    values = tuple(float(value) for value in bucket.values)
    listing = Listing((*values, None), bucket_of_person)
    kinds = {**people.kinds, BUCKET: "number"}
    return replace(people, listings={**people.listings, BUCKET: listing}, kinds=kinds)


# Randomised releases: answers of one person in two releases are two draws, so that no row is joined
# by them, and what a class shows is nobody's value for sure.


def _refuse_answers(releases: Sequence[PublishedTable], needs: Needs, on: str | None) -> None:
    release = next((release for release in releases if release.answers), None)
    if release is None or needs.reads_answers or not (needs.sensitive or on in release.answers):
        return
    if needs.method:
        raise InputError(
            f"{release.name} is a partition that never looked at sensitive values: how it was made "
            "says nothing about them.",
            "ask what its answers say: homogeneity, or with another release intersection.",
        )
    if needs.provider:
        raise InputError(
            f"{release.name} has answers in place of values: its providers cannot find their own "
            "rows by them.",
            "ask what its answers say: homogeneity, or with another release intersection.",
        )
    raise InputError(
        f"{release.name} has answers in place of values: what a class shows is nobody's for sure.",
        "ask how far they are to be believed: homogeneity, or with another release intersection.",
    )


def _list_as_answers(releases: Sequence[PublishedTable], name: str) -> list[Listing]:
    """A column of several releases: answers with all that may be, values as answers name them."""
    question = _find_question(releases, name)
    return [
        release.answers[name].with_unanswered(release.listings[name])
        if name in release.answers
        else release.listings[name]
        if question is None
        else question.as_answers(release.listings[name])
        for release in releases
    ]


def _name_as_answers(releases: Sequence[PublishedTable], name: str, listing: Listing) -> Listing:
    question = _find_question(releases, name)
    return listing if question is None else question.as_answers(listing)


def _find_question(releases: Sequence[PublishedTable], name: str) -> Answers | None:
    """How a column was asked for, which must be alike where values are put into intervals."""
    questions = [release.answers[name] for release in releases if name in release.answers]
    if any(question.bins.starts != questions[0].bins.starts for question in questions):
        raise InputError(
            f"The releases have answers of {name!r} in different intervals.",
            "attack releases that were made with the same bounds.",
        )
    return questions[0] if questions else None


def _find_response(release: PublishedTable, axis: Axis | None) -> NDArray[np.float64] | None:
    """P(answer | true) on an axis of values; None where values are as they are."""
    question = None if axis is None else release.answers.get(axis.name)
    if axis is None or question is None:
        return None
    labels = tuple(label or None for label in question.bins.labels)
    codes = code_on_axis(Listing(labels, np.arange(len(labels), dtype=np.int32)), axis)
    return compute_answer_chances(question, codes, axis.size)


def _sum_epsilon(release: PublishedTable) -> float | None:
    """What a person's answers spend in all columns of a release; None where there are none."""
    epsilons = [float(answers.epsilon) for answers in release.answers.values()]
    return sum(epsilons) if epsilons else None
