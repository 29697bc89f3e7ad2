"""m-privacy of tables and releases: against brute force, what is told, and what is refused."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from itertools import combinations

import pytest

import shoal

RULE = "k-anonymity k=2 & distinct-diversity l=2"
ROLES = {"quasi": ["area"], "sensitive": ["illness"], "provider": "site"}


def rows(seed, sites=4, classes=6, most=7):
    rng = random.Random(seed)
    names = [f"S{i}" for i in range(sites)]
    return [
        {"area": f"A{area}", "illness": rng.choice("abc"), "site": rng.choice(names)}
        for area in range(classes)
        for _ in range(rng.randint(2, most))
    ]


def by_class(table):
    found = {}
    for row in table:
        found.setdefault(row["area"], []).append(row)
    return found


def breaches(table, m, k, l):
    """Every class and coalition of at most m of its providers that leaves too few, but somebody."""
    found = []
    for area, members in by_class(table).items():
        present = sorted({row["site"] for row in members})
        for size in range(min(m, len(present) - 1) + 1):
            for coalition in combinations(present, size):
                left = [row["illness"] for row in members if row["site"] not in coalition]
                if len(left) < k or len(set(left)) < l:
                    found.append((area, coalition, len(left), len(set(left))))
    return found


@pytest.fixture
def asked(town):
    def ask(table, rule=RULE, m=1, schema=None, **more):
        path = town.write(town.folder / "pooled.csv", table)
        return shoal.m_privacy(path, schema or shoal.Schema.of(**ROLES), rule, m, **more)

    return ask


@pytest.mark.parametrize("seed", range(8))
def test_as_by_brute_force(asked, seed):
    table, m = rows(seed, sites=3 + seed % 3), seed % 3
    k, l = 2 + seed % 2, 1 + seed % 3
    found = asked(table, f"k-anonymity k={k} & distinct-diversity l={l}", m, show=True)
    broken = [breaches(table, most, k, l) for most in range(found.providers)]
    safe = [most for most, some in enumerate(broken) if not some]
    assert found.holds == (not broken[m])
    assert found.largest_m == (safe[-1] if safe else None)
    classes = by_class(table)
    assert list(found.survive) == [len(classes) - len({c for c, *_ in some}) for some in broken]
    for one in filter(None, (found.worst, found.breaks)):
        told = one.labels["area"], one.coalition, one.left, one.distinct["illness"]
        assert told in broken[one.m]
        assert one.rows == len(classes[one.labels["area"]])
        assert one.members == len(one.coalition) <= one.m
    assert (found.breaks is None) == (found.largest_m == found.providers - 1)


def test_the_verifiers_of_the_paper_agree_and_count_their_checks(asked):
    table = rows(3)
    exact = asked(table, m=2)
    assert exact.checks == exact.classes
    same = "holds", "largest_m", "survive", "breaks", "rows", "classes"
    for verifier in ("direct", "top-down", "bottom-up", "binary"):
        found = asked(table, m=2, verifier=verifier)
        assert [getattr(found, name) for name in same] == [getattr(exact, name) for name in same]
        assert found.verifier == verifier
        assert found.checks >= exact.checks


SAFE = [
    {"area": "A", "illness": illness, "site": site}
    for site in ("North", "South", "West")
    for illness in ("flu", "cold", "flu")
]
WEAK = [{**row, "area": "B", "illness": "flu"} for row in SAFE if row["site"] != "West"]
"""One class that holds against any two, and one that fails by itself for want of a second value."""


def test_nothing_breaks_a_table_that_survives_all_coalitions(asked):
    found = asked(SAFE, m=2)
    assert (found.holds, found.coalition, found.worst, found.breaks) == (True, None, None, None)
    assert (found.largest_m, found.survive) == (2, (1, 1, 1))
    assert "largest m: 2" in str(found)
    assert "holds" in str(found)


def test_a_rule_that_fails_by_itself_needs_no_coalition(asked):
    found = asked([*SAFE, *WEAK], m=0)
    assert (found.holds, found.coalition, found.largest_m) == (False, (), None)
    assert (found.survive, found.breaks.members) == ((1, 1, 1), 0)
    assert "a class of 6 rows fails by itself" in str(found)
    assert "largest m: none" in str(found)


def test_a_coalition_and_the_rows_it_leaves_are_named_and_labels_where_asked_for(asked):
    table = [*SAFE, *({**row, "area": "C"} for row in SAFE if row["site"] != "West")]
    table += [{"area": "C", "illness": "flu", "site": "West"}]
    shown, hidden = (asked(table, m=2, show=show) for show in (True, False))
    assert shown.coalition == hidden.coalition == ("North", "South")
    assert hidden.worst.members == 2
    assert (hidden.worst.coalition, hidden.worst.labels) == (("North", "South"), None)
    assert (shown.worst.coalition, shown.worst.labels) == (("North", "South"), {"area": "C"})
    assert hidden.worst.records == (len(table),)
    told = f"has 1 row (in the table {len(table)}), 1 value of illness"
    assert f"without North, South, a class of 7 rows {told}" in str(hidden)
    assert "(area C)" in str(shown)
    told = json.dumps(hidden.to_json())
    assert "West" not in told
    assert '"C"' not in told
    assert json.loads(told)["coalition"] == ["North", "South"]
    assert hidden.to_dict()["survive"] == (2, 2, 1)
    quiet = asked(table, m=1).unnamed()
    assert "without 2 providers, a class of 7 rows has 1 row, 1 value" in str(quiet)
    assert "North" not in json.dumps(quiet.to_json())


@dataclass(frozen=True)
class Crowd:
    """A rule of a user's own: a class has so many rows."""

    rows: int

    needs = frozenset()
    monotone = local = row_monotone = True

    def holds(self, groups):
        return groups.rows >= self.rows

    def reached(self, groups):
        return float(groups.rows.min())


def test_what_takes_too_long_beyond_what_is_asked_is_said_to(asked, monkeypatch):
    """Of five providers there are 5 coalitions of one and of four, and 10 of two and of three."""
    monkeypatch.setattr("shoal.core.theory.collusion.MAX_COALITIONS", 5)
    table = [{"area": "A", "illness": "flu", "site": site} for site in "PQRST" for _ in range(2)]
    found = asked(table, Crowd(2), 1)
    assert (found.holds, found.largest_m, found.breaks, found.undecided) == (True, 1, None, True)
    assert "largest m: 1 at least; of more it cannot be decided in time" in str(found)
    assert found.to_json()["undecided"] is True
    every = asked(table, Crowd(2), 4)
    assert (every.holds, every.largest_m, every.undecided) == (True, 4, False)
    assert every.survive == (1,) * 5
    with pytest.raises(shoal.UndecidedError):
        asked(table, Crowd(2), 2)


def test_without_a_sensitive_column_rows_alone_count(asked):
    schema = shoal.Schema.of(quasi=["area"], provider="site", identifier=["illness"])
    found = asked(SAFE, "k-anonymity k=4", 1, schema)
    assert (found.holds, found.largest_m, found.breaks.left) == (True, 1, 3)
    assert found.breaks.distinct == {}


def test_values_of_two_columns_together(asked):
    table = [{**row, "drug": row["illness"] + row["site"][0]} for row in SAFE]
    schema = shoal.Schema.of(quasi=["area"], sensitive=["illness", "drug"], provider="site")
    found = asked(table, "distinct-diversity l=4 on=illness*drug", 2, schema)
    assert (found.largest_m, found.breaks.distinct) == (1, {"illness": 2, "drug": 2})


def test_providers_may_be_numbers(asked):
    table = [{**row, "site": str("NSW".index(row["site"][0]))} for row in SAFE]
    found = asked(table, "k-anonymity k=7", 1)
    assert not found.holds
    assert found.coalition in {("0",), ("1",), ("2",)}


def test_a_rule_that_is_not_growing_falls_to_some_of_the_rows(asked):
    """Without all of the coalition's rows the cap holds; without its cold ones it does not."""
    table = [
        {"area": "A", "illness": illness, "site": site}
        for site, illness, times in (
            ("North", "flu", 2),
            ("North", "cold", 2),
            ("South", "flu", 1),
            ("South", "cold", 1),
        )
        for _ in range(times)
    ]
    found = asked(table, "alpha-k alpha=0.5 k=1", 1)
    assert (found.holds, found.largest_m) == (False, 0)
    assert asked(table, "alpha-k alpha=0.5 k=1", 0).holds
    with pytest.raises(shoal.UsageError, match="exact"):
        asked(table, "alpha-k alpha=0.5 k=1", 1, verifier="direct")


REFUSED = {
    "No column says who provided": {"schema": shoal.Schema.of(quasi=["area"])},
    "m=3 of 3 providers": {"m": 3},
    "m must be a whole number": {"m": -1},
    "about providers already": {"rule": f"m-privacy m=1 ({RULE})"},
    "counts people of a population": {"rule": "k-map k=2"},
    "no verifier 'sideways'": {"verifier": "sideways"},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_asked_is_refused(asked, reason):
    with pytest.raises(shoal.UsageError, match=reason) as refused:
        asked(SAFE, **REFUSED[reason])
    assert refused.value.hint


def test_a_table_needs_a_schema(town):
    with pytest.raises(shoal.UsageError, match="what the columns are"):
        shoal.m_privacy(town.table, None, RULE, 1)


@pytest.mark.parametrize(
    ("site", "words"),
    [
        ({"North": "S", "South": "S", "West": "S"}, "one provider"),
        ({"North": "Saint A", "South": "saint a", "West": "W"}, "differ by case or space"),
        ({"North": "", "South": "S", "West": "W"}, "no provider"),
    ],
)
def test_providers_that_cannot_be_told_apart_are_bad_input(asked, site, words):
    with pytest.raises(shoal.InputError, match=words) as refused:
        asked([{**row, "site": site[row["site"]]} for row in SAFE])
    assert "Saint" not in str(refused.value)


def test_a_table_without_its_provider_column_is_bad_input(asked):
    with pytest.raises(shoal.InputError, match="'site'"):
        asked([{k: v for k, v in row.items() if k != "site"} for row in SAFE])


def test_kept_columns_are_refused_unless_accepted(asked):
    schema = shoal.Schema.of(**ROLES).set(illness=shoal.keep)
    with pytest.raises(shoal.NotMetError, match="illness"):
        asked(SAFE, "k-anonymity k=3", 2, schema)
    assert asked(SAFE, "k-anonymity k=3", 2, schema, accept_keep=True).holds


def test_a_release_is_judged_with_its_private_companion(town):
    release = town.publish("k-anonymity k=4", town.schema())
    found = shoal.m_privacy(release.folder, None, "k-anonymity k=2", 1)
    assert found.how == "counted with the private companion"
    assert (found.rows, found.providers) == (80, 2)
    assert found.classes == release.verdict.classes
    assert shoal.m_privacy(release, None, "k-anonymity k=2", 1) == found
    release.companion.rename(town.folder / "elsewhere")
    with pytest.raises(shoal.InputError, match="companion"):
        shoal.m_privacy(release.folder, None, "k-anonymity k=2", 1)


def test_a_release_counts_as_its_rows_do(town):
    """The published classes, and whose rows are in them, from the table that was published."""
    release = town.publish(
        "k-anonymity k=6", town.schema(age=shoal.identifier, zip=shoal.identifier)
    )
    found = shoal.m_privacy(release, None, "k-anonymity k=1", 1)
    assert found.holds
    sites = {}
    for row in town.rows:
        sites.setdefault(row["sex"], []).append(row["hospital"])
    left = min(len(some) - some.count(name) for some in sites.values() for name in set(some))
    assert shoal.m_privacy(release, None, f"k-anonymity k={left}", 1).holds
    worse = shoal.m_privacy(release, None, f"k-anonymity k={left + 1}", 1)
    assert (worse.holds, worse.worst.left) == (False, left)


def test_buckets_are_refused(town):
    release = town.publish("distinct-diversity l=2", form="buckets")
    with pytest.raises(shoal.UsageError, match="permuted"):
        shoal.m_privacy(release, None, "k-anonymity k=2", 1)
