"""Publish: from a table to a verified release, whole or not at all.

The steps, each a function below, in their order: check the request, open the table
(``_read_and_publish``), draft the classes (``_draft_and_place``), then write aside, recount the
written file, admit it to the ledger and move it into place (``_write_verify_move``).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace as replace_fields
from functools import partial
from pathlib import Path
from typing import Any

from shoal.core.atomic_file import create_json_file
from shoal.core.column import PUBLISHED_ROLES, Field, describe_marks
from shoal.core.errors import NotMetError, UsageError
from shoal.core.model import Model
from shoal.core.release import MANIFEST_NAME, Release, Verdict
from shoal.core.schema import Schema
from shoal.core.spend import Number
from shoal.engines.protocol import Frame
from shoal.engines.readers.limits import check_labels
from shoal.engines.source import STANDARD_STYLE, TextStyle
from shoal.engines.type_inference.column_records import LeftOut
from shoal.ledger.publish_hook import admit_while_moving, check_recording, open_ledger
from shoal.methods import splits_locally
from shoal.methods._invariance.requirement import find_invariance
from shoal.models import rule as parse_rule
from shoal.releases import folder
from shoal.releases import manifest as record
from shoal.releases.auto_hierarchies import add_automatic_levels, suggest_auto_hierarchies
from shoal.releases.companion import hash_private_rows
from shoal.releases.draft import Draft, DraftInParts, TableDraft
from shoal.releases.forms._noise.answers import add_answer_judgement, hide_sensitive_columns
from shoal.releases.forms._noise.notes import (
    list_cautions,
    note_replaced_release,
    note_rows_beyond_bounds,
)
from shoal.releases.forms._noise.options import (
    AskedMarginals,
    NoisyRequest,
    unwanted_marginals_error,
)
from shoal.releases.forms.buckets import BucketDraft, check_bucket_request, write_buckets
from shoal.releases.forms.centroids import (
    CentroidDraft,
    check_centroid_request,
    check_earlier_not_centroids,
)
from shoal.releases.forms.randomised import BEYOND, RandomisedDraft, check_randomised_request
from shoal.releases.judgement import (
    can_judge_in_parts,
    describe_unjudged_columns,
    find_unjudged_columns,
)
from shoal.releases.options import (
    ABSENT,
    BUCKETS,
    CENTROIDS,
    DEFAULT_METHOD,
    LIKE_INPUT,
    NO_INDIVIDUAL_ROWS,
    PARTITION,
    RANDOMISED,
    OutputPlace,
    Progress,
    Request,
    check_form_name,
    ignore_progress,
    missing_rule_error,
    parse_method_parameters,
    parse_optional_spend,
)
from shoal.releases.people import (
    ask_about_repeats,
    check_one_row_each,
    check_population,
    parse_one_row,
    read_keyed_persons,
)
from shoal.releases.people_sketch import sketch_for_companion
from shoal.releases.providers import (
    check_provider_column,
    check_surveyed_providers,
    needs_providers,
    read_row_providers_in,
)
from shoal.releases.reader import open_frame, open_labels, open_partial_frame
from shoal.releases.recount import PART_ROWS
from shoal.releases.successors.after import list_earlier, treat_published_as_quasi
from shoal.releases.successors.based_on import (
    BasedOnDraft,
    check_against_earlier,
    find_earlier_values,
)
from shoal.releases.successors.counterfeits import (
    describe_counterfeits,
    read_counterfeits,
    select_counterfeit_promise,
)
from shoal.releases.successors.earlier import (
    ClassifiedRows,
    EarlierRelease,
    read_as_before,
    read_classified_rows,
    read_earlier_release,
)
from shoal.releases.successors.like import (
    UNKNOWN,
    LikeDraft,
    check_not_combined,
    read_recoding,
    survey_with_unknown_values,
)
from shoal.releases.successors.m_invariance import (
    InvariantDraft,
    check_invariant,
    check_signatures,
    keeps_signatures,
    read_signatures,
)
from shoal.releases.tallying import Survey, survey
from shoal.releases.verification import RowFacts, judge_frame, keep_columns_error
from shoal.releases.writer import write_rows
from shoal.verbs.publish_noise import publish_noisy
from shoal.verbs.request_check import check_request, check_rule_columns, raise_if_error, try_making


def publish(
    source: Any,
    schema: Schema | None = None,
    rule: Model | str | None = None,
    *,
    method: str | None = None,
    out: str | Path | None = None,
    form: str = PARTITION,
    two_tables: bool = False,
    format: str = "csv",
    csv_style: str = LIKE_INPUT,
    hold_back: float = 0.0,
    held_back_as: str = ABSENT,
    replace: bool = False,
    dry_run: bool = False,
    accept_keep: bool = False,
    companion: str | Path | None = None,
    population: Any = None,
    based_on: Any = None,
    after: Any = (),
    like: Any = None,
    auto_hierarchies: bool = False,
    epsilon: Number | None = None,
    delta: Number = 0,
    marginals: AskedMarginals = None,
    seed: int | None = None,
    ledger: Any = None,
    admission: Mapping[str, Any] | None = None,
    one_row: str | None = None,
    reading: Mapping[str, Any] | None = None,
    progress: Progress = ignore_progress,
    **parameters: Any,
) -> Release:
    """Make a release of ``source`` that meets ``rule``, verify its file, and move it into place.

    Parameters
    ----------
    source
        Anything that ``shoal.open`` takes.
    schema
        The columns' roles; ``like`` a release, its own unless given.
    rule
        What every class must meet. The forms ``"counts"`` and ``"synthetic"`` take none.
    method
        How classes are made; mondrian unless given.
    out
        The release's folder. Without it, or with ``dry_run``, nothing is written and the outcome
        alone is returned.
    form
        ``"partition"``: generalised cells. ``"buckets"``: quasi-identifiers as they are with the
        number of each person's class, and sensitive values permuted within the classes.
        ``"centroids"``: means, medians and most frequent values of classes. By noise:
        ``"randomised"``, sensitive values exchanged in a partition that never looked at them;
        ``"counts"`` of ``marginals``; and ``"synthetic"``, people made up from counts.
    two_tables
        In buckets: whether people and values are written to two files.
    format
        The table's file format, such as ``"csv"`` or ``"parquet"``.
    csv_style
        ``"input"``: CSV with the delimiter, decimal sign and encoding of the table that is read;
        ``"standard"``: a comma, a point and UTF-8.
    hold_back
        The share of rows that may be suppressed.
    held_back_as
        ``"absent"``: suppressed rows are left out; ``"starred"``: they are printed as a class of
        ``*`` that meets the rule as well.
    replace
        Whether a release that is there may be replaced.
    dry_run
        Whether the outcome alone is returned.
    accept_keep
        Whether kept columns, which no rule judges, are accepted.
    companion
        The folder of the private companion; beside ``out`` unless given.
    population
        A table of everybody, for rules that compare with it.
    based_on
        The latest release of the same table: every cell equals or generalises the one that the same
        person had there. By the method invariant everybody's class keeps its values instead
        (m-invariance).
    after
        Releases that are public already: columns that they have become quasi-identifiers. Weaker
        than ``based_on``: what the tables say when they are linked is not looked at.
    like
        A release of other people: its recoding is applied to these, by its schema and rule.
    auto_hierarchies
        Whether numbers, dates and codes without levels get some, where the method needs them.
    epsilon, delta
        The privacy budget of forms by noise: (ε, δ)-differential privacy.
    marginals
        How many columns are counted together, or lists of them.
    seed
        A seed of the noise, for tests: it marks the release as not to be released.
    ledger
        A ``shoal.Ledger``, or where it is: the release is judged together with those recorded
        there, and recorded.
    admission
        Settings of ``shoal.Ledger.admit``.
    one_row
        Which row is published of a person who has several, where a column has the role person:
        ``"latest by COLUMN"``, ``"first by COLUMN"`` or ``"random"``. Without it such people are
        refused.
    reading
        How the table is written, as in ``shoal.open``.
    progress
        Called with a step's name, how much is done, and how much there is.
    **parameters
        The method's own parameters.

    Returns
    -------
    Release
        The manifest, the verdict on the written file, and where everything lies.

    Raises
    ------
    UsageError
        The request has no meaning; all that is wrong is reported together, before a row is read.
    InputError
        The table cannot be read, or people have several rows.
    NotMetError
        The rule cannot be met, the written file does not meet it, or kept columns are not accepted.
    Refused
        Together with releases of the ledger it would expose people.
    OutputError
        The release cannot be written.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import shoal
    >>> people = pa.table({"age": [21, 22, 34, 35], "illness": ["flu", "cold", "flu", "cold"]})
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["illness"])
    >>> shoal.publish(people, schema, "k-anonymity k=2").verdict.holds
    True
    """
    check_form_name(form)
    earlier = list_earlier(after)
    of_rows: dict[str, Any] = {
        "rule": rule,
        "method": method,
        "two_tables": two_tables,
        "hold_back": hold_back,
        "population": population,
        "based_on": based_on,
        "after": earlier,
        "like": like,
        "auto_hierarchies": auto_hierarchies,
        "accept_keep": accept_keep,
        "held_back_as": held_back_as,
        "csv_style": csv_style,
    }
    common: dict[str, Any] = {
        "schema": schema,
        "form": form,
        "epsilon": epsilon,
        "delta": delta,
        "seed": seed,
        "place": OutputPlace.of(out, companion, format, dry_run),
        "replace": replace,
        "ledger": ledger,
        "admission": admission,
        "reading": reading,
        "progress": progress,
    }
    if form in NO_INDIVIDUAL_ROWS:
        common |= {"marginals": marginals, "one_row": parse_one_row(one_row, schema)}
        return publish_noisy(source, NoisyRequest.of({**of_rows, **parameters}, **common))
    if marginals is not None:
        raise unwanted_marginals_error()
    request, error = try_making(
        lambda: _build_request(parameters, **of_rows, **common, one_row=one_row)
    )
    check_request(
        *(_list_checks(request, earlier) if error is None else [partial(raise_if_error, error)]),
        tables=[source],
        files=[population],
        releases=[based_on, like, *earlier],
        schema=schema,
        some_columns=like is not None,
        rules=[rule] if isinstance(rule, str) else [],
        one_column_each=form != RANDOMISED,
        has_population=population is not None,
        method="" if like else method or DEFAULT_METHOD,
        parameters=parameters,
        one_row=one_row,
        ledger=ledger,
        reading=reading,
    )
    with open_ledger(request) as recordable:
        return _read_and_publish(source, recordable, earlier)


def _build_request(
    parameters: dict[str, Any],
    *,
    schema: Schema | None,
    rule: Model | str | None,
    method: str | None,
    form: str,
    based_on: Any,
    after: Sequence[Any],
    like: Any,
    auto_hierarchies: bool,
    epsilon: Number | None,
    delta: Number,
    place: OutputPlace,
    admission: Mapping[str, Any] | None,
    reading: Mapping[str, Any] | None,
    one_row: str | None,
    **as_given: Any,
) -> Request:
    if like is not None:
        combined = {"method": method, "based_on": based_on, "after": after, **parameters}
        check_not_combined(combined, form, auto_hierarchies)
        like = read_recoding(like)
        schema, rule = like.schema(schema), like.rule if rule is None else rule
        method, parameters = like.method, like.parameters
    else:
        method = method or DEFAULT_METHOD
        parameters = parse_method_parameters(method, parameters)
    if schema is None or rule is None:
        raise missing_rule_error()
    return Request(
        schema=schema,
        rule=parse_rule(rule) if isinstance(rule, str) else rule,
        method=method,
        parameters=parameters,
        form=form,
        based_on=based_on,
        like=like,
        auto_hierarchies=auto_hierarchies,
        spend=parse_optional_spend(epsilon, delta),
        out=place.out,
        companion=place.companion,
        format=place.format,
        admission=admission or {},
        reading=reading or {},
        one_row=parse_one_row(one_row, schema),
        **as_given,
    )


def _read_and_publish(source: Any, request: Request, earlier: Sequence[Any]) -> Release:
    schema = _schema_after(request, earlier)
    replaced = note_replaced_release(request.out, request.replace)
    request.progress("reading", 0, 1)
    with ExitStack() as stack:
        frame, schema = _open_table(stack, source, schema, request)
        request = replace_fields(request, style=_choose_style(frame, request))
        fitted, notes = add_automatic_levels(
            frame, replace_fields(request, schema=schema.fit(frame.fields))
        )
        try:
            release = _draft_and_place(frame, fitted)
            repeats = ask_about_repeats(frame, fitted.schema)
        except NotMetError as error:
            hint = " ".join((error.hint, *suggest_auto_hierarchies(request, notes)))
            raise NotMetError(error.fact, hint) from None
    notes = [*repeats, *notes]
    notes += describe_marks(field for field in frame.fields if _is_published(field, fitted.schema))
    notes += [UNKNOWN] * (release.private.get("people_in_both", 0) is None)
    notes += describe_counterfeits(release.private)
    notes += note_rows_beyond_bounds(release.private.get(BEYOND, {}), "answered for")
    notes += [] if request.spend is None else list_cautions(request.spend, seed=request.seed)
    notes += replaced
    sensitive = [] if request.form == RANDOMISED else [column.name for column in schema.sensitive]
    unjudged = find_unjudged_columns(request.rule, sensitive)
    notes += [describe_unjudged_columns(unjudged)] if unjudged else []
    facts = {"unjudged": unjudged, "repeats": repeats, "notes": notes}
    release = replace_fields(release, private={**release.private, **facts})
    return _note_public_before(release, request.schema, schema) if earlier else release


def _choose_style(frame: Frame, request: Request) -> TextStyle:
    """How the table is written: as the one that is read, where both are CSV."""
    csv = request.format.startswith("csv") and request.csv_style == LIKE_INPUT
    return frame.source.style if csv and frame.source is not None else STANDARD_STYLE


def _is_published(field: Field, schema: Schema) -> bool:
    return schema.column(field.name).role in PUBLISHED_ROLES


def _list_checks(request: Request, earlier: Sequence[Any]) -> list[Callable[[], object]]:
    return [
        lambda: _check_form(request, earlier),
        lambda: check_earlier_not_centroids(request.based_on),
        lambda: check_invariant(request),
        lambda: check_provider_column(request.rule, request.schema),
        lambda: check_rule_columns(request.rule, request.schema, request.form != RANDOMISED),
        lambda: _check_kept(request, earlier),
        lambda: _check_place(request),
        lambda: check_recording(request),
        lambda: _schema_after(request, earlier),
    ]


def _check_form(request: Request, earlier: Sequence[Any]) -> None:
    if request.form == BUCKETS:
        check_bucket_request(request, earlier)
    if request.form == CENTROIDS:
        check_centroid_request(request)
    if request.form == RANDOMISED:
        check_randomised_request(request, earlier)


def _check_kept(request: Request, earlier: Sequence[Any]) -> None:
    schema = _schema_after(request, earlier)
    if request.form != BUCKETS:
        _refuse_bucket_lookalike(schema)
    if schema.keep and not request.accept_keep:
        raise keep_columns_error(schema.keep)


def _check_place(request: Request) -> None:
    if request.out is not None:
        folder.check_output_free(
            request.out, _locate_companion(request.out, request), request.replace
        )


def _refuse_bucket_lookalike(schema: Schema) -> None:
    """Refuse generalised cells that would pass for buckets, whose rules are others."""
    if record.publishes_buckets(
        {"columns": {column.name: column.role for column in schema.columns}}
    ):
        raise UsageError(
            f"By {record.BUCKET!r} alone, beside kept columns, the release would pass for one in "
            "buckets.",
            "rename the column in the table.",
        )


def _open_table(
    stack: ExitStack, source: Any, schema: Schema, request: Request
) -> tuple[Frame, Schema]:
    """The table, and its schema with the kinds of the release that the new one is based on."""
    open_source = open_frame if request.like is None else open_partial_frame
    reading = {**request.reading, "one_row": request.one_row, "left_out": _choose_left_out(request)}
    frame = stack.enter_context(open_source(source, kinds=schema.kinds, **reading))
    frame.check_header()
    if request.based_on is None:
        return frame, schema
    settled = read_as_before(schema, frame, request.based_on)
    if settled.kinds != schema.kinds:
        frame = stack.enter_context(open_frame(source, kinds=settled.kinds, **reading))
    return frame, settled


def _choose_left_out(request: Request) -> LeftOut | None:
    """The columns with the role drop: of those it is enough to know how often they repeat.

    An earlier release tells how columns are read, and where a column says who a row is about, an
    error may propose any date of the table to choose a row by.
    """
    if request.schema.person or request.based_on is not None or request.like is not None:
        return None
    return lambda names: [column.name for column in request.schema.expand(names).drop]


def _note_public_before(release: Release, requested: Schema, judged: Schema) -> Release:
    """The release with the columns that are quasi-identifiers because others published them."""
    public = [c.name for c in judged.columns if c.role != requested.column(c.name).role]
    return replace_fields(release, private={**release.private, "public_before": public})


def _schema_after(request: Request, earlier: Sequence[Any]) -> Schema:
    """The schema with the quasi-identifiers that earlier releases make of its columns."""
    if earlier and request.based_on is not None:
        raise UsageError(
            "based_on and after are alternatives.",
            "base the release on the latest one, or judge it after all of them.",
        )
    return treat_published_as_quasi(request.schema, request.rule, earlier)


def _draft_and_place(frame: Frame, request: Request) -> Release:
    check_one_row_each(frame, request.schema)
    before = (
        None if request.based_on is None else read_earlier_release(request.based_on, request.schema)
    )
    draft = _draft_classes(frame, request, before)
    if request.out is not None:
        return _write_verify_move(frame, draft, request, request.out, before)
    outcome = draft.judge()
    return Release(_build_manifest(draft, request, before), outcome, private=draft.facts())


def _build_manifest(
    draft: Draft, request: Request, before: EarlierRelease | None
) -> dict[str, Any]:
    """The manifest, as far as it is known before the file is written."""
    manifest = record.build_manifest(request, draft.counts(), before.sha256 if before else None)
    return manifest | draft.describe_answers() if isinstance(draft, RandomisedDraft) else manifest


def _draft_classes(frame: Frame, request: Request, before: EarlierRelease | None) -> Draft:
    """The classes: based on an earlier release's or like it, in parts, or all at once."""
    if before is not None and keeps_signatures(request):
        old = read_signatures(
            request.based_on, before, request.schema, find_invariance(request.rule)
        )
        plan = _survey_table(frame, request, {request.schema.sensitive[0].name: old.all_values})
        return InvariantDraft(frame, plan, request, old)
    if before is not None:
        plan = _survey_table(frame, request, find_earlier_values(before, request.schema))
        return BasedOnDraft(frame, plan, request, before)
    if request.like is not None:
        readable = replace_fields(request, schema=request.like.readable(request.schema))
        plan = _survey_table(
            frame, readable, request.like.label_examples(request.schema), survey_with_unknown_values
        )
        return LikeDraft(frame, plan, request, request.like)
    if request.form == RANDOMISED:
        blind = replace_fields(request, schema=hide_sensitive_columns(request.schema))
        return RandomisedDraft.of(frame, _survey_table(frame, blind), request)
    plan = _survey_table(frame, request)
    if request.form == BUCKETS:
        return BucketDraft.of(frame, plan, request)
    if request.form == CENTROIDS:
        return CentroidDraft.of(frame, plan, request)
    plain = not request.hold_back and not request.parameters
    divisible = plain and splits_locally(request.method) and can_judge_in_parts(request.rule)
    parts = plan.parts(frame, PART_ROWS) if divisible else [frame]
    return (
        DraftInParts(parts, plan, request)
        if len(parts) > 1
        else TableDraft.of(frame, plan, request)
    )


def _survey_table(
    frame: Frame,
    request: Request,
    also: Mapping[str, Sequence[Any]] | None = None,
    look: Callable[..., Survey] = survey,
) -> Survey:
    quasi = {column.name: column.kind for column in request.schema.quasi}
    with ExitStack() as stack:
        people = None
        if request.population is not None:
            people = stack.enter_context(open_frame(request.population, kinds=quasi))
            check_population(people, request.schema)
        plan = look(frame, request.schema, people, also)
    check_labels({name: distinct.values for name, distinct in plan.distinct.items()})
    check_surveyed_providers(request.rule, plan)
    return plan


def _locate_companion(out: Path, request: Request) -> Path:
    return request.companion or folder.default_companion(out)


def _write_verify_move(
    frame: Frame, draft: Draft, request: Request, out: Path, before: EarlierRelease | None
) -> Release:
    """Write, verify and move: either the whole release is there afterwards, or nothing is."""
    companion_place = _locate_companion(out, request)
    key = secrets.token_bytes(32)
    with folder.make_aside(out, companion_place) as (public, private):
        public, private = folder.make_public_and_private(public, private)
        table = public / f"table.{request.format}"
        write = write_buckets if request.form == BUCKETS else write_rows
        defused = write(draft, request, table, private, key)
        manifest = _build_manifest(draft, request, before)
        files = record.hash_files(table, record.locate_values_file(request, table))
        manifest |= {"defused_cells": defused, **files}
        if isinstance(draft, InvariantDraft):
            manifest |= draft.write_counterfeits(public)
        origin = folder.fingerprint_source(frame, key)
        verdict = _recount_written_file(table, private, request, manifest, key)
        if before is not None:
            shown = record.published_schema(request.schema)
            now = read_classified_rows(table, shown, private, **request.style.reading())
            _compare_with_earlier(frame, request, draft, before, now, key)
        manifest |= {"rows": verdict.rows, "classes": verdict.classes}
        create_json_file(public / MANIFEST_NAME, manifest)
        private_facts = {
            "key": key.hex(),
            "input": origin,
            **record.as_companion_hashes(files),
            **hash_private_rows(private),
        }
        private_facts |= sketch_for_companion(frame, request.schema)
        facts = (
            draft.facts()
            | select_counterfeit_promise(manifest)
            | record.select_noise_statements(manifest)
        )
        facts |= {"repeats": ask_about_repeats(frame, request.schema)}
        companion = record.build_companion(request, verdict, facts, **private_facts)
        create_json_file(private / folder.COMPANION, companion, 0o600)
        with admit_while_moving(
            request, Release(manifest, verdict, public, private), frame
        ) as admitted:
            request.progress("moving into place", 0, 1)
            folder.move_into_place(
                (private, companion_place), (public, out), replace=request.replace
            )
    return Release(manifest, verdict, out, companion_place, draft.facts() | admitted)


def _compare_with_earlier(
    frame: Frame,
    request: Request,
    draft: Draft,
    before: EarlierRelease,
    now: ClassifiedRows,
    key: bytes,
) -> None:
    if isinstance(draft, InvariantDraft):
        nobody = int(draft.counterfeits().sum())
        check_signatures(frame, request.schema, before, now, key, nobody)
    else:
        check_against_earlier(frame, request.schema, before, now, key)


def _recount_written_file(
    table: Path, private: Path, request: Request, manifest: dict[str, Any], key: bytes
) -> Verdict:
    """Verify the file that was just written, before anybody else can see it.

    Who provided the rows and whom they are about, by what was written for the companion.
    """
    request.progress("verifying", 0, 1)
    schema = record.published_schema(request.schema, request.form)
    accepted = request.accept_keep or request.form == BUCKETS
    providers = (
        read_row_providers_in(private, request.schema) if needs_providers(request.rule) else None
    )
    with open_labels(
        table,
        schema,
        exact=True,
        values=record.locate_values_file(request, table),
        **request.style.reading(),
    ) as frame:
        verdict = judge_frame(
            frame,
            schema,
            request.rule,
            RowFacts(
                own=True,
                providers=providers,
                counterfeits=read_counterfeits(table, manifest),
                persons=read_keyed_persons(private, request.schema, key),
            ),
            population=request.population,
            accept_keep=accepted,
        )
        verdict = add_answer_judgement(verdict, frame, manifest)
    if not verdict.holds:
        raise NotMetError(
            f"The written file does not meet the rule:\n{verdict}",
            "cells that a spreadsheet would run were changed and now equal others; correct them."
            if manifest["defused_cells"]
            else f"the method {request.method} does not guarantee this rule; use another.",
        )
    return verdict
