"""A pool of providers on the command line."""

from __future__ import annotations

import json
import re

import pytest

RULE = "m-privacy m=1 (k-anonymity k=5 & distinct-diversity l=2)"
BOTH = ("--provider", "St Anna", "--provider", "Harbour")


@pytest.fixture
def agreed(shoal, roles, here):
    """A schema with the columns' kinds, and the rows of each of two providers."""
    text = shoal("schema", "patients.csv", *roles).stdout
    (here / "schema.toml").write_text(text, encoding="utf-8")
    head, *rows = (here / "patients.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    for i, name in enumerate(("anna.csv", "harbour.csv")):
        (here / name).write_text(head + "".join(rows[i::2]), encoding="utf-8")
    return ("pool", "init", "POOL", "-s", "schema.toml", "-m", RULE)


def test_three_lines_make_a_release(shoal, here, agreed):
    done = shoal(*agreed, *BOTH)
    assert done.exit_code == 0, done.output
    agreement = re.match(r"agreement ([0-9a-f]{64})\n", done.stdout)[1]
    add = ("pool", "add", "POOL", "--agreement", agreement)
    done = shoal(*add, "--provider", "Harbour", "harbour.csv")
    assert done.stdout.startswith(f"Harbour: 200 rows added, agreement {agreement}")
    assert "Still to add rows: St Anna." in done.stdout
    assert "rows added: Harbour\nawaited: St Anna" in shoal("pool", "status", "POOL").stdout
    told = json.loads(shoal("pool", "status", "POOL", "--json").stdout)
    assert (told["added"], told["awaited"]) == (["Harbour"], ["St Anna"])
    told = json.loads(shoal(*add, "--provider", "St Anna", "anna.csv", "--json").stdout)
    assert (told["rows"], told["awaited"]) == (200, [])
    done = shoal("pool", "publish", "POOL", "-o", "release", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["verdict"]["holds"]
    assert told["certificate"]["agreement"] == agreement
    assert sorted(told["pages"]) == ["Harbour", "St Anna"]
    assert (here / "release.partners" / told["pages"]["St Anna"]).is_file()
    assert shoal("verify", "release").exit_code == 0
    alone = told["counts"]["of_one_provider"]
    done = shoal("pool", "publish", "POOL", "-o", "other")
    assert done.exit_code == 2
    assert "whoever has both tables can compare them" in done.stderr
    done = shoal("pool", "publish", "POOL", "-o", "release", "--replace")
    assert ("Classes of one provider: " in done.stdout) == (alone > 0)
    assert "1 release of this pool came before" in done.stdout
    assert re.search(r"^certificate [0-9a-f]{64}$", done.stdout, re.MULTILINE)
    assert "release.partners" in done.stdout


def test_errors_leave_with_the_exit_codes_of_the_house(shoal, here, agreed):
    assert shoal("pool", "init", "POOL", "-m", RULE).exit_code == 2
    assert shoal("pool", "init", "POOL", "-s", "schema.toml").exit_code == 2
    done = shoal(*agreed[:-1], "k-anonymity k=5")
    assert done.exit_code == 2
    assert '-m "m-privacy m=1 (k-anonymity k=5)"' in done.stderr
    assert shoal("pool", "publish", "POOL", "-o", "release").exit_code == 5
    assert shoal("pool", "status", "POOL").exit_code == 5
    assert shoal(*agreed, "--provider", "St Anna").exit_code == 5
    assert shoal(*agreed[:-1], "m-privacy m=2 (k-anonymity k=5)", *BOTH).exit_code == 2
    assert shoal(*agreed, *BOTH).exit_code == 0
    (here / "empty.csv").write_text("age\n", encoding="utf-8")
    add = ("pool", "add", "POOL", "--provider", "Harbour")
    assert shoal(*add, "empty.csv").exit_code == 5
    assert shoal(*add, "harbour.csv", "--agreement", "0" * 64).exit_code == 5
    assert shoal(*add, "harbour.csv").exit_code == 0
    assert shoal(*add, "harbour.csv").exit_code == 5
    assert shoal(*add, "harbour.csv", "--replace").exit_code == 0
    assert shoal("pool", "publish", "POOL", "-o", "release").exit_code == 5
    assert shoal("pool", "publish", "POOL").exit_code == 2
    path = here / "POOL/pool.json"
    path.write_text(path.read_text(encoding="utf-8").replace("l=2", "l=1"), encoding="utf-8")
    done = shoal(*add, "harbour.csv", "--replace", "--json")
    assert done.exit_code == 5
    assert "changed after it was signed" in json.loads(done.stdout)["error"]["fact"]
    assert not (here / "release").exists()


def test_hints_are_lines_to_type(shoal, here, agreed):
    shoal(*agreed, *BOTH)
    done = shoal("pool", "publish", "POOL", "-o", "release")
    assert "shoal pool add POOL --provider 'St Anna' FILE" in done.stderr
    text = (here / "harbour.csv").read_text(encoding="utf-8").splitlines()
    at = text[0].split(",").index("age")
    cells = [line.split(",") for line in text[1:]]
    changed = [",".join([*one[:at], "old", *one[at + 1 :]]) for one in cells]
    (here / "words.csv").write_text("\n".join([text[0], *changed]), encoding="utf-8")
    done = shoal("pool", "add", "POOL", "--provider", "Harbour", "words.csv")
    assert done.exit_code == 5
    assert "marks that mean null go in --null." in done.stderr
    done = shoal("pool", "add", "POOL", "--provider", "Harbour", "harbour.csv", "--agreement", "3f")
    assert done.exit_code == 2
