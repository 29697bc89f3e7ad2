"""Rows held back: only where allowed, counted, explained, absent or starred."""

from __future__ import annotations

from collections import Counter

import pytest

import shoal

SCHEMA = shoal.Schema.of(quasi="age", sensitive="d")


@pytest.fixture
def uneven(town):
    """Young people have many diagnoses, old ones nearly all the same: alpha fails as a whole."""
    rows = [{"age": str(20 + i % 5), "d": "abcde"[i % 5]} for i in range(20)]
    rows += [{"age": str(60 + i % 9), "d": "z"} for i in range(30)]
    return town.write(town.folder / "uneven.csv", rows)


ALPHA = "alpha-k alpha=0.5 k=4"


def publish(town, table, rule, **settings):
    return shoal.publish(table, SCHEMA, rule, **{"out": town.folder / "r", **settings})


def test_without_leave_the_whole_table_is_refused_with_what_it_reaches(town, uneven):
    with pytest.raises(shoal.NotMetError, match="whole table reaches") as error:
        publish(town, uneven, ALPHA)
    assert "--hold-back" in error.value.hint
    assert "r" not in town.names()


@pytest.mark.parametrize("rule", [ALPHA, "k-anonymity k=4 & entropy-diversity l=4"])
def test_parts_that_meet_the_rule_are_published_and_the_others_held_back(town, uneven, rule):
    release = publish(town, uneven, rule, hold_back=0.6)
    rows = town.published(release)
    assert release.private["held_back"] == 50 - len(rows) > 0
    assert release.verdict.holds
    assert len(rows) >= 20
    found: dict = {}
    for row in rows:
        found.setdefault(row["age"], []).append(row["d"])
    for values in found.values():
        assert len(values) >= 4
        assert max(Counter(values).values()) <= len(values) / 2
    assert shoal.verify(release.folder).holds
    assert "held" not in str(town.manifest(release))


def test_more_than_was_allowed_is_refused_with_the_share_that_would_do(town, uneven):
    with pytest.raises(shoal.NotMetError, match="2 may be held back") as error:
        publish(town, uneven, ALPHA, hold_back=0.05)
    share = float(error.value.hint.split("--hold-back ")[1].split(",")[0])
    assert publish(town, uneven, ALPHA, hold_back=share).verdict.holds


def test_the_allowance_is_exact(town):
    """0.29 of 100 rows is 29, although 0.29 * 100 is a little less as a float."""
    rows = [{"age": "20", "d": "ab"[i % 2]} for i in range(71)]
    rows += [{"age": "90", "d": "a"} for _ in range(29)]
    table = town.write(town.folder / "exact.csv", rows)
    rule = "alpha-k alpha=0.51 k=2"
    assert publish(town, table, rule, hold_back=0.29).private["held_back"] == 29
    with pytest.raises(shoal.NotMetError):
        publish(town, table, rule, hold_back=0.28, replace=True)


def test_the_reference_is_that_of_the_published_rows(town, uneven):
    """t-closeness is judged against what is published, not against what was held back."""
    release = publish(town, uneven, f"{ALPHA} & t-closeness t=0.6", hold_back=0.7)
    rows = town.published(release)
    whole = Counter(row["d"] for row in rows)
    for age in {row["age"] for row in rows}:
        part = Counter(row["d"] for row in rows if row["age"] == age)
        n = sum(part.values())
        assert sum(abs(part[d] / n - whole[d] / len(rows)) for d in whole) / 2 <= 0.6 + 1e-12


def test_it_is_explained_which_requirement_fails_and_where_it_would_pass(town, uneven):
    told = publish(town, uneven, ALPHA, hold_back=0.6).private["explanation"]
    assert "rows are held back" in told
    assert f"fails {ALPHA}" in told
    assert "would pass at 1" in told
    none = publish(town, uneven, "k-anonymity k=2", replace=True)
    assert none.private["explanation"] == "No row is held back."


def test_starred_rows_that_do_not_meet_the_rule_are_refused(town, uneven):
    with pytest.raises(shoal.NotMetError, match=r"rows held back printed as \*"):
        publish(town, uneven, ALPHA, hold_back=0.7, held_back_as="starred")
    assert "r" not in town.names()


class Young:
    """At most twelve rows, and either nobody over thirty or any age at all."""

    needs = frozenset({"cells"})
    monotone = False
    local = True

    def holds(self, groups):
        low, high = groups.cells.low[:, 0], groups.cells.high[:, 0]
        return (groups.rows <= 12) & ((high < 5) | ((low == 0) & (high == 9)))

    def reached(self, groups):
        return float(self.holds(groups).mean())

    def __str__(self):
        return "young"


def test_starred_rows_that_meet_the_rule_are_a_class_of_stars(town):
    rows = [{"age": str(20 + i % 5), "d": "ab"[i % 2]} for i in range(20)]
    rows += [{"age": str(60 + i), "d": "abcde"[i % 5]} for i in range(5)]
    table = town.write(town.folder / "s.csv", rows)
    settings = {"hold_back": 0.5, "dry_run": True}
    absent = publish(town, table, Young(), **settings)
    assert (absent.verdict.rows, absent.private["held_back"]) == (20, 5)
    starred = publish(town, table, Young(), held_back_as="starred", **settings)
    assert (starred.verdict.rows, starred.private["held_back"]) == (25, 0)
    assert starred.private["starred"] == 5
    assert starred.verdict.classes == absent.verdict.classes + 1
    assert starred.verdict.holds
    assert "meets young" in starred.private["explanation"]
    with pytest.raises(shoal.UsageError, match="cells"):  # a file has labels, not codes
        publish(town, table, Young(), hold_back=0.5)


def test_starred_is_nothing_special_where_nothing_is_held_back(town, uneven):
    release = publish(town, uneven, "k-anonymity k=4", hold_back=0.5, held_back_as="starred")
    assert release.private["held_back"] == release.private["starred"] == 0
    assert "*" not in {row["age"] for row in town.published(release)}
    with pytest.raises(shoal.UsageError, match="absent or starred"):
        publish(town, uneven, ALPHA, held_back_as="shredded", replace=True)
