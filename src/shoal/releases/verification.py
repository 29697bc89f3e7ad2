"""Verify: read the published file again and recount it; nothing the maker said is trusted."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.core.column import PUBLISHED_ROLES, Column
from shoal.core.errors import InputError, NotEvaluatedError, NotMetError, ShoalError, UsageError
from shoal.core.model import Model, list_joint_columns, unwrap_rule
from shoal.core.release import MANIFEST_NAME, Verdict, VerdictBasis
from shoal.core.schema import Schema
from shoal.core.tally import Groups, Population
from shoal.engines.protocol import Frame
from shoal.models import rule as parse_rule
from shoal.releases.companion import check_companion, find_release, locate_companion
from shoal.releases.folder import COMPANION
from shoal.releases.forms._noise.answers import add_answer_judgement, with_answer_columns
from shoal.releases.forms._noise.answers import check_answer_rule as check_answers_rule
from shoal.releases.forms._noise.answers_manifest import check_answers_description
from shoal.releases.forms._noise.refusal import refuse_noisy
from shoal.releases.forms._noise.verification import check_releasable, verify_noisy
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
)
from shoal.releases.options import FORMS, NO_INDIVIDUAL_ROWS, NOISY, PARTITION, RANDOMISED
from shoal.releases.people import (
    PERMUTED_VALUES,
    UNKNOWN,
    check_population,
    find_person_column,
    find_release_persons,
    read_row_persons_or_reason,
)
from shoal.releases.providers import missing_providers_error, needs_providers, read_row_providers
from shoal.releases.reader import (
    find_release_unchecked,
    open_frame,
    open_labels,
    parse_released_schema,
)
from shoal.releases.recount import (
    Recount,
    RowPersons,
    RowProviders,
    count_people_sharing,
    recount,
    recount_in_parts,
    with_population,
)
from shoal.releases.successors.counterfeits import (
    Counterfeits,
    judge_with_counterfeits,
    read_counterfeits,
)
from shoal.releases.tallying import encode

_OF_NOISE = ("answers", "privacy", "releasable")
"""What the manifests of releases that noise makes say, and no others."""


def verify(
    source: Any,
    schema: Schema | None = None,
    rule: Model | str | None = None,
    *,
    population: Any = None,
    accept_keep: bool = False,
    with_persons: bool = False,
    show: bool = False,
    after: Any = (),
    **reading: Any,
) -> Verdict:
    """Recount a release folder, a ``Release`` or any table, and judge it by a rule.

    A release folder says what its columns are and what it promises; for another table both must
    be given. ``show`` names the worst classes by their labels. A table with kept columns is
    refused unless ``accept_keep``, because no rule judges what they add; one that holds columns
    which are never published (identifiers, people, providers) always is. ``after`` are releases
    of the same people that are public already: columns that they have are quasi-identifiers here,
    since the two can be linked by them; what linking them gives is not looked at. A file that
    meets the rule and is not the one that was published is an error. A rule about providers
    (m-privacy) is judged with the release's private companion, which alone tells who provided each
    row. A release whose noise or answers come from a seed is refused. ``reading`` says how the file
    is written, as in ``shoal.open``.

    Where people have several rows, classes are counted by distinct persons: of a release by its
    private companion, without which people are not evaluated; of another table by its person
    column, ``with_persons``: the copy at hand has one, and what is published does not.
    """
    found = recount_and_judge(
        source,
        schema,
        rule,
        population=population,
        accept_keep=accept_keep,
        with_persons=with_persons,
        show=show,
        after=after,
        **reading,
    )
    release = find_release_unchecked(source)
    if release is not None and publishes_answers(release[1]):
        check_releasable(release[1])
    return found


def recount_and_judge(
    source: Any,
    schema: Schema | None = None,
    rule: Model | str | None = None,
    *,
    population: Any = None,
    accept_keep: bool = False,
    with_persons: bool = False,
    show: bool = False,
    after: Any = (),
    **reading: Any,
) -> Verdict:
    """The same of answers that may be a test's: what the file holds, whoever may know the seed."""
    given, release = source, find_release_unchecked(source)
    if release is not None and release[1].get("form") in NO_INDIVIDUAL_ROWS:
        return _noise(given, release, schema, rule, population, after)
    buckets = release is not None and publishes_buckets(release[1])
    if release is not None:
        source, manifest = release
        check_manifest_form(manifest)
        own_schema = parse_released_schema(manifest)
        schema = with_answer_columns(schema, manifest)
        schema = choose_bucket_schema(schema, own_schema) if buckets else schema or own_schema
        rule = rule or manifest.get("rule")
        accept_keep = accept_keep or bool(manifest.get("keep_accepted")) or buckets
    if schema is None or rule is None:
        raise _unstated(given, schema, rule)
    model = parse_rule(rule) if isinstance(rule, str) else rule
    if release is not None:
        _check_asked(release[1], model, after)
    schema, own = treat_published_as_quasi(schema, model, after), release is not None
    nobody = None if release is None else read_counterfeits(*release)
    who = None
    if release is not None and needs_providers(model):
        _check_files(*release)  # before a companion is said to be another table's
        who = read_row_providers(given, source, model)
    people, unknown = (None, "") if release is None else find_release_persons(given, *release)
    person = None if release is None else find_person_column(given, source)
    with open_labels(source, schema, exact=own, as_told=False, **reading) as frame:
        schema = schema.expand([field.name for field in frame.fields])
        _refuse_private(frame, schema, with_persons)
        if release is None:
            people, unknown = read_row_persons_or_reason(frame, schema)
        found = judge_frame(
            frame,
            schema,
            model,
            population,
            accept_keep,
            show,
            own=own,
            who=who,
            nobody=nobody,
            people=people,
            permuted=buckets,
            person=person,
        )
        found = replace(found, people_not_evaluated=unknown)
        if release is not None:
            found = add_answer_judgement(found, frame, release[1])
    is_answered = release is not None and release[1].get("form") == RANDOMISED
    sensitive = [] if is_answered else [column.name for column in schema.sensitive]
    found = replace(found, unjudged=tuple(find_unjudged_columns(model, sensitive)))
    if release is not None and found.holds:
        same = schema.quasi == parse_released_schema(release[1]).quasi
        _check_untouched(*release, found.rows, found.classes if same else None)
        check_companion(given, *release)
        check_answers_description(release[1])
    return found if release is None else _with_change(found, given, *release)


def _with_change(found: Verdict, given: Any, table: Path, manifest: dict[str, Any]) -> Verdict:
    """The verdict on a release's files, which says so where they are not those published.

    The private companion of what was published tells nothing of the rows of another file.
    """
    try:
        _check_files(table, manifest)
    except InputError as error:
        why = found.people_not_evaluated
        is_there = (locate_companion(given, table) / COMPANION).is_file()
        if why == UNKNOWN and is_there:
            why = "the private companion is that of the table as it was published"
        return replace(found, changed=error.fact.removesuffix("."), people_not_evaluated=why)
    return found


def check_manifest_form(manifest: Mapping[str, Any]) -> None:
    """Refuse a form that there is not, or not with noise: what its rows mean is not known then."""
    form = manifest.get("form", PARTITION)
    if form not in FORMS:
        raise InputError(
            "The manifest calls the release's form a word that this program does not know.",
            f"the forms are: {', '.join(FORMS)}; update Shoal, or publish the release again.",
        )
    if form not in NOISY and any(name in manifest for name in _OF_NOISE):
        raise InputError(
            "The manifest tells of noise, and calls the release's form one that has none.",
            "take the manifest as it was published, or publish the release again.",
        )


def _noise(given: Any, release: tuple[Path, dict[str, Any]], *asked: Any) -> Verdict:
    """The verdict on a release that noise made; whatever is asked of it beside is refused."""
    if any(asked):
        refuse_noisy(release[1], "keeps no rule, and is judged by its noise alone")
    found = verify_noisy(*release)
    check_companion(given, *release)
    return found


def _unstated(source: Any, schema: Schema | None, rule: Model | str | None) -> ShoalError:
    place = Path(source) if isinstance(source, str | Path) else None
    if place is not None and place.is_dir():
        tables = sorted(one.name for one in place.glob("table.*")) or ["TABLE"]
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


def _check_asked(manifest: dict[str, Any], rule: Model, after: Any) -> None:
    """Refuse what cannot be asked of a release of this form."""
    if publishes_buckets(manifest):
        _check_buckets(rule, parse_released_schema(manifest), after)
    if publishes_centroids(manifest):
        check_centroid_rule(rule)
    if publishes_answers(manifest):
        _check_answered(rule, after)


def _check_buckets(rule: Model, schema: Schema, after: Any) -> None:
    """Refuse what cannot be asked of buckets, whose rows pair people with anybody's values."""
    check_bucket_rule(rule, [column.name for column in schema.sensitive])
    if list_earlier(after):
        raise UsageError(
            "Buckets cannot be judged after other releases.",
            "leave --after out; what linking the two gives is not looked at.",
        )


def _check_answered(rule: Model, after: Any) -> None:
    """Refuse what cannot be asked of answers, which are nobody's values."""
    check_answers_rule(rule)
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
    told = manifest.get("rows"), manifest.get("classes"), manifest["columns"]
    found = rows, told[1] if classes is None else classes, roles
    _check_files(table, manifest, as_told=told == found)


def _check_files(table: Path, manifest: dict[str, Any], *, as_told: bool = True) -> None:
    """The files have the hashes that the manifest says, and it says what was found."""
    second = table.with_name(manifest["values"]) if "values" in manifest else None
    whole = all(manifest.get(name) == value for name, value in hash_files(table, second).items())
    if not whole or not as_told:
        names = table.name if second is None else f"{table.name} or {second.name}"
        raise InputError(
            f"{names} was changed after it was published, or its manifest was.",
            "publish it again; to judge the file as it stands, verify it by its own name."
            if second is None
            else "publish it again, or take both tables and the manifest as they were published.",
        )


def treat_published_as_quasi(schema: Schema, rule: Model, after: Any) -> Schema:
    """The schema for a release that follows others: what they have is a quasi-identifier too.

    A sensitive or kept column that an earlier release published as it is joins the rows of both
    (Sweeney 2002, section 4.2), so nobody may stand out with it either. It does not see what the
    rows of both say together where they can be joined all the same.
    """
    before = {name for source in list_earlier(after) for name in _published(source, schema)}
    _refuse_renamed(schema, before)
    linking = [c.name for c in (*schema.sensitive, *schema.keep) if c.name in before]
    for part in unwrap_rule(rule):
        on = getattr(part, "on", None)
        judged = on.split("*") if on else [column.name for column in schema.sensitive]
        taken = [name for name in judged if name in linking]
        if "sensitive" in part.needs and taken:
            raise UsageError(
                f"{part} judges columns that an earlier release published, which are "
                f"quasi-identifiers now: {', '.join(taken)}.",
                "leave that requirement out, or base the release on the earlier one instead "
                "(--based-on).",
            )
    columns = (replace(c, role="quasi") if c.name in linking else c for c in schema.columns)
    return replace(schema, columns=tuple(columns))


def _refuse_renamed(schema: Schema, before: set[str]) -> None:
    """A column that an earlier release has under nearly its name would not be noticed as that."""
    others = {_bare(name) for name in before.difference(schema.names)}
    published = [c.name for c in (*schema.sensitive, *schema.keep) if c.name not in before]
    alike = [name for name in published if _bare(name) in others]
    if alike:
        raise UsageError(
            "An earlier release has columns of nearly the same name, so that it is not clear what "
            f"is public already: {', '.join(alike)}.",
            "give them the names that they have there; or others, if they are something else.",
        )


def _bare(name: str) -> str:
    """A column's name without capitals, spaces and underscores."""
    return re.sub(r"[\s_]+", "", name.casefold())


def list_earlier(after: Any) -> list[Any]:
    """Earlier releases as they may be given: a list of them, one alone, or none."""
    return list(after) if isinstance(after, list | tuple) else [] if after is None else [after]


def _published(source: Any, schema: Schema) -> Sequence[str]:
    """The columns of an earlier release; one that shares none with the schema is the wrong one."""
    release = find_release(source)
    if release is not None:
        refuse_noisy(release[1], "has no rows that another release could be linked with")
        names = tuple(release[1]["columns"])
    else:
        with open_frame(source) as frame:
            names = tuple(field.name for field in frame.fields)
    if not set(names) & set(schema.names):
        raise InputError(
            "An earlier release has no column of this one.", "give releases of the same table."
        )
    return names


def judge_frame(
    frame: Frame,
    schema: Schema,
    rule: Model,
    population: Any = None,
    accept_keep: bool = False,
    show: bool = False,
    *,
    own: bool,
    who: RowProviders | None = None,
    nobody: Counterfeits | None = None,
    people: RowPersons | None = None,
    permuted: bool = False,
    person: str | None = None,
) -> Verdict:
    """The verdict on a frame of labels; ``own``: Shoal wrote them.

    ``who`` provided the rows, where the rule asks that. ``nobody``: how many rows of each class are
    counterfeits; everybody can take them off, so that all but m-invariance is judged without them.
    ``people``: whom the rows are about, where that is known; not beside values that are
    ``permuted``. ``person``: what the column is called that a population may say it by, where the
    schema does not.
    """
    several = people if people is not None and people.repeat else None
    if several is not None:
        _refuse_several(nobody, permuted)
    if needs_providers(rule) and who is None:
        raise missing_providers_error(rule)
    if "cells" in rule.needs and "population" not in rule.needs:
        raise UsageError(
            "The rule judges cells by their codes, and a published file has labels only.",
            "use a rule that judges rows and values, or a dry run.",
        )
    apart, found = can_judge_in_parts(rule) and nobody is None and several is None, []
    private = who is not None or (own and several is not None)
    how: VerdictBasis = "counted with the private companion" if private else "counted"
    for plain in (
        recount_in_parts(frame, schema) if apart else [recount(frame, schema, who, several)]
    ):
        count = plain
        if "population" in rule.needs:
            count = add_population(plain, schema, population, own, person)
        groups = Groups.of(count.tally, count.cut, list_joint_columns(rule))
        labels = plain.labels if show else None
        if nobody is None:
            found.append(judge_classes(rule, groups, how, labels))
        else:
            real = nobody.people(count, nobody.per_class(plain))
            found.append(judge_with_counterfeits(rule, groups, real, nobody.rows, how, labels))
    kept = None
    if schema.keep:
        kept = int(count_people_sharing(frame, schema, plain, several)[0].min())
        if not accept_keep:
            raise kept_columns_error(schema.keep, kept)
    whole = combine_verdicts(rule, found, kept)
    return whole if people is None else replace(whole, people=people.number)


def _refuse_several(nobody: Counterfeits | None, permuted: bool) -> None:
    """Refuse people with several rows where nobody can say whose values are whose."""
    if permuted:
        raise NotEvaluatedError(f"The rule is not evaluated: {PERMUTED_VALUES}.")
    if nobody is not None:
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


def kept_columns_error(columns: Sequence[Column], kept: int | None = None) -> NotMetError:
    """The error for kept columns: published as they are, so no rule judges what they add."""
    names = ", ".join(column.name for column in columns)
    found = "" if kept is None else f" With them the smallest class has {kept:,} rows."
    return NotMetError(
        f"Columns are kept as they are, which no rule judges: {names}.{found}",
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
        tally = encode(people, quasi, also=find_examples(count, quasi, own=own)).tally
    return with_population(count, Population(tally.keys, tally.count), tally.quasi)
