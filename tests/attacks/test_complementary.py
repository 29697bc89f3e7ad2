"""Complementary and temporal: the paper's figures, every way to pair tiny tables, bad input."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests.attacks import release_views as releases

from shoal.attacks._shared import row_matching
from shoal.attacks._shared.row_matching import link_rows
from shoal.attacks.complementary import complementary
from shoal.attacks.temporal import temporal
from shoal.core.axis import Axis
from shoal.core.cells import Cells, find_meeting_classes
from shoal.core.errors import InputError
from shoal.core.hierarchy import ordered
from shoal.core.theory.adversary_view import NobodyFoundError, ReleaseView, View
from shoal.kernels.assignment import AssignablePairs, assign, bundle_pairs, find_bridges

FIG = releases.golden("sweeney_fig4_5")
ADDED = FIG["temporal"]["added_released"]


def view(first, second, **more):
    return releases.joined(releases.FIG4, {"GT1": first, "other": second}, "Problem", **more)


def shuffled(rows, seed=0):
    return [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]


# The paper


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_figure_5_resolves_twelve_rows_and_isolates_two(seed):
    second = FIG["GT3"] if seed is None else shuffled(FIG["GT3"], seed)
    finding = complementary(view(FIG["GT1"], second))
    found = finding.details
    assert (finding.people, finding.exposed, finding.sure) == (12, 2, 1)
    assert (found["resolved"], found["unresolved"], found["unique_after"]) == (12, 0, 2)
    assert (found["k_before"], found["k_after"]) == ([2, 2], 1)
    assert found["unique_before"] == [0, 0]
    assert [FIG["GT1"][row - 1]["Problem"] for row in finding.worst] == [
        row["Problem"] for row in FIG["expected"]["unique_rows"]
    ]
    assert finding.worst == (7, 8)
    assert finding.table == "release 1"


def test_figure_5_links_to_the_table_of_the_paper():
    shown = view(FIG["GT1"], FIG["GT3"], show=True)
    links = link_rows(shown)
    labels = [links.cells.labels(shown.axes, j) for j in range(4)]
    rows = Counter()
    settled = links.sides[0].settled
    for cell, count in zip(settled.cell, settled.rows, strict=True):
        rows[tuple(texts[number[cell]] for number, texts in labels)] += int(count)
    columns = [axis.name for axis in shown.axes]
    assert rows == Counter(tuple(row[name] for name in columns) for row in FIG["LT"])


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_grown_table_gives_the_same_two(seed):
    grown = FIG["GT3"] + ADDED
    finding = temporal(view(FIG["GT1"], grown if seed is None else shuffled(grown, seed)))
    assert (finding.people, finding.exposed) == (12, 2)
    assert finding.worst == (7, 8)
    assert finding.details["resolved"] == 12
    assert finding.details["new_or_changed"] == 2
    assert finding.details["removed_or_changed"] == 0


@pytest.mark.parametrize(("attack", "added"), [(complementary, []), (temporal, ADDED)])
def test_a_release_based_on_the_first_gives_nobody_away(attack, added):
    finding = attack(view(FIG["GT1"], shuffled(FIG["GT1"] + added)))
    assert (finding.exposed, finding.details["unique_after"]) == (0, 0)
    assert finding.details["resolved"] == 12
    assert (finding.details["k_after"], finding.sure) == (2, 0.5)
    assert finding.worst == ()
    assert finding.example


def test_figure_3_in_random_order_is_not_resolved():
    fig = releases.golden("sweeney_fig3")
    tables = {"GT1": fig["GT1"], "GT2": shuffled(fig["GT2"])}
    finding = complementary(releases.joined(releases.FIG3, tables))
    assert (finding.exposed, finding.details["resolved"]) == (0, 0)
    assert finding.details["unresolved"] == 12
    assert (finding.details["k_before"], finding.details["k_after"]) == ([3, 2], 2)
    assert finding.details["joined_on"] == []


# Every assignment of tiny tables


def tiny(seed):
    """A table of up to six, every other one with rows added and removed; many rows are twins."""
    rng = np.random.default_rng(seed)
    rows, added, removed = int(rng.integers(2, 7)), *rng.integers(0, 3, 2) * (seed % 2)
    gone, alike = min(int(removed), rows - 1), int(rng.integers(1, 4))
    return releases.random_view(rng, rows, 4, 2, int(added), gone, alike=alike)


@pytest.mark.parametrize("seed", range(150))
def test_settled_is_what_every_assignment_says_and_nothing_else(seed):
    seen = tiny(seed)
    every, cells, links = releases.assignments(seen), releases.meets(seen), link_rows(seen)
    assert links.paired == len(every[0])
    number = sets_of(links.cells)
    linked_cells = [Counter(cells[pair] for pair in one.items()) for one in every]
    for at, cell in enumerate(number):
        assert max(one[cell] for one in linked_cells) <= links.max_rows[at]
    for at, half in enumerate(links.sides):
        twins = half.twins.of_row
        has = [Counter((twins[pair[at]], cells[pair]) for pair in one.items()) for one in every]
        always = {key: rows for key, rows in has[0].items() if all(one[key] == rows for one in has)}
        assert dict(zip(keys(half.settled, number), half.settled.rows, strict=True)) == always
        alone = {key for key in always if all(one[key[1]] == 1 for one in linked_cells)}
        assert set(keys(links.find_unique(half), number)) == alone


def keys(bundles, number):
    return [(twins, number[cell]) for twins, cell in zip(bundles.twins, bundles.cell, strict=True)]


@pytest.mark.parametrize("attack", [complementary, temporal])
@pytest.mark.parametrize("seed", range(60))
def test_whoever_is_exposed_is_alone_in_every_assignment_and_was_in_no_release(seed, attack):
    seen = tiny(seed - seed % 2 if attack is complementary else seed)
    every, cells = releases.assignments(seen), releases.meets(seen)
    sizes = [one.rows[one.class_] for one in seen.releases]
    finding = attack(seen)
    for one in every:
        taken = Counter(cells[pair] for pair in one.items())
        new = [
            (i, j)
            for i, j in one.items()
            if taken[cells[i, j]] == 1 and min(sizes[0][i], sizes[1][j]) > 1
        ]
        assert len(new) >= finding.exposed
    details = finding.details
    assert details["k_after"] <= min(details["k_before"])
    turned = attack(replace(seen, releases=seen.releases[::-1]))
    assert (turned.exposed, turned.sure) == (finding.exposed, finding.sure)
    assert turned.details["unique_after"] == details["unique_after"]
    assert turned.details["k_before"] == details["k_before"][::-1]


def sets_of(cells):
    return [as_sets(cells, number) for number in range(len(cells))]


def as_sets(cells, number):
    one = ReleaseView("", cells, np.array([number]), shared=np.zeros((0, 1), np.int32))
    return tuple(releases.leaves(one, 0)[0])


@pytest.mark.parametrize("seed", range(60))
def test_fixed_bundles_are_those_of_every_largest_flow(seed):
    rng = np.random.default_rng(seed)
    one, other = rng.integers(1, 3, 4), rng.integers(1, 4, 3)
    pairs = np.argwhere(rng.random((4, 3)) < 0.6)
    start = np.searchsorted(pairs[:, 0], np.arange(5))
    flows = largest_flows(one, other, pairs)
    known = assign(one, other, start, pairs[:, 1])
    assert known.rows.tolist() in flows.tolist()
    assert known.possible.tolist() == (flows > 0).any(axis=0).tolist()
    flows, rows = flows[:, known.possible], known.rows[known.possible]
    ends = pairs[known.possible].T
    cell = rng.integers(0, 2, len(rows))
    for side in (0, 1):
        seen = AssignablePairs(ends[side], ends[1 - side], cell, rows, rows)
        fixed, open_ = bundle_pairs(seen, known.loose[:: 1 - 2 * side])
        for bundles, same in ((fixed, True), (open_, False)):
            for twins, its, number in zip(bundles.twins, bundles.cell, bundles.rows, strict=True):
                taken = flows[:, (ends[side] == twins) & (cell == its)].sum(axis=1)
                assert number in taken
                assert (taken == number).all() == same


def largest_flows(one, other, pairs):
    most = np.minimum(one[pairs[:, 0]], other[pairs[:, 1]]) + 1
    flows = np.stack(np.unravel_index(np.arange(most.prod()), most), axis=1).reshape(-1, len(pairs))
    ok = np.ones(len(flows), bool)
    for ends, limits in ((pairs[:, 0], one), (pairs[:, 1], other)):
        for end, limit in enumerate(limits):
            ok &= flows[:, ends == end].sum(axis=1) <= limit
    total = flows.sum(axis=1)
    return flows[ok & (total == total[ok].max())]


@pytest.mark.parametrize("seed", range(20))
def test_bridges_are_the_edges_without_which_more_parts_remain(seed):
    rng = np.random.default_rng(seed)
    edges = np.argwhere(np.triu(rng.random((7, 7)) < 0.3, 1))
    found = find_bridges(edges[:, 0], edges[:, 1], 7)
    whole = parts(edges)
    assert found.tolist() == [parts(np.delete(edges, e, 0)) > whole for e in range(len(edges))]


def parts(edges):
    part = list(range(7))
    for a, b in edges:
        part = [part[a] if p == part[b] else p for p in part]
    return len(set(part))


# Order of rows, chains, size


@pytest.mark.parametrize("attack", [complementary, temporal])
def test_the_order_of_rows_does_not_matter(attack):
    rng = np.random.default_rng(3)
    one = mondrian_like(rng, 1_500, 100)
    turned = []
    for published in one.releases:
        order = rng.permutation(1_500)
        shared = published.shared[:, order]
        turned.append(replace(published, class_=published.class_[order], shared=shared))
    before, after = attack(one), attack(replace(one, releases=tuple(turned)))
    assert before.exposed > 0
    assert before.details == after.details
    assert (before.exposed, before.sure) == (after.exposed, after.sure)


def chain(count):
    """Row i fits the rows i and i + 1 of the other release; the last one only its own."""
    axis = ordered().grow("a", "number", [float(i) for i in range(count + 1)])
    low = np.arange(count, dtype=np.int32)[:, None]
    high = np.minimum(low + 1, count - 1)
    class_ = np.arange(count, dtype=np.int32)
    return View(
        (axis,),
        (ReleaseView("a", Cells(low, high), class_), ReleaseView("b", Cells(low, low), class_)),
    )


def test_a_chain_is_resolved_to_its_end():
    finding = complementary(chain(2_000))
    assert finding.details["resolved"] == 2_000
    assert finding.exposed == 0  # they were alone before
    assert finding.details["unique_after"] == 2_000


def test_partners_that_say_the_same_settle_a_row():
    axes = (ordered().grow("a", "number", [0.0, 1.0, 2.0]),)
    narrow = Cells(np.array([[1]], np.int32), np.array([[1]], np.int32))
    wide = Cells(np.array([[0], [1]], np.int32), np.array([[1], [2]], np.int32))
    shared = np.zeros((1, 2), np.int32)
    first = ReleaseView("a", narrow, np.zeros(2, np.int32), shared=shared)
    second = ReleaseView("b", wide, np.arange(2, dtype=np.int32), shared=shared)
    other = ReleaseView("c", narrow.joined([narrow, wide]), np.array([0, 1]), shared=shared)
    finding = complementary(View(axes, (first, second)))
    assert (finding.details["resolved"], finding.details["unresolved"]) == (2, 0)
    finding = temporal(View(axes, (other, second)))
    assert (finding.details["resolved"], finding.details["unresolved"]) == (1, 1)
    assert not finding.witness["only_partner"]
    assert "say the same" in finding.example


def column(first, second, **more):
    """A view of two releases with one column of ages and values: (label, value) of each row."""
    axes = (ordered().grow("age", "number", [float(age) for age in range(40)]),)
    tables = {
        name: [dict(zip(("age", "v"), row, strict=True)) for row in rows]
        for name, rows in (("a", first), ("b", second))
    }
    return releases.joined(axes, tables, "v", **more)


LABELS = ["[2-8]", "[2-8]", "1", "9", "1", "9", "[0-10]", "[0-10]"]
OTHERS = ["[0-5]", "[1-5]", "[6-9]", "[6-10]"] * 2
TWINS = [list(zip(labels, "xxxxyyyy", strict=True)) for labels in (LABELS, OTHERS)]
"""The first two rows always have one 2-5 and one 6-8, and nobody else has either."""


@pytest.mark.parametrize("attack", [complementary, temporal])
def test_twins_whose_partners_come_to_the_same_in_sum_are_settled(attack):
    finding = attack(column(*TWINS))
    assert (finding.exposed, finding.worst, finding.table) == (2, (1, 2), "release 1")
    assert (finding.details["resolved"], finding.details["k_after"], finding.sure) == (6, 1, 1)
    assert not finding.witness["only_partner"]


@pytest.mark.parametrize("attack", [complementary, temporal])
def test_who_is_exposed_in_the_second_release_only_is_found_there(attack):
    finding = attack(column(*TWINS[::-1], show=True))
    assert (finding.exposed, finding.worst, finding.table) == (2, (1, 2), "release 2")
    assert "rows of b can be told" in finding.sentence
    assert finding.example.startswith("One of the rows 1, 2 (alike in all that is published) of re")
    assert [one["release"] for one in finding.witness["releases"]] == ["a", "b"]
    assert finding.witness["releases"][1]["rows"] == [1, 2]
    assert finding.witness["labels"]["v"] == "x"


def shifted(label):
    """The label of ages 20 years older."""
    return re.sub(r"\d+", lambda age: str(int(age[0]) + 20), label)


def test_people_exposed_in_different_releases_are_all_counted():
    moved = [[(shifted(label), value.upper()) for label, value in rows] for rows in TWINS]
    finding = complementary(column(TWINS[0] + moved[1], TWINS[1] + moved[0]))
    assert (finding.exposed, finding.worst) == (4, (1, 2))


@pytest.mark.parametrize("attack", [complementary, temporal])
def test_rows_that_are_not_settled_hide_no_better_than_in_either_release(attack):
    first = [("[20-29]", "x")] * 4 + [("[20-30]", "x")] * 4
    second = [("[20-24]", "x")] * 2 + [("[25-29]", "x")] * 6
    for pair in ((first, second), (second, first)):
        finding = attack(column(*pair))
        assert (finding.exposed, finding.details["k_after"], finding.sure) == (0, 2, 0.5)
        assert sorted(finding.details["k_before"]) == [2, 4]


def test_newcomers_who_can_be_nobody_of_before_are_not_counted():
    first = [("[20-29]", "x")] * 3
    finding = temporal(column(first, [*first, ("35", "x"), ("25", "y")]))
    assert (finding.details["k_before"], finding.details["k_after"]) == ([3, 3], 3)
    assert (finding.details["unique_before"], finding.details["new_or_changed"]) == ([0, 0], 2)


@pytest.mark.parametrize("turned", [False, True])
def test_who_may_have_been_alone_before_is_not_newly_exposed(turned):
    """The row [2-3] of p is 2-3 with either partner; the one stands alone in its release."""
    first = [("[2-3]", "p"), ("[0-9]", "p"), ("[2-3]", "q"), ("[8-9]", "q")]
    second = [("[0-3]", "p"), ("[2-9]", "p"), ("[2-9]", "q"), ("3", "q")]
    last, also = ("[0-9]", "z"), ("[0-3]", "z")
    order = slice(None, None, -1 if turned else 1)
    finding = complementary(column(first[order], second[order]))
    assert (finding.details["unique_after"], finding.exposed) == (3, 0)
    finding = complementary(column([*first, last][order], [*second, also][order]))
    assert (finding.details["unique_after"], finding.exposed) == (3, 1)
    assert finding.worst == ((5,) if turned else (1,))


def test_more_pairs_than_memory_allows_are_refused(monkeypatch):
    seen = mondrian_like(np.random.default_rng(3), 1_500, 20)
    links, before = link_rows(seen), complementary(seen)
    pairs = len(find_meeting_classes(*(half.twins.cells for half in links.sides))[1])
    assert pairs > 1_500
    monkeypatch.setattr(
        row_matching, "MEMORY_LIMIT", pairs * (row_matching.BYTES_PER_PAIR + 24 * 4)
    )
    assert complementary(seen) == before  # part by part
    monkeypatch.setattr(row_matching, "MEMORY_LIMIT", row_matching.MEMORY_LIMIT - 1)
    with pytest.raises(InputError, match=f"More than {pairs - 1:,} pairs"):
        complementary(seen)


def mondrian_like(rng, rows, values):
    """Two releases of one table: points in cells of a grid, each release with a grid of its own."""
    keys, value = rng.integers(0, 64, (3, rows)), rng.integers(0, values, rows)
    axes = tuple(ordered().grow(name, "number", [float(i) for i in range(64)]) for name in "abc")
    made = []
    for widths in ((4, 8, 16), (16, 4, 8)):
        low = np.stack([k // w * w for k, w in zip(keys, widths, strict=True)], 1).astype(np.int32)
        cells = Cells(low, low + np.array(widths, np.int32) - 1)
        order = rng.permutation(rows)
        first, class_ = cells.unique()
        made.append(
            ReleaseView(
                "r",
                cells.take(first),
                class_[order].astype(np.int32),
                shared=value[None, order].astype(np.int32),
            )
        )
    return View(axes, tuple(made), shared=("value",))


@pytest.mark.parametrize("values", [1, 14, 3_000])
def test_thirty_thousand_rows_are_paired(values):
    large = mondrian_like(np.random.default_rng(0), 30_000, values)
    finding = complementary(large)
    assert finding.people == 30_000
    if values == 3_000:
        assert finding.details["resolved"] > 20_000


# What is said, and what is refused


def test_values_are_shown_only_where_asked_for():
    quiet, loud = (complementary(view(FIG["GT1"], FIG["GT3"], show=show)) for show in (False, True))
    assert "short of breath" in loud.example
    assert loud.witness["labels"] == FIG["expected"]["unique_rows"][0]
    assert "labels" not in quiet.witness
    for label in ("short of breath", "white", "02138", "1964"):
        assert label not in str(quiet.to_json())
    assert quiet.witness["row"] == 7
    assert [one["rows"] for one in quiet.witness["releases"]] == [[7], [7]]
    assert "row 7 of release 2" in quiet.example


def test_releases_of_different_tables_are_refused():
    with pytest.raises(InputError, match="0 rows of the first and 2 of the second"):
        complementary(view(FIG["GT1"], FIG["GT3"] + ADDED))
    changed = [{**row, "Problem": "rash"} for row in FIG["GT3"]]
    with pytest.raises(InputError, match="12 rows of the first and 12 of the second"):
        complementary(view(FIG["GT1"], changed))
    with pytest.raises(NobodyFoundError, match="No row"):
        temporal(view(FIG["GT1"], changed))


def test_rows_that_left_are_counted_apart():
    finding = temporal(view(FIG["GT1"], FIG["GT3"][2:] + ADDED))
    assert (finding.people, finding.details["removed_or_changed"]) == (10, 2)
    assert finding.details["new_or_changed"] == 2


def test_of_two_rows_that_want_one_neither_is_settled():
    axes = (ordered().grow("a", "number", [0.0, 1.0, 2.0]),)
    low = np.array([[0], [1]], np.int32)
    first = ReleaseView("a", Cells(low, low + 1), np.array([0, 1], np.int32))
    point = np.array([[1]], np.int32)
    second = ReleaseView("b", Cells(point, point), np.zeros(1, np.int32))
    finding = temporal(View(axes, (first, second)))
    assert (finding.people, finding.details["resolved"], finding.exposed) == (1, 0, 0)
    assert "without doubt" in finding.example


@pytest.mark.parametrize("attack", [complementary, temporal])
def test_what_cannot_be_joined_is_refused(attack):
    whole = view(FIG["GT1"], FIG["GT3"])
    with pytest.raises(InputError, match="two releases, not 1"):
        attack(replace(whole, releases=whole.releases[:1]))
    axes = tuple(Axis(name, "category", "flat", ("x", "y")) for name in "ab")
    low, high = np.array([[0, 0], [1, 0]]), np.array([[0, 1], [1, 1]])
    rows = np.array([0, 1, 0, 1])
    first = ReleaseView("a", Cells(low, high), rows)
    second = ReleaseView("b", Cells(low[:, ::-1], high[:, ::-1]), rows)
    with pytest.raises(InputError, match="no column in common"):
        attack(View(axes, (first, second)))
    empty = replace(whole.releases[0], class_=whole.releases[0].class_[:0])
    with pytest.raises(InputError, match="no rows"):
        attack(replace(whole, releases=(empty, whole.releases[1])))
