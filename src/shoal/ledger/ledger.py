"""The ledger of a publisher: what was released, to whom; a new release is judged with the old.

Admission is Sweeney's advice made into a rule (k-anonymity: a model for protecting privacy, IJUFKS
10(5), 2002, section 4: a release must be weighed together with the earlier ones) and Ganta's lesson
(Composition attacks and auxiliary information in data privacy, KDD 2008: two releases that are safe
alone may not be together).

It does not protect against releases that are not recorded. Whoever withdraws a release cannot take
back what others have: later releases are judged together with it all the same.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from shoal.core.errors import InputError, OutputError, UsageError, refuse_database_address
from shoal.core.schema import Schema
from shoal.core.spend import Number, Spend
from shoal.dp.accounting import BASIC
from shoal.ledger.admission import Admission, Position, Refused
from shoal.ledger.admission_options import AdmissionOptions
from shoal.ledger.budget import (
    Account,
    build_founding_budget,
    check_spend_composes,
    compute_account,
    read_stated_spend,
)
from shoal.ledger.candidate import (
    PUBLISHER,
    Candidate,
    apply_stated_spend,
    build_foreign_body,
    build_release_body,
    check_recorded_spend,
    hash_release_table,
    lend_hierarchies,
    make_column_sensitive,
    read_candidate,
)
from shoal.ledger.chain.book import Book, HeadMoved
from shoal.ledger.chain.checkpoint import ChainOutline
from shoal.ledger.chain.keys import Keys
from shoal.ledger.chain.signed_entry import ChainHead, Entry
from shoal.ledger.joint_judgement import find_accepted_reason, judge_with_earlier
from shoal.ledger.known_heads import (
    RememberedLedger,
    find_nearby_notes,
    find_release_place,
    load_manifest_json,
    read_admission_note,
    recall_ledger,
    remember_ledger,
    write_admission_note,
)
from shoal.ledger.noise_releases import has_no_individual_rows
from shoal.ledger.pair_judgement import JudgedPair, RecordedRelease, build_scene
from shoal.ledger.recorded_releases import (
    PEOPLE,
    RELEASE,
    RESTORED,
    WITHDRAWN,
    check_about,
    check_related,
    check_withdrawable,
    find_entry_of_table,
    find_never_out,
    is_restoration,
    is_withdrawal,
    list_abouts,
    note_new_about,
    select_judged_with,
    select_released,
)
from shoal.ledger.related_entries import (
    UNRECORDED,
    find_names_of_same_people,
    select_related_entries,
    select_relevant_entries,
    trace_lineage,
)
from shoal.ledger.relation import DECLARED
from shoal.ledger.sealed_release import unpack_place_and_sketch, unpack_release
from shoal.releases.options import Progress, ignore_progress
from shoal.releases.published_table import PublishedTable

KEY_VARIABLE = "SHOAL_LEDGER_KEY"
"""The environment variable that names the key's file."""


class Ledger:
    """A ledger at a path (SQLite) or an address (``postgresql://…``); a context manager.

    Without its key it can be listed and checked, but nothing be judged or added.

    Parameters
    ----------
    where
        The ledger's file or address.
    key
        The key's file; else the one beside the ledger's file, or that of ``SHOAL_LEDGER_KEY``.
    """

    def __init__(self, where: str | Path = "releases.db", key: str | Path | None = None) -> None:
        self.where, self.key = where, _find_key_file(where, key)
        self.book = Book.open(where, None if self.key is None else Keys.read(self.key))
        self._opened_releases: dict[int, PublishedTable] = {}

    @classmethod
    def init(
        cls,
        where: str | Path = "releases.db",
        key: str | Path | None = None,
        *,
        name: str = "publisher",
        epsilon: Number | None = None,
        delta: Number | None = None,
        composition: str = BASIC,
    ) -> Ledger:
        """Begin a ledger and write its key; ``epsilon`` and ``delta`` are the budget, if any.

        ``composition`` is how spends add up, for good: "basic", "advanced" or "zcdp".
        """
        budget = build_founding_budget(epsilon, delta, composition)
        path = _find_key_file(where, key, new=True)
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
            book = Book.create(where, keys, budget)
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
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
                f"name its file with --key, or in the environment as {KEY_VARIABLE}.",
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
            [n for n in outline.numbers(is_withdrawal) if outline.facts(n).get("number") in wanted]
        )

    def head(self) -> ChainHead:
        """The last entry's number and hash: note it elsewhere, and a cut tail shows."""
        return self.book.head()

    def check(self, head: ChainHead | str | None = None) -> tuple[str, ...]:
        """What is wrong with the chain; empty where it is whole. ``head`` is one noted earlier."""
        problems = self.book.check(ChainHead.parse(head) if isinstance(head, str) else head)
        if not problems:
            try:
                self._checked_outline()
            except InputError as error:  # an older copy is a whole chain
                problems = (error.fact,)
        return (*problems, *self._describe_unguarded())

    def guard(self) -> None:
        """Let the database refuse changes again, where its append-only triggers were dropped."""
        self.book.guard()

    def _describe_unguarded(self) -> list[str]:
        return [
            f"The append-only triggers of {table} are missing or were changed: the database no "
            "longer refuses to change it."
            for table in self.book.unguarded()
        ]

    def position(self, release: Any, about: str | None = None) -> Position | None:
        """Where a release stands, by the hash of its table; None where it is not recorded.

        ``about`` says which is meant where the same table is recorded about several.
        """
        outline, table = self._checked_outline(), hash_release_table(release)
        name = None if about is None else check_about(about, list_abouts(outline))
        entry = find_entry_of_table(
            select_related_entries(self.book, outline, None, tables=(table,)), table, name
        )
        return None if entry is None else Position(entry.number, entry.hash, outline.head)

    def account(self, about: str = PEOPLE) -> Account:
        """What releases about these people spent of the budget, and what is left."""
        outline = self.book.outline()
        name = check_about(about, list_abouts(outline))
        return compute_account(
            Spend(), name, select_related_entries(self.book, outline, name, spending=True)
        )

    # Judging

    def admit(
        self,
        release: Any,
        *,
        people: Any = None,
        schema: Schema | None = None,
        on: str | None = None,
        about: str = PEOPLE,
        relation: str | Mapping[int, str] | None = None,
        to: str = "",
        l: int = 2,
        limit: float = 0.0,
        accept_risk: str | None = None,
        name: str | None = None,
        reading: Mapping[str, Any] | None = None,
        show: bool = False,
        progress: Progress = ignore_progress,
        place: Path | None = None,
    ) -> Admission:
        """Judge a release together with the earlier ones about the same people, and record it.

        A release that is recorded already about these people is not recorded twice; whether it is
        ``admitted`` is what is found now.

        Parameters
        ----------
        release
            A release folder, its ``Release``, or a table with a ``schema``.
        people
            A table of the people; without it the worst is assumed of who is in two releases.
        schema
            The roles of the columns, where the release has no manifest.
        on
            A kept column to learn besides the sensitive ones.
        about
            Whom the release is about: it is judged with those about the same people.
        relation
            What the release is to the earlier ones ("same table", "over time", "overlapping"), or
            to some by their entries; else it is found out.
        to
            Who gets the release, as it is recorded.
        l
            Who is left with fewer values than this is exposed.
        limit
            The share of people that an attack may expose beyond what each release gives away alone.
        accept_risk
            Why the release is recorded although it is refused.
        name
            What it is called, if not as its folder.
        reading
            How ``people`` is written, as in ``shoal.open``.
        show
            Let findings show an example.
        progress
            Called with a step's name, what is done of it, and its total.
        place
            Where it is to lie, if it is moved afterwards.

        Returns
        -------
        Admission
            What was found, and where the release stands in the ledger.

        Raises
        ------
        Refused
            An attack exposes more people than ``limit``, a pair could not be evaluated, the budget
            is exceeded, or the same people are recorded under another name, by which they would
            have the budget twice.
        InputError
            The release or the people cannot be read, or the ledger lacks entries.
        UsageError
            ``accept_risk`` gives no reason, or an option has no meaning for this release.
        """
        options = AdmissionOptions(
            people=people,
            on=on,
            relation=relation,
            l=l,
            limit=limit,
            reading=reading,
            show=show,
            progress=progress,
        )
        if accept_risk is not None and not accept_risk.strip():
            raise UsageError("The risk is accepted without a reason.", "say why.")
        candidate = self._read_checked(release, schema, options).with_name(name).with_place(place)
        pairs: dict[int, JudgedPair] = {}
        while True:
            outline = self._checked_outline(candidate)
            about = check_about(about, list_abouts(outline))
            entries = select_relevant_entries(self.book, outline, about, candidate, options)
            if (recorded := find_entry_of_table(entries, candidate.table, about)) is not None:
                return self._judge_again(candidate, recorded, outline, options)
            self._check_never_out(entries, candidate)
            admission = self._judge_new(candidate, about, outline, options, pairs)
            if admission.reasons and accept_risk is None:
                raise Refused(admission)
            admission = replace(
                admission, accepted_risk=accept_risk or "" if admission.reasons else ""
            )
            body = build_release_body(candidate, admission, to, options)
            try:
                entry = self.book.append(body, candidate.packed, expected=outline.head)
            except HeadMoved:  # somebody was faster: judge again, with what is new
                continue
            self._remember(entry)
            if candidate.folder is not None and candidate.folder.is_dir():
                write_admission_note(candidate.folder, self.book.identity, entry.head)
            return admission.recorded(entry, entry.head)

    def judge(
        self,
        release: Any,
        *,
        people: Any = None,
        schema: Schema | None = None,
        on: str | None = None,
        about: str | None = None,
        relation: str | Mapping[int, str] | None = None,
        to: str = "",
        l: int = 2,
        limit: float = 0.0,
        reading: Mapping[str, Any] | None = None,
        show: bool = False,
        progress: Progress = ignore_progress,
    ) -> Admission:
        """The same without recording anything; where ``admit`` raises, the admission says why.

        One that is recorded already is judged again, by the limit that it was recorded with, with
        those before it and with all that others made. ``about`` is whom it is recorded about, else
        "people", unless it is given.
        """
        options = AdmissionOptions(
            people=people,
            on=on,
            relation=relation,
            l=l,
            limit=limit,
            reading=reading,
            show=show,
            progress=progress,
        )
        candidate = self._read_checked(release, schema, options)
        outline = self._checked_outline(candidate)
        about = None if about is None else check_about(about, list_abouts(outline))
        entries = select_relevant_entries(self.book, outline, about, candidate, options)
        if (recorded := find_entry_of_table(entries, candidate.table, about)) is not None:
            return self._judge_again(candidate, recorded, outline, options)
        about = PEOPLE if about is None else about
        return self._judge_new(candidate, about, outline, options, {})

    def recheck(
        self,
        *,
        people: Any = None,
        schema: Schema | None = None,
        on: str | None = None,
        l: int = 2,
        limit: float | None = None,
        reading: Mapping[str, Any] | None = None,
        show: bool = False,
        progress: Progress = ignore_progress,
    ) -> tuple[Admission, ...]:
        """Every release of ours judged again by today's attacks, unless it was never out.

        With those before it, and with all that others made, whenever that was recorded. What was
        accepted then stays so, unless more people are exposed now; the limit is what each was
        recorded with, unless one is given. ``schema`` lends hierarchies to columns of which none
        was known.
        """
        options = AdmissionOptions(
            people=people,
            on=on,
            l=l,
            limit=limit or 0.0,
            reading=reading,
            show=show,
            progress=progress,
        )
        _ = self.keys
        outline, admissions = self._checked_outline(), []
        released = [entry for entry in select_released(self.entries()) if entry.kind == RELEASE]
        for recorded in released:
            candidate = Candidate(self._open_sealed(recorded), str(recorded.body["table"]))
            admissions.append(
                self._judge_again(candidate, recorded, outline, options, limit, schema)
            )
        return tuple(admissions)

    # Adding

    def add_foreign(
        self,
        source: Any,
        *,
        schema: Schema | None = None,
        by: str,
        about: str = PEOPLE,
        to: str = "",
        on: str | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> Entry:
        """Record a release that somebody else made: later ones are judged together with it.

        It is not judged, for it is out already; ``recheck`` judges those before together with it.
        ``on`` names a column that is to be learnt from it where the schema does not say so;
        ``epsilon``, ``delta`` and ``rho`` what its maker says it spends, which is never less than
        its manifest states, where it has one.
        """
        if not by.strip():
            raise UsageError("Nobody is said to have made the release.", "name them: --by NAME.")
        candidate = read_candidate(source, schema, own=False)
        if on is not None:
            candidate = replace(candidate, published=make_column_sensitive(candidate.published, on))
        candidate = apply_stated_spend(candidate, epsilon, delta, rho)
        if not has_no_individual_rows(candidate.published):
            # What cannot be read shows now, and not at the next release.
            build_scene((candidate.published,), AdmissionOptions())
        while True:
            outline = self._checked_outline(candidate)
            about = check_about(about, list_abouts(outline))
            entries = select_relevant_entries(
                self.book, outline, about, candidate, AdmissionOptions()
            )
            if (recorded := find_entry_of_table(entries, candidate.table, about)) is not None:
                check_recorded_spend(candidate, recorded)
                return recorded
            check_spend_composes(candidate.spend, entries)
            body = build_foreign_body(candidate, by, about, to)
            try:
                return self._remember(
                    self.book.append(body, candidate.packed, expected=outline.head)
                )
            except HeadMoved:
                continue

    def withdraw(self, number: int, reason: str, *, never_out: bool = False) -> Entry:
        """Record that a release was withdrawn; later ones are judged together with it still.

        Unless it was ``never_out``: recorded, but nobody was given it, which only its own
        publisher can know; it is refused while the release lies in its place, or beside that.
        """
        if not reason.strip():
            raise UsageError("The release is withdrawn without a reason.", "say why.")
        body = {"kind": WITHDRAWN, "number": number, "reason": reason, "never_out": never_out}
        _ = self.keys
        while True:
            outline = self._checked_outline()
            entries = [*self.book.some((number,)), *self.withdrawals((number,))]
            check_withdrawable(number, entries, never_out, self.keys.public)
            if never_out and (place := self._find_place(entries[0])) is not None:
                raise UsageError(
                    f"Entry {number} cannot be said never to have been out: the release lies in "
                    f"{place.name!r}.",
                    "remove it first if nobody was given it; else leave --never-out away.",
                )
            try:
                return self._remember(self.book.append(body, expected=outline.head))
            except HeadMoved:  # somebody may have withdrawn it meanwhile
                continue

    def trust(self, name: str, public: str) -> Entry:
        """Let another publisher add to the ledger, by its public key."""
        self._checked_outline()
        return self._remember(self.book.append({"kind": PUBLISHER, "name": name, "public": public}))

    def acknowledge(self, reason: str, releases: Iterable[str | Path] = ()) -> Entry:
        """Go on with a ledger that lacks entries which are remembered: a copy that was put back.

        What the key's folder remembers of the lost entries' spends stays counted. ``releases`` are
        folders whose manifests note lost entries: record these releases again.
        """
        if not reason.strip():
            raise UsageError("The loss is acknowledged without a reason.", "say why: --reason.")
        outline = self.book.outline()
        notes = [
            read_admission_note(load_manifest_json(Path(folder)), self.book.identity)
            for folder in releases
        ]
        remembered = None if self.key is None else recall_ledger(self.key, self.book.identity)
        heads = [*([remembered.head] if remembered else []), *(head for head in notes if head)]
        behind = [head for head in heads if not self._has_head(head, outline)]
        if not behind:
            raise UsageError(
                "The ledger has every head that is remembered.", "nothing is to be acknowledged."
            )
        spends = () if remembered is None else remembered.spends
        lost = [dict(spend) for spend in spends if not self._is_recorded(spend)]
        body = {
            "kind": RESTORED,
            "reason": reason,
            "behind": sorted({*map(str, behind)}),
            "lost": max(head.number for head in behind) - outline.head.number,
            "spends": lost,
        }
        return self._remember(self.book.append(body, expected=outline.head))

    # What is remembered elsewhere

    def _checked_outline(self, candidate: Candidate | None = None) -> ChainOutline:
        """The ledger's outline; refused where it lacks a head that is remembered."""
        outline = self.book.outline()
        identity, heads = self.book.identity, list[tuple[str, ChainHead]]()
        if self.key is not None and (remembered := recall_ledger(self.key, identity)) is not None:
            heads.append(("the key's folder", remembered.head))
        if candidate is not None and candidate.place is not None:
            heads += find_nearby_notes(candidate.place, identity)
        if candidate is not None and (
            head := read_admission_note(candidate.published.manifest, identity)
        ):
            heads.append((candidate.published.name, head))
        for where, head in heads:
            if not self._has_head(head, outline):
                raise InputError(
                    f"The ledger ends with entry {outline.head.number} and lacks what {where} "
                    f"remembers of entry {head.number}: an older copy was put in its place.",
                    "put the newest copy back. If it is lost: shoal ledger acknowledge --reason "
                    '"…", which keeps what is known to be spent; then record the releases again.',
                )
        return outline

    def _has_head(self, head: ChainHead, outline: ChainOutline) -> bool:
        """Whether a head is in the chain, or was acknowledged to be lost."""
        if head == outline.head:
            return True
        if [entry.hash for entry in self.book.some((head.number,))] == [head.hash]:
            return True
        restored = self.book.some(outline.numbers(is_restoration))
        return any(str(head) in entry.body.get("behind", ()) for entry in restored)

    def _is_recorded(self, spend: Mapping[str, Any]) -> bool:
        """Whether the entry of something that was spent is still in the chain."""
        entries = self.book.some((int(spend.get("entry", 0)),))
        return any(entry.body.get("table") == spend.get("table") for entry in entries)

    def _remember(self, entry: Entry) -> Entry:
        """Write down an entry of our own beside the key, while its ledger cannot forget it."""
        if self.key is not None:
            identity = self.book.identity
            before = recall_ledger(self.key, identity) or RememberedLedger(entry.head)
            remember_ledger(self.key, identity, before.after(entry))
        return entry

    def _find_place(self, entry: Entry) -> Path | None:
        """Where a recorded release lies now, if that is where it was to lie, or beside it."""
        place = (
            unpack_place_and_sketch(self.book.sealed(entry.number))[0]
            if entry.sealed_sha256
            else ""
        )
        return find_release_place((Path(place),), str(entry.body["table"])) if place else None

    def _check_never_out(self, entries: Sequence[Entry], candidate: Candidate) -> None:
        """Refuse to go on where a release lies in its place that was said never to be out."""
        never_out = find_never_out(entries)
        for entry in entries:
            if entry.number not in never_out or entry.body.get("table") == candidate.table:
                continue
            if (place := self._find_place(entry)) is not None:
                raise InputError(
                    f"Entry {entry.number} was said never to have been out, and the release lies "
                    f"in {place.name!r}.",
                    f"remove it, or record it again: shoal ledger admit {place}.",
                )

    # Steps

    def _read_checked(
        self, release: Any, schema: Schema | None, options: AdmissionOptions
    ) -> Candidate:
        # What is wrong with the release or with the people is raised before any attack.
        _ = self.keys
        candidate = read_candidate(release, schema, progress=options.progress)
        if options.on is not None and options.on not in candidate.published.unchanged_columns:
            raise UsageError(f"The release has no column {options.on!r} to learn.", "name another.")
        read_stated_spend(candidate.published.manifest)
        if not has_no_individual_rows(candidate.published):
            build_scene((candidate.published,), AdmissionOptions())
        return candidate

    def _judge_new(
        self,
        candidate: Candidate,
        about: str,
        outline: ChainOutline,
        options: AdmissionOptions,
        pairs: dict[int, JudgedPair],
    ) -> Admission:
        entries = select_relevant_entries(self.book, outline, about, candidate, options)
        pasts = self._open_earlier(candidate, about, entries)
        check_related(options.relation, entries)
        admission = judge_with_earlier(candidate, about, entries, pasts, options, pairs)
        shared = find_names_of_same_people(self.book, outline, candidate, about)
        notes = [] if shared else [*note_new_about(about, list_abouts(outline))]
        notes += [f"{problem} See shoal ledger verify." for problem in self._describe_unguarded()]
        same_people = [
            (UNRECORDED, _describe_same_people(name, *sharing)) for name, sharing in shared.items()
        ]
        return replace(
            admission,
            notes=(*admission.notes, *notes),
            unjudged=(*admission.unjudged, *same_people),
        )

    def _open_earlier(
        self, candidate: Candidate, about: str, entries: Sequence[Entry]
    ) -> list[RecordedRelease]:
        """The releases that somebody may have, opened: about the same people, or its own base."""
        based = trace_lineage(candidate.published.manifest, entries)
        return [
            RecordedRelease(entry, self._open_sealed(entry))
            for entry in select_released(entries)
            if entry.body.get("about") == about or entry.number in based
        ]

    def _open_sealed(self, entry: Entry) -> PublishedTable:
        if entry.number not in self._opened_releases:
            self._opened_releases[entry.number] = unpack_release(self.book.sealed(entry.number))
        return self._opened_releases[entry.number]

    def _judge_again(
        self,
        candidate: Candidate,
        entry: Entry,
        outline: ChainOutline,
        options: AdmissionOptions,
        limit: float | None = None,
        schema: Schema | None = None,
    ) -> Admission:
        about = str(entry.body["about"])
        entries = select_relevant_entries(self.book, outline, about, candidate, options)
        earlier = select_judged_with(entry, entries)
        check_related(options.relation, entries)
        check_recorded_spend(candidate, entry)
        candidate = replace(candidate, entry_body=entry.body)
        options = _restore_options(options, entry.body, limit)
        pasts = self._open_earlier(candidate, about, earlier)
        if schema is not None:
            candidate = replace(candidate, published=lend_hierarchies(candidate.published, schema))
            pasts = [
                replace(past, published=lend_hierarchies(past.published, schema)) for past in pasts
            ]
        admission = judge_with_earlier(candidate, about, earlier, pasts, options, {})
        worse = bool(admission.reasons) and not find_accepted_reason(admission, entry.body)
        reason = str(entry.body.get("accepted_risk", ""))
        admission = replace(admission, accepted_risk=reason, worse=worse, already=True)
        return admission.recorded(entry, outline.head)


def _describe_same_people(name: str, number: int, share: float) -> str:
    return (
        f"About {round(100 * share):,} % of the people are those of entry {number}, which is about "
        f"{name!r}: by two names they would have the budget twice, and would not be judged "
        f'together. Write --about "{name}".'
    )


def _restore_options(
    options: AdmissionOptions, body: Mapping[str, Any], limit: float | None
) -> AdmissionOptions:
    declared = {
        int(earlier["entry"]): str(earlier["relation"])
        for earlier in body.get("judged_with", ())
        if earlier["how"] == DECLARED
    }
    if limit is None:
        limit = float(body.get("limit", 0.0))
    l = max(options.l, int(body.get("l", options.l)))
    return replace(options, relation=options.relation or declared, limit=limit, l=l)


def _find_key_file(where: str | Path, key: str | Path | None, new: bool = False) -> Path | None:
    """The key's file: as given, beside a ledger that is a file, or by the environment; or none."""
    if not isinstance(where, str | Path) or not Path(where).name:
        raise UsageError("A ledger is a file, or an address.", "write for example releases.db.")
    if "://" not in str(where):
        refuse_database_address(where)
    if key is not None:
        return Path(key)
    key_beside = None if "://" in str(where) else Path(where).with_suffix(".key")
    if key_beside is not None and (new or key_beside.exists()):
        return key_beside
    variable = os.environ.get(KEY_VARIABLE)
    return Path(variable) if variable else None
