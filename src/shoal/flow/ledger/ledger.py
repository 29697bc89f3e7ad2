"""The ledger of a publisher: what was released, to whom; a new release is judged with the old.

Admission is Sweeney's advice made into a rule (k-anonymity: a model for protecting privacy, IJUFKS
10(5), 2002, section 4: a release must be weighed together with the earlier ones) and Ganta's lesson
(Composition attacks and auxiliary information in data privacy, KDD 2008: two releases that are safe
alone may not be together).

It does not protect against releases that it is not told of. Whoever withdraws a release cannot take
back what others have: later releases are judged together with it all the same.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from shoal.addresses import refuse_address
from shoal.errors import InputError, OutputError, UsageError
from shoal.flow.ledger.admission import Admission, Position, Refused
from shoal.flow.ledger.admitting import accepted, admission_of
from shoal.flow.ledger.budget import Account, account, check_adds_up, founded, stated
from shoal.flow.ledger.geometry import unpack
from shoal.flow.ledger.judging import Pair, Past, staged
from shoal.flow.ledger.noisy import of_nobody
from shoal.flow.ledger.recording import (
    PUBLISHER,
    Candidate,
    candidate,
    check_recorded,
    foreign_body,
    learnt,
    lent,
    release_body,
    spending,
    table_hash,
)  # fmt: skip
from shoal.flow.ledger.relation import DECLARED, lineage
from shoal.flow.ledger.standing import (
    JUDGED,
    PEOPLE,
    RELEASE,
    WITHDRAWN,
    beside,
    check_related,
    check_withdrawable,
    known_abouts,
    new_about,
    of_table,
    somewhere,
    whom,
)
from shoal.flow.ledger.terms import Terms
from shoal.flow.request import Progress, quiet
from shoal.flow.seen import Seen
from shoal.ledger import Book, Entry, Head, Keys, Moved, Outline
from shoal.noise.totals import BASIC
from shoal.schema import Schema
from shoal.spend import Number, Spend

KEY = "SHOAL_LEDGER_KEY"
"""The environment variable that names the key's file."""


class Ledger:
    """A ledger at a path (SQLite) or an address (``postgresql://…``); a context manager.

    Without its key it can be listed and checked, but nothing be judged or added.
    """

    def __init__(self, where: str | Path = "releases.db", key: str | Path | None = None) -> None:
        self.where, self.key = where, _key_file(where, key)
        self.book = Book.open(where, None if self.key is None else Keys.read(self.key))
        self._seen: dict[int, Seen] = {}

    @classmethod
    def init(
        cls, where: str | Path = "releases.db", key: str | Path | None = None, *,
        name: str = "publisher", epsilon: Number | None = None, delta: Number | None = None,
        composition: str = BASIC,
    ) -> Ledger:  # fmt: skip
        """Begin a ledger and write its key; ``epsilon`` and ``delta`` are the budget, if any.

        ``composition`` is how spends add up, for good: "basic", "advanced" or "zcdp".
        """
        told = founded(epsilon, delta, composition)
        path = _key_file(where, key, new=True)
        if "://" not in str(where) and Path(where).exists():
            raise OutputError(
                f"There is a file {Path(where).name} already, and it is not overwritten.",
                "continue it as it is, or give another name for the ledger.",
            )
        if path is None:
            raise UsageError("A shared ledger's key needs a file.", "name it: --key releases.key.")
        keys = Keys.new(name)
        keys.write(path)
        try:
            book = Book.create(where, keys, told)
        except Exception:
            path.unlink()  # the key of nothing would stand in the way
            raise
        book.close()
        return cls(where, path)

    def __repr__(self) -> str:
        return f"Ledger({self.name!r}, head {self.head()})"

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self.book.close()

    @property
    def name(self) -> str:
        """What it may be called where others read it: its file, or the kind of database.

        Never its address, which may hold a password.
        """
        return self.book.place.name

    @property
    def keys(self) -> Keys:
        """The publisher's keys; raises where they are not at hand."""
        if self.book.keys is None:
            raise InputError(
                "The ledger's key is not at hand, so that nothing can be judged or added.",
                f"name its file with --key, or in the environment as {KEY}.",
            )
        return self.book.keys

    # Reading

    def entries(self) -> list[Entry]:
        """All entries, in order."""
        return self.book.entries()

    def entry(self, number: int) -> Entry:
        """One entry."""
        return self.book.entry(number)

    def recent(self, last: int | None = None, about: str | None = None) -> list[Entry]:
        """The last so many entries, or all; ``about``: of those about some people."""
        outline = self.book.outline()
        numbers = outline.numbers(lambda facts: about is None or facts.get("about") == about)
        return self.book.some(numbers if last is None else numbers[-last:])

    def withdrawals(self, numbers: Collection[int]) -> list[Entry]:
        """The entries that withdraw some releases."""
        outline, wanted = self.book.outline(), set(numbers)
        return self.book.some(
            [n for n in outline.numbers(_withdraws) if outline.facts(n).get("number") in wanted]
        )

    def head(self) -> Head:
        """The last entry's number and hash: note it elsewhere, and a cut tail shows."""
        return self.book.head()

    def check(self, head: Head | str | None = None) -> tuple[str, ...]:
        """What is wrong with the chain; empty where it is whole. ``head`` is one noted earlier."""
        return self.book.check(Head.parse(head) if isinstance(head, str) else head)

    def position(self, release: Any, about: str | None = None) -> Position | None:
        """Where a release stands, by the hash of its table; None where it is not recorded.

        ``about`` says which is meant where the same table is recorded about several.
        """
        outline, table = self.book.outline(), table_hash(release)
        whose = None if about is None else whom(about, known_abouts(outline))
        found = of_table(self._related(outline, None, tables=(table,)), table, whose)
        return None if found is None else Position(found.number, found.hash, outline.head)

    def account(self, about: str = PEOPLE) -> Account:
        """What releases about these people spent of the budget, and what is left."""
        outline = self.book.outline()
        name = whom(about, known_abouts(outline))
        return account(Spend(), name, self._related(outline, name, spending=True))

    # Judging

    def admit(
        self, release: Any, *, people: Any = None, schema: Schema | None = None,
        on: str | None = None, about: str = PEOPLE,
        relation: str | Mapping[int, str] | None = None, to: str = "", l: int = 2,
        limit: float = 0.0, accept_risk: str | None = None, name: str | None = None,
        reading: Mapping[str, Any] | None = None, show: bool = False, progress: Progress = quiet,
    ) -> Admission:  # fmt: skip
        """Judge a release together with the earlier ones about the same people, and record it.

        ``people`` is a table of them: without it the worst is assumed of who is in two releases.
        ``relation`` says what the release is to the earlier ones ("same table", "over time",
        "overlapping"), or by entry; else it is found out. Raises ``Refused`` where an attack
        exposes a larger share of people than ``limit`` beyond what each release gives away alone,
        unless ``accept_risk`` says why that is accepted. A release that is recorded already
        about these people is told, and not recorded twice; whether it is ``admitted`` is what is
        found now. ``name`` is what it is called, if not as its folder.
        """
        terms = Terms(people=people, on=on, relation=relation, l=l, limit=limit, reading=reading,
                      show=show, progress=progress)  # fmt: skip
        if accept_risk is not None and not accept_risk.strip():
            raise UsageError("The risk is accepted without a reason.", "say why.")
        told = self._checked(release, schema, terms).called(name)
        pairs: dict[int, Pair] = {}
        while True:
            outline = self.book.outline()
            about = whom(about, known_abouts(outline))
            entries = self._relevant(outline, about, told, terms)
            if (known := of_table(entries, told.table, about)) is not None:
                return self._again(told, known, outline, terms)
            found = self._judged(told, about, outline, terms, pairs)
            if found.reasons and accept_risk is None:
                raise Refused(found)
            found = replace(found, accepted_risk=accept_risk or "" if found.reasons else "")
            body = release_body(told, found, to, terms)
            try:
                entry = self.book.append(body, told.packed, expected=outline.head)
            except Moved:  # somebody was faster: judge again, with what is new
                continue
            return found.recorded(entry, entry.head)

    def judge(
        self, release: Any, *, people: Any = None, schema: Schema | None = None,
        on: str | None = None, about: str | None = None,
        relation: str | Mapping[int, str] | None = None, to: str = "", l: int = 2,
        limit: float = 0.0, reading: Mapping[str, Any] | None = None, show: bool = False,
        progress: Progress = quiet,
    ) -> Admission:  # fmt: skip
        """The same without recording anything; a release that exposes people is told, not raised.

        One that is recorded already is judged again, by the limit that it was recorded with, with
        those before it and with all that others made. ``about`` is whom it is recorded about, else
        "people", unless it is given.
        """
        terms = Terms(people=people, on=on, relation=relation, l=l, limit=limit, reading=reading,
                      show=show, progress=progress)  # fmt: skip
        told, outline = self._checked(release, schema, terms), self.book.outline()
        about = None if about is None else whom(about, known_abouts(outline))
        entries = self._relevant(outline, about, told, terms)
        if (known := of_table(entries, told.table, about)) is not None:
            return self._again(told, known, outline, terms)
        return self._judged(told, PEOPLE if about is None else about, outline, terms, {})

    def recheck(
        self, *, people: Any = None, schema: Schema | None = None, on: str | None = None,
        l: int = 2, limit: float | None = None, reading: Mapping[str, Any] | None = None,
        show: bool = False, progress: Progress = quiet,
    ) -> tuple[Admission, ...]:  # fmt: skip
        """Every release of ours judged again by today's attacks, unless it was never out.

        With those before it, and with all that others made, whenever that was recorded. What was
        accepted then stays so, unless more people are exposed now; the limit is what each was
        recorded with, unless one is given. ``schema`` lends hierarchies to columns of which none
        was known.
        """
        terms = Terms(people=people, on=on, l=l, limit=limit or 0.0, reading=reading, show=show,
                      progress=progress)  # fmt: skip
        _ = self.keys
        outline, found = self.book.outline(), []
        released = [one for one in somewhere(self.entries()) if one.kind == RELEASE]
        for one in released:
            told = Candidate(self._kept(one), str(one.body["table"]))
            found.append(self._again(told, one, outline, terms, limit, schema))
        return tuple(found)

    # Adding

    def add_foreign(
        self, source: Any, *, schema: Schema | None = None, by: str, about: str = PEOPLE,
        to: str = "", on: str | None = None, epsilon: Number | None = None,
        delta: Number | None = None, rho: Number | None = None,
    ) -> Entry:  # fmt: skip
        """Record a release that somebody else made: later ones are judged together with it.

        It is not judged, for it is out already; ``recheck`` judges those before together with it.
        ``on`` names a column that is to be learnt from it where the schema does not say so;
        ``epsilon``, ``delta`` and ``rho`` what its maker says it spends, which is never less than
        its manifest states, where it has one.
        """
        if not by.strip():
            raise UsageError("Nobody is said to have made the release.", "name them: --by NAME.")
        told = candidate(source, schema, own=False)
        if on is not None:
            told = replace(told, seen=learnt(told.seen, on))
        told = spending(told, epsilon, delta, rho)
        if not of_nobody(told.seen):
            staged((told.seen,), Terms())  # what cannot be read is not found out at the next one
        while True:
            outline = self.book.outline()
            about = whom(about, known_abouts(outline))
            entries = self._relevant(outline, about, told, Terms())
            if (known := of_table(entries, told.table, about)) is not None:
                check_recorded(told, known)
                return known
            check_adds_up(told.spend, entries)
            body = foreign_body(told, by, about, to)
            try:
                return self.book.append(body, told.packed, expected=outline.head)
            except Moved:
                continue

    def withdraw(self, number: int, reason: str, *, never_out: bool = False) -> Entry:
        """Record that a release was withdrawn; later ones are judged together with it still.

        Unless it was ``never_out``: recorded, but nobody was given it, which only its own
        publisher can know.
        """
        if not reason.strip():
            raise UsageError("The release is withdrawn without a reason.", "say why.")
        body = {"kind": WITHDRAWN, "number": number, "reason": reason, "never_out": never_out}
        while True:
            outline = self.book.outline()
            entries = [*self.book.some((number,)), *self.withdrawals((number,))]
            check_withdrawable(number, entries, never_out)
            try:
                return self.book.append(body, expected=outline.head)
            except Moved:  # somebody may have withdrawn it meanwhile
                continue

    def trust(self, name: str, public: str) -> Entry:
        """Let another publisher add to the ledger, by its public key."""
        return self.book.append({"kind": PUBLISHER, "name": name, "public": public})

    # Steps

    def _checked(self, release: Any, schema: Schema | None, terms: Terms) -> Candidate:
        """The release, read; what is wrong with it or with the people is told before any attack."""
        _ = self.keys
        told = candidate(release, schema, progress=terms.progress)
        if terms.on is not None and terms.on not in told.seen.plain:
            raise UsageError(f"The release has no column {terms.on!r} to learn.", "name another.")
        stated(told.seen.manifest)
        if not of_nobody(told.seen):
            staged((told.seen,), Terms())
        return told

    def _judged(
        self, told: Candidate, about: str, outline: Outline, terms: Terms,
        pairs: dict[int, Pair],
    ) -> Admission:  # fmt: skip
        """A release that is not recorded, judged with all that are."""
        entries = self._relevant(outline, about, told, terms)
        pasts = self._pasts(told, about, entries)
        check_related(terms.relation, entries)
        found = admission_of(told, about, entries, pasts, terms, pairs)
        return replace(found, notes=(*found.notes, *new_about(about, known_abouts(outline))))

    def _relevant(
        self, outline: Outline, about: str | None, told: Candidate, terms: Terms
    ) -> list[Entry]:
        """All entries that bear on a release: about the same people, of its table, of its bases."""
        tables, based = {told.table}, (told.seen.manifest or {}).get("based_on")
        while based and based not in tables:
            tables.add(str(based))
            bases = self.book.some(outline.of_tables((str(based),)))
            # the last that says so, as where all entries are at hand
            named = [e.body["based_on"] for e in bases
                     if e.body.get("table") == based and "based_on" in e.body]  # fmt: skip
            based = named[-1] if named else None
        numbers = terms.relation if isinstance(terms.relation, Mapping) else ()
        return self._related(outline, about, tables=tables, numbers=numbers)

    def _related(
        self, outline: Outline, about: str | None, *, tables: Collection[str] = (),
        numbers: Iterable[int] = (), spending: bool = False,
    ) -> list[Entry]:  # fmt: skip
        """The founding, and releases about some people, of some tables, or by their numbers.

        With all that withdraws one of them. ``spending``: of those about the people only such as
        spend something.
        """

        def fits(facts: Mapping[str, Any]) -> bool:
            same = about is not None and facts.get("about") == about
            return same and facts.get("kind") in JUDGED and ("spend" in facts or not spending)

        wanted = {1, *outline.numbers(fits), *outline.of_tables(tables), *numbers}
        gone = [n for n in outline.numbers(_withdraws) if outline.facts(n).get("number") in wanted]
        return self.book.some([*wanted, *gone])

    def _pasts(self, told: Candidate, about: str, entries: Sequence[Entry]) -> list[Past]:
        """The releases that somebody may have, opened: about the same people, or its own base."""
        based = lineage(told.seen.manifest, entries)
        return [
            Past(one, self._kept(one))
            for one in somewhere(entries)
            if one.body.get("about") == about or one.number in based
        ]

    def _kept(self, entry: Entry) -> Seen:
        if entry.number not in self._seen:
            self._seen[entry.number] = unpack(self.book.sealed(entry.number))
        return self._seen[entry.number]

    def _again(
        self, told: Candidate, entry: Entry, outline: Outline, terms: Terms,
        limit: float | None = None, schema: Schema | None = None,
    ) -> Admission:  # fmt: skip
        """A recorded release judged again, by what was declared then and the limit of then."""
        about = str(entry.body["about"])
        entries = self._relevant(outline, about, told, terms)
        with_ = beside(entry, entries)
        check_related(terms.relation, entries)
        check_recorded(told, entry)
        told = replace(told, said=entry.body)
        terms = _as_then(terms, entry.body, limit)
        pasts = self._pasts(told, about, with_)
        if schema is not None:
            told = replace(told, seen=lent(told.seen, schema))
            pasts = [replace(one, seen=lent(one.seen, schema)) for one in pasts]
        found = admission_of(told, about, with_, pasts, terms, {})
        worse = bool(found.reasons) and not accepted(found, entry.body)
        reason = str(entry.body.get("accepted_risk", ""))
        found = replace(found, accepted_risk=reason, worse=worse, already=True)
        return found.recorded(entry, outline.head)


def _withdraws(facts: Mapping[str, Any]) -> bool:
    return facts.get("kind") == WITHDRAWN


def _as_then(terms: Terms, body: Mapping[str, Any], limit: float | None) -> Terms:
    """The terms with what was declared and allowed when a release was recorded."""
    then = {
        int(one["entry"]): str(one["relation"])
        for one in body.get("judged_with", ()) if one["how"] == DECLARED
    }  # fmt: skip
    if limit is None:
        limit = float(body.get("limit", 0.0))
    l = max(terms.l, int(body.get("l", terms.l)))
    return replace(terms, relation=terms.relation or then, limit=limit, l=l)


def _key_file(where: str | Path, key: str | Path | None, new: bool = False) -> Path | None:
    """The key's file: as given, beside a ledger that is a file, or by the environment; or none."""
    if not isinstance(where, str | Path) or not Path(where).name:
        raise UsageError("A ledger is a file, or an address.", "write for example releases.db.")
    if "://" not in str(where):
        refuse_address(where)
    if key is not None:
        return Path(key)
    beside = None if "://" in str(where) else Path(where).with_suffix(".key")
    if beside is not None and (new or beside.exists()):
        return beside
    named = os.environ.get(KEY)
    return Path(named) if named else None
