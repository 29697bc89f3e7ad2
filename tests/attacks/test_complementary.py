"""Complementary and temporal: the paper's figures, every way to pair tiny tables, bad input."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests.attacks import releases

from shoal.attacks.complementary import complementary
from shoal.attacks.linked import link
from shoal.attacks.temporal import temporal
from shoal.attacks.view import NobodyFoundError, Published, View
from shoal.axis import Axis
from shoal.cells import Cells
from shoal.errors import InputError
from shoal.hierarchy import ordered
from shoal.kernels.forced import bridges, forced

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
    links = link(shown)
    labels = [links.cells.labels(shown.axes, j) for j in range(4)]
    rows = Counter()
    for cell, count in zip(links.settled.cell, links.settled.rows, strict=True):
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
    assert (finding.details["k_after"], finding.details["joined_on"]) == (3, [])


# Every assignment of tiny tables


@pytest.mark.parametrize("seed", range(60))
def test_what_is_settled_is_so_in_every_assignment(seed):
    rng = np.random.default_rng(seed)
    rows, added, removed = int(rng.integers(2, 7)), *rng.integers(0, 3, 2) * (seed % 2)
    tiny = releases.random_view(rng, rows, 4, 2, int(added), min(int(removed), rows - 1))
    every, cells = releases.assignments(tiny), releases.meets(tiny)
    assert every
    links = link(tiny)
    assert links.paired == len(every[0])
    linked = [Counter(cells[pair] for pair in one.items()) for one in every]
    mine, theirs = (kinds.of for kinds in links.kinds)
    used = [Counter((mine[i], theirs[j]) for i, j in one.items()) for one in every]
    settled = links.settled
    for at, pair in enumerate(zip(settled.kind, settled.partner, strict=True)):
        if settled.sole[at]:
            assert {one[pair] for one in used} == {settled.rows[at]}
        cell = as_sets(links.cells, settled.cell[at])
        assert min(one[cell] for one in linked) >= settled.rows[at]
        assert max(one[cell] for one in linked) <= links.could[settled.cell[at]]
        if links.alone[at]:
            assert {one[cell] for one in linked} == {1}
    # and nothing else is: how many rows take any other pair differs between assignments
    sole = {pair for pair, alone in zip(zip(settled.kind, settled.partner, strict=True),
                                        settled.sole, strict=True) if alone}  # fmt: skip
    for pair in set().union(*used) - sole:
        assert len({one[pair] for one in used}) > 1


def as_sets(cells, number):
    one = Published("", cells, np.array([number]), shared=np.zeros((0, 1), np.int32))
    return tuple(releases.leaves(one, 0)[0])


@pytest.mark.parametrize("seed", range(30))
def test_forced_pairs_are_those_of_every_largest_flow(seed):
    rng = np.random.default_rng(seed)
    one, other = rng.integers(1, 3, 4), rng.integers(1, 4, 3)
    pairs = np.argwhere(rng.random((4, 3)) < 0.6)
    start = np.searchsorted(pairs[:, 0], np.arange(5))
    flows = largest_flows(one, other, pairs)
    known = forced(one, other, start, pairs[:, 1])
    assert known.rows.tolist() in flows.tolist()
    assert known.possible.tolist() == (flows > 0).any(axis=0).tolist()
    assert known.fixed.tolist() == (flows == flows[0]).all(axis=0).tolist()
    sent = np.stack([(flows * (pairs[:, 0] == kind)).sum(axis=1) for kind in range(4)])
    assert known.whole.tolist() == (sent == one[:, None]).all(axis=1).tolist()


def largest_flows(one, other, pairs):
    most = np.minimum(one[pairs[:, 0]], other[pairs[:, 1]]) + 1
    flows = np.stack(np.unravel_index(np.arange(most.prod()), most), axis=1).reshape(-1, len(pairs))
    ok = np.ones(len(flows), bool)
    for ends, limits in ((pairs[:, 0], one), (pairs[:, 1], other)):
        for kind, limit in enumerate(limits):
            ok &= flows[:, ends == kind].sum(axis=1) <= limit
    total = flows.sum(axis=1)
    return flows[ok & (total == total[ok].max())]


@pytest.mark.parametrize("seed", range(20))
def test_bridges_are_the_edges_without_which_more_parts_remain(seed):
    rng = np.random.default_rng(seed)
    edges = np.argwhere(np.triu(rng.random((7, 7)) < 0.3, 1))
    found = bridges(edges[:, 0], edges[:, 1], 7)
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
    return View((axis,), (Published("a", Cells(low, high), class_),
                          Published("b", Cells(low, low), class_)))  # fmt: skip


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
    first = Published("a", narrow, np.zeros(2, np.int32), shared=shared)
    second = Published("b", wide, np.arange(2, dtype=np.int32), shared=shared)
    other = Published("c", narrow.joined([narrow, wide]), np.array([0, 1]), shared=shared)
    finding = complementary(View(axes, (first, second)))
    assert (finding.details["resolved"], finding.details["k_after"]) == (2, 2)
    finding = temporal(View(axes, (other, second)))
    assert (finding.details["resolved"], finding.details["unresolved"]) == (1, 1)
    assert not finding.witness["only_partner"]
    assert "say the same" in finding.example


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
        made.append(Published("r", cells.take(first), class_[order].astype(np.int32),
                              shared=value[None, order].astype(np.int32)))  # fmt: skip
    return View(axes, tuple(made), shared=("value",))


@pytest.mark.parametrize("values", [1, 14, 3_000])
def test_thirty_thousand_rows_take_seconds(values):
    large = mondrian_like(np.random.default_rng(0), 30_000, values)
    began = time.perf_counter()
    finding = complementary(large)
    assert time.perf_counter() - began < 20
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
    first = Published("a", Cells(low, low + 1), np.array([0, 1], np.int32))
    point = np.array([[1]], np.int32)
    second = Published("b", Cells(point, point), np.zeros(1, np.int32))
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
    first = Published("a", Cells(low, high), rows)
    second = Published("b", Cells(low[:, ::-1], high[:, ::-1]), rows)
    with pytest.raises(InputError, match="no column in common"):
        attack(View(axes, (first, second)))
    empty = replace(whole.releases[0], class_=whole.releases[0].class_[:0])
    with pytest.raises(InputError, match="no rows"):
        attack(replace(whole, releases=(empty, whole.releases[1])))
