"""Every model against the plain-Python oracle, on tiny tables with nulls and unused values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import plain_models as oracle

from shoal.core.axis import Axis, Level
from shoal.core.histogram import Histogram
from shoal.core.model import is_at_most
from shoal.core.tally import Cut, Groups, Tally
from shoal.models import registry, rule

LEAVES, NULL = tuple("abcdef"), 6
FINE, COARSE = (0, 2, 4), (0, 4)
ORDER = (*range(6), NULL)
PATHS = {v: [("fine", v // 2), ("coarse", v // 4)] for v in range(6)}
PATHS[NULL] = [("fine", "null"), ("coarse", "null")]

values = st.sampled_from([0, 1, 2, 3, 5, NULL])  # 4 occurs nowhere
tables = st.lists(st.lists(values, min_size=1, max_size=8), min_size=1, max_size=5)
fractions = st.fractions(0, 1, max_denominator=24)
positive = fractions.filter(bool)
larger = st.fractions(0, 6, max_denominator=12).filter(bool)
small = st.integers(1, 6)

PARAMETERS = {
    "k-anonymity": {"k": small},
    "distinct-diversity": {"l": small},
    "entropy-diversity": {"l": st.fractions(1, 6, max_denominator=4)},
    "recursive-diversity": {"c": larger, "l": small},
    "t-closeness": {
        "t": fractions,
        "distance": st.sampled_from(["equal", "ordered", "hierarchical"]),
    },
    "alpha-k": {"alpha": positive, "k": small},
    "beta-likeness": {"beta": larger, "kind": st.sampled_from(["basic", "enhanced"])},
    "delta-disclosure": {"delta": larger},
}


def axis(name="sensitive"):
    levels = tuple(
        Level(np.array(starts, dtype=np.int32), tuple(f"{name}{s}" for s in starts))
        for starts in (FINE, COARSE)
    )
    return Axis(name, "category", "tree", LEAVES, True, levels)


def counted(table, population=None):
    class_ = np.repeat(np.arange(len(table)), [len(rows) for rows in table])
    codes = np.array(oracle.whole(table), dtype=np.int32)
    h = Histogram.of(axis(), class_, codes, np.ones(len(codes), np.int64), len(table))
    rows = np.array([len(rows) for rows in table])
    return Groups(rows, (h,), population=None if population is None else np.array(population))


def expected(name, table, parameters):
    more = {"order": ORDER, "paths": PATHS} if name == "t-closeness" else {}
    judge = getattr(oracle, name.replace("-", "_"))
    return [judge(table, i, **parameters, **more) for i in range(len(table))]


@pytest.mark.parametrize("name", PARAMETERS)
@settings(max_examples=120, deadline=None)
@given(data=st.data(), table=tables)
def test_a_model_judges_as_the_oracle_does(name, data, table):
    parameters = {key: data.draw(drawn, key) for key, drawn in PARAMETERS[name].items()}
    model = registry()[name](**parameters)
    assert model.holds(counted(table)).tolist() == expected(name, table, parameters)
    assert rule(str(model)) == model


@settings(max_examples=100, deadline=None)
@given(table=tables, data=st.data(), k=small, low=fractions, high=fractions)
def test_population_models_judge_as_the_oracle_does(table, data, k, low, high):
    low, high = sorted((low, high))
    people = [data.draw(st.integers(0, 20)) for _ in table]
    groups, classes = counted(table, people), range(len(table))
    k_map, presence = registry()["k-map"](k), registry()["delta-presence"](low, high)
    assert k_map.holds(groups).tolist() == [oracle.k_map(people, i, k) for i in classes]
    between = [oracle.delta_presence(table, people, i, low, high) for i in classes]
    assert presence.holds(groups).tolist() == between


@pytest.mark.parametrize("on", ["a", "b", "a*b"])
@settings(max_examples=50, deadline=None)
@given(
    data=st.data(),
    table=st.lists(
        st.lists(st.tuples(values, values), min_size=1, max_size=6), min_size=1, max_size=4
    ),
)
def test_several_sensitive_columns_and_their_product(on, data, table):
    name = data.draw(st.sampled_from([name for name in PARAMETERS if name != "k-anonymity"]))
    parameters = {key: data.draw(drawn, key) for key, drawn in PARAMETERS[name].items()}
    if name == "t-closeness":
        parameters["distance"] = "equal"
    pick = {"a": lambda v: v[0], "b": lambda v: v[1], "a*b": lambda v: v}[on]
    plain = [[pick(value) for value in rows] for rows in table]
    groups = Groups.of(*tallied(table), products=("a*b",))
    model = registry()[name](**parameters, on=on)
    assert model.holds(groups).tolist() == expected(name, plain, parameters)


def tallied(table):
    """One entry for each row, with the class as its only quasi-identifier."""
    class_ = np.repeat(np.arange(len(table), dtype=np.int32), [len(rows) for rows in table])
    quasi = Axis("q", "category", "ordered", tuple(map(str, range(len(table)))))
    codes = np.array(oracle.whole(table), dtype=np.int32).T
    tally = Tally(
        (quasi,), (axis("a"), axis("b")), class_[None, :], codes, np.ones(len(class_), np.int64)
    )
    return tally, Cut.of(tally, np.arange(len(class_), dtype=np.int32), class_)


@settings(max_examples=200, deadline=None)
@given(
    over=st.integers(0, 10**12),
    under=st.integers(1, 10**12),
    bound=st.fractions(0, 10**6, max_denominator=10**6),
    strict=st.booleans(),
)
def test_comparison_is_exact(over, under, bound, strict):
    exact = Fraction(over, under)
    sides = np.array([over]), np.array([under])
    for threshold in (bound, exact, exact + Fraction(1, 10**30)):
        holds = is_at_most([sides[0]], [sides[1]], threshold, strict=strict)
        assert holds.tolist() == [exact < threshold if strict else exact <= threshold]


@settings(max_examples=200, deadline=None)
@given(name=st.text(min_size=1).filter(lambda s: s.isprintable()), t=fractions)
def test_any_column_name_survives_the_text(name, t):
    model = registry()["t-closeness"](t, on=name) & registry()["k-anonymity"](2)
    assert rule(str(model)) == model
