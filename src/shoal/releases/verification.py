"""The verdict on a written file: it is read again, recounted and judged.

Nothing that the maker said is trusted: `shoal.releases.recount` counts the classes of the file by
its labels, and the models of the rule judge those (`judge_frame`). A release folder says what its
columns are and what it promises; that the file is the one which was published, and that manifest
and private companion agree with it, is checked besides (`recount_and_judge`). The verb
`shoal.verify` asks for that, and publishing does before a release is moved into place.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.core.column import PUBLISHED_ROLES, Column
from shoal.core.errors import InputError, NotEvaluatedError, NotMetError, ShoalError, UsageError
from shoal.core.model import Model, list_joint_columns
from shoal.core.release import MANIFEST_NAME, Verdict, VerdictBasis
from shoal.core.schema import Schema
from shoal.core.tally import Groups, Population
from shoal.engines.protocol import Frame
from shoal.models import rule as parse_rule
from shoal.releases.companion import check_companion, locate_companion
from shoal.releases.folder import COMPANION
from shoal.releases.forms._noise.answers import (
    add_answer_judgement,
    check_answer_rule,
    check_answers_description,
    with_answer_columns,
)
from shoal.releases.forms._noise.verification import verify_noisy
from shoal.releases.forms.buckets import check_bucket_rule
from shoal.releases.forms.centroids import check_centroid_rule
from shoal.releases.judgement import (
    can_judge_in_parts,
    combine_verdicts,
    find_unjudged_columns,
    judge_classes,
)
from shoal.releases.label_examples import find_examples
from shoal.releases.manifest import (
    choose_bucket_schema,
    hash_files,
    publishes_answers,
    publishes_buckets,
    publishes_centroids,
    refuse_noisy,
)
from shoal.releases.options import FORMS, NO_INDIVIDUAL_ROWS, NOISY, PARTITION, RANDOMISED
from shoal.releases.people import (
    PERMUTED_VALUES,
    UNKNOWN,
    RowPersons,
    check_population,
    find_person_column,
    find_release_persons,
    read_row_persons_or_reason,
)
from shoal.releases.providers import (
    RowProviders,
    missing_providers_error,
    needs_providers,
    read_row_providers,
)
from shoal.releases.reader import (
    find_release_unchecked,
    open_frame,
    open_labels,
    parse_released_schema,
)
from shoal.releases.recount import (
    Recount,
    count_people_sharing,
    recount,
    recount_in_parts,
    with_population,
)
from shoal.releases.successors.after import list_earlier, treat_published_as_quasi
from shoal.releases.successors.counterfeits import (
    Counterfeits,
    judge_with_counterfeits,
    read_counterfeits,
)
from shoal.releases.tallying import encode

_NOISE_KEYS = ("answers", "privacy", "releasable")
"""What the manifests of releases that noise makes say, and no others."""


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """What a table is judged by; `shoal.verify` says what each of these means."""

    schema: Schema | None = None
    rule: Model | str | None = None
    population: Any = None
    accept_keep: bool = False
    with_persons: bool = False
    show: bool = False
    after: Any = ()
    reading: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RowFacts:
    """What is known of the rows of a published table, and does not stand in its file."""

    own: bool
    """Whether Shoal wrote the labels."""
    providers: RowProviders | None = None
    """Who provided the rows, where the rule asks for that."""
    counterfeits: Counterfeits | None = None
    """How many rows of each class are counterfeits. Everybody can take them off, so that all but
    m-invariance is judged without them."""
    persons: RowPersons | None = None
    """Whom the rows are about, where that is known."""
    person_column: str | None = None
    """What a population may call the person column, where the schema names none."""
    are_permuted: bool = False
    """Whether a value may belong to anybody of its class: then nobody can say whose it is."""


def recount_and_judge(source: Any, options: VerifyOptions) -> Verdict:
    """Recount a release folder, a ``Release`` or any table, and judge it by a rule.

    The answers of a randomised release may come from a seed here: this tells what the file holds,
    whoever may know the seed.
    """
    release = find_release_unchecked(source)
    if release is None:
        return _judge_table(source, options)
    if release[1].get("form") in NO_INDIVIDUAL_ROWS:
        return _judge_noise(source, *release, options)
    return _judge_release(source, *release, options)


def _judge_table(source: Any, options: VerifyOptions) -> Verdict:
    if options.schema is None or options.rule is None:
        raise _missing_options_error(source, options.schema, options.rule)
    rule = _parse_rule(options.rule)
    schema = treat_published_as_quasi(options.schema, rule, options.after)
    with open_labels(source, schema, exact=False, as_told=False, **options.reading) as frame:
        schema = schema.expand([field.name for field in frame.fields])
        _refuse_private(frame, schema, options.with_persons)
        persons, reason = read_row_persons_or_reason(frame, schema)
        facts = RowFacts(own=False, persons=persons)
        verdict = judge_frame(
            frame,
            schema,
            rule,
            facts,
            population=options.population,
            accept_keep=options.accept_keep,
            show=options.show,
        )
    sensitive = [column.name for column in schema.sensitive]
    unjudged = tuple(find_unjudged_columns(rule, sensitive))
    return replace(verdict, people_not_evaluated=reason, unjudged=unjudged)


def _judge_release(
    source: Any, table: Path, manifest: dict[str, Any], options: VerifyOptions
) -> Verdict:
    check_manifest_form(manifest)
    in_buckets, own_schema = publishes_buckets(manifest), parse_released_schema(manifest)
    schema = with_answer_columns(options.schema, manifest)
    schema = choose_bucket_schema(schema, own_schema) if in_buckets else schema or own_schema
    stated_rule = options.rule or manifest.get("rule")
    if stated_rule is None:
        raise _missing_options_error(source, schema, stated_rule)
    rule = _parse_rule(stated_rule)
    _check_fits_form(manifest, rule, options.after)
    schema = treat_published_as_quasi(schema, rule, options.after)
    facts, reason = _read_row_facts(source, table, manifest, rule)
    with open_labels(table, schema, exact=True, as_told=False, **options.reading) as frame:
        schema = schema.expand([field.name for field in frame.fields])
        _refuse_private(frame, schema, options.with_persons)
        verdict = judge_frame(
            frame,
            schema,
            rule,
            facts,
            population=options.population,
            accept_keep=options.accept_keep or bool(manifest.get("keep_accepted")) or in_buckets,
            show=options.show,
        )
        verdict = replace(verdict, people_not_evaluated=reason)
        verdict = add_answer_judgement(verdict, frame, manifest)
    is_answered = manifest.get("form") == RANDOMISED
    sensitive = [] if is_answered else [column.name for column in schema.sensitive]
    verdict = replace(verdict, unjudged=tuple(find_unjudged_columns(rule, sensitive)))
    if verdict.holds:
        same = schema.quasi == own_schema.quasi
        _check_untouched(table, manifest, verdict.rows, verdict.classes if same else None)
        check_companion(source, table, manifest)
        check_answers_description(manifest)
    return _note_change(verdict, source, table, manifest)


def _parse_rule(rule: Model | str) -> Model:
    return parse_rule(rule) if isinstance(rule, str) else rule


def _read_row_facts(
    source: Any, table: Path, manifest: dict[str, Any], rule: Model
) -> tuple[RowFacts, str]:
    """What the private companion tells of the rows, and why people are not known by it."""
    counterfeits = read_counterfeits(table, manifest)
    providers = None
    if needs_providers(rule):
        _check_files(table, manifest)  # before a companion is said to be another table's
        providers = read_row_providers(source, table, rule)
    persons, reason = find_release_persons(source, table, manifest)
    facts = RowFacts(
        own=True,
        providers=providers,
        counterfeits=counterfeits,
        persons=persons,
        person_column=find_person_column(source, table),
        are_permuted=publishes_buckets(manifest),
    )
    return facts, reason


def _note_change(verdict: Verdict, source: Any, table: Path, manifest: dict[str, Any]) -> Verdict:
    """The verdict on a release's files, which says so where they are not those published.

    The private companion of what was published tells nothing of the rows of another file.
    """
    try:
        _check_files(table, manifest)
    except InputError as error:
        reason = verdict.people_not_evaluated
        is_there = (locate_companion(source, table) / COMPANION).is_file()
        if reason == UNKNOWN and is_there:
            reason = "the private companion is that of the table as it was published"
        return replace(verdict, changed=error.fact.removesuffix("."), people_not_evaluated=reason)
    return verdict


def check_manifest_form(manifest: Mapping[str, Any]) -> None:
    """Refuse a form that there is not, or not with noise: what its rows mean is not known then."""
    form = manifest.get("form", PARTITION)
    if form not in FORMS:
        raise InputError(
            "The manifest calls the release's form a word that this program does not know.",
            f"the forms are: {', '.join(FORMS)}; update Shoal, or publish the release again.",
        )
    if form not in NOISY and any(name in manifest for name in _NOISE_KEYS):
        raise InputError(
            "The manifest tells of noise, and calls the release's form one that has none.",
            "take the manifest as it was published, or publish the release again.",
        )


def _judge_noise(
    source: Any, table: Path, manifest: dict[str, Any], options: VerifyOptions
) -> Verdict:
    """The verdict on a release that noise made; whatever is asked of it besides is refused."""
    if any((options.schema, options.rule, options.population, options.after)):
        refuse_noisy(manifest, "keeps no rule, and is judged by its noise alone")
    verdict = verify_noisy(table, manifest)
    check_companion(source, table, manifest)
    return verdict


def _missing_options_error(
    source: Any, schema: Schema | None, rule: Model | str | None
) -> ShoalError:
    place = Path(source) if isinstance(source, str | Path) else None
    if place is not None and place.is_dir():
        tables = sorted(path.name for path in place.glob("table.*")) or ["TABLE"]
        table = shlex.quote(str(place / tables[0]))
        return InputError(
            f"{place.name!r} is a folder, but not a release: it has no {MANIFEST_NAME}.",
            "say what the columns are, then name the table and the rule:\n"
            f"  shoal schema {table} -o schema.toml\n"
            f'  shoal verify {table} -s schema.toml -m "k-anonymity k=5"',
        )
    lacking = [
        *(["the roles of its columns (-s schema.toml, or --quasi COLUMN)"] * (schema is None)),
        *(['the rule (-m "k-anonymity k=5")'] * (rule is None)),
    ]
    writing = " shoal schema TABLE -o schema.toml writes the roles." if schema is None else ""
    return UsageError(
        "A table that is not a release folder does not say what it promises.",
        f"add {' and '.join(lacking)}.{writing}",
    )


def _check_fits_form(manifest: dict[str, Any], rule: Model, after: Any) -> None:
    if publishes_buckets(manifest):
        sensitive = parse_released_schema(manifest).sensitive
        check_bucket_rule(rule, [column.name for column in sensitive])
        if list_earlier(after):
            raise UsageError(
                "Buckets cannot be judged after other releases.",
                "leave --after out; what linking the two gives is not looked at.",
            )
    if publishes_centroids(manifest):
        check_centroid_rule(rule)
    if publishes_answers(manifest):
        check_answer_rule(rule)
        if list_earlier(after):
            raise UsageError(
                "Answers cannot be judged after other releases: they are nobody's values, and join "
                "no rows.",
                "leave --after out; what releases spend together is for a ledger to tell.",
            )


def _check_untouched(table: Path, manifest: dict[str, Any], rows: int, classes: int | None) -> None:
    """The files are byte for byte those that the manifest was written for, and as it says.

    ``classes``: None where they were counted over other columns than the manifest's.
    """
    roles = {column.name: column.role for column in parse_released_schema(manifest).columns}
    stated = manifest.get("rows"), manifest.get("classes"), manifest["columns"]
    counted = rows, stated[1] if classes is None else classes, roles
    _check_files(table, manifest, as_counted=stated == counted)


def _check_files(table: Path, manifest: dict[str, Any], *, as_counted: bool = True) -> None:
    """The files have the hashes that the manifest says, and it says what was counted."""
    second = table.with_name(manifest["values"]) if "values" in manifest else None
    whole = all(manifest.get(name) == value for name, value in hash_files(table, second).items())
    if not whole or not as_counted:
        names = table.name if second is None else f"{table.name} or {second.name}"
        raise InputError(
            f"{names} was changed after it was published, or its manifest was.",
            "publish it again; to judge the file as it stands, verify it by its own name."
            if second is None
            else "publish it again, or take both tables and the manifest as they were published.",
        )


def judge_frame(
    frame: Frame,
    schema: Schema,
    rule: Model,
    facts: RowFacts,
    *,
    population: Any = None,
    accept_keep: bool = False,
    show: bool = False,
) -> Verdict:
    """The verdict on a frame of labels: its classes, recounted, by every model of the rule."""
    persons = facts.persons
    repeated = persons if persons is not None and persons.repeat else None
    if repeated is not None:
        _refuse_several(facts)
    if needs_providers(rule) and facts.providers is None:
        raise missing_providers_error(rule)
    if "cells" in rule.needs and "population" not in rule.needs:
        raise UsageError(
            "The rule judges cells by their codes, and a published file has labels only.",
            "use a rule that judges rows and values, or a dry run.",
        )
    is_private = facts.providers is not None or (facts.own and repeated is not None)
    how: VerdictBasis = "counted with the private companion" if is_private else "counted"
    if can_judge_in_parts(rule) and facts.counterfeits is None and repeated is None:
        counts: Iterable[Recount] = recount_in_parts(frame, schema)
    else:
        counts = [recount(frame, schema, facts.providers, repeated)]
    verdicts = []
    for labelled in counts:
        count = labelled
        if "population" in rule.needs:
            count = add_population(labelled, schema, population, facts.own, facts.person_column)
        groups = Groups.of(count.tally, count.cut, list_joint_columns(rule))
        labels = labelled.labels if show else None
        if facts.counterfeits is None:
            verdicts.append(judge_classes(rule, groups, how, labels))
        else:
            fake = facts.counterfeits
            real = fake.people(count, fake.per_class(labelled))
            verdicts.append(judge_with_counterfeits(rule, groups, real, fake.rows, how, labels))
    smallest = None
    if schema.keep:
        smallest = int(count_people_sharing(frame, schema, labelled, repeated)[0].min())
        if not accept_keep:
            raise keep_columns_error(schema.keep, smallest)
    verdict = combine_verdicts(rule, verdicts, smallest)
    return verdict if persons is None else replace(verdict, people=persons.number)


def _refuse_several(facts: RowFacts) -> None:
    """Refuse people with several rows where nobody can say whose values are whose."""
    if facts.are_permuted:
        raise NotEvaluatedError(f"The rule is not evaluated: {PERMUTED_VALUES}.")
    if facts.counterfeits is not None:
        raise NotEvaluatedError(
            "The rule is not evaluated: people have several rows, and there are counterfeits."
        )


def _refuse_private(frame: Frame, schema: Schema, with_persons: bool) -> None:
    """A table that still holds names, people or providers is no release, whatever its classes."""
    shown = PUBLISHED_ROLES | {"person"} if with_persons else PUBLISHED_ROLES
    roles = {column.name: column.role for column in schema.columns}
    named = [f.name for f in frame.fields if roles.get(f.name, "quasi") not in shown]
    if named:
        by = " To count people by the person column of a copy that stays here, --with-persons."
        raise NotMetError(
            f"The table holds columns that are never published: {', '.join(named)}.",
            "drop them; a table that is not for publishing is measured by shoal audit."
            + (by if any(roles[name] == "person" for name in named) else ""),
        )


def keep_columns_error(columns: Sequence[Column], smallest: int | None = None) -> NotMetError:
    """The error for kept columns: published as they are, so no rule judges what they add."""
    names = ", ".join(column.name for column in columns)
    with_them = "" if smallest is None else f" With them the smallest class has {smallest:,} rows."
    return NotMetError(
        f"Columns are kept as they are, which no rule judges: {names}.{with_them}",
        "make them quasi-identifiers, drop them, or accept it with --accept-keep.",
    )


def add_population(
    count: Recount, schema: Schema, population: Any, own: bool, person: str | None = None
) -> Recount:
    """The recount with the people of a population table that its cells cover.

    ``person``: the column by which the population may say who is who, unless the schema says so.
    """
    if population is None:
        raise UsageError(
            "The rule compares with a population and none is given.", "add --population FILE."
        )
    kinds = {column.name: column.kind for column in schema.quasi if column.kind}
    with open_frame(population, kinds=kinds) as people:
        check_population(people, schema, person)
        fields = [field for field in people.fields if field.name in schema.names]
        quasi = replace(schema, columns=schema.quasi).fit(
            [field for field in fields if schema.column(field.name).role == "quasi"]
        )
        tally = encode(people, quasi, more_values=find_examples(count, quasi, own=own)).tally
    return with_population(count, Population(tally.keys, tally.count), tally.quasi)
