"""A release judged together with earlier ones: which attacks are run, and what they add.

    same table     order (unless rows are in random order), complementary
    over time      temporal, and the correspondence attacks forward, cross and backward
    any            intersection of the values left to the people; unless everybody in one of the
                   two is among them, the worst pair of classes that somebody could be in, and
                   the worst combination of classes of any number of releases

Values are intersected whatever the relation, in every sensitive column that both publish (Ganta,
Kasiviswanathan, Smith: Composition attacks and auxiliary information in data privacy, KDD 2008).
The worst pair is left out only where the people given say who is in both
(``people_coverage``), or where nobody's cell is finer than it was, person by person
(``defences``). What counts is who is exposed beyond what each release gives away alone. A pair on
which no attack can run is not safe, but not evaluated; so is one with a sensitive column that
cannot be compared, and one of which a search was cut short. A relation that is guessed from the
data never lowers the bar: what would not be evaluated of releases that overlap is not evaluated
then either.

It does not see releases that are not recorded, nor columns that are called differently.
What several earlier releases give away at once is judged in ``joint_judgement``.

Columns that both keep join their rows: what is left then is worked out too (``joined_rows``), and
the worse of the two counts. What cannot be worked out so is not evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from shoal.adversary.context import AttackContext, build_context
from shoal.adversary.one_attack import (
    AttackRequest,
    describe_error,
    find_unmet_need,
    resolve_needs,
    run_attack,
)
from shoal.adversary.targets import PeopleTable, find_rows_of_people, read_people_table
from shoal.attacks._shared.joined_rows import JoinedRows
from shoal.core.errors import InputError, UsageError
from shoal.core.release import Finding
from shoal.core.schema import Schema
from shoal.core.theory.adversary_view import NobodyFoundError
from shoal.ledger.admission_options import OVERLAP, SAME, TIME, AdmissionOptions
from shoal.ledger.chain.signed_entry import Entry
from shoal.ledger.defences import check_cells_generalise
from shoal.ledger.noise_releases import (
    BY_BUDGET,
    VALUES_BY_BUDGET,
    drop_columns,
    find_answered_columns,
    has_no_individual_rows,
)
from shoal.ledger.people_coverage import measure_coverage
from shoal.ledger.relation import BASED, BOTH, DECLARED, find_relation
from shoal.releases.published_table import PublishedTable

JOINING_ATTACKS = {SAME: "complementary", TIME: "temporal"}
"""The attack that decides, where rows can be joined."""
CORRESPONDENCE_ATTACKS = ("forward", "cross", "backward")
WORST_PAIR = "worst-pair"
"""The attack that assumes the worst of who is in which release."""
ANSWERED_BY_BASE = {"order", "complementary", "temporal"}
"""What is answered by cells that equal or generalise the earlier ones, person by person."""

EVERY_ATTACK, BY_NOISE = "every attack", "noise made one of them"
NOTHING_COMMON = "They have no column in common. Name columns that mean the same alike."

SkippedAttack = tuple[int, str, str]
"""The entry, the attack, and why it did not run."""


@dataclass(frozen=True)
class RecordedRelease:
    """A recorded release: its entry, and what the ledger keeps of it."""

    entry: Entry
    published: PublishedTable

    @property
    def number(self) -> int:
        """The entry's."""
        return self.entry.number


@dataclass(frozen=True)
class JudgedFinding:
    """What an attack on a release and earlier ones found, against the limit."""

    finding: Finding
    entries: tuple[int, ...]
    beyond: int
    """How many people it exposes whom no release exposes alone."""
    limit: float
    defence: str = ""
    """What answers it all the same: that nobody's cell is finer than it was, person by person."""
    on: str = ""
    """The column that is learnt; empty where it is not one column's values that are."""
    joined_by: tuple[str, ...] = ()
    """The columns that rows are joined by, where they are: those that both publish as they are, or
    quasi-identifiers whose cells meet."""

    @property
    def exceeds(self) -> bool:
        """Whether more people are exposed than the limit allows, and nothing answers it."""
        allowed = Fraction(repr(float(self.limit))) * self.finding.people
        return not self.defence and self.beyond > allowed


@dataclass(frozen=True)
class JudgedPair:
    """A release beside one earlier release."""

    past: RecordedRelease
    relation: str
    how: str
    """How the relation is known."""
    findings: tuple[JudgedFinding, ...] = ()
    skipped: tuple[SkippedAttack, ...] = ()
    based: str = ""
    """That no cell is finer than the earlier one, where it is so for everybody."""
    finer: str = ""
    """Why that is not so, or not known."""
    not_evaluated: str = ""
    """Why they could not be evaluated together; empty where they could."""
    cut_short: bool = False
    """Whether that is, or is also, because a search was cut short: no defence answers it."""
    covered: bool = False
    """Whether the people given say who is in both: everybody in one of the two is among them."""
    people_found: int | None = None
    """How many of the people given are found in the release; None where none can be looked up."""

    @property
    def stated(self) -> bool:
        """Whether the publisher or the manifest says what the releases are of each other."""
        return self.how in (DECLARED, BASED)


def unify_roles(releases: Sequence[PublishedTable]) -> list[PublishedTable]:
    """The releases with one role for each column: what one generalises is a cell in all.

    A column that one calls sensitive and another keeps is something to learn in both.
    """
    roles: dict[str, str] = {}
    for column in (
        c for release in releases if not release.buckets for c in release.schema.columns
    ):
        known_roles = (roles.get(column.name), column.role)
        roles[column.name] = next(
            role for role in ("quasi", "sensitive", "keep") if role in known_roles
        )
    return [release if release.buckets else _with_roles(release, roles) for release in releases]


def _with_roles(published: PublishedTable, roles: dict[str, str]) -> PublishedTable:
    columns = tuple(
        replace(c, role=roles[c.name]) if c.name in published.listings else c
        for c in published.roles.columns
    )
    return (
        published
        if columns == published.roles.columns
        else replace(published, roles=Schema(columns))
    )


def find_learnable_columns(releases: Sequence[PublishedTable], on: str | None) -> list[str]:
    """The columns to learn: all that every release calls sensitive, and one that is asked for."""
    first = [column.name for column in releases[0].schema.sensitive]
    sensitive_columns = [
        {column.name for column in release.schema.sensitive} for release in releases
    ]
    shared = [name for name in first if all(name in names for names in sensitive_columns)]
    requested = (
        [on]
        if on is not None and all(on in release.unchanged_columns for release in releases)
        else []
    )
    return list(dict.fromkeys((*shared, *requested)))


def read_targets(
    releases: Sequence[PublishedTable], options: AdmissionOptions
) -> PeopleTable | None:
    """The people, read once for all of the releases."""
    if options.people is None:
        return None
    kinds = {c.name: c.kind for release in releases for c in release.lookup_columns if c.kind}
    options.progress("reading people", 0, 1)
    return read_people_table(options.people, releases, kinds, options.reading)


def build_scene(releases: Sequence[PublishedTable], options: AdmissionOptions) -> AttackContext:
    """The releases on common axes, with the people where they are given."""
    return build_context(
        unify_roles(releases),
        targets=options.people,
        show=options.show,
        progress=options.progress,
        reading=options.reading,
        publisher=True,
    )


def choose_location(context: AttackContext) -> str:
    """How people are looked for: in the class that held each, where that is known of all releases.

    By what is known of somebody today nobody is found rightly in a release of years ago: people
    grow older and move, and whoever looks for them may know what was so then.
    """
    targets = context.targets
    if targets is None or targets.persons is None:
        return "honest"
    persons = targets.persons.values
    is_known = (find_rows_of_people(release, persons) is not None for release in context.releases)
    return "assumed" if all(is_known) else "honest"


def judge_pair(
    past: RecordedRelease, new: PublishedTable, based: bool, options: AdmissionOptions
) -> JudgedPair:
    """The release beside an earlier one; ``based``: its manifest leads there."""
    if has_no_individual_rows(past.published) or has_no_individual_rows(new):
        return JudgedPair(
            past, OVERLAP, BY_NOISE, skipped=((past.number, EVERY_ATTACK, BY_BUDGET),)
        )
    noisy = find_answered_columns(past.published) | find_answered_columns(new)
    past, new = (
        replace(past, published=drop_columns(past.published, noisy)),
        drop_columns(new, noisy),
    )
    if not set(new.listings) & set(past.published.listings):
        return JudgedPair(past, OVERLAP, "nothing shows more", not_evaluated=NOTHING_COMMON)
    try:
        context = build_scene((past.published, new), options)
    except (InputError, UsageError) as error:
        stated = options.declared(past.number) or (TIME if based else OVERLAP)
        return JudgedPair(past, stated, "", not_evaluated=describe_error(error))
    relation, how = find_relation(context, options.declared(past.number), based)
    return _PairJudge(past, new, context, options, noisy).judge(relation, how)


class _PairJudge:
    """One pair while it is judged: what was found, and what did not run."""

    def __init__(
        self,
        past: RecordedRelease,
        new: PublishedTable,
        context: AttackContext,
        options: AdmissionOptions,
        noisy: frozenset[str],
    ) -> None:
        self.past, self.new, self.context, self.options = past, new, context, options
        self.noisy = noisy
        """The columns that noise answers for, which are not in the releases here."""
        self.columns = find_learnable_columns(context.releases, options.on)
        self.coverage = measure_coverage(context)
        self.findings: list[JudgedFinding] = []
        self.skipped: list[SkippedAttack] = [
            (past.number, f"values of {name}", VALUES_BY_BUDGET) for name in sorted(noisy)
        ]
        self.cut_short: list[str] = []
        """Of each search that was cut short, and found too little to refuse, that it was."""
        self.joined = False
        """Whether rows could be joined."""
        self.nobody = False
        """Whether no two classes could hold the same person, by the column in turn."""

    def judge(self, relation: str, how: str) -> JudgedPair:
        generalises, why = (
            check_cells_generalise(self.context) if relation != OVERLAP else (None, "")
        )
        if relation != OVERLAP:
            relation, how = self._join_rows(relation, how, bool(generalises))
        values = [self._judge_values(name, bool(generalises)) for name in self.columns]
        if (on := self.options.on) is not None and on not in self.columns:
            lacks = f"They do not both publish {on!r} as it is."
            self.skipped.append((self.past.number, "intersection", lacks))
        pair = JudgedPair(
            self.past,
            relation,
            how,
            based=why if generalises else "",
            finer="" if generalises else why,
            cut_short=bool(self.cut_short),
            covered=self.coverage.is_complete,
            people_found=self.coverage.people_found,
        )
        decided = self._is_decided(pair, values) or generalises
        skipped = tuple(dict.fromkeys(self.skipped))
        reasons = [] if decided else [text for _, _, text in skipped]
        not_evaluated = " ".join(dict.fromkeys([*reasons, *self.cut_short]))
        return replace(
            pair, findings=tuple(self.findings), skipped=skipped, not_evaluated=not_evaluated
        )

    def _is_decided(self, pair: JudgedPair, values: Sequence[bool]) -> bool:
        """Whether attacks could evaluate a pair: all of its values, and its rows.

        Values that cannot be compared are no matter where rows were joined, if it is stated, not
        guessed, that they are the same rows.
        """
        reasons = self._explain_incomparable()
        self.skipped += [(self.past.number, "intersection", reason) for reason in reasons]
        if pair.relation == OVERLAP:
            return not reasons and all(values)
        joined = self.joined or self._has_nothing_to_join_by
        return joined and all(values) and (pair.stated or not reasons)

    @property
    def _joined_by(self) -> tuple[str, ...]:
        both = self.past.published, self.new
        unchanged = [
            name for name in both[1].unchanged_columns if name in both[0].unchanged_columns
        ]
        return tuple(unchanged or [name for name in both[1].quasi if name in both[0].quasi])

    @property
    def _has_nothing_to_join_by(self) -> bool:
        return bool(self.noisy) and not set(self.past.published.unchanged_columns) & set(
            self.new.unchanged_columns
        )

    def _join_rows(self, relation: str, how: str, generalises: bool) -> tuple[str, str]:
        """Join the rows; releases that only looked related, and are not, overlap."""
        finding = self._run(JOINING_ATTACKS[relation], relation=relation)
        if not generalises and (but := self._explain_unrelated(relation, how, finding)):
            return OVERLAP, f"{how}; but {but}"
        if finding is not None:
            self.joined = True
            self._add_finding(finding)
        if relation == SAME and not any(
            _has_random_order(release) for release in self.context.releases
        ):
            self._run_and_weigh("order", relation)
        if relation == TIME:
            for name in CORRESPONDENCE_ATTACKS:
                for column in self.columns or [""]:
                    self._run_and_weigh(name, relation, column)
        return relation, how

    def _explain_unrelated(self, relation: str, how: str, finding: Finding | None) -> str:
        """Why releases can only be taken to overlap, whatever they look like or are said to be."""
        if any(release.buckets or release.centroids for release in self.context.releases):
            return "rows in buckets, or with centroids, cannot be joined"
        lost = None if finding is None else finding.details.get("removed_or_changed", 0)
        if how not in (DECLARED, BASED) and lost != 0:
            return "not every row of the earlier has a partner in the later"
        return "their rows say otherwise" if finding is None and self._is_refuted(relation) else ""

    def _is_refuted(self, relation: str) -> bool:
        """Whether rows lack partners, where the attack that joins them could not run."""
        try:
            finding = run_attack("temporal", self.context, BOTH, AttackRequest(relation=TIME))
        except NobodyFoundError:
            return True
        except (InputError, UsageError):  # that it cannot run either says nothing of the relation
            return False
        lost = finding.details["removed_or_changed"] + finding.details["new_or_changed"]
        return relation == SAME and lost > 0

    def _run_and_weigh(self, name: str, relation: str, on: str = "") -> None:
        if (finding := self._run(name, on, relation)) is not None:
            self._add_finding(finding, on)

    def _explain_incomparable(self) -> list[str]:
        both = self.past.published, self.new
        names = dict.fromkeys(c.name for release in both for c in release.schema.sensitive)
        names |= {} if self.options.on is None else {self.options.on: None}
        cells = {c.name for release in both for c in release.schema.quasi}
        reasons = [] if self.columns or self.noisy else ["The releases share no sensitive column."]
        return reasons + [
            f"Column {name!r} is sensitive in one release and a cell in the other: what they leave "
            "of it cannot be compared."
            for name in names
            if name in cells
        ]

    def _judge_values(self, name: str, generalises: bool) -> bool:
        """What is left of one column; whether that could be evaluated.

        The people say so if they are all; else the worst pair does. It is evaluated, too, where no
        two classes could hold the same person with the same value.
        """
        people = self.context.targets is not None and self._judge_values_by("intersection", name)
        if generalises or (people and self.coverage.is_complete):
            return people and self._judge_values_by_rows("intersection", name)
        learnt = self._judge_values_by(WORST_PAIR, name) or self.nobody
        if people and not self._judge_values_by_rows("intersection", name):
            return False
        return learnt and (self.nobody or self._judge_values_by_rows(WORST_PAIR, name))

    def _judge_values_by_rows(self, attack: str, name: str) -> bool:
        """What is left of a column where rows agree in kept columns too; whether that is known.

        It is weighed where it exposes more people than what leaves the kept columns aside.
        """
        try:
            by_rows = judge_joined_rows(
                attack, self.context, BOTH, (self.past.number,), name, self.options
            )
        except (InputError, UsageError) as error:
            self.skipped.append(
                (self.past.number, attack, f"By kept columns: {describe_error(error)}")
            )
            return False
        if by_rows is None:
            return True
        same_attack = [
            judged
            for judged in self.findings
            if (judged.finding.attack, judged.on) == (attack, name)
        ]
        if not same_attack or by_rows.beyond > same_attack[0].beyond:
            self.findings = [judged for judged in self.findings if judged not in same_attack] + [
                by_rows
            ]
        return True

    def _judge_values_by(self, attack: str, name: str) -> bool:
        if (finding := self._run(attack, name)) is None:
            return False
        self._add_finding(finding, name)
        return True

    def _run(self, name: str, on: str = "", relation: str = "") -> Finding | None:
        attack_options = {
            "l": self.options.l,
            "location": choose_location(self.context),
            "weigh": False,
        }
        request = AttackRequest(on=on or None, relation=relation, options=attack_options)
        try:
            if wrong := find_unmet_need(name, self.context, BOTH, request):
                raise wrong
            return run_attack(name, self.context, BOTH, request)
        except (InputError, UsageError) as error:
            self.skipped.append((self.past.number, name, describe_error(error)))
            self.nobody = name == WORST_PAIR and isinstance(error, NobodyFoundError)
            return None

    def _add_finding(self, finding: Finding, on: str = "") -> None:
        judged = judge_finding(finding, (self.past.number,), self.options, on)
        if not on:
            judged = replace(judged, joined_by=self._joined_by)
        self.findings.append(judged)
        if finding.details.get("limits") and not judged.exceeds:
            self.cut_short.append(
                f"The search of {finding.attack} was cut short: more people may be exposed."
            )


def find_shared_kept_columns(releases: Sequence[PublishedTable], learnt: str) -> tuple[str, ...]:
    """The columns that all releases publish as they are and call kept; not one that is learnt.

    One that has a single value, the same in all of them, tells nobody from anybody.
    """
    names = [column.name for column in releases[0].schema.keep if column.name != learnt]
    shared = [
        name
        for name in names
        if all(name in {column.name for column in release.schema.keep} for release in releases)
    ]
    values = {
        name: {word for release in releases for word in release.listings[name].words()}
        for name in shared
    }
    return tuple(name for name in shared if len(values[name]) > 1)


def judge_joined_rows(
    attack: str,
    context: AttackContext,
    which: Sequence[int],
    entries: tuple[int, ...],
    on: str,
    options: AdmissionOptions,
) -> JudgedFinding | None:
    """What some releases leave of a column where rows are joined by the columns that all keep.

    None where they keep none together. ``attack`` says of whom: of the people, or of whoever the
    worst is assumed to be so.
    """
    releases = [context.releases[i] for i in which]
    names = find_shared_kept_columns(releases, on)
    if not names or any(release.buckets for release in releases):
        return None
    view = context.view(which, resolve_needs(attack, {}), on)
    if any(release.person is not None for release in view.releases):
        raise InputError(
            "People have several rows in one of the releases, and kept values may differ in them.",
            "publish one row a person.",
        )
    rows = JoinedRows.of(view, names)
    if attack == WORST_PAIR:
        exposed = rows.exposed_rows(options.l)
        is_present = np.ones(len(exposed), np.bool_)
    else:
        exposed, is_present = rows.exposed_people(options.l, choose_location(context))
    number, people = int(exposed.sum()), int(is_present.sum())
    if not people:
        return None
    subjects = (
        f"rows of {view.releases[-1].name} are of people who" if attack == WORST_PAIR else "people"
    )
    finding = Finding(
        attack=attack,
        people=people,
        exposed=number,
        sure=1 / (options.l - 1) if number else 1 / options.l,
        guessing=0.0,
        sentence=f"{number:,} of {people:,} {subjects} are left fewer than {options.l} values of "
        f"{on} where rows of the releases are joined by what all of them publish as it is: "
        f"{', '.join(names)}.",
        defence=f"leave out {', '.join(names)}, or ask for larger and more varied classes.",
        assumptions=("whoever is in several releases has the same kept values in all of them",),
        details={"joined_by": list(names)},
    )
    return JudgedFinding(finding, entries, number, options.limit, on=on, joined_by=names)


def judge_finding(
    finding: Finding, entries: tuple[int, ...], options: AdmissionOptions, on: str = ""
) -> JudgedFinding:
    """The finding, and how many it exposes beyond what each release gives away alone."""
    beyond = finding.exposed
    if finding.attack == "intersection":
        counts = (finding.details["candidates_after"], finding.details["candidates_before"])
        after, before = (
            sum(n for left, n in histogram.items() if left < options.l) for histogram in counts
        )
        beyond = after - before
    return JudgedFinding(finding, entries, beyond, options.limit, on=on)


def _has_random_order(published: PublishedTable) -> bool:
    return str((published.manifest or {}).get("row_order", "")).startswith("random")
