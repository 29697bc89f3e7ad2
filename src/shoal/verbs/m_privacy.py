"""m-privacy of any table: which providers, working together, break a rule, and how many it takes.

"T* is m-private with respect to a privacy constraint C if, for any coalition of m providers, T*
without the coalition's own records fulfils C." (S. Goryczka, L. Xiong and B. C. M. Fung, m-privacy
for collaborative data publishing, CollaborateCom 2011; IEEE TKDE 26(10), 2014.) Of a class with n
providers at most n − 1 can collude: where all rows are the coalition's own, nobody is left.

The table is taken as it stands: its labels make the classes. Whoever asks sees the provider of
every row. It does not see what providers know besides their own rows, nor what other releases
tell; and a table that holds is not therefore fit to publish while it names its providers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import InputError, UndecidedError, UsageError
from shoal.core.histogram import Contributions
from shoal.core.labels import format_count, format_value
from shoal.core.model import Model, list_joint_columns
from shoal.core.release import EDITION, VerdictBasis, to_json_value
from shoal.core.schema import Schema
from shoal.core.tally import Groups
from shoal.core.theory.collusion import Collusion, count_members, find_breaches
from shoal.engines.protocol import Frame
from shoal.models import rule as parse_rule
from shoal.models._verifiers import verifiers
from shoal.models.m_privacy import MPrivacy
from shoal.releases.companion import find_release
from shoal.releases.manifest import publishes_answers, publishes_buckets, refuse_noisy
from shoal.releases.people import (
    find_release_persons,
    parse_one_row,
    read_row_persons,
    refuse_repeated_rows,
)
from shoal.releases.providers import check_providers, read_row_providers
from shoal.releases.reader import open_labels, parse_released_schema
from shoal.releases.recount import Recount, classify_rows, code_leaves, recount
from shoal.releases.verification import keep_columns_error

EXACT = "exact"
UNDECIDED = " at least; of more it cannot be decided in time"
MAX_RECORDS = 20
"""So many of the rows that a coalition leaves are listed."""


@dataclass(frozen=True)
class Breach:
    """What a coalition does to a class: the one that leaves the fewest rows of all that break it.

    A rule that more rows may break can fail before all of a coalition's rows are taken away;
    what is left is counted without any of them.
    """

    m: int
    """How many providers might work together."""
    members: int
    """How many the coalition has; 0: the class fails by itself."""
    rows: int
    """The rows of the class."""
    left: int
    """Its rows that are not the coalition's own."""
    distinct: Mapping[str, int]
    """How many values these have, by sensitive column."""
    coalition: tuple[str, ...] | None
    """Their names; None where they are not to be shown."""
    records: tuple[int, ...]
    """The rows of the table that are left (the first row of data is 1): at most so many."""
    labels: Mapping[str, Any] | None = None
    """The labels of the class, by column, where they were asked for."""

    def describe(self) -> str:
        """In words."""
        shown = ", ".join(f"{name} {label}" for name, label in (self.labels or {}).items())
        where = f"a class of {format_count(self.rows, 'row')}" + (f" ({shown})" if shown else "")
        if not self.members:
            return f"{where} fails by itself"
        members = ", ".join(self.coalition or ()) or format_count(self.members, "provider")
        values = "".join(
            f", {format_count(n, 'value')} of {name}" for name, n in self.distinct.items()
        )
        more = ", …" if self.left > len(self.records) else ""
        rows = f" (in the table {', '.join(map(str, self.records))}{more})" if self.records else ""
        return f"without {members}, {where} has {format_count(self.left, 'row')}{rows}{values}"


@dataclass(frozen=True)
class MPrivate:
    """Whether a table holds against coalitions of m providers, and how large a one it survives."""

    rule: str
    m: int
    holds: bool
    how: VerdictBasis
    """Counted from the table, or with the private companion of a release."""
    rows: int
    classes: int
    providers: int
    coalition: tuple[str, ...] | None
    """Providers who break the rule; none of them where it fails by itself. None where it holds, and
    where they are not to be shown."""
    worst: Breach | None
    """What that coalition does."""
    largest_m: int | None
    """The largest m for which the table is shown to hold; None where the rule fails by itself."""
    survive: tuple[int, ...]
    """For m = 0, 1, … how many classes are shown to hold."""
    of_one_provider: int
    """Classes of one provider: nobody but its own people is in them, so no coalition can break
    them."""
    breaks: Breach | None
    """What breaks at ``largest_m + 1``; None where no coalition breaks anything, and where that
    cannot be decided in time."""
    each: tuple[int, ...] = field(repr=False)
    """The largest m that each class survives, in the order in which the table has them first: at
    most all providers but one; −1 where the rule fails by itself. Empty: not to be shown."""
    verifier: str
    checks: int
    """How often the rule was asked about what a coalition leaves; exactly: once for each class."""

    @property
    def undecided(self) -> bool:
        """Whether it may survive more than ``largest_m``, and to say so would take too long."""
        largest = -1 if self.largest_m is None else self.largest_m
        return self.breaks is None and largest < self.providers - 1

    def unnamed(self) -> MPrivate:
        """The same for those who may not know which providers break it, nor whose rows are left."""
        worst, breaks = (
            breach and replace(breach, coalition=None, records=(), labels=None)
            for breach in (self.worst, self.breaks)
        )
        return replace(self, coalition=None, worst=worst, breaks=breaks, each=())

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {**asdict(self), "undecided": self.undecided}

    def to_json(self) -> dict[str, Any]:
        """The same for JSON; edition 1."""
        return {"edition": EDITION, **to_json_value(self.to_dict())}

    def __str__(self) -> str:
        lines = [
            f"{format_count(self.rows, 'row')} of {format_count(self.providers, 'provider')} in "
            f"{format_count(self.classes, 'class')}, {self.how}",
            f"m-privacy m={self.m} ({self.rule}): {'holds' if self.holds else 'DOES NOT HOLD'}",
        ]
        if self.worst:
            lines.append(f"  at m={self.m}: {self.worst.describe()}")
        if self.breaks and self.breaks.m != self.m:
            lines.append(f"  at m={self.breaks.m}: {self.breaks.describe()}")
        largest = "none" if self.largest_m is None else f"{self.largest_m:,}"
        lines.append(f"  largest m: {largest}{UNDECIDED if self.undecided else ''}")
        lines += [f"  classes that survive {line}" for line in self._surviving()]
        lines.append(f"  classes of one provider: {self.of_one_provider:,} of {self.classes:,}")
        return "\n".join([*lines, f"  checks: {self.checks:,} ({self.verifier})"])

    __repr__ = __str__

    def _surviving(self) -> Iterable[str]:
        """How many classes survive each m; where several have the same number, one line."""
        for number, run in groupby(enumerate(self.survive), key=lambda pair: pair[1]):
            first, *more = (m for m, _ in run)
            yield f"m={first}{f' to {more[-1]}' if more else ''}: {number:,} of {self.classes:,}"


def m_privacy(
    table: Any,
    schema: Schema | None,
    rule: Model | str | Iterable[Model | str],
    m: int,
    *,
    verifier: str = EXACT,
    accept_keep: bool = False,
    one_row: str | None = None,
    show: bool = False,
    **reading: Any,
) -> MPrivate:
    """Judge whether a table meets a rule against every coalition of ``m`` of its providers.

    Parameters
    ----------
    table
        Anything that ``shoal.open`` takes, with a column of the role provider; its
        quasi-identifiers are labels, as they stand. Or a release, whose providers are in its
        private companion.
    schema
        The columns' roles; a release states them itself.
    rule
        What must hold for whatever a coalition leaves of each class.
    m
        How many providers may work together.
    verifier
        ``"exact"``, or one of the paper's (``shoal.models._verifiers``), whose checks are counted.
    accept_keep
        Whether kept columns, which no rule judges, are accepted.
    one_row
        Which row stands for a person who has several, as in ``shoal.publish``; without it such
        people are refused.
    show
        Whether classes that break are named by their labels.
    **reading
        How the file is written, as in ``shoal.open``.

    Returns
    -------
    MPrivate
        Whether it holds, the worst coalition, and the largest m that the table survives.

    Raises
    ------
    UsageError
        Nothing says who provided the rows, the rule is about providers already, or there is no such
        verifier.
    InputError
        The table cannot be read, or people have several rows.
    NotMetError
        The table has kept columns, and they are not accepted.
    UndecidedError
        Whether it holds cannot be decided in time.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import shoal
    >>> table = pa.table({"age": ["20-29"] * 4, "clinic": ["A", "A", "B", "B"]})
    >>> schema = shoal.Schema.of(quasi=["age"], provider="clinic")
    >>> shoal.m_privacy(table, schema, "k-anonymity k=2", 1).largest_m
    1
    """
    if one_row is not None:
        reading = {**reading, "one_row": parse_one_row(one_row, schema)}
    requirement = _wrap_rule(rule, m)
    _choose_verifier(verifier)  # one that there is not is refused before anything is read
    return judge_coalitions(
        count_providers(table, schema, accept_keep, **reading), requirement, verifier, show
    )


def judge_coalitions(
    count: CountedProviders, requirement: MPrivacy, verifier: str = EXACT, show: bool = False
) -> MPrivate:
    """How what was counted stands against coalitions."""
    groups = Groups.of(count.tally, count.cut, list_joint_columns(requirement.rule))
    n = groups.contributed.provider.size
    check_providers(groups.contributed.provider, requirement.m)
    collusion, checks = _choose_verifier(verifier)(requirement, groups)
    each = requirement.per_class(groups)  # by bisection, which may pass over what was decided here
    each = np.where(collusion.broken, each, np.maximum(each, requirement.m))
    largest = int(min(each.min(), n - 1))
    worst = _find_worst_breach(count, groups, collusion, requirement.m, show)
    return MPrivate(
        str(requirement.rule),
        requirement.m,
        worst is None,
        count.how,
        int(groups.rows.sum()),
        len(groups),
        n,
        None if worst is None else worst.coalition,
        worst,
        None if largest < 0 else largest,
        tuple(int((each >= m).sum()) for m in range(n)),
        int((groups.contributed.provider_counts == 1).sum()),
        _find_next_breach(count, groups, replace(requirement, m=largest + 1), show),
        tuple(np.minimum(each, n - 1)[count.order].astype(int).tolist()),
        verifier,
        checks,
    )


def _wrap_rule(rule: Model | str | Iterable[Model | str], m: int) -> MPrivacy:
    """The rule, wrapped; one that is about coalitions already would ask for two m."""
    model = parse_rule(rule)
    if "provider" in model.needs:
        raise UsageError(
            "The rule is about providers already.",
            'give the rule inside it, such as "k-anonymity k=5", and m by itself.',
        )
    return MPrivacy(m, model)


Verifier = Callable[[MPrivacy, Groups], tuple[Collusion, int]]
"""Answers for each class which coalition breaks it, and says how many checks that took."""


def _choose_verifier(name: str) -> Verifier:
    if name == EXACT:
        return _judge_exactly
    paper_verifiers = verifiers()
    if name not in paper_verifiers:
        raise UsageError(f"There is no verifier {name!r}.", f"known: {', '.join(paper_verifiers)}.")

    def judge(requirement: MPrivacy, groups: Groups) -> tuple[Collusion, int]:
        one_by_one = (groups.take(np.array([class_])) for class_ in range(len(groups)))
        outcomes = [
            paper_verifiers[name](requirement.rule, class_groups, requirement.m)
            for class_groups in one_by_one
        ]
        return Collusion.from_coalitions([outcome.coalition for outcome in outcomes]), sum(
            outcome.checks for outcome in outcomes
        )

    return judge


def _judge_exactly(requirement: MPrivacy, groups: Groups) -> tuple[Collusion, int]:
    max_members = count_members(groups.contributed, requirement.m)
    return find_breaches(requirement.rule, groups, max_members), len(groups)


@dataclass(frozen=True)
class CountedProviders(Recount):
    """Labels, sensitive values and providers, counted; and of each row class and provider."""

    how: VerdictBasis
    class_: NDArray[np.int32]
    provider_codes: NDArray[Any]

    @classmethod
    def of(
        cls, frame: Frame, count: Recount, how: VerdictBasis, providers: NDArray[Any]
    ) -> CountedProviders:
        """The count of a frame."""
        return cls(count.tally, count.cut, how, classify_rows(frame, count), providers)

    @property
    def order(self) -> NDArray[np.int64]:
        """The classes in the order of their first rows."""
        return np.argsort(np.unique(self.class_, return_index=True)[1])

    def left(self, class_: int, coalition: Iterable[int]) -> NDArray[np.int64]:
        """The rows of a class that are not a coalition's own; the first row of data is 1."""
        others = ~np.isin(self.provider_codes, list(coalition))
        return np.flatnonzero((self.class_ == class_) & others) + 1


def count_providers(
    source: Any, schema: Schema | None = None, accept_keep: bool = False, **reading: Any
) -> CountedProviders:
    """A table with its providers, or a release with its private companion."""
    release = find_release(source)
    if release is not None:
        _refuse_buckets(release[1])
        refuse_noisy(release[1], "has no rows that somebody provided")
        schema = schema or parse_released_schema(release[1])
        accept_keep = accept_keep or bool(release[1].get("keep_accepted"))
    if schema is None:
        raise UsageError("Nothing says what the columns are.", "add -s schema.toml or --quasi COL.")
    if schema.keep and not accept_keep:
        raise keep_columns_error(schema.keep)
    if release is None:
        return _count_as_it_stands(source, schema, reading)
    people, _ = find_release_persons(source, *release)
    if people is not None:
        refuse_repeated_rows("person", len(people.codes), people.number)
    with open_labels(release[0], schema, exact=True, **reading) as frame:
        providers = read_row_providers(source, release[0])
        count = recount(frame, schema, providers)
        return CountedProviders.of(
            frame, count, "counted with the private companion", providers.codes
        )


def _count_as_it_stands(
    source: Any, schema: Schema, reading: Mapping[str, Any]
) -> CountedProviders:
    if schema.provider is None:
        raise UsageError(
            "No column says who provided each row.",
            'give a column the role "provider": --provider COLUMN.',
        )
    with open_labels(source, schema, exact=False, **reading) as frame:
        if schema.provider.name not in {field.name for field in frame.fields}:
            raise InputError(
                f"The table has no column {schema.provider.name!r}, which says who provided a row.",
                "take the table as it was before that column was dropped.",
            )
        if schema.person is not None:
            if (people := read_row_persons(frame, schema)) is None:
                raise InputError(
                    f"The table has no column {schema.person.name!r}, which says who a row is "
                    "about: its rows may be of fewer people.",
                    "take the table as it was before that column was dropped, or a schema without "
                    "a person column.",
                )
            refuse_repeated_rows(schema.person.name, len(people.codes), people.number)
        count = recount(frame, schema)
        assert count.tally.provider is not None, "the schema has a provider"
        (providers,) = frame.rows([code_leaves(count.tally.provider)])
        return CountedProviders.of(frame, count, "counted", providers)


def _refuse_buckets(manifest: dict[str, Any]) -> None:
    """In buckets a value stands beside anybody of its class, so it is no provider's."""
    if publishes_buckets(manifest):
        raise UsageError(
            "In buckets values are permuted, so that nobody can tell who provided them.",
            "publish the table in the form partition.",
        )
    if publishes_answers(manifest):
        raise UsageError(
            "A randomised release has answers in place of values, which are no provider's.",
            "publish the table in the form partition.",
        )


def _find_worst_breach(
    count: CountedProviders, groups: Groups, collusion: Collusion, m: int, show: bool
) -> Breach | None:
    """The broken class that is left with the fewest rows; the first of several."""
    broken = np.flatnonzero(collusion.broken)
    if not len(broken):
        return None
    rows = groups.contributed.providers
    coalition_rows = (rows.value[:, np.newaxis] == collusion.members[rows.class_]).any(axis=1)
    left = rows.sum(np.where(coalition_rows, 0, rows.count))
    class_ = int(broken[left[broken].argmin()])
    coalition = collusion.of(class_) or ()
    return Breach(
        m,
        len(coalition),
        int(groups.rows[class_]),
        int(left[class_]),
        _count_distinct(groups.contributions[: len(count.tally.sensitive)], class_, coalition),
        tuple(sorted(format_value(rows.axis.leaves[code]) for code in coalition)),
        tuple(count.left(class_, coalition)[:MAX_RECORDS].tolist()),
        count.labels(class_) if show else None,
    )


def _find_next_breach(
    count: CountedProviders, groups: Groups, requirement: MPrivacy, show: bool
) -> Breach | None:
    """What breaks at a larger m than the requirement's; None too where that would take too long."""
    try:
        collusion, _ = _judge_exactly(requirement, groups)
    except UndecidedError:
        return None
    return _find_worst_breach(count, groups, collusion, requirement.m, show)


def _count_distinct(
    columns: Iterable[Contributions], class_: int, coalition: tuple[int, ...]
) -> dict[str, int]:
    distinct = {}
    for column in columns:
        if column.axis is not None:
            providers, _, rows = column.matrix(class_)
            others = rows[~np.isin(providers, coalition)]
            distinct[column.axis.name] = int(others.any(axis=0).sum())
    return distinct
