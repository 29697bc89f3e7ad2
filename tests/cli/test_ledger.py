"""The ledger on the command line: judged, refused, recorded, listed, verified."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from shoal import Ledger
from shoal.data import bundled
from shoal.ledger.chain import database

GT1, GT3 = (bundled.path(f"sweeney_fig4_{name}.csv") for name in ("gt1", "gt3"))
QUASI = "--quasi Race --quasi BirthDate --quasi Gender --quasi ZIP --sensitive Problem".split()
HEAD = re.compile(r"[Hh]ead(?: of the ledger)?:? (\d+:[0-9a-f]{64})$", re.MULTILINE)


@pytest.fixture
def ledger(shoal):
    """Run a verb of a ledger that is there."""
    assert shoal("ledger", "init", "--name", "St Anna").exit_code == 0
    return lambda *words: shoal("ledger", *words)


@pytest.fixture
def first(ledger):
    done = ledger("admit", GT1, *QUASI, "--to", "the public")
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture
def gone(ledger, here):
    """The same of a table that is no longer there."""
    copied = here / "unmoved" / "table.csv"
    copied.parent.mkdir()
    copied.write_bytes(Path(GT1).read_bytes())
    done = ledger("admit", copied, *QUASI, "--to", "the public")
    assert done.exit_code == 0, done.output
    copied.unlink()


def loaded(done, code=0):
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def test_a_ledger_begins_with_a_key_that_only_its_owner_reads(shoal, here):
    told = loaded(shoal("ledger", "init", "--name", "St Anna", "--epsilon", "2", "--json"))
    assert (here / "releases.key").stat().st_mode & 0o077 == 0
    assert told["key"] == "releases.key"
    assert told["head"].startswith("1:")
    (entry,) = loaded(shoal("ledger", "list", "--json"))["entries"]
    assert (entry["state"], entry["body"]["budget"]["epsilon"]) == ("founding", "2")
    again = shoal("ledger", "init")
    assert again.exit_code == 5
    assert "not overwritten" in again.stderr
    key = loaded(shoal("ledger", "key", "--json"))
    assert (key["name"], key["public"]) == ("St Anna", told["public"])


def test_what_is_spent_is_listed_exactly(shoal):
    words = "--epsilon 2/3 --delta 1e-6 --composition zcdp".split()
    assert shoal("ledger", "init", *words).exit_code == 0
    done = shoal("ledger", "add-foreign", GT1, *QUASI, "--by", "Lake", "--epsilon", "1/7")
    assert done.exit_code == 0, done.output
    lines = shoal("ledger", "list").stdout
    assert re.search(r"of ε 2/3, δ 1e-06, zcdp +founding", lines)
    assert re.search(r"Lake .* ε 1/7 +foreign", lines)
    assert re.search(r"^Budget, people: ε 1/7 spent by zcdp .* of ε 2/3", lines, re.MULTILINE)
    assert "; left for one more release of pure ε: 0.048\n" in lines
    told = loaded(shoal("ledger", "list", "--json"))["accounts"]["people"]
    assert told["totals"]["basic"] == {"epsilon": "1/7", "delta": "0"}
    assert (told["composition"], told["budget"]["epsilon"]) == ("zcdp", "2/3")
    assert told["remaining"] == {"epsilon": "6/125", "delta": "0"}
    wrong = shoal("ledger", "init", "--ledger", "b.db", "--composition", "advanced")
    assert (wrong.exit_code, "needs a budget" in wrong.stderr) == (2, True)


def test_a_shown_entry_has_rounded_numbers_and_json_exact_ones(ledger):
    rho = "7020130498269683/288230376151711744"
    spend = ("--epsilon", "1", "--delta", "1e-6", "--rho", rho)
    assert ledger("add-foreign", GT1, *QUASI, "--by", "Lake", *spend).exit_code == 0
    shown = ledger("show", 2).stdout
    assert re.search(r"^spend\.rho +0\.024356$", shown, re.MULTILINE)
    assert re.search(r"^spend\.delta +1e-06$", shown, re.MULTILINE)
    assert loaded(ledger("show", 2, "--json"))["entry"]["body"]["spend"]["rho"] == rho


@pytest.mark.usefixtures("first")
def test_the_second_release_is_refused_then_accepted_with_a_reason(ledger):
    told = loaded(ledger("admit", GT3, *QUASI, "--json"), 4)
    assert (told["admitted"], told["recorded"], told["judged_with"][0]["entry"]) == (
        False,
        False,
        2,
    )
    done = ledger("admit", GT3, *QUASI)
    assert done.exit_code == 4
    assert "REFUSED" in done.stdout
    assert "exposes 2 of 12 people" in done.stderr
    assert "--accept-risk" in done.stderr
    dry = ledger("admit", GT3, *QUASI, "--dry-run")
    assert (dry.exit_code, dry.stdout, dry.stderr) == (4, done.stdout, done.stderr)
    assert ledger("admit", GT3, *QUASI, "--limit", "49%", "--dry-run").exit_code == 4
    assert ledger("admit", GT3, *QUASI, "--limit", "50%", "--dry-run").exit_code == 0
    assert len(loaded(ledger("list", "--json"))["entries"]) == 2
    assert ledger("admit", GT3, *QUASI, "--accept-risk", " ").exit_code == 2
    done = ledger("admit", GT3, *QUASI, "--to", "the ministry", "--accept-risk", "by the board")
    assert done.exit_code == 0, done.output
    lines = ledger("list").stdout.splitlines()
    assert re.match(r"no\.\s+when\s+by\s+to\s+what\s+rule\s+state$", lines[0])
    assert re.match(r"\s*2  .*St Anna\s+the public .*admitted$", lines[2])
    assert re.match(r"\s*3  .*St Anna\s+the ministry .*overridden$", lines[3])
    shown = ledger("show", 3).stdout
    assert "by the board" in shown
    assert re.search(r"^findings 1\.attack\s+\w+", shown, re.MULTILINE)
    assert loaded(ledger("show", 3, "--json"))["entry"]["body"]["accepted_risk"] == "by the board"
    found = ledger("recheck")
    assert found.exit_code == 0
    assert re.search(r"^\s*3 .* accepted ", found.stdout, re.MULTILINE)


def test_what_was_accepted_is_the_measure_when_all_are_judged_again(ledger):
    columns = "--quasi Zip --quasi Age --quasi Nationality --sensitive Condition".split()
    one, two = (bundled.path(f"ganta_table1_{name}.csv") for name in ("r1", "r2"))
    assert ledger("admit", one, *columns).exit_code == 0
    assert ledger("admit", two, *columns, "--accept-risk", "agreed").exit_code == 0
    told = loaded(ledger("recheck", "--json"))
    assert [one["admitted"] for one in told["admissions"]] == [True, True]
    done = ledger("recheck", "--l", 3)  # more people are left with so few values
    assert done.exit_code == 4
    assert re.search(r"^\s*3 .* FAILS ", done.stdout, re.MULTILINE)
    assert "1 of 2 releases" in done.stderr


@pytest.mark.usefixtures("gone")
def test_releases_of_others_count_and_withdrawn_ones_stay(ledger):
    done = ledger("add-foreign", GT3, *QUASI, "--by", "Harbour", "--to", "all")
    assert done.exit_code == 0, done.output
    assert "Entry 3: a release by Harbour" in done.stdout
    assert "shoal ledger recheck" in done.stdout
    assert ledger("recheck").exit_code == 4  # ours was not judged with it
    assert ledger("withdraw", 3, "--reason", "no", "--never-out").exit_code == 2
    assert ledger("add-foreign", GT3, "--by", "Harbour").exit_code == 2  # no roles
    assert ledger("withdraw", 3, "--reason", "recalled").exit_code == 0
    assert ledger("withdraw", 1, "--reason", "recalled").exit_code == 2
    told = loaded(ledger("list", "--json"))["entries"]
    assert [one["state"] for one in told] == ["founding", "admitted", "withdrawn", "withdraws"]
    assert re.search(r"^\s*3 .*Harbour\s+all ", ledger("list").stdout, re.MULTILINE)
    assert len(loaded(ledger("list", "--about", "others", "--json"))["entries"]) == 0
    assert ledger("withdraw", 2, "--reason", "not moved", "--never-out").exit_code == 0
    assert re.search(r"^\s*2 .* never out$", ledger("list").stdout, re.MULTILINE)
    assert loaded(ledger("recheck", "--json"))["admissions"] == []


def test_a_changed_entry_and_a_cut_tail_leave_with_3(ledger, first, here):
    noted = HEAD.search(first.stdout)[1]
    assert HEAD.search(ledger("verify").stdout)[1] == noted
    assert ledger("verify", "--head", noted).exit_code == 0
    assert ledger("verify", "--head", noted[:-1]).exit_code == 2
    with closing(sqlite3.connect(here / "releases.db")) as book:
        names = book.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in names:
            book.execute(f'DROP TRIGGER "{name}"')
        book.execute("DELETE FROM shoal_ledger_sealed WHERE number = 2")
        book.execute("DELETE FROM shoal_ledger_entries WHERE number = 2")
        book.commit()
    told = loaded(
        ledger("verify", "--json"), 3
    )  # the key's folder remembers, and triggers are gone
    assert "older copy" in told["problems"][0]
    assert "triggers" in told["problems"][1]
    (here / "releases.key.heads").unlink()
    told = loaded(ledger("verify", "--restore-triggers", "--json"))
    assert told["whole"]  # a shorter chain has nothing wrong in it
    told = loaded(ledger("verify", "--head", noted, "--json"), 3)
    assert not told["whole"]
    assert "2" in told["problems"][0]


@pytest.mark.usefixtures("first")
def test_another_publisher_is_trusted_and_writes(ledger, here):
    assert ledger("key", "--new", "Harbour").exit_code == 2
    told = loaded(ledger("key", "--new", "Harbour", "-o", "harbour.key", "--json"))
    theirs = ("--key", "harbour.key")
    again = ("add-foreign", GT3, *QUASI, "--by", "Lake")
    assert ledger(*again, *theirs).exit_code == 5
    assert ledger("trust", "Harbour", "12").exit_code == 2
    assert ledger("trust", "Harbour", told["public"]).exit_code == 0
    assert ledger(*again, *theirs).exit_code == 0
    assert ledger("verify", *theirs).exit_code == 0
    assert loaded(ledger("show", 4, "--json"))["entry"]["body"]["by"] == "Harbour"
    assert (here / "harbour.key").stat().st_mode & 0o077 == 0


def test_errors_leave_with_the_exit_codes_of_the_house(shoal, here):
    assert shoal("ledger", "list").exit_code == 5
    (here / "some.db").write_text("no ledger", encoding="utf-8")
    assert shoal("ledger", "init", "--ledger", "mine.db").exit_code == 0
    wrong = ("--ledger", "some.db", "--key", "mine.key")
    assert shoal("ledger", "list", *wrong).exit_code == 5
    done = shoal("ledger", "show", 7, "--ledger", "mine.db", "--json")
    assert loaded(done, 5)["error"]["exit_code"] == 5
    assert shoal("ledger", "admit", "nowhere", "--ledger", "mine.db").exit_code == 5
    done = shoal("ledger", "admit", GT1, "--ledger", "mine.db")
    assert done.exit_code in (2, 5)
    assert "Hint: " in done.stderr
    address = "postgresql://anna:secret@127.0.0.1:1/none"
    done = shoal("ledger", "init", "--ledger", address)
    assert done.exit_code == 2  # a shared ledger's key needs a file
    assert "secret" not in done.output


@pytest.mark.parametrize(
    "where", ["anna:pa/ss@h/db", "h/db?user=a&password=pa/ss", "anna:pa/ss@x@h/db"]
)
def test_no_password_is_printed(shoal, here, monkeypatch, where):
    monkeypatch.setattr(
        database,
        "_open_postgresql",
        lambda _, patience: replace(
            database._open_sqlite(here / "db", patience, True), name="PostgreSQL"
        ),
    )
    done = shoal("ledger", "init", "--ledger", f"postgresql://{where}", "--key", "our.key")
    assert done.exit_code == 0, done.output
    assert "A ledger is in PostgreSQL\n" in done.stdout
    assert "pa/ss" not in done.output


@pytest.mark.usefixtures("ledger")
def test_a_ledger_with_a_key_of_its_own_is_closed(shoal, monkeypatch):
    closed = []
    monkeypatch.setattr(Ledger, "close", lambda self: closed.append(self))
    words = "-m", "k-anonymity k=2", "--dry-run", "--ledger", "releases.db"
    done = shoal("publish", GT1, *QUASI, *words, "--key", "releases.key")
    assert done.exit_code == 2
    assert "dry run" in done.stderr
    assert len(closed) == 1


def test_a_report_has_its_place_in_the_ledger(shoal, ledger):
    report = ("report", *QUASI, "--ledger", "releases.db", "--json")
    told = loaded(shoal(*report, GT1, "--about", "others"))["data"]["composition"]
    assert (told["recorded"], told["position"]["entry"], told["about"]) == (False, None, "others")
    assert told["position"]["head"]["number"] == 1
    assert ledger("admit", GT1, *QUASI).exit_code == 0
    told = loaded(shoal(*report, GT1))["data"]["composition"]
    assert (told["recorded"], told["admitted"], told["position"]["entry"]) == (True, True, 2)
    done = shoal(*report, GT3)
    assert loaded(done, 4)["data"]["composition"]["findings"][0]["exceeds"]
    assert "see Composition" in done.stderr
