"""Report: count, verify, measure and attack a release, and tell it on one page."""

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
from shoal.adversary.runner import RED_TEAM, AttackRequest, check_attack_options, describe_error
from shoal.attacks import attacks, needs_of
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
from shoal.verbs.red_team import RedTeam, attempt_attack, rank_findings
from shoal.verbs.verify import verify

DEFAULT_THRESHOLD = Fraction(1, 5)
"""The risk above which people are counted where no requirement says how many are to be alike."""


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
    """Everything known about a release on one page; ``.write("report.html")`` or ``.json``.

    ``release`` is a release folder, a ``Release``, or with a ``schema`` (and a ``rule`` to verify)
    any table. It is attacked by itself, and together with ``others``: one or several further
    releases about the same people. ``targets`` are the people an adversary knows; without them
    those of the ``original`` are, which also shows what the table was before. ``threshold`` is the
    risk above which people are counted (1/k where the requirement says k, else 0.2), ``limit`` the
    share of people on whom an attack may
    succeed, ``on`` the column to learn, or several of them (every sensitive one unless told),
    ``pieces`` how many pieces of knowledge beyond the table somebody is supposed to have at the
    most. ``context`` says who publishes and why (a mapping, or a TOML file). With ``out`` the page
    is written there too; what cannot be written is refused before anything is attacked.

    With a ``ledger`` (or where one is, with its ``key``) it is judged with those recorded there
    ``about`` the same people; what somebody else's would reveal is forecast in any case.

    Of a release made by noise the page says what is promised and what that means: for a ``prior``,
    which is what somebody believes of a person before (a probability, or one for each value), and
    for so many ``people``. Counts and synthetic tables have a page of their own: they hold nobody's
    row to be attacked; with the ``original`` their error is told, and their noise is audited.

    The page is for the publisher. With ``public`` it is one to publish: counts are rounded to
    ``fewest`` and none below it is told; no extremes, no rare values, no rows, no names of files,
    nothing of the private companion. It does draw class sizes and distributions of the original,
    rounded so, and prints title and context as they are written. ``show`` lets findings name
    values. Further settings are those of ``shoal.red_team`` (``sample``, ``relation``,
    ``reading``) and ``accept_keep`` of ``shoal.verify``.
    """
    original = select_published_rows(release, original)
    given = ReportRequest(
        release,
        tuple(as_release_list(others)),
        original,
        targets,
        control,
        schema,
        rule,
        on,
        threshold,
        limit,
        check_pieces(pieces),
        context,
        show and not public,
        seed,
        ledger,
        key,
        about,
        prior,
        people,
        settings,
    )
    if public and fewest < 2:
        raise UsageError("fewest is 2 or more people.", "leave it out for 10.")
    if out is not None:
        check_page_place(Path(out), internal=not public)
    if (noisy := find_noise_release(given.release)) is not None:
        made = build_noise_page(
            gather_noise_evidence(given, *noisy, public, progress), title, _version()
        )
    else:
        evidence = gather_evidence(given, progress)
        made = build_release_page(
            redact_evidence(evidence, fewest) if public else evidence, title, _version()
        )
    if out is not None:
        made.write(out)
    return made


def _version() -> str:
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
        told = self.manifest.get("form")
        return str(told) if told in (CENTROIDS, RANDOMISED) else PARTITION

    @classmethod
    def of(cls, given: ReportRequest) -> ReportSource:
        """A release folder says itself what it is; another table needs a schema."""
        found = find_release(given.release)
        if found is not None:
            table, manifest = found
            own, schema = find_companion(given.release, table), parse_released_schema(manifest)
            told = given.schema or (own.schema if own else schema)
            return cls(table, schema, _with_roles(told, schema), manifest, own)
        if given.schema is None:
            raise UsageError(
                "A report on a table that is not a release folder needs the columns' roles.",
                "add -s schema.toml or --quasi COL.",
            )
        return cls(given.release, given.schema, given.schema)


def _with_roles(told: Schema, published: Schema) -> Schema:
    """What is told of columns, in the roles that they were published in: these may be others.

    A column that an earlier release had is a quasi-identifier in one that is published after it.
    """
    own = {column.name: column for column in told.columns}
    columns = [
        replace(own[c.name], role=c.role, kind=own[c.name].kind or c.kind) if c.name in own else c
        for c in published.columns
    ]
    dropped = [
        c for c in told.columns if c.name not in published.names and c.role not in PUBLISHED_ROLES
    ]
    return Schema((*columns, *dropped))


def gather_evidence(given: ReportRequest, progress: Progress = ignore_progress) -> Evidence:
    """Everything that the report tells: counted, verified, measured, attacked."""
    context = read_context(given.context)
    source = ReportSource.of(given)
    made = bool(source.manifest)
    promise = _promised(given, source.manifest)
    _check_learnt(given.columns, source.schema)
    progress("counting", 0, 1)
    count, rows = _counted(given, source)
    verdict = _verified(given, source)
    progress("measuring", 0, 1)
    measured = audit(given.release if made else source.table, source.schema)
    reading = given.settings.get("reading") or {}
    sizes_before, distributions = _compared(given.original, source, count, reading)
    progress("attacking", 0, 1)
    tested = _run_attacks(given, source, progress)
    names = [column.name for column in source.schema.sensitive]
    learnt = given.columns or tuple(names)
    known, unexamined = examine_knowledge(
        given.release,
        source.stated if given.schema else None,
        learnt,
        given.pieces,
        verdict,
        show=given.show,
        seed=given.seed,
        progress=progress,
    )
    return Evidence(
        rows=int(rows.sum()),
        classes=len(rows),
        sizes=_sizes(rows),
        sizes_before=sizes_before,
        distributions=distributions,
        risk=assess(rows, threshold=_threshold(given, source)),
        columns=_columns(source, count),
        verdict=verdict,
        measured=_named(measured),
        findings=tuple(map(reword_for_answers, tested.findings) if promise else tested.findings),
        skipped=explain_not_run(tuple(tested.skipped), known, unexamined),
        knowing=known,
        colluding=examine_collusion(
            given.release,
            source.companion,
            given.rule or str(source.manifest.get("rule", "")),
            verdict,
            show=given.show,
        ),
        promised=promise,
        composing=examine_composition(given, made, learnt, progress),
        context=context,
        manifest=source.manifest,
        private=_private(source, given.original),
        hashes=_hashes(source),
        others=len(given.others),
        people=given.targets is not None or given.original is not None,
        learnt=learnt,
        unlearnt=tuple(name for name in names if name not in learnt),
        unjudged=_unjudged(verdict, names) if promise is None else (),
        limit=given.limit,
        commands=list_commands(given),
        seed=given.seed,
    )


def _promised(given: ReportRequest, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """What noise promises; a belief before it has no meaning where there is none."""
    told = explain_noise_promise(manifest, given.prior, given.people)
    if told is not None:
        return {**told, "estimates": estimate_answers(given.release, manifest)}
    if not (given.prior is None and given.people is None):
        raise UsageError(
            "What somebody believes before is asked of releases made by noise alone.",
            "leave --prior and --people out.",
        )
    return None


def _check_learnt(asked: Sequence[str], schema: Schema) -> None:
    """Refuse columns that the release does not have: no attack could learn them."""
    names = [column.name for column in (*schema.sensitive, *schema.keep)]
    if unknown := [name for name in asked if name not in names]:
        hint = f"name one of: {', '.join(names)}." if names else 'give one the role "sensitive".'
        raise UsageError(f"There is no column {unknown[0]!r} to learn.", hint)


def _unjudged(verdict: Verdict | None, sensitive: Sequence[str]) -> tuple[str, ...]:
    """The sensitive columns that no part of the verified rule is about; none without a rule."""
    if verdict is None:
        return ()
    try:
        rule = parse_rule(" & ".join(one.model for one in verdict.judgements))
    except UsageError:  # a model of the user's own, which has no text
        return ()
    return tuple(find_unjudged_columns(rule, sensitive))


def _counted(given: ReportRequest, source: ReportSource) -> tuple[Recount, NDArray[np.int64]]:
    """The table's labels, and the rows of each class: people alike in kept columns too."""
    schema = source.schema
    with open_labels(source.table, schema, exact=bool(source.manifest)) as frame:
        _refuse_several(given, source, frame)
        count = recount(frame, schema)
        return count, count_class_rows(frame, schema, count)


def _threshold(given: ReportRequest, source: ReportSource) -> Fraction:
    """The risk above which people are counted: that of the class sizes that are required."""
    if given.threshold is not None:
        return parse_threshold(given.threshold)
    rule = given.rule or source.manifest.get("rule")
    try:
        models = unwrap_rule(parse_rule(rule)) if rule else ()
    except UsageError:  # a model of the user's own has no text
        models = ()
    asked = [one.k for one in models if isinstance(one, KAnonymity | AlphaK)]
    return Fraction(1, max(asked)) if asked else DEFAULT_THRESHOLD


def _refuse_several(given: ReportRequest, source: ReportSource, frame: Frame) -> None:
    """A report takes a row for a person: people who have several are refused."""
    person = source.stated.person
    if isinstance(source.table, Path) and source.manifest:
        people = find_release_persons(given.release, source.table, source.manifest)[0]
    else:
        people = read_row_persons(frame, source.stated)
    if people is not None:
        refuse_repeated_rows(
            "person" if person is None else person.name,
            len(people.codes),
            people.number,
            "publish it with --one-row, and report on that; shoal audit counts people as they are.",
        )


def _verified(given: ReportRequest, source: ReportSource) -> Verdict | None:
    accept_keep = bool(given.settings.get("accept_keep"))
    if source.manifest:
        options = VerifyOptions(rule=given.rule, accept_keep=accept_keep)
        return recount_and_judge(given.release, options)
    if given.rule is None:
        return None
    return verify(source.table, source.schema, given.rule, accept_keep=accept_keep)


def _run_attacks(request: ReportRequest, source: ReportSource, progress: Progress) -> RedTeam:
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
    for number, name in enumerate(attacks()):
        progress("attacking", number, len(attacks()))
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
    return RedTeam(rank_findings(findings), tuple(skipped))


def _group_releases(name: str, count: int) -> list[tuple[int, ...]]:
    """The releases that an attack takes at once, the first always among them.

    It comes last where an attack counts the rows of the last: the report is about the first.
    """
    most = needs_of(name).max_releases
    if needs_of(name).targets_last_release and count > 1:
        return [(*range(1, count), 0)]
    if most is None or count <= most:
        return [tuple(range(count))]
    return [(0, *others) for others in combinations(range(1, count), most - 1)]


def _sizes(rows: Any) -> dict[int, int]:
    """Class size -> classes of that size."""
    return dict(sorted(Counter(np.asarray(rows).tolist()).items()))


def _compared(
    original: Any, source: ReportSource, count: Recount, reading: Mapping[str, Any]
) -> tuple[dict[int, int] | None, tuple[Distribution, ...]]:
    """What the original had, as far as the form allows to compare.

    Exact columns are as they were, centroids are no cells that the original could be put in, and
    answers at random are not people's values.
    """
    drawn, stated = source.form in (PARTITION, RANDOMISED), source.stated
    if source.form == RANDOMISED:
        answers = {one.name for one in source.schema.sensitive}
        stated = Schema(tuple(one for one in stated.columns if one.name not in answers))
    return _before(original if drawn else None, stated, count, reading)


def _before(
    original: Any, schema: Schema, count: Recount, reading: Mapping[str, Any]
) -> tuple[dict[int, int] | None, tuple[Distribution, ...]]:
    """The original's class sizes, and each column's distribution beside the published one."""
    if original is None:
        return None, ()
    wanted = replace(schema, columns=(*schema.quasi, *schema.sensitive))
    kept = [Column(column.name, "quasi", "category", Flat()) for column in schema.keep]
    kinds = wanted.kinds | {column.name: "label" for column in kept}
    with open_frame(original, kinds=kinds, **reading) as frame:
        tally = everything = _tallied(frame, wanted)
        if kept:
            everything = _tallied(frame, replace(schema, columns=(*schema.quasi, *kept)))
    both, cut = tally_with_published(tally, count)
    moved = marginals.raw(both, cut).columns
    drawn = marginals.distributions(both, cut)
    axes = (*tally.quasi, *tally.sensitive)
    return _sizes_of(everything), tuple(
        make_distribution(axis, *drawn[axis.name], moved[axis.name]) for axis in axes
    )


def _tallied(frame: Frame, wanted: Schema) -> Tally:
    fields = [field for field in frame.fields if field.name in wanted.names]
    return encode(frame, wanted.fit(fields)).tally


def _sizes_of(tally: Tally) -> dict[int, int]:
    number, _ = number_combinations(tally.keys, [axis.size for axis in tally.quasi])
    return _sizes(np.bincount(number, weights=tally.count).astype(np.int64))


def _columns(source: ReportSource, count: Recount) -> tuple[ColumnFate, ...]:
    fates = FATES[source.form]
    labels = {axis.name: axis.size for axis in (*count.tally.quasi, *count.tally.sensitive)}
    return tuple(
        ColumnFate(
            column.name, column.role, fates.get(column.role, DROPPED), labels.get(column.name)
        )
        for column in source.stated.columns
    )


def _named(measured: Audit) -> tuple[tuple[str, float], ...]:
    """Each model that was measured, with what else its figure depends on."""
    found = []
    for one in measured.measured:
        extra = "".join(f" {key}={value}" for key, value in one.parameters)
        found.append((f"{one.model}{extra}{f' on {one.on}' if one.on else ''}", one.value))
    return tuple(found)


def _private(source: ReportSource, original: Any) -> dict[str, Any]:
    """What the companion knows of the release, and of the original that was given."""
    own = source.companion
    another = {"another_original": True} if is_other_original(own, original) else {}
    return {**(own.facts if own else {}), **another}


def _hashes(source: ReportSource) -> dict[str, str]:
    """Of the published files, and of their manifest."""
    table, told = source.table, source.manifest
    if not isinstance(table, (str, Path)) or not Path(table).is_file():
        return {}
    names = {"values": str(told["values"])} if "values" in told else {}
    others = {**names, "manifest": MANIFEST_NAME} if told else {}
    beside = {what: hash_file(Path(table).parent / name) for what, name in others.items()}
    return {"table": hash_file(Path(table)), **beside}
