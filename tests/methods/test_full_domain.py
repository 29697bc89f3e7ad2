"""The lattice search against every combination of levels, by every measure and under any rule."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.oracles.lattices import every_node, table

from shoal.core.axis import Axis, Level
from shoal.core.errors import NotMetError, UsageError
from shoal.core.tally import Groups, Population, Tally
from shoal.measures import discernibility, loss, non_uniform_entropy
from shoal.methods._lattice import node_search as optimum_of
from shoal.methods._lattice.ladder import build_ladder, recode_to_rungs
from shoal.methods._lattice.node_costs import MEASURES, create_cost
from shoal.methods._lattice.rolled_tables import Packing, RolledTables
from shoal.methods.full_domain import full_domain
from shoal.models import rule

RULES = (
    "k-anonymity k=3",
    "distinct-diversity l=2",
    "k-anonymity k=2 & entropy-diversity l=1.7",
    "t-closeness t=0.3",
    "ck-safety c=0.8 k=1",
    "m-privacy m=1 (k-anonymity k=2 & distinct-diversity l=2)",
    "k-anonymity k=2 & beta-likeness beta=1.5",
)


def worth(measure, tally, rungs, cut):
    """What a node costs, from the rows themselves."""
    lost, n = cut.suppressed, tally.rows
    if measure == "loss":
        return loss.loss(tally, cut)
    if measure == "precision":
        pairs = zip(tally.quasi, rungs, tally.importance, strict=True)
        each = sum(w * r.number / max(a.height, 1) for a, r, w in pairs)
        return ((n - lost) * each / tally.importance.sum() + lost) / n
    if measure == "height":
        return sum(w * r.number for w, r in zip(tally.importance, rungs, strict=True))
    if measure == "discernibility":
        return float(discernibility.raw(tally, cut))
    if measure == "average-class":
        return n / (cut.classes + bool(lost))
    bits = non_uniform_entropy.raw(tally, recode_to_rungs(tally, rungs))
    gone = np.isin(np.arange(tally.entries), cut.entry[cut.class_ < 0])
    for j, (rung, weight) in enumerate(zip(rungs, tally.importance, strict=True)):
        rows = np.bincount(rung.node[tally.keys[j]][gone], tally.count[gone])
        bits += weight * sum(c * math.log2(lost / c) for c in rows if c)
    return bits


def optimum(measure, tally, model, allowed):
    """The least that any combination of levels costs, and how many combinations pass."""
    passing = [
        (worth(measure, tally, rungs, cut), rungs)
        for rungs, cut in every_node(tally, model)
        if cut.suppressed <= allowed and cut.classes
    ]
    return min((value for value, _ in passing), default=None), [rungs for _, rungs in passing]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("text", RULES)
def test_no_combination_of_levels_costs_less(measure, text):
    for seed in range(4):
        tally, model = table(seed), rule(text)
        for allowed in (0, 5, 15):
            best, _ = optimum(measure, tally, model, allowed)
            if best is None:
                with pytest.raises(NotMetError):
                    full_domain(tally, model, hold_back=allowed, measure=measure)
                continue
            cut = full_domain(tally, model, hold_back=allowed, measure=measure)
            assert cut.facts["value"] == pytest.approx(best)
            assert cut.facts["complete"]
            assert cut.suppressed <= allowed
            assert model.holds(Groups.of(tally, cut)).all()
            rungs = [
                next(r for r in build_ladder(a) if r.number == cut.facts["levels"][a.name])
                for a in tally.quasi
            ]
            assert worth(measure, tally, rungs, cut) == pytest.approx(best)


@pytest.mark.parametrize("text", RULES)
@pytest.mark.parametrize("allowed", [0, 6])
def test_all_minimal_combinations_are_told(text, allowed):
    for seed in range(4, 8):
        tally, model = table(seed), rule(text)
        _, passing = optimum("height", tally, model, allowed)
        levels = {tuple(r.number for r in rungs) for rungs in passing}
        below = {a.name: [r.number for r in build_ladder(a)] for a in tally.quasi}
        names = list(below)

        def finer(node, below=below, names=names):
            for j, name in enumerate(names):
                at = below[name].index(node[j])
                if at:
                    yield (*node[:j], below[name][at - 1], *node[j + 1 :])

        least = {node for node in levels if not any(f in levels for f in finer(node))}
        if not levels:
            continue
        told = full_domain(tally, model, hold_back=allowed, minimal=True).facts["minimal"]
        assert {tuple(one.values()) for one in told} == least


def test_levels_are_fixed_and_bounded():
    tally, model = table(1), rule("k-anonymity k=3")
    free = full_domain(tally, model, hold_back=20).facts
    name = next(name for name, top in free["levels_of"].items() if free["levels"][name] < top)
    at, top = free["levels"][name], free["levels_of"][name]
    for asked in (f"{name}={top}", f" {name} = {at + 1}.. "):
        lifted = full_domain(tally, model, levels=asked, hold_back=20).facts
        assert at < lifted["levels"][name] <= top
        assert lifted["value"] > free["value"]
    high = next(name for name, level in free["levels"].items() if level)
    below = free["levels"][high] - 1
    kept = full_domain(tally, model, levels=f"{high}=0..{below}", hold_back=20).facts
    assert kept["levels"][high] <= below
    assert kept["value"] > free["value"]


@pytest.mark.parametrize(
    "asked",
    [
        {"levels": "nobody=1"},
        {"levels": "q0=many"},
        {"levels": "q0=9"},
        {"measure": "beauty"},
        {"nodes": 0},
        {"seconds": -1.0},
        {"minimal": True, "nodes": 5},
    ],
)
def test_wrong_parameters_are_refused(asked):
    with pytest.raises(UsageError) as error:
        full_domain(table(0), rule("k-anonymity k=2"), **asked)
    assert error.value.hint


def test_a_limit_stops_the_search_with_the_best_found():
    tally, model = table(2, rows=60, columns=4), rule("k-anonymity k=4")
    whole = full_domain(tally, model, hold_back=6)
    part = full_domain(tally, model, hold_back=6, nodes=5)
    assert part.facts["checked"] == 5
    assert not part.facts["complete"]
    assert part.facts["value"] >= whole.facts["value"]
    assert model.holds(Groups.of(tally, part)).all()


def test_a_lattice_over_the_limit_needs_one_and_is_searched_downhill(monkeypatch):
    monkeypatch.setattr(optimum_of, "LARGEST", 8)
    tally, model = table(3, rows=60), rule("k-anonymity k=4 & entropy-diversity l=1.5")
    with pytest.raises(UsageError, match="combinations"):
        full_domain(tally, model)
    best, _ = optimum("loss", tally, model, 4)
    for measure in MEASURES:
        cut = full_domain(tally, model, hold_back=4, nodes=10_000, measure=measure)
        assert model.holds(Groups.of(tally, cut)).all()
        assert not cut.facts["complete"]
        if measure == "loss":
            assert cut.facts["value"] == pytest.approx(best)
    few = full_domain(tally, model, hold_back=4, nodes=6)
    assert few.facts["checked"] <= 6


def test_a_rule_no_node_meets_says_how_close_it_came():
    tally = table(5, rows=50)
    with pytest.raises(NotMetError) as error:
        full_domain(tally, rule("k-anonymity k=12"), levels="q0=0")
    assert "--hold-back" in error.value.hint
    share = float(error.value.hint.split("--hold-back ")[1].split(",")[0])
    allowed = round(share * tally.rows)
    met = full_domain(tally, rule("k-anonymity k=12"), levels="q0=0", hold_back=allowed)
    assert 0 < met.suppressed <= allowed
    with pytest.raises(NotMetError, match="single class"):
        full_domain(tally, rule(f"k-anonymity k={tally.rows + 1}"))


def test_people_under_a_class_that_is_held_back_are_covered_by_none():
    pairs = Level(np.array([0, 2]), ("ab", "cd"))
    axis = Axis("a", "category", "tree", ("a", "b", "c", "d"), levels=(pairs,))
    keys = np.arange(4, dtype=np.int32).reshape(1, 4)
    everybody = Population(keys, np.array([10, 10, 10, 3]))
    count = np.array([5, 5, 5, 3])
    tally = Tally((axis,), (), keys, np.zeros((0, 4), np.int32), count, population=everybody)
    model = rule("delta-presence low=0.1 high=0.7")
    for allowed in (0, 3):
        cut = full_domain(tally, model, hold_back=allowed, minimal=True)
        assert cut.facts["levels"] == {"a": 1}
        assert cut.facts["minimal"] == [{"a": 1}]
        assert model.holds(Groups.of(tally, cut)).all()


@pytest.mark.parametrize("measure", ["discernibility", "average-class", "loss"])
def test_of_nodes_that_cost_the_same_a_finest_is_taken(measure):
    pairs = Level(np.array([0, 2]), ("ab", "cd"))
    axes = tuple(
        Axis(name, "category", "tree", ("a", "b", "c", "d"), levels=(pairs,)) for name in "xy"
    )
    keys = np.stack([np.arange(4, dtype=np.int32)] * 2)
    tally = Tally(axes, (), keys, np.zeros((0, 4), np.int32), np.full(4, 5))
    found = full_domain(tally, rule("k-anonymity k=8"), measure=measure)
    assert found.facts["levels"] == {"x": 1, "y": 1}


TOO_STRONG = (
    "alpha-k alpha=0.5 k=3",
    "ck-safety c=0.6 k=1",
    "recursive-diversity c=1 l=2",
)


@pytest.mark.parametrize("text", TOO_STRONG)
def test_the_closest_is_the_one_that_holds_the_fewest_rows_back(text):
    refused = 0
    for seed in range(12):
        tally, model = table(seed, rows=45), rule(text)
        least = min(cut.suppressed for _, cut in every_node(tally, model))
        if not 0 < least < tally.rows:
            continue
        with pytest.raises(NotMetError) as error:
            full_domain(tally, model)
        assert f"needs {least:,} of {tally.rows:,} rows" in error.value.fact
        refused += 1
    assert refused


def test_rolled_tables_are_the_ones_counted_from_the_rows():
    tally, model = table(6, rows=80), rule("m-privacy m=1 (distinct-diversity l=2)")
    tables = RolledTables.of(tally, model, tuple(build_ladder(a) for a in tally.quasi))
    for node in np.ndindex(*map(len, tables.ladders)):
        rolled, want = tables.roll_up(node), Groups.of(tally, tables.cut(node))
        got = tables.count_groups(rolled)
        assert got.rows.tolist() == want.rows.tolist()
        for one, other in zip(got.contributions, want.contributions, strict=True):
            assert one.start.tolist() == other.start.tolist()
            assert one.contributor.tolist() == other.contributor.tolist()
            assert one.count.tolist() == other.count.tolist()
            assert one.total.tolist() == other.total.tolist()
        for one, other in zip(got.sensitive, want.sensitive, strict=True):
            assert one.value.tolist() == other.value.tolist()
            assert one.total.tolist() == other.total.tolist()


def test_wide_keys_take_several_words():
    packing = Packing.of([2**20] * 7)
    assert packing.words == 3
    assert (packing.shift + packing.bits <= 64).all()
    rng = np.random.default_rng(0)
    tally = table(7, rows=60)
    for measure in ("loss", "non-uniform-entropy"):
        narrow = RolledTables.of(
            tally, rule("k-anonymity k=2"), tuple(map(build_ladder, tally.quasi))
        )
        wide = RolledTables.of(
            tally, rule("k-anonymity k=2"), tuple(map(build_ladder, tally.quasi))
        )
        wide.packing = Packing(np.array([0, 1, 2]), np.array([5, 0, 40]), narrow.packing.bits, 3)
        first = narrow.cached[0]
        nodes = np.stack(
            [
                (first.key[:, 0] >> np.uint64(s)) & np.uint64(2 ** int(b) - 1)
                for s, b in zip(narrow.packing.shift, narrow.packing.bits, strict=True)
            ]
        )
        key = np.zeros((len(first), 3), np.uint64)
        for j in range(3):
            key[:, j] |= nodes[j] << np.uint64(wide.packing.shift[j])
        wide.cached[0] = type(first)(first.node, key, first.rows, first.counts)
        node = tuple(len(rungs) - 1 if j else 0 for j, rungs in enumerate(narrow.ladders))
        a, b = narrow.roll_up(node), wide.roll_up(node)
        assert a.rows.tolist() == b.rows.tolist()
        lost = rng.random(len(a)) < 0.5
        assert create_cost(measure, narrow).extra(a, lost) == pytest.approx(
            create_cost(measure, wide).extra(b, lost)
        )
