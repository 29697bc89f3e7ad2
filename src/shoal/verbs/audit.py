"""Audit: measure any table, whoever made it, as it stands."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.errors import NotEvaluatedError, UndecidedError, UsageError
from shoal.core.labels import format_people, restore_cell
from shoal.core.release import EDITION, format_reached, to_json_object, to_json_value
from shoal.core.schema import Schema
from shoal.core.tally import SUPPRESSED, Cut, Groups, Tally
from shoal.dp.randomised_response import compute_response_spend
from shoal.engines.protocol import Frame
from shoal.measures import discernibility, loss, marginals, non_uniform_entropy, suppressed
from shoal.measures.risk.assessment import Assessment, ClassMembership, assess
from shoal.models import registry
from shoal.releases.companion import find_release
from shoal.releases.forms._noise.answers import (
    Answers,
    hide_sensitive_columns,
    read_answers,
    with_answer_columns,
)
from shoal.releases.forms.centroids import check_centroid_comparison
from shoal.releases.manifest import choose_bucket_schema, publishes_buckets, refuse_noisy
from shoal.releases.people import (
    PERMUTED_VALUES,
    RowPersons,
    find_person_column,
    find_release_persons,
    read_row_persons_or_reason,
    select_published_rows,
)
from shoal.releases.reader import open_frame, open_labels, parse_released_schema
from shoal.releases.recount import Recount, count_people_sharing, leaf_value, read_cells, recount
from shoal.releases.tallying import encode
from shoal.releases.verification import add_population


@dataclass(frozen=True)
class MeasuredModel:
    """The strongest parameter of one model that every class meets."""

    model: str
    value: float
    on: str | None = None
    parameters: tuple[tuple[str, Any], ...] = ()
    """What else the figure depends on: the distance of t-closeness, the l of recursive."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        named = {"on": self.on} if self.on else {}
        whole = math.isfinite(self.value) and self.value == int(self.value)
        value = int(self.value) if whole else self.value
        return to_json_object(
            {"model": self.model, **named, **dict(self.parameters), "value": value}
        )


@dataclass(frozen=True)
class NotEvaluated:
    """A model that nobody can judge on this table, and why."""

    model: str
    on: str | None
    parameters: tuple[tuple[str, Any], ...]
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        named = {"on": self.on} if self.on else {}
        return to_json_object(
            {"model": self.model, **named, **dict(self.parameters), "reason": self.reason}
        )


@dataclass(frozen=True)
class Audit:
    """Everything measured about one table."""

    rows: int
    classes: int
    measured: tuple[MeasuredModel, ...]
    risk: Assessment
    utility: dict[str, Any]
    kept_columns_k: int | None = None
    """The smallest class over quasi-identifiers and kept columns together, where there are any."""
    missing: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """By sensitive column how many rows have a value that nobody knows: judged as the worst."""
    people: int | None = None
    """How many people the rows are about, where something says so; classes are counted by them."""
    not_evaluated: tuple[NotEvaluated, ...] = ()
    """What could not be judged, because people have several rows."""
    people_not_evaluated: str = ""
    """Why people could not be counted, where the table had a column that identifies them."""

    def reached(self, model: str, on: str | None = None, **parameters: Any) -> float:
        """What the table reaches for a model.

        Parameters
        ----------
        model
            The model's name, such as ``"k-anonymity"``.
        on
            The sensitive column, where several were measured.
        **parameters
            Further parameters that the figure depends on, such as ``l`` of recursive diversity.

        Raises
        ------
        NotEvaluatedError
            The model could not be evaluated on this table.
        UsageError
            The model was not measured.
        """
        for each in self.measured:
            same = all(dict(each.parameters).get(k) == v for k, v in parameters.items())
            if each.model == model and on in (None, each.on) and same:
                return each.value
        for not_evaluated in self.not_evaluated:
            if not_evaluated.model == model and on in (None, not_evaluated.on):
                raise NotEvaluatedError(f"{model} was not evaluated: {not_evaluated.reason}")
        measured_models = sorted({measured.model for measured in self.measured})
        raise UsageError(
            f"{model!r} was not measured.", f"measured are: {', '.join(measured_models)}."
        )

    def to_json(self) -> dict[str, Any]:
        """The audit as JSON; edition 1."""
        k = self.kept_columns_k
        kept_columns = {} if k is None else {"kept_columns_k": k}
        unknown = self.people_not_evaluated
        return {
            "edition": EDITION,
            "rows": self.rows,
            "people": self.people,
            **({"people_not_evaluated": unknown} if unknown else {}),
            "classes": self.classes,
            "reached": [measured.to_json() for measured in self.measured],
            "not_evaluated": [model.to_json() for model in self.not_evaluated],
            "risk": to_json_value(self.risk.to_dict() | kept_columns),
            "utility": to_json_value(self.utility),
            **({"missing": dict(self.missing)} if self.missing else {}),
        }

    def __str__(self) -> str:
        one_row_each = self.people is None or self.people == self.rows
        of_people = "" if one_row_each else f" of {format_people(self.people or 0)}"
        lines = [f"{self.rows:,} rows{of_people} in {self.classes:,} classes"]
        if self.people_not_evaluated:
            lines.append(f"  people: not evaluated, {self.people_not_evaluated}")
        lines += [
            _format_line(_format_model(measured), measured.value) for measured in self.measured
        ]
        lines += [f"  {_format_model(model):<52} not evaluated" for model in self.not_evaluated]
        reasons = dict.fromkeys(model.reason for model in self.not_evaluated)
        lines += [f"  not evaluated: {reason}" for reason in reasons]
        lines += [_format_line(f"rows without {name}", rows) for name, rows in self.missing.items()]
        lines += self._risks()
        if self.kept_columns_k is not None:
            lines.append(
                _format_line("k over quasi-identifiers and kept columns", self.kept_columns_k)
            )
        numbers = {k: v for k, v in self.utility.items() if isinstance(v, (int, float))}
        lines += [_format_line(name.replace("_", " "), value) for name, value in numbers.items()]
        distances = self.utility.get("marginals", {}).get("columns", {})
        lines += [_format_line(f"distance of {name}", value) for name, value in distances.items()]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _risks(self) -> list[str]:
        risk = self.risk
        risks = {
            "risk of the person most at risk (prosecutor)": risk.prosecutor,
            "risk of the person most at risk (journalist)": risk.journalist,
            "mean risk (marketer)": risk.marketer,
            "people unique in the table": risk.uniques,
        }
        for name, estimate in risk.population_uniques.items():
            risks[f"share unique in the population ({name})"] = estimate.share
        return [_format_line(name, value) for name, value in risks.items() if not math.isnan(value)]


def _format_model(measured: MeasuredModel | NotEvaluated) -> str:
    extra = "".join(f" {k}={v}" for k, v in measured.parameters)
    return measured.model + extra + (f" on {measured.on}" if measured.on else "")


def _format_line(name: str, value: float) -> str:
    return f"  {name:<52} {format_reached(value)}"


def audit(
    source: Any,
    schema: Schema | None = None,
    *,
    original: Any = None,
    population: Any = None,
    sampling_fraction: float | None = None,
    **reading: Any,
) -> Audit:
    """Measure a table: every model, the risk of re-identification, and utility.

    Where a person column or a release's private companion says who is who, people are counted, not
    rows; models of distributions are then evaluated only on columns of which nobody has two values.

    Parameters
    ----------
    source
        A release's folder, a ``Release``, or a table: a file, a data frame, an open ``Frame``.
    schema
        The columns' roles. A release folder states them itself; another table needs one.
    original
        The table before, to measure loss and the distance of marginals.
    population
        A table of everybody, for the journalist's risk; compared by the quasi-identifiers and the
        kept columns that it has.
    sampling_fraction
        The share of the population that is in the table, for population uniqueness; a column of
        survey weights says it too.
    **reading
        How the file is written, as in ``shoal.open``.

    Returns
    -------
    Audit
        The strongest parameter of each model that the table reaches, risks, and utility.

    Raises
    ------
    UsageError
        A table comes without a schema, or the release's form has nothing of what is asked for.
    InputError
        A table cannot be read, or lacks columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import shoal
    >>> table = pa.table({"age": ["20-29", "20-29", "30-39"], "illness": ["flu", "cold", "flu"]})
    >>> measured = shoal.audit(table, shoal.Schema.of(quasi=["age"], sensitive=["illness"]))
    >>> measured.classes, measured.reached("k-anonymity")
    (2, 1.0)
    """
    source_and_release, release = source, find_release(source)
    buckets = release is not None and publishes_buckets(release[1])
    if release is not None:
        refuse_noisy(release[1], "has no classes to measure")
        stated = parse_released_schema(release[1])
        source = release[0]
        schema = with_answer_columns(schema, release[1])
        schema = choose_bucket_schema(schema, stated) if buckets else schema or stated
    if schema is None:
        raise UsageError("An audit needs the columns' roles.", "add -s schema.toml or --quasi COL.")
    is_release, answers = release is not None, {} if release is None else read_answers(release[1])
    if buckets:
        _refuse_in_buckets(original, population)
    if release is not None:
        check_centroid_comparison(release[1], original, population)
        original = select_published_rows(source_and_release, original)
    people, people_unknown = (
        (None, "") if release is None else find_release_persons(source_and_release, *release)
    )
    person = None if release is None else find_person_column(source_and_release, source)
    with open_labels(source, schema, exact=is_release, **reading) as frame:
        schema = schema.expand([field.name for field in frame.fields])
        if release is None:
            people, people_unknown = read_row_persons_or_reason(frame, schema)
        count = recount(frame, schema, people=people)
        sizes, members = count_people_sharing(frame, schema, count, people)
        if sampling_fraction is None:
            sampling_fraction = _estimate_sampling_fraction(frame, schema, count.tally.rows)
        groups, population_classes, population_members = _count_classes(
            frame, schema, count, population, is_release, people, person
        )
    measured, not_evaluated = _measure_models(groups, buckets, bool(answers))
    return Audit(
        int(groups.row_counts.sum()),
        len(groups),
        (*measured, *_measure_spends(answers)),
        assess(
            sizes,
            population_classes.population,
            sampling_fraction,
            population_rows=population_classes.rows,
            members=members,
            population_members=population_members,
            table_rows=count.tally.rows,
        ),
        _measure_utility(
            count, groups, hide_sensitive_columns(schema) if answers else schema, original
        ),
        int(sizes.min()) if schema.keep else None,
        {h.axis.name: blanks for h in groups.sensitive if (blanks := int(h.blanks.sum()))},
        None if people is None else people.number,
        not_evaluated,
        people_unknown,
    )


def _refuse_in_buckets(original: Any, population: Any) -> None:
    """Exact columns have lost nothing, and whoever is in them is found by everybody."""
    if original is not None:
        raise UsageError(
            "A release in buckets is not compared with its original: exact columns are as they "
            "were, and values lie with others of their bucket.",
            "leave --original out.",
        )
    if population is not None:
        raise UsageError(
            "Buckets have the quasi-identifiers as they were, so a population hides nobody in "
            "them.",
            "leave --population out.",
        )


def _count_classes(
    frame: Frame,
    schema: Schema,
    count: Recount,
    population: Any,
    is_release: bool,
    people: RowPersons | None,
    person: str | None,
) -> tuple[Groups, Groups, ClassMembership | None]:
    """The classes that models judge, and those that whoever has the population sees with whom."""
    if population is None:
        groups = Groups.of(count.tally, count.cut)
        return groups, groups, count.members
    covered = add_population(count, schema, population, is_release, person)
    population_schema = _treat_kept_as_quasi(schema, population)
    groups = Groups.of(covered.tally, covered.cut)
    if population_schema == schema:
        return groups, groups, count.members
    with_known_columns = add_population(
        recount(frame, population_schema, people=people),
        population_schema,
        population,
        is_release,
        person,
    )
    return (
        groups,
        Groups.of(with_known_columns.tally, with_known_columns.cut),
        with_known_columns.members,
    )


def _treat_kept_as_quasi(schema: Schema, population: Any) -> Schema:
    """The schema as whoever has a population knows people: by the kept columns too that it has."""
    if not schema.keep:
        return schema
    with open_frame(population) as people:
        there = {field.name for field in people.fields}
    columns = (
        dataclasses.replace(c, role="quasi") if c.role == "keep" and c.name in there else c
        for c in schema.columns
    )
    return dataclasses.replace(schema, columns=tuple(columns))


def _estimate_sampling_fraction(frame: Frame, schema: Schema, rows: int) -> float | None:
    """The share of the population in the table: a survey weight says how many a row stands for."""
    weight = schema.weight
    if weight is None or weight.name not in {field.name for field in frame.fields}:
        return None
    distinct = frame.values([weight.name])[weight.name]
    people = float(np.dot(np.array(distinct.values, np.float64), distinct.counts))
    return min(1.0, rows / people) if people > 0 else None


def _measure_spends(answers: Mapping[str, Answers]) -> Iterable[MeasuredModel]:
    for name, answers_of_column in answers.items():
        spend = compute_response_spend(answers_of_column.bins.size, answers_of_column.keep)
        yield MeasuredModel("differential-privacy", float(spend.epsilon), name)


def _measure_models(
    groups: Groups, buckets: bool, has_answers: bool
) -> tuple[tuple[MeasuredModel, ...], tuple[NotEvaluated, ...]]:
    """Each model of the room on each sensitive column it can be asked about, and what cannot.

    Where quasi-identifiers are published as they are, in ``buckets``, none that hides identity.
    Where a release ``has_answers``, none that judges values: answers are nobody's values.
    """
    measured, not_evaluated = [], []
    for name, model in registry().items():
        takes_column = any(field.name == "on" for field in dataclasses.fields(model))
        axes: list[Axis | None] = [h.axis for h in groups.sensitive] if takes_column else [None]
        for axis in axes:
            on = axis.name if axis else None
            for variant, probe in model.probes(axis):
                lacks_population = "population" in probe.needs and groups.population is None
                judges_answers = has_answers and "sensitive" in probe.needs
                if lacks_population or judges_answers or (buckets and probe.identity):
                    continue
                parameters = tuple(variant.items())
                try:
                    if buckets and groups.written_rows is not None:
                        raise NotEvaluatedError(PERMUTED_VALUES)
                    value = float(probe.reached(groups))
                    measured.append(MeasuredModel(name, value, on, parameters))
                except (NotEvaluatedError, UndecidedError) as error:
                    not_evaluated.append(NotEvaluated(name, on, parameters, error.fact))
    return tuple(measured), tuple(not_evaluated)


def _measure_utility(
    count: Recount, groups: Groups, schema: Schema, original: Any
) -> dict[str, Any]:
    rows, classes = int(groups.row_counts.sum()), len(groups)
    utility: dict[str, Any] = {
        "average_class_size": rows / classes,
        "discernibility": discernibility.raw(count.tally, count.cut),
    }
    if original is None:
        return utility
    compared = dataclasses.replace(schema, columns=(*schema.quasi, *schema.sensitive))
    with open_frame(original, kinds=compared.kinds) as frame:
        fields = [field for field in frame.fields if field.name in compared.names]
        tally = encode(frame, compared.fit(fields)).tally
    both, cut = tally_with_published(tally, count)
    loss_share = loss.loss(both, cut)
    pooled = transport_cut(tally, cut)
    return utility | {
        "loss": loss_share,
        "granularity": 1 - loss_share,
        "discernibility": discernibility.raw(both, cut),
        "non_uniform_entropy": non_uniform_entropy.non_uniform_entropy(tally, pooled),
        "rows_suppressed": suppressed.raw(both, cut),
        "marginals": marginals.raw(both, cut).to_dict(),
    }


def tally_with_published(original: Tally, count: Recount) -> tuple[Tally, Cut]:
    """The original's tally with the published entries beside it, and a cut of these.

    Nobody knows which published row was which original one, so the published entries count
    nobody in the tally; the cut counts them. Rows missing from the release are suppressed.
    """
    # Where the original has no null, an empty cell was suppressed.
    emptied = not any(axis.null for axis in original.quasi)
    cells = read_cells(count, original.quasi, suppressed=emptied)
    tally = dataclasses.replace(
        original,
        providers=None,
        provider=None,
        keys=np.concatenate((original.keys, cells.low[count.cut.class_].T), axis=1),
        values=np.concatenate((original.values, _recode_values(original, count.tally)), axis=1),
        count=np.concatenate((original.count, np.zeros(count.tally.entries, np.int64))),
    )
    missing = max(0, original.rows - count.tally.rows)
    cut = Cut(
        np.append(count.cut.entry + original.entries, 0).astype(np.int32),
        np.append(count.cut.class_, SUPPRESSED).astype(np.int32),
        np.append(count.cut.count, missing),
        cells,
    )
    return tally, cut


def _recode_values(original: Tally, published: Tally) -> NDArray[np.int32]:
    columns = dict(zip((axis.name for axis in published.sensitive), published.values, strict=True))
    published_axes = {axis.name: axis for axis in published.sensitive}
    codes = np.zeros((len(original.sensitive), published.entries), dtype=np.int32)
    for row, axis in zip(codes, original.sensitive, strict=True):
        published_axis = published_axes[axis.name]
        row[:] = axis.codes(
            [restore_cell(leaf_value(published_axis, code)) for code in range(published_axis.size)]
        )[columns[axis.name]]
    return codes


def transport_cut(original: Tally, cut: Cut) -> Cut:
    """A cut of the original's own entries into as many rows of each class as the cut has.

    Which entry goes where is arbitrary: for measures that add up one term of the entry and one
    of the class, such as entropy, only the totals matter.
    """
    entries, classes = np.cumsum(original.count), np.cumsum(cut.count)
    edges = np.unique(np.concatenate(([0], entries, classes)))
    edges = edges[edges <= min(entries[-1], classes[-1])]
    entry = np.searchsorted(entries, edges[:-1], side="right").astype(np.int32)
    class_ = cut.class_[np.searchsorted(classes, edges[:-1], side="right")]
    return Cut(entry, class_, np.diff(edges), cut.cells)
