"""Which recorded releases count, about whom, and what is found when they are judged again."""

from __future__ import annotations

from contextlib import closing

import pyarrow as pa
import pytest

import shoal
from shoal.ledger.budget import compute_account
from shoal.ledger.chain.book import Book
from shoal.ledger.chain.database import open_database
from shoal.ledger.recorded_releases import find_never_out
from shoal.releases.options import ignore_progress
from shoal.reports.options import ReportRequest
from shoal.reports.sections.composition import examine_composition

BOTH = shoal.Schema.of(quasi=["x"], sensitive=["d", "job"])
ILL = shoal.Schema.of(quasi=["x"], sensitive=["d"])


def table(ills, jobs="pqpq"):
    return pa.table({"x": ["1"] * len(ills), "d": list(ills), "job": list(jobs)})


FIRST, SECOND = table("ABCD"), table("AXYZ", "pqpp")
"""Of everybody in both, d is known; job is not."""


@pytest.fixture
def ledger(tmp_path):
    with shoal.Ledger.init(tmp_path / "releases.db") as made:
        yield made


@pytest.fixture
def first(ledger):
    ledger.admit(FIRST, schema=BOTH)
    return ledger


# About whom


def test_one_table_may_be_recorded_about_several(first):
    assert first.admit(FIRST, schema=BOTH).already
    found = first.admit(FIRST, schema=BOTH, about="staff")
    assert (found.already, found.entry.number, found.entry.body["about"]) == (False, 3, "staff")
    entry = first.add_foreign(FIRST, schema=BOTH, by="Harbour", about="guests")
    assert (entry.number, entry.body["about"]) == (4, "guests")
    assert first.add_foreign(FIRST, schema=BOTH, by="Harbour", about="guests") == entry
    assert first.judge(FIRST, schema=BOTH, about="staff").entry.number == 3
    with pytest.raises(shoal.UsageError, match="about several: guests, people, staff"):
        first.judge(FIRST, schema=BOTH)


def test_people_who_are_new_to_the_ledger_are_noted(first):
    assert not first.judge(SECOND, schema=BOTH).notes
    found = first.admit(SECOND, schema=BOTH, about="poeple")
    (note,) = found.notes
    assert "'poeple'" in note
    assert "'people'" in note
    assert note in str(found)
    assert found.to_json()["notes"] == [note]


WAYS = {
    "admit": {"schema": BOTH, "accept_risk": "agreed"},
    "judge": {"schema": BOTH},
    "add_foreign": {"schema": BOTH, "by": "Harbour"},
}


def test_a_name_that_differs_in_case_or_spaces_is_no_second_account(first):
    for about in ("People", "peo ple "):
        for name, asked in WAYS.items():
            with pytest.raises(shoal.UsageError, match="case or spaces only") as told:
                getattr(first, name)(SECOND, about=about, **asked)
            assert "--about 'people'" in told.value.hint
        with pytest.raises(shoal.UsageError, match="case or spaces only"):
            first.account(about)
    with pytest.raises(shoal.UsageError, match="Nobody is said"):
        first.admit(SECOND, schema=BOTH, about="  ")
    assert len(first.entries()) == 2


def test_spaces_around_a_name_are_not_part_of_it(first):
    assert first.admit(FIRST, schema=BOTH, about=" people ").already
    entry = first.add_foreign(SECOND, schema=BOTH, by="Harbour", about="staff\n", epsilon=1)
    assert entry.body["about"] == "staff"
    assert first.account(" staff").total == shoal.Spend(1)
    first.book.append({"kind": "foreign", "table": "0", "about": "Staff"})  # as once was possible
    assert first.account("Staff").total == shoal.Spend()


def test_the_first_of_a_ledger_has_nothing_to_note(ledger):
    assert ledger.admit(FIRST, schema=BOTH, about="staff").notes == ()


def reported(ledger, release, **asked):
    given = ReportRequest(release, schema=BOTH, ledger=ledger, **asked)
    return examine_composition(given, False, None, ignore_progress).to_json()


def test_a_report_judges_what_the_ledger_would(first):
    """Neither by the one column that it is about, nor by its limit."""
    found = reported(first, SECOND, on="job", limit=1.0)
    assert (found["admitted"], found["overridden"]) == (False, False)
    assert {one["on"] for one in found["findings"] if one["exceeds"]} == {"d"}


def test_a_report_is_about_those_whom_it_is_recorded_about(first):
    first.admit(SECOND, schema=BOTH, about="staff")
    first.add_foreign(table("AUVW"), schema=BOTH, by="Harbour", about="staff")
    assert [one["entry"] for one in reported(first, SECOND)["judged_with"]] == [4]
    new = table("AKLM")
    assert [one["entry"] for one in reported(first, new)["judged_with"]] == [2]
    assert [one["entry"] for one in reported(first, new, about="staff")["judged_with"]] == [3, 4]
    found = reported(first, new, about="guests")
    assert (found["about"], found["judged_with"], len(found["notes"])) == ("guests", [], 1)


# Judged again


def test_what_others_made_meanwhile_counts_when_judged_again(ledger):
    ledger.admit(SECOND, schema=BOTH)
    ledger.add_foreign(FIRST, schema=BOTH, by="Harbour")
    for found in (*ledger.recheck(), ledger.judge(SECOND, schema=BOTH)):
        assert [one.entry for one in found.judged_with] == [3]
        assert not found.admitted
    assert reported(ledger, SECOND)["admitted"] is False


def test_what_we_made_later_was_judged_with_it_then(first):
    first.admit(SECOND, schema=BOTH, accept_risk="agreed")
    one, two = first.recheck()
    assert (one.judged_with, [past.entry for past in two.judged_with]) == ((), [2])


def test_a_recorded_release_keeps_its_limit_and_its_reason(first):
    first.admit(SECOND, schema=BOTH, accept_risk="agreed")
    for limit in (0.0, 1.0):
        found = first.judge(SECOND, schema=BOTH, limit=limit)
        assert (found.admitted, found.overridden, found.accepted_risk) == (True, True, "agreed")
    lax = first.recheck(limit=1.0)[1]
    assert (lax.reasons, lax.overridden, lax.accepted_risk) == ((), False, "agreed")
    first.add_foreign(table("XKLM"), schema=BOTH, by="Harbour")
    worse = first.judge(SECOND, schema=BOTH)
    assert (worse.admitted, worse.accepted_risk) == (False, "agreed")
    assert "REFUSED now" in str(worse)
    assert "withdraw" in shoal.Refused(worse).hint


def test_a_recorded_release_keeps_the_number_of_values(ledger):
    one, two = (pa.table({"x": ["1"] * 6, "d": list(ills)}) for ills in ("ABCDEF", "ABXYZW"))
    ledger.admit(one, schema=ILL)
    assert ledger.judge(two, schema=ILL).admitted
    ledger.admit(two, schema=ILL, l=3, accept_risk="agreed")
    assert ledger.recheck()[1].overridden
    assert ledger.judge(two, schema=ILL).overridden


def test_an_entry_says_which_columns_were_judged(first):
    body = first.admit(SECOND, schema=BOTH, on="job", accept_risk="agreed").entry.body
    assert body["columns_judged"] == ["d", "job"]
    assert {one["on"] for one in body["findings"] if one["exceeds"]} == {"d"}


# Withdrawn


def test_what_was_never_out_is_not_judged_again(first):
    first.admit(SECOND, schema=BOTH, accept_risk="agreed")
    first.withdraw(2, "not moved", never_out=True)
    assert [(one.entry.number, one.judged_with) for one in first.recheck()] == [(3, ())]
    assert find_never_out(first.entries()) == {2}


def test_what_was_never_out_spends_nothing(first):
    for epsilon in (0.8, 0.1):
        about = {"table": f"{epsilon}", "about": "people", "spend": {"epsilon": epsilon}}
        first.book.append({"kind": "release", **about})
    first.withdraw(3, "not moved", never_out=True)
    first.withdraw(4, "recalled")
    assert compute_account(shoal.Spend(0.5), "people", first.entries()).total == shoal.Spend(0.6)
    assert compute_account(shoal.Spend(0.5), "staff", first.entries()).total == shoal.Spend(0.5)


def test_nobody_can_say_of_others_that_theirs_was_never_out(ledger):
    ledger.add_foreign(FIRST, schema=BOTH, by="Harbour")
    with pytest.raises(shoal.UsageError, match="somebody else"):
        ledger.withdraw(2, "not true", never_out=True)
    assert not ledger.judge(SECOND, schema=BOTH).admitted
    assert ledger.withdraw(2, "recalled").body["never_out"] is False


def test_two_who_withdraw_at_once_do_it_once(first):
    read, append = first.entries, first.book.append

    def late(*args, **more):
        if len(read()) == 2:
            with shoal.Ledger(first.where) as colleague:
                colleague.withdraw(2, "theirs")
        return append(*args, **more)

    object.__setattr__(first.book, "append", late)
    with pytest.raises(shoal.UsageError, match="withdraws it already"):
        first.withdraw(2, "ours")
    assert [one.kind for one in read()] == ["founding", "release", "withdrawn"]


# What cannot be asked


def test_a_column_without_a_role_is_not_published_unjudged(first):
    with pytest.raises(shoal.UsageError, match=r"without a role: d\.") as told:
        first.judge(SECOND, schema=shoal.Schema.of(quasi=["x"], sensitive=["job"]))
    assert "role" in told.value.hint


def test_a_relation_to_no_release_is_refused(first):
    for number in (1, 99):
        with pytest.raises(shoal.UsageError, match=f"entry {number}, which is no release"):
            first.judge(SECOND, schema=BOTH, relation={number: "same table"})


def test_what_could_not_be_judged_is_in_the_json(first):
    other = pa.table({"y": ["1"], "z": ["q"]})
    found = first.judge(other, schema=shoal.Schema.of(quasi=["y"], sensitive=["z"])).to_json()
    ((one,), reasons) = found["unjudged"], found["reasons"]
    assert one["entry"] == 2
    assert one["reason"] in reasons[0]
    assert "--about" not in one["reason"]
    assert found["overridden"] is False


# The key, and the address


def test_the_key_of_a_ledger_that_was_founded_is_kept(tmp_path, monkeypatch):
    def fail(_):
        raise OSError

    with monkeypatch.context() as broken:
        broken.setattr(Book, "close", fail)
        with pytest.raises(OSError, match=r"^$"):
            shoal.Ledger.init(tmp_path / "releases.db")
    with shoal.Ledger(tmp_path / "releases.db") as ledger:
        assert ledger.keys.name == "publisher"


ADDRESSES = [
    "postgresql://anna:pa/ss@127.0.0.1:1/db",
    "postgresql://127.0.0.1:1/db?user=anna&password=pa/ss",
    "postgresql://anna:pa/ss@x@127.0.0.1:1/db",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_address_is_told(address, tmp_path):
    with closing(open_database(address)) as found:
        assert found.name == "PostgreSQL"
        assert "pa/ss" not in repr(found)
    with pytest.raises(shoal.ShoalError) as told:
        shoal.Ledger.init(address, tmp_path / "our.key")
    assert "pa/ss" not in f"{told.value} {told.value.hint}"
