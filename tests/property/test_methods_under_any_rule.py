"""What methods that make classes by loss alone owe to rules of every kind."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.test_mondrian import tables, tally
from tests.oracles.joint_model import AtMost

from shoal.core.errors import NotMetError
from shoal.core.tally import Groups
from shoal.methods.greedy import greedy
from shoal.methods.k_similar import k_similar
from shoal.models import rule
from shoal.testing.checks import check_method
from shoal.testing.random_tables import sample

RULES = (
    "k-anonymity k=3",
    "m-privacy m=1 (k-anonymity k=3 & distinct-diversity l=2)",
    "k-anonymity k=2 & entropy-diversity l=2",
    "t-closeness t=0.3",
    "ck-safety c=0.9 k=1",
    "k-map k=4",
    "delta-presence low=0 high=0.9",
)
pytestmark = pytest.mark.parametrize("method", [greedy, k_similar])


@pytest.mark.parametrize("model", RULES)
def test_any_rule_is_met(method, model):
    check_method(method, rule(model))


@settings(max_examples=50, deadline=None)
@given(table=tables(), most=st.integers(1, 4))
def test_a_rule_about_all_classes_together_is_met(method, table, most):
    plain, rows, weights = table
    ours = tally(plain, rows, weights)
    assert len(Groups.of(ours, method(ours, AtMost(most)))) <= most


def test_what_cannot_meet_the_rule_is_held_back(method):
    table, _ = sample(1)
    model = rule("k-anonymity k=3 & entropy-diversity l=4.5")
    with pytest.raises(NotMetError):
        method(table, model)
    cut = method(table, model, hold_back=table.rows)
    assert 0 < cut.suppressed < table.rows
    assert model.holds(Groups.of(table, cut)).all()
