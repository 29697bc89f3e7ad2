"""Columns without levels, where a method works by levels: told, and given some where asked."""

from __future__ import annotations

import csv
import json
import tomllib
from datetime import date, timedelta

import pytest

import shoal
from shoal import NotMetError
from shoal.releases.auto_hierarchies import MAX_INTERVALS, choose_interval_widths

OFFER = 'Column "age" has no levels between its values and *, and chain works by levels: write '


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    path = tmp_path_factory.mktemp("levels") / "people.csv"
    with path.open("w", newline="", encoding="utf-8") as handle:
        out = csv.writer(handle)
        out.writerow("age,born,zip,job,ill".split(","))
        for i in range(160):
            born = date(1950, 1, 1) + timedelta(days=97 * i)
            out.writerow([20 + i % 50, born, f"1{i % 4}{i % 7}", "abc"[i % 3], "flu"])
    return path


def schema(**roles):
    kinds = {"age": "number", "born": "date", "zip": "code", "job": "category"}
    quasi = {name: shoal.quasi(kind=kind) for name, kind in kinds.items()}
    return shoal.Schema.of(sensitive="ill").set({**quasi, **roles})


def about_levels(release: shoal.Release) -> list[str]:
    """The notes without the one that says that no requirement is about a sensitive column."""
    return [note for note in release.private["notes"] if "requirement" not in note]


def test_a_number_without_levels_is_noted_with_the_line_to_type(people):
    """Dates and codes have levels unless they are told otherwise; words have none to offer."""
    release = shoal.publish(people, schema(), "k-anonymity k=4", method="chain")
    line = "hierarchy = {intervals = [5, 10, 20, 40]}"
    ending = f"{line} under it in the schema, or add --auto-hierarchies."
    assert about_levels(release) == [OFFER + ending]
    assert release.to_json()["notes"] == release.private["notes"]
    typed = tomllib.loads(line)["hierarchy"]
    given = schema(age=shoal.quasi(shoal.intervals(*typed["intervals"]), kind="number"))
    again = shoal.publish(people, given, "k-anonymity k=4", method="chain")
    assert about_levels(again) == []


def test_other_methods_need_no_levels(people):
    assert about_levels(shoal.publish(people, schema(), "k-anonymity k=4")) == []
    asked = shoal.publish(people, schema(), "k-anonymity k=4", auto_hierarchies=True)
    assert about_levels(asked) == []


def test_automatic_levels_are_used_told_and_kept_in_the_companion(people, tmp_path):
    bare = schema(
        born=shoal.quasi(shoal.ordered(), kind="date"),
        zip=shoal.quasi(shoal.flat(), kind="code"),
    )
    asked = {"method": "chain", "auto_hierarchies": True, "out": tmp_path / "release"}
    release = shoal.publish(people, bare, "k-anonymity k=4", order=("born", "zip"), **asked)
    lines = [
        "{intervals = [5, 10, 20, 40]}",
        '{dates = ["month", "quarter", "year", "decade"]}',
        '"prefixes"',
    ]
    ends = [" Their widths follow the table's range; bounds in the schema fix them.", "", ""]
    assert [note.partition(" = ")[2] for note in about_levels(release)] == [
        f"{line}.{end}" for line, end in zip(lines, ends, strict=True)
    ]
    assert all("was given automatic ones" in note for note in about_levels(release))
    told = json.loads((tmp_path / "release.private/companion.json").read_text(encoding="utf-8"))
    kept = shoal.Schema.parse(told["schema"])
    assert kept.column("age").hierarchy == shoal.intervals(5, 10, 20, 40)
    assert kept.column("zip").hierarchy == shoal.prefixes()
    assert kept.column("job").hierarchy == shoal.flat()
    assert 0 < release.private["levels"]["age"] < 5, "neither as it is nor lost"
    public = (tmp_path / "release/manifest.json").read_text(encoding="utf-8")
    assert not any(word in public for word in ("intervals", "bounds", "dates", "prefixes"))
    assert shoal.verify(tmp_path / "release").holds
    like = shoal.publish(people, like=release)
    assert like.private["levels"] == release.private["levels"]


def test_levels_are_offered_where_the_requirement_is_not_met(people):
    with pytest.raises(NotMetError) as failed:
        shoal.publish(people, schema(), "k-anonymity k=161", method="chain")
    assert failed.value.hint.endswith(
        "Or add --auto-hierarchies: a column has no levels between the values and *."
    )


@pytest.mark.parametrize("method", ["chain", "mu-argus"])
def test_however_many_columns_lack_levels_a_refusal_says_it_once(people, method):
    bare = schema(
        born=shoal.quasi(shoal.ordered(), kind="date"), zip=shoal.quasi(shoal.flat(), kind="code")
    )
    with pytest.raises(NotMetError) as failed:
        shoal.publish(people, bare, "k-anonymity k=161", method=method)
    assert failed.value.hint.count("--auto-hierarchies: 3 columns have no levels") == 1
    assert "Column " not in failed.value.hint
    with pytest.raises(NotMetError) as failed:
        shoal.publish(people, bare, "k-anonymity k=161", method=method, auto_hierarchies=True)
    assert "levels" not in failed.value.hint


def test_bounds_decide_about_the_widths(people):
    bounded = schema(age=shoal.quasi(kind="number", bounds=(0, 120)))
    release = shoal.publish(
        people, bounded, "k-anonymity k=4", method="chain", auto_hierarchies=True
    )
    assert release.private["notes"][0].endswith("intervals = [10, 20, 40, 80]}.")


@pytest.mark.parametrize("range_", [1e-6, 0.3, 1, 2, 7, 19, 20, 21, 99, 100, 101, 73_000, 4e12])
@pytest.mark.parametrize("whole", [False, True])
def test_widths_nest_and_leave_few_intervals(range_, whole):
    found = choose_interval_widths(0, range_, whole)
    if not found:
        assert range_ <= 2
        return
    hierarchy = shoal.intervals(*found)
    assert hierarchy.widths == found
    assert found[0] * MAX_INTERVALS >= range_
    assert found[0] <= max(range_ / MAX_INTERVALS * 2.5, 2)
    assert found[-1] < range_
    assert not whole or found[0] >= 2


@pytest.mark.parametrize("ends", [(3, 3), (float("inf"), float("-inf"))])
def test_a_column_of_one_value_or_none_has_no_levels(ends):
    assert choose_interval_widths(*ends, whole=True) == ()
