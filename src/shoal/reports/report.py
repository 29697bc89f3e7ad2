"""The verb `report`: count, verify, measure and attack a release, and write it on one page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.adversary.context import build_context
from shoal.adversary.one_attack import RED_TEAM, AttackRequest, check_attack_options, describe_error
from shoal.attacks import get_attack_needs, load_attacks
from shoal.core.column import PUBLISHED_ROLES, Column
from shoal.core.errors import UsageError
from shoal.core.hierarchy import Flat
from shoal.core.model import Model, Number, unwrap_rule
from shoal.core.release import MANIFEST_NAME, Finding, Verdict
from shoal.core.schema import Schema
from shoal.core.tally import Tally
from shoal.engines.protocol import Frame
from shoal.kernels.grouping import number_combinations
from shoal.measures import marginals
from shoal.measures.risk.assessment import assess
from shoal.models import rule as parse_rule
from shoal.models.alpha_k import AlphaK
from shoal.models.k_anonymity import KAnonymity
from shoal.releases.companion import Companion, find_companion, find_release, is_other_original
from shoal.releases.judgement import find_unjudged_columns
from shoal.releases.manifest import hash_file, publishes_buckets
from shoal.releases.options import (
    BUCKETS,
    CENTROIDS,
    PARTITION,
    RANDOMISED,
    Progress,
    ignore_progress,
)
from shoal.releases.people import (
    find_release_persons,
    read_row_persons,
    refuse_repeated_rows,
    select_published_rows,
)
from shoal.releases.published_table import as_release_list
from shoal.releases.reader import open_frame, open_labels, parse_released_schema
from shoal.releases.recount import Recount, count_class_rows, recount
from shoal.releases.tallying import encode
from shoal.releases.verification import VerifyOptions, recount_and_judge
from shoal.reports.attack_wording import reword_for_answers
from shoal.reports.context import read_context
from shoal.reports.distribution import Distribution, make_distribution
from shoal.reports.document import Page, check_page_place
from shoal.reports.evidence import DROPPED, FATES, ColumnFate, Evidence
from shoal.reports.noise.evidence import find_noise_release, gather_noise_evidence
from shoal.reports.noise.page import build_noise_page
from shoal.reports.options import ReportRequest, list_commands, parse_threshold
from shoal.reports.redact import FEWEST, redact_evidence
from shoal.reports.release_page import build_release_page
from shoal.reports.sections.collusion import examine_collusion
from shoal.reports.sections.composition import examine_composition
from shoal.reports.sections.differential_privacy import estimate_answers, explain_noise_promise
from shoal.reports.sections.knowledge import (
    PIECES,
    check_pieces,
    examine_knowledge,
    explain_not_run,
)
from shoal.verbs.audit import Audit, audit, tally_with_published
from shoal.verbs.red_team import attempt_attack, rank_findings
from shoal.verbs.verify import verify

DEFAULT_THRESHOLD = Fraction(1, 5)
"""The risk above which people are counted where no requirement sets a class size."""


def report(
    release: Any,
    *,
    others: Any = (),
    original: Any = None,
    targets: Any = None,
    control: Any = None,
    schema: Schema | None = None,
    rule: Model | str | None = None,
    on: str | Sequence[str] | None = None,
    threshold: Number | None = None,
    limit: float | None = None,
    pieces: int = PIECES,
    public: bool = False,
    fewest: int = FEWEST,
    title: str | None = None,
    context: Mapping[str, Any] | str | Path | None = None,
    out: str | Path | None = None,
    show: bool = False,
    seed: int = 0,
    ledger: Any = None,
    key: str | Path | None = None,
    about: str | None = None,
    prior: Any = None,
    people: int | None = None,
    progress: Progress = ignore_progress,
    **settings: Any,
) -> Page:
    """Verify, measure and attack a release, and write everything known about it on one page.

    The page is for the publisher, unless it is ``public``: then it holds no extremes, no rare
    values, no rows, no names of files, and nothing of the private companion. It does draw class
    sizes and distributions of the original, rounded, and prints title and context as they are
    written. What a release that somebody else makes would reveal is forecast in any case.

    Counts and synthetic tables have a page of their own: they hold no row of a person that could
    be attacked. With the ``original`` it states their error, and their noise is audited.

    Parameters
    ----------
    release
        A release folder, a `Release`, or with a ``schema`` any table.
    others
        One or several further releases about the same people, to be attacked together with it.
    original
        The table that the release was made of: shows what it was before.
    targets
        The people whom an adversary knows; without them those of the ``original``.
    control
        People who are not in the table, to tell what is learnt of anybody.
    schema, rule
        The roles of a table that is not a release folder, and the requirement to verify.
    on
        The column to learn, or several of them; by default every sensitive one.
    threshold
        The risk above which people are counted: 1/k where the requirement has k, else 0.2.
    limit
        The share of people on whom an attack may succeed.
    pieces
        How many pieces of knowledge beyond the table somebody may have at most.
    public, fewest
        Write a page to publish: counts are rounded to ``fewest``, and none below it is stated.
    title, context
        The page's title; who publishes and why (a mapping, or a TOML file).
    out
        Where the page is written (``.html`` or ``.json``). A place that cannot be written is
        refused before anything is attacked.
    show
        Let findings name values; never in public.
    seed
        Of what attacks sample.
    ledger, key, about
        A ledger, or where one is with its key: the release is judged together with those recorded
        there about the same people.
    prior, people
        Of a release made by noise: what somebody believes of a person before (a probability, or
        one for each value), and how many people the release is about.
    progress
        Called with the step, how much of it is done, and of how much.
    **settings
        ``sample``, ``relation`` and ``reading`` of `shoal.red_team`, and ``accept_keep`` of
        `shoal.verify`.

    Returns
    -------
    Page
        The report: ``to_json()``, ``html()``, ``write("report.html")``.

    Raises
    ------
    UsageError
        An option has no meaning for this release, or a table has no schema.
    InputError
        Something that was given cannot be read.
    OutputError
        The page cannot, or must not, be written to ``out``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import shoal
    >>> people = pa.table({"age": ["20-29"] * 4, "diagnosis": ["flu", "cold", "flu", "cold"]})
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["diagnosis"])
    >>> page = shoal.report(people, schema=schema, rule="k-anonymity k=4")
    >>> page.data["holds"], page.data["classes"]
    (True, 1)
    """
    original = select_published_rows(release, original)
    request = ReportRequest(
        release=release,
        others=tuple(as_release_list(others)),
        original=original,
        targets=targets,
        control=control,
        schema=schema,
        rule=rule,
        on=on,
        threshold=threshold,
        limit=limit,
        pieces=check_pieces(pieces),
        context=context,
        show=show and not public,
        seed=seed,
        ledger=ledger,
        key=key,
        about=about,
        prior=prior,
        people=people,
        settings=settings,
    )
    if public and fewest < 2:
        raise UsageError("fewest is 2 or more people.", "leave it out for 10.")
    if out is not None:
        check_page_place(Path(out), internal=not public)
    if (noise_release := find_noise_release(request.release)) is not None:
        page = build_noise_page(
            gather_noise_evidence(request, *noise_release, public, progress), title, _find_version()
        )
    else:
        evidence = gather_evidence(request, progress)
        page = build_release_page(
            redact_evidence(evidence, fewest) if public else evidence, title, _find_version()
        )
    if out is not None:
        page.write(out)
    return page


def _find_version() -> str:
    try:
        return installed("shoal")
    except PackageNotFoundError:
        return "run from its source"


@dataclass(frozen=True)
class ReportSource:
    """The release itself: its table, what its columns are, and its manifest if it has one."""

    table: Any
    schema: Schema
    """The columns that are published."""
    stated: Schema
    """The same as their publisher states them, with hierarchies, and the columns left out."""
    manifest: Mapping[str, Any] = field(default_factory=dict)
    companion: Companion | None = None

    @property
    def form(self) -> str:
        """What it was published as; any other table is taken for generalised cells."""
        if publishes_buckets(self.manifest):
            return BUCKETS
        form = self.manifest.get("form")
        return str(form) if form in (CENTROIDS, RANDOMISED) else PARTITION

    @classmethod
    def of(cls, request: ReportRequest) -> ReportSource:
        """A release folder states what it is; another table needs a schema."""
        located = find_release(request.release)
        if located is not None:
            table, manifest = located
            companion = find_companion(request.release, table)
            schema = parse_released_schema(manifest)
            stated = request.schema or (companion.schema if companion else schema)
            return cls(table, schema, _with_roles(stated, schema), manifest, companion)
        if request.schema is None:
            raise UsageError(
                "A report on a table that is not a release folder needs the columns' roles.",
                "add -s schema.toml or --quasi COL.",
            )
        return cls(request.release, request.schema, request.schema)


def _with_roles(stated: Schema, published: Schema) -> Schema:
    """The stated columns in the roles that they were published in: these may be others.

    A column that an earlier release had is a quasi-identifier in one that is published after it.
    """
    by_name = {column.name: column for column in stated.columns}
    columns = []
    for column in published.columns:
        own = by_name.get(column.name, column)
        columns.append(replace(own, role=column.role, kind=own.kind or column.kind))
    dropped = [
        column
        for column in stated.columns
        if column.name not in published.names and column.role not in PUBLISHED_ROLES
    ]
    return Schema((*columns, *dropped))


def gather_evidence(request: ReportRequest, progress: Progress = ignore_progress) -> Evidence:
    """Everything that the report states: counted, verified, measured, attacked."""
    context = read_context(request.context)
    source = ReportSource.of(request)
    is_release = bool(source.manifest)
    promise = _explain_promise(request, source.manifest)
    _check_attacked_columns(request.columns, source.schema)
    progress("counting", 0, 1)
    count, rows = _count_classes(request, source)
    verdict = _verify_release(request, source)
    progress("measuring", 0, 1)
    measured = audit(request.release if is_release else source.table, source.schema)
    reading = request.settings.get("reading") or {}
    sizes_before, distributions = _compare_with_original(request.original, source, count, reading)
    progress("attacking", 0, 1)
    findings, skipped = _run_attacks(request, source, progress)
    sensitive = [column.name for column in source.schema.sensitive]
    attacked_columns = request.columns or tuple(sensitive)
    knowledge, unexamined = examine_knowledge(
        request.release,
        source.stated if request.schema else None,
        attacked_columns,
        request.pieces,
        verdict,
        show=request.show,
        seed=request.seed,
        progress=progress,
    )
    return Evidence(
        rows=int(rows.sum()),
        classes=len(rows),
        sizes=_count_sizes(rows),
        sizes_before=sizes_before,
        distributions=distributions,
        risk=assess(rows, threshold=_choose_threshold(request, source)),
        columns=_list_column_fates(source, count),
        verdict=verdict,
        measured=_list_measured(measured),
        findings=tuple(map(reword_for_answers, findings) if promise else findings),
        skipped=explain_not_run(skipped, knowledge, unexamined),
        knowledge=knowledge,
        collusion=examine_collusion(
            request.release,
            source.companion,
            request.rule or str(source.manifest.get("rule", "")),
            verdict,
            show=request.show,
        ),
        promise=promise,
        composition=examine_composition(request, is_release, attacked_columns, progress),
        context=context,
        manifest=source.manifest,
        private=_list_companion_facts(source, request.original),
        hashes=_hash_files(source),
        n_other_releases=len(request.others),
        has_targets=request.targets is not None or request.original is not None,
        attacked_columns=attacked_columns,
        unattacked_columns=tuple(name for name in sensitive if name not in attacked_columns),
        columns_without_rule=() if promise else _find_columns_without_rule(verdict, sensitive),
        limit=request.limit,
        commands=list_commands(request),
        seed=request.seed,
    )


def _explain_promise(request: ReportRequest, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """What noise promises; a belief before it has no meaning where there is none."""
    promise = explain_noise_promise(manifest, request.prior, request.people)
    if promise is not None:
        return {**promise, "estimates": estimate_answers(request.release, manifest)}
    if not (request.prior is None and request.people is None):
        raise UsageError(
            "What somebody believes before is asked of releases made by noise alone.",
            "leave --prior and --people out.",
        )
    return None


def _check_attacked_columns(requested: Sequence[str], schema: Schema) -> None:
    """Refuse columns that the release does not have: no attack could learn them."""
    names = [column.name for column in (*schema.sensitive, *schema.keep)]
    if unknown := [name for name in requested if name not in names]:
        hint = f"name one of: {', '.join(names)}." if names else 'give one the role "sensitive".'
        raise UsageError(f"There is no column {unknown[0]!r} to learn.", hint)


def _find_columns_without_rule(
    verdict: Verdict | None, sensitive: Sequence[str]
) -> tuple[str, ...]:
    """The sensitive columns that no part of the verified rule is about; none without a rule."""
    if verdict is None:
        return ()
    try:
        rule = parse_rule(" & ".join(judgement.model for judgement in verdict.judgements))
    except UsageError:  # a model of the user's own, which has no text
        return ()
    return tuple(find_unjudged_columns(rule, sensitive))


def _count_classes(
    request: ReportRequest, source: ReportSource
) -> tuple[Recount, NDArray[np.int64]]:
    """The table's labels, and the rows of each class: people alike in kept columns too."""
    schema = source.schema
    with open_labels(source.table, schema, exact=bool(source.manifest)) as frame:
        _refuse_repeated_people(request, source, frame)
        count = recount(frame, schema)
        return count, count_class_rows(frame, schema, count)


def _choose_threshold(request: ReportRequest, source: ReportSource) -> Fraction:
    """The risk above which people are counted: that of the class sizes that are required."""
    if request.threshold is not None:
        return parse_threshold(request.threshold)
    rule = request.rule or source.manifest.get("rule")
    try:
        models = unwrap_rule(parse_rule(rule)) if rule else ()
    except UsageError:  # a model of the user's own has no text
        models = ()
    class_sizes = [model.k for model in models if isinstance(model, KAnonymity | AlphaK)]
    return Fraction(1, max(class_sizes)) if class_sizes else DEFAULT_THRESHOLD


def _refuse_repeated_people(request: ReportRequest, source: ReportSource, frame: Frame) -> None:
    """A report takes a row for a person: people who have several are refused."""
    person = source.stated.person
    if isinstance(source.table, Path) and source.manifest:
        people = find_release_persons(request.release, source.table, source.manifest)[0]
    else:
        people = read_row_persons(frame, source.stated)
    if people is not None:
        refuse_repeated_rows(
            "person" if person is None else person.name,
            len(people.codes),
            people.number,
            "publish it with --one-row, and report on that; shoal audit counts people as they are.",
        )


def _verify_release(request: ReportRequest, source: ReportSource) -> Verdict | None:
    accept_keep = bool(request.settings.get("accept_keep"))
    if source.manifest:
        options = VerifyOptions(rule=request.rule, accept_keep=accept_keep)
        return recount_and_judge(request.release, options)
    if request.rule is None:
        return None
    return verify(source.table, source.schema, request.rule, accept_keep=accept_keep)


def _run_attacks(
    request: ReportRequest, source: ReportSource, progress: Progress
) -> tuple[tuple[Finding, ...], tuple[tuple[str, str], ...]]:
    """Attack the release in every way that applies: alone, with each other one, with all of them.

    What others' releases give away without this one is not the report's business. Unlike in
    `shoal.red_team` it is no error when nothing can be tried: the report says so. Folders state
    their own roles, and need no bounds: these do not bind whom others look for.
    """
    releases = (request.release, *request.others)
    options = {key: value for key, value in request.settings.items() if key != "accept_keep"}
    sample, reading = options.pop("sample", None), options.pop("reading", None)
    attack_request = AttackRequest(
        on=request.columns or None,
        sample=sample,
        seed=request.seed,
        relation=options.pop("relation", ""),
        progress=progress,
        options=options,
    )
    check_attack_options(RED_TEAM, options)
    context = build_context(
        releases,
        source.stated if request.schema else None,
        request.targets if request.targets is not None else request.original,
        request.control,
        request.show,
        progress,
        reading,
    ).sampled(sample, request.seed)
    findings: list[Finding] = []
    skipped: list[tuple[str, str]] = []
    for number, name in enumerate(load_attacks()):
        progress("attacking", number, len(load_attacks()))
        for group in _group_releases(name, len(releases)):
            is_pair = 1 < len(group) < len(releases)
            label = f"{name} with release {group[1] + 1}" if is_pair else name
            result = attempt_attack(name, context, group, attack_request)
            if isinstance(result, Finding):
                by_column = tuple(replace(finding, attack=label) for finding in result.by_column)
                findings.append(replace(result, attack=label, by_column=by_column))
                skipped += [(f"{label} on {column}", why) for column, why in result.not_evaluated]
            else:
                skipped.append((label, describe_error(result)))
    return rank_findings(findings), tuple(skipped)


def _group_releases(name: str, count: int) -> list[tuple[int, ...]]:
    """The releases that an attack takes at once, the first always among them.

    It comes last where an attack counts the rows of the last: the report is about the first.
    """
    max_releases = get_attack_needs(name).max_releases
    if get_attack_needs(name).targets_last_release and count > 1:
        return [(*range(1, count), 0)]
    if max_releases is None or count <= max_releases:
        return [tuple(range(count))]
    return [(0, *others) for others in combinations(range(1, count), max_releases - 1)]


def _count_sizes(rows: Any) -> dict[int, int]:
    return dict(sorted(Counter(np.asarray(rows).tolist()).items()))


def _compare_with_original(
    original: Any, source: ReportSource, count: Recount, reading: Mapping[str, Any]
) -> tuple[dict[int, int] | None, tuple[Distribution, ...]]:
    """What the original had, as far as the form allows to compare.

    Exact columns are as they were, centroids are no cells that the original could be put in, and
    answers at random are not people's values.
    """
    is_comparable, stated = source.form in (PARTITION, RANDOMISED), source.stated
    if source.form == RANDOMISED:
        answers = {column.name for column in source.schema.sensitive}
        stated = Schema(tuple(column for column in stated.columns if column.name not in answers))
    return _measure_original(original if is_comparable else None, stated, count, reading)


def _measure_original(
    original: Any, schema: Schema, count: Recount, reading: Mapping[str, Any]
) -> tuple[dict[int, int] | None, tuple[Distribution, ...]]:
    """The original's class sizes, and each column's distribution with the published one."""
    if original is None:
        return None, ()
    compared = replace(schema, columns=(*schema.quasi, *schema.sensitive))
    kept_columns = [Column(column.name, "quasi", "category", Flat()) for column in schema.keep]
    kinds = compared.kinds | {column.name: "label" for column in kept_columns}
    with open_frame(original, kinds=kinds, **reading) as frame:
        tally = with_kept = _tally(frame, compared)
        if kept_columns:
            with_kept = _tally(frame, replace(schema, columns=(*schema.quasi, *kept_columns)))
    both, cut = tally_with_published(tally, count)
    distances = marginals.raw(both, cut).columns
    distributions = marginals.distributions(both, cut)
    axes = (*tally.quasi, *tally.sensitive)
    number, _ = number_combinations(with_kept.keys, [axis.size for axis in with_kept.quasi])
    sizes = _count_sizes(np.bincount(number, weights=with_kept.count).astype(np.int64))
    return sizes, tuple(
        make_distribution(axis, *distributions[axis.name], distances[axis.name]) for axis in axes
    )


def _tally(frame: Frame, schema: Schema) -> Tally:
    fields = [field for field in frame.fields if field.name in schema.names]
    return encode(frame, schema.fit(fields)).tally


def _list_column_fates(source: ReportSource, count: Recount) -> tuple[ColumnFate, ...]:
    fates = FATES[source.form]
    labels = {axis.name: axis.size for axis in (*count.tally.quasi, *count.tally.sensitive)}
    return tuple(
        ColumnFate(
            column.name, column.role, fates.get(column.role, DROPPED), labels.get(column.name)
        )
        for column in source.stated.columns
    )


def _list_measured(measured: Audit) -> tuple[tuple[str, float], ...]:
    figures = []
    for figure in measured.measured:
        parameters = "".join(f" {key}={value}" for key, value in figure.parameters)
        column = f" on {figure.on}" if figure.on else ""
        figures.append((f"{figure.model}{parameters}{column}", figure.value))
    return tuple(figures)


def _list_companion_facts(source: ReportSource, original: Any) -> dict[str, Any]:
    companion = source.companion
    difference = {"another_original": True} if is_other_original(companion, original) else {}
    return {**(companion.facts if companion else {}), **difference}


def _hash_files(source: ReportSource) -> dict[str, str]:
    table, manifest = source.table, source.manifest
    if not isinstance(table, (str, Path)) or not Path(table).is_file():
        return {}
    names = {"values": str(manifest["values"])} if "values" in manifest else {}
    others = {**names, "manifest": MANIFEST_NAME} if manifest else {}
    other_hashes = {what: hash_file(Path(table).parent / name) for what, name in others.items()}
    return {"table": hash_file(Path(table)), **other_hashes}
