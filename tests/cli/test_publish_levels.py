"""What ``publish`` says of levels, and of what it is asked: on screen, in hints, when stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

import shoal as package
from shoal.cli import main as door
from shoal.cli import printing
from shoal.methods import list_method_names

ROWS = (
    f"{20 + i % 30},{'Ulm' if i % 3 else 'Bonn'},{'nurse' if i % 2 else 'cook'}\n"
    for i in range(100)
)
PEOPLE = "age,town,job\n" + "".join(ROWS)
# The third level joins nothing that the second does not.
AGES = "".join(f"{a};{a // 5 * 5}+;{a // 10}0s;{a // 10}x;*\n" for a in range(20, 50))
FULL = "--method", "full-domain"


@pytest.fixture
def publish(shoal, here):
    """Publish a table of a hundred people, ages on five levels, towns on two."""
    (here / "people.csv").write_text(PEOPLE)
    (here / "trees").mkdir()
    (here / "trees" / "age.csv").write_text(AGES)
    (here / "trees" / "town.csv").write_text("Ulm;*\nBonn;*\n")
    fixed = "publish", "people.csv", "--hierarchies", "trees", "--sensitive", "job"

    def run(*more, rule="k-anonymity k=5", out=("--dry-run",)):
        return shoal(*fixed, "-m", rule, *out, *more)

    return run


@pytest.mark.parametrize("method", ["full-domain", "chain", "datafly", "mu-argus"])
def test_the_level_of_each_column_is_told(publish, method):
    found = json.loads(publish("--method", method, "--json").stdout)
    told = publish("--method", method).stdout
    assert found["levels_of"] == {"age": 4, "town": 1}
    age, town = found["levels"]["age"], found["levels"]["town"]
    assert f"Levels: age {age} of 4, town {town} of 1 (0: as it is" in told


def test_other_methods_have_no_levels_to_tell(publish):
    assert "Levels" not in publish().stdout


def test_exact_cells_have_no_levels_but_their_classes_have(publish):
    rule = "distinct-diversity l=2"
    told = publish(*FULL, "--form", "buckets", rule=rule).stdout
    assert "\nLevels at which classes were made: age " in told


@pytest.mark.parametrize("measure", ["loss", "height"])
def test_what_was_minimised_and_how_far_the_search_went(publish, measure):
    found = json.loads(publish(*FULL, "--measure", measure, "--json").stdout)
    told = publish(*FULL, "--measure", measure).stdout
    least = f"The least {measure} {printing.format_fact(found['value'])}: "
    assert f"{least}{found['checked']} of 8 combinations of levels were made" in told
    assert "stopped" not in told


def test_a_search_that_was_stopped_says_so(publish):
    told = publish(*FULL, "--set", "nodes=2").stdout
    assert "stopped by its limit after 2 of 8 combinations of levels" in told
    assert "a better one may exist" in told
    assert "no other can be better" not in told


def test_minimal_combinations_are_a_table(publish):
    asked = *FULL, "--set", "minimal=true"
    minimal = json.loads(publish(*asked, "--json").stdout)["minimal"]
    lines = publish(*asked).stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("Minimal combinations"))
    assert lines[at + 1].split() == ["age", "town"]
    shown = [line.split() for line in lines[at + 2 : at + 2 + len(minimal)]]
    assert [[int(n) for n in row[:2]] for row in shown] == [list(m.values()) for m in minimal]
    assert sum(row[2:] == ["chosen"] for row in shown) == 1


def test_of_many_minimal_combinations_the_first_are_shown():
    minimal = [{"a": i} for i in range(printing.MAX_LISTED + 3)]
    told = printing.format_levels({"levels": {"a": 0}, "minimal": minimal})
    assert told[-1] == "… and 3 more (--json has all)."
    assert len(told[-2].splitlines()) == printing.MAX_LISTED + 1


@pytest.mark.parametrize(
    ("levels", "fact", "hint"),
    [
        ("age", "levels is not understood.", 'levels="age=1..2"'),
        ("zip=1", "levels names 'zip', which is no quasi-identifier.", "columns: age, town."),
        ("age=1,age=2", "levels names 'age' twice.", "columns: age, town."),
        ("age=5", "Column 'age' has no level 5.", "its levels are 0, 1, 2, 3, 4."),
        ("age=6..9", "Column 'age' has no level in 6..9.", "its levels are 0, 1, 2, 3, 4."),
        ("town=2..", "Column 'town' has no level 2 or above.", "its levels are 0, 1."),
    ],
)
def test_each_mistake_about_levels_has_its_message(publish, levels, fact, hint):
    found = publish(*FULL, "--set", f"levels={levels}")
    assert found.exit_code == 2
    assert fact in found.stderr
    assert hint in found.stderr


@pytest.mark.parametrize(
    ("k", "more", "told"),
    [
        (4, ("levels=age=0,town=0",), "No combination of levels meets"),
        (90, ("levels=age=0,town=0",), "No combination of the levels that are allowed"),
        (90, ("levels=age=0..1", "nodes=1"), "Among the 1 combinations"),
    ],
)
def test_where_levels_are_bounded_loosening_them_is_a_hint(publish, k, more, told):
    settings = [word for setting in more for word in ("--set", setting)]
    found = publish(*FULL, *settings, rule=f"k-anonymity k={k}")
    assert found.exit_code == 3
    assert told in found.stderr
    assert "Hint: loosen levels, " in found.stderr
    free = publish(*FULL, rule="k-anonymity k=200")
    assert free.exit_code == 3
    assert "loosen levels" not in free.stderr


def test_a_parameter_that_is_given_in_two_ways_is_refused(publish):
    twice = *FULL, "--measure", "loss", "--set"
    for asked in ((*twice, "measure=height"), (*FULL, "--set", "nodes=2", "--set", "nodes=3")):
        found = publish(*asked)
        assert found.exit_code == 2
        assert "Hint: leave one out." in found.stderr
    assert publish(*twice, "measure=loss").exit_code == 0


def test_help_has_sections_and_names_every_method(shoal):
    told = shoal("publish", "--help").stdout
    heads = [line[:-1] for line in told.splitlines() if line.endswith(":") and line[0] != " "]
    making = told[told.index("How classes are made:") : told.index("What is written:")]
    assert heads[:5] == [
        "Options",
        "How classes are made",
        "What is written",
        "Noise (differential privacy)",
        "Other tables and releases",
    ]
    listed = " ".join(making.split()).replace("- ", "-").partition("One of ")[2].partition(".")[0]
    assert sorted(listed.split(", ")) == sorted(list_method_names())


def test_what_is_explained_is_in_words(publish):
    told = publish(*FULL, "--explain").stdout
    rows = dict(line.rsplit(maxsplit=1) for line in told.splitlines() if line.endswith("yes"))
    assert rows == {"the search came to its end": "yes"}
    assert {"value", "nodes", "checked", "complete"}.isdisjoint(told.split("\n\n")[2].split()[2:])
    assert "combinations of levels that were made" in told


def test_rows_held_back_that_would_meet_the_rule_together_may_be_starred(publish):
    asked = *FULL, "--set", "levels=age=0,town=0", "--hold-back", "60%", "--explain"
    told = publish(*asked, rule="k-anonymity k=4").stdout
    assert "60 rows are held back. As a class by themselves:\n  meets k-anonymity k=4" in told
    assert "(reaches 60)\nSo they may be printed as one class of *" in told
    assert "would pass" not in told


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("0.1 %", 0.001), ("0.29", 0.29)])
def test_a_share_is_a_number_or_per_cent(publish, monkeypatch, text, share):
    seen = []

    def asked(*_, **request):
        seen.append(request["hold_back"])
        raise package.UsageError("Seen.")

    monkeypatch.setattr(package, "publish", asked)
    publish("--hold-back", text)
    assert seen == [share]


@pytest.mark.parametrize("text", ["5", "-1%", "nan", "some", "%"])
def test_what_is_no_share_is_told_how_to_write_one(publish, text):
    found = publish("--hold-back", text)
    assert found.exit_code == 2
    assert "write for example 0.05 or 5%" in found.stderr


def test_a_folder_that_is_missing_is_named(publish, here):
    for out in (("-o", "r/first"), ("-o", "first", "--companion", "r/private")):
        found = publish(out=out)
        assert found.exit_code == 5
        assert "There is no folder r." in found.stderr
    (here / "r").mkdir()
    assert publish(out=("-o", "r/first")).exit_code == 0


def test_one_class_is_not_classes():
    one = package.Verdict(True, "counted", 3, 1, ())
    assert "3 rows in 1 class, counted" in printing.describe_verdict(one)


STOPPED = """
import os, signal, sys

class Stop:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Stop())
sys.argv = ["shoal", "--help"]
{door}
"""
DOORS = {
    "script": "from shoal.cli.__main__ import run\nrun()",
    "module": "import runpy\nrunpy.run_module('shoal.cli', run_name='__main__')",
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("script", "click"),
        ("script", "shoal.cli.printing"),
        ("module", "shoal.cli.main"),
        ("script", "shoal.core.temporary_files"),
        ("module", "shoal.core.interruption"),
    ],
)
def test_a_signal_while_python_loads_is_no_traceback(name, module, number):
    code = STOPPED.format(module=module, number=int(number), door=DOORS[name])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr.split()) == (128 + number, [b"Stopped."])


def test_ctrl_c_around_the_run_is_the_same_end(shoal, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(door, "run_guarded", stop)
    assert shoal("--help").exit_code == 130
