"""Every model keeps the contract; texts read back; the peers' known defects are not ours."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import MISSING, fields, replace
from fractions import Fraction

import numpy as np
import pytest

from shoal import testing
from shoal.core.axis import Axis
from shoal.core.errors import NotMetError, UsageError
from shoal.core.histogram import Histogram
from shoal.core.model import All, Model
from shoal.core.tally import Cut, Groups, Tally
from shoal.methods.mondrian import mondrian
from shoal.models import registry, rule
from shoal.models.alpha_k import AlphaK
from shoal.models.beta_likeness import BetaLikeness
from shoal.models.ck_safety import CkSafety
from shoal.models.delta_disclosure import DeltaDisclosure
from shoal.models.delta_presence import DeltaPresence
from shoal.models.distinct_diversity import DistinctDiversity
from shoal.models.entropy_diversity import EntropyDiversity
from shoal.models.k_anonymity import KAnonymity
from shoal.models.k_map import KMap
from shoal.models.m_invariance import MInvariance
from shoal.models.recursive_diversity import RecursiveDiversity
from shoal.models.t_closeness import TCloseness

SENSIBLE = {
    "k": 4,
    "l": 2,
    "c": 2,
    "t": 0.25,
    "alpha": 0.5,
    "beta": 1,
    "delta": 1.5,
    "low": 0.1,
    "high": 0.6,
    "m": 1,
    "rule": KAnonymity(3) & DistinctDiversity(2),
}
VARIANTS = [
    "t-closeness t=0.2 distance=ordered",
    "t-closeness t=0.15 distance=hierarchical",
    "beta-likeness beta=2 kind=enhanced",
    "ck-safety c=0.9 k=0",
    "ck-safety c=0.95 k=2 gamma=0.5",
    "distinct-diversity l=3 on=a*b",
    "entropy-diversity l=2.5",
    'recursive-diversity c=1/3 l=1 on="my & col"',
    "k-anonymity k=3 & t-closeness t=0.3 on=a & distinct-diversity l=2 on=b",
    "m-privacy m=2 (k-anonymity k=3 & distinct-diversity l=2 on=a*b)",
    "m-privacy m=0 (entropy-diversity l=1.5)",
    "m-privacy m=1 (entropy-diversity l=1.5 & alpha-k alpha=0.9 k=2)",
    "m-privacy m=2 (t-closeness t=0.4 distance=hierarchical)",
    "m-privacy m=1 (k-anonymity k=2) & k-anonymity k=3 & ck-safety c=0.9 k=0",
]


def instance(kind):
    needed = [field.name for field in fields(kind) if field.default is MISSING]
    special = {CkSafety: {"c": 0.8, "k": 1}, MInvariance: {"m": 2}}
    chosen = SENSIBLE | special.get(kind, {})
    return kind(**{name: chosen[name] for name in needed})


@pytest.mark.parametrize("name", sorted(registry()))
def test_every_model_keeps_the_contract(name):
    testing.check_model(instance(registry()[name]))


@pytest.mark.parametrize("text", VARIANTS)
def test_variants_keep_the_contract(text):
    model = rule(text)
    assert str(model) == text
    testing.check_model(model)


@pytest.mark.parametrize("on", ["diagnosis", None])
def test_the_room_holds_these_models(on):
    assert set(registry()) == {
        "k-anonymity",
        "distinct-diversity",
        "entropy-diversity",
        "recursive-diversity",
        "t-closeness",
        "alpha-k",
        "beta-likeness",
        "ck-safety",
        "composition",
        "delta-disclosure",
        "k-map",
        "delta-presence",
        "m-invariance",
        "m-privacy",
    }
    assert isinstance(TCloseness(0.2, on), Model)


# Text


def test_a_list_of_texts_is_a_conjunction():
    model = rule(["k-anonymity k=10", "entropy-diversity l=3 & t-closeness t=0.2"])
    assert model == KAnonymity(10) & EntropyDiversity(3) & TCloseness(0.2)
    assert isinstance(model, All)
    assert len(model.models) == 3
    assert rule(model) is model


@pytest.mark.parametrize(
    ("text", "fact", "hint"),
    [
        ("k-anonimity k=3", "no model", "did you mean k-anonymity"),
        ("t-closeness t=0.2 distnce=ordered", "no parameter 'distnce'", "did you mean distance"),
        ("t-closeness t=0.2 distance=ranked", "no distance", "ordered"),
        ("beta-likeness beta=1 kind=great", "no kind", "enhanced"),
        ("k-anonymity", "lacks k", "k-anonymity k=…"),
        ("k-anonymity 3", "'3' is not a parameter", "k=…"),
        ("k-anonymity k=3 k=4", "twice", "k=…"),
        ("k-anonymity k=2.5", "whole number", "k=5"),
        ("k-anonymity k=0", "whole number", "k=5"),
        ("t-closeness t=2", "at most 1", "t="),
        ("t-closeness t=nan", "not a number", "t="),
        ("delta-disclosure delta=0", "above 0", "delta="),
        ("delta-presence low=0.5 high=0.1", "at least", "high="),
        ('t-closeness t=0.2 on="my', "quote", "write"),
        ("k-anonymity k=3 &", "lacks a model", "write"),
        ("", "empty", "write"),
        ([], "empty", "write"),
    ],
)
def test_a_wrong_rule_is_an_error_with_a_hint(text, fact, hint):
    with pytest.raises(UsageError) as error:
        rule(text)
    assert fact in error.value.fact
    assert hint in error.value.hint


def test_equal_bounds_of_presence_are_allowed():
    assert DeltaPresence(0.1, 0.1).low == Fraction(1, 10)


# Exact thresholds


@pytest.mark.parametrize("l", range(1, 12))
@pytest.mark.parametrize("times", [1, 3, 7919])
def test_l_even_values_are_entropy_l_diverse(l, times):
    table = testing.groups([list(range(l)) * times])
    assert EntropyDiversity(l).holds(table).all()
    assert EntropyDiversity(l).reached(table) == l
    assert not EntropyDiversity(l + Fraction(1, 10**12)).holds(table).any()


def test_entropy_that_is_whole_though_uneven():
    table = testing.groups([["a"] * 4 + ["b", "c", "d", "e"]])
    assert EntropyDiversity(4).holds(table).all()
    assert not EntropyDiversity(Fraction(4) + Fraction(1, 10**15)).holds(table).any()


def test_thresholds_are_what_the_user_wrote():
    table = testing.groups([["a"] * 1 + ["b"] * 9, ["a"] * 3 + ["b"] * 7])
    assert TCloseness(0.1).holds(table).all()
    assert TCloseness(0.1).reached(table) == 0.1
    assert not TCloseness(0.1 - 1e-12).holds(table).any()
    assert AlphaK(0.9, 10).holds(table).all()
    assert BetaLikeness(0.5).holds(table).all()


def test_counts_beyond_64_bits_are_still_exact():
    small = Groups.of(*testing.sample(0))
    h = small.on(None)
    times = 10**14
    huge = replace(h, count=h.count * times, total=h.total * times)
    large = Groups(huge.rows, (huge,))
    for model in map(
        rule,
        [
            "t-closeness t=0.2",
            *VARIANTS[:3],
            "alpha-k alpha=0.5 k=1",
            "beta-likeness beta=1",
            "entropy-diversity l=3",
        ],
    ):
        assert model.holds(large).tolist() == model.holds(small).tolist()
    for text in ("t-closeness t=0.2", *VARIANTS[:2]):
        model = rule(text)
        limit = Fraction(model.reached(small)).limit_denominator(10**5)
        assert replace(model, t=limit).holds(large).all()


def test_strict_inequalities():
    table = testing.groups([["a", "a", "b"]])
    assert RecursiveDiversity(2, 2).reached(table) == 2
    assert not RecursiveDiversity(2, 2).holds(table).any()
    assert RecursiveDiversity("2.0000000001", 2).holds(table).all()


# What the definitions say at their edges


def test_a_missing_value_makes_disclosure_infinite():
    table = testing.groups([["a", "a", "b"], ["a", "a"]])
    assert DeltaDisclosure(100).holds(table).tolist() == [True, False]
    assert DeltaDisclosure(100).reached(table) == math.inf
    assert DeltaDisclosure(100).worst_class(table) == 1


def test_too_few_values_make_recursive_diversity_undefined():
    assert RecursiveDiversity(9, 3).reached(testing.groups([["a", "b"]])) == math.inf


def test_an_enhanced_gain_beyond_the_logarithm_meets_no_beta():
    table = testing.groups([["a"], ["b"]])  # gain 1 is more than ln 2
    assert BetaLikeness(1).holds(table).all()
    assert not BetaLikeness(10**6, kind="enhanced").holds(table).any()
    assert BetaLikeness(1, kind="enhanced").reached(table) == math.inf


def test_population_models_need_a_population():
    for model in (KMap(2), DeltaPresence(0, 1)):
        with pytest.raises(UsageError, match="population"):
            model.holds(testing.groups([["a"]]))


def test_presence_shows_the_class_that_is_too_rare():
    groups = Groups(np.array([1, 5]), population=np.array([100, 10]))
    assert DeltaPresence(0.1, 0.6).worst_class(groups) == 0
    assert DeltaPresence(0, 0.6).worst_class(groups) == 1


def test_no_class_promises_nothing():
    nothing = testing.groups([["a"]]).take(np.arange(0))
    assert KAnonymity(2).reached(nothing) == 0
    assert TCloseness(0.1).reached(nothing) == math.inf
    with pytest.raises(UsageError):
        KAnonymity(2).worst_class(nothing)


def test_an_unnamed_column_among_several_is_an_error():
    groups = Groups.of(*testing.sample(0, ("a", "b")))
    with pytest.raises(UsageError, match="on="):
        TCloseness(0.2).holds(groups)
    with pytest.raises(UsageError, match="no sensitive column"):
        TCloseness(0.2, on="c").holds(groups)


# The peers' defects


def test_recursive_counts_are_sorted_downwards():
    table = testing.groups([["a"] * 5 + ["b"] * 3 + ["c"]])
    assert RecursiveDiversity(2, 2).reached(table) == 1.25
    assert RecursiveDiversity(2, 3).reached(table) == 5


def test_entropy_is_not_truncated():
    assert EntropyDiversity(2).reached(testing.groups([["a", "b"]])) == 2
    reached = EntropyDiversity(2).reached(testing.groups([["a", "a", "b", "c"]]))
    assert reached == pytest.approx(2**1.5)


def shuffled_table(order):
    """Four classes of two people; in one of them both have the same value."""
    class_ = np.array([0, 0, 1, 1, 2, 2, 3, 3], dtype=np.int32)[order]
    value = np.array([0, 1, 0, 1, 0, 1, 1, 1], dtype=np.int32)[order]
    quasi = Axis("q", "category", "ordered", tuple("wxyz"))
    tally = Tally(
        (quasi,),
        (Axis("s", "category", "ordered", ("a", "b")),),
        class_[None],
        value[None],
        np.ones(8, np.int64),
    )
    return Groups.of(tally, Cut.of(tally, np.arange(8, dtype=np.int32), class_))


def test_row_order_and_positions_do_not_matter():
    for seed in range(5):
        groups = shuffled_table(np.random.default_rng(seed).permutation(8))
        assert DistinctDiversity(2).reached(groups) == 1
        assert TCloseness(0.2).reached(groups) == 0.375


def test_a_missing_quasi_identifier_is_a_class_and_not_dropped():
    quasi = Axis("q", "category", "ordered", ("x", "y"), null=True)
    keys = np.array([[0, 1, 2]], dtype=np.int32)
    tally = Tally((quasi,), (), keys, np.zeros((0, 3), np.int32), np.array([5, 6, 1]))
    cut = Cut.of(tally, np.arange(3, dtype=np.int32), np.arange(3, dtype=np.int32))
    assert KAnonymity(2).reached(Groups.of(tally, cut)) == 1


def test_an_unused_category_is_no_class():
    quasi = Axis("q", "category", "flat", ("x", "unused", "y"))
    keys = np.array([[0, 2]], dtype=np.int32)
    tally = Tally((quasi,), (), keys, np.zeros((0, 2), np.int32), np.array([5, 6]))
    cut = Cut.of(tally, np.arange(2, dtype=np.int32), np.arange(2, dtype=np.int32))
    assert KAnonymity(2).reached(Groups.of(tally, cut)) == 5


def test_values_without_order_have_no_ordered_distance():
    tally, cut = testing.sample(0)
    groups = Groups.of(replace(tally, sensitive=(Axis.numbered("codes", 6),)), cut)
    with pytest.raises(UsageError, match="no order"):
        TCloseness(0.2, distance="ordered").holds(groups)


def test_an_impossible_l_is_refused():
    tally, _ = testing.sample(0)
    with pytest.raises(NotMetError):
        mondrian(tally, DistinctDiversity(50))


# Size


def test_memory_grows_with_pairs_and_not_with_the_domain():
    classes, domain, rng = 100_000, 10_000, np.random.default_rng(1)
    value = rng.integers(0, domain, 3 * classes, dtype=np.int32)
    class_ = np.repeat(np.arange(classes), 3)
    axis = Axis("s", "category", "ordered", tuple(range(domain)))
    h = Histogram.of(axis, class_, value, np.ones(len(value), np.int64), classes)
    groups = Groups(h.rows, (h,))
    tracemalloc.start()
    for name in sorted(set(registry()) - {"k-map", "delta-presence", "m-privacy"}):
        assert len(instance(registry()[name]).holds(groups)) == classes
    TCloseness(0.2, distance="ordered").holds(groups)
    assert tracemalloc.get_traced_memory()[1] < 150e6  # classes × domain would be 8 GB
    tracemalloc.stop()
