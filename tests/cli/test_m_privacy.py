"""``shoal m-privacy``: as a person types it, for a table and for a release."""

from __future__ import annotations

import json
import re

import pytest

from shoal.data import bundled
from shoal.models._verifiers import verifiers

ROLES = "--quasi Age --quasi Zip --sensitive Disease --provider Provider --identifier Name".split()
RULE = ("-m", "k-anonymity k=2", "-m", "distinct-diversity l=2")


@pytest.fixture
def asked(shoal, here):
    for name in ("ta", "tb"):
        text = bundled.path(f"mprivacy_table1_{name}.csv").read_text(encoding="utf-8")
        (here / f"{name}.csv").write_text(text, encoding="utf-8")
    return lambda name, *more: shoal("m-privacy", f"{name}.csv", *ROLES, *RULE, *more)


def test_a_table_that_holds(asked):
    told = json.loads(asked("tb", "--members", 1, "--json").stdout)
    assert (told["holds"], told["largest_m"], told["survive"][:2]) == (True, 1, [3, 3])
    result = asked("tb", "--members", 1)
    assert result.exit_code == 0, result.output
    assert re.search(
        r"at m=2: without 2 providers, a class of \d rows has 1 row, 1 value of Dis", result.stdout
    )
    beyond = r"at m=2: without P\d, P\d, a class of \d rows \(.*\) has 1 row \(in the table \d+\)"
    assert re.search(beyond, asked("tb", "--members", 1, "--show").stdout)


def test_a_table_that_does_not_hold_leaves_with_3(asked):
    result = asked("ta", "--members", 1)
    assert result.exit_code == 3
    told = "without 1 provider, a class of 3 rows has 1 row, 1 value of Disease"
    assert told in result.stdout
    assert asked("ta", "--members", 1, "-q").stdout == ""


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_names_labels_and_rows_are_shown_only_where_asked_for(asked, form):
    hidden, shown = (asked("ta", "--members", 1, *form, *more).stdout for more in ((), ("--show",)))
    assert not re.search(r"\bP\d|20-30|in the table", hidden)
    assert "P1" in shown
    assert "[20-30]" in shown
    if form:
        breaches = [
            json.loads(text)[key] for text in (hidden, shown) for key in ("worst", "breaks")
        ]
        assert [one["records"] for one in breaches] == [[], [], [3], [3]]
        assert [one["left"] for one in breaches] == [1] * 4
    else:
        told = "without P1, a class of 3 rows (Age [20-30], Zip *****) has 1 row (in the table 3)"
        assert told in shown


def test_every_verifier_is_told_of_and_no_other_is_known(asked, shoal):
    words = set(re.findall(r"[\w-]+", shoal("m-privacy", "--help").stdout))
    assert set(verifiers()) <= words
    result = asked("ta", "--members", 1, "--verifier", "sideways")
    assert result.exit_code == 2
    assert all(name in result.stderr for name in verifiers())


def test_json_with_a_verifier_of_the_paper(asked):
    result = asked("ta", "--members", 1, "--verifier", "direct", "--json", "--show")
    assert result.exit_code == 3
    found = json.loads(result.stdout)
    assert (found["edition"], found["holds"], found["coalition"]) == (1, False, ["P1"])
    assert (found["largest_m"], found["survive"]) == (0, [3, 1, 0, 0])
    assert (found["verifier"], found["worst"]["left"]) == ("direct", 1)
    assert found["checks"] >= 3


def test_wrong_usage(asked, shoal):
    assert asked("ta").exit_code == 2  # nobody said how many may work together
    every = asked("ta", "--members", 4)
    assert every.exit_code == 2
    assert "Hint" in every.stderr
    bare = shoal("m-privacy", "ta.csv", *RULE, "--members", 1)
    assert bare.exit_code == 2
    assert "--quasi" in bare.stderr


def test_one_provider_only_is_bad_input(asked, here):
    text = (here / "ta.csv").read_text(encoding="utf-8")
    for name in ("P2", "P3", "P4"):
        text = text.replace(f"{name},", "P1,")
    (here / "ta.csv").write_text(text, encoding="utf-8")
    result = asked("ta", "--members", 1)
    assert result.exit_code == 5
    assert "one provider" in result.stderr


def test_a_release_folder_with_its_companion(shoal):
    roles = (
        "--identifier patient --identifier name --identifier admitted --quasi age --quasi zip "
        "--sensitive diagnosis --provider sex"
    )
    rule = ("-m", "k-anonymity k=10")
    made = shoal("publish", "patients.csv", *roles.split(), *rule, "-o", "out")
    assert made.exit_code == 0, made.output
    result = shoal("m-privacy", "out", *rule, "--members", 0, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["rows"], told["providers"]) == (400, 2)
    assert told["how"] == "counted with the private companion"
