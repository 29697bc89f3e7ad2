"""Spends: exact however they are written, and refused where they are none."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.core.spend import Spend, format_budget, parse_spend, round_up, to_exact

FRACTIONS = st.fractions(min_value=0, max_value=1000, max_denominator=10**6)


@given(FRACTIONS, st.fractions(0, 1, max_denominator=10**9), st.none() | FRACTIONS)
def test_a_spend_comes_back_from_json_as_it_was(epsilon, delta, rho):
    spend = Spend(epsilon, delta, rho)
    assert Spend.from_json(spend.to_json()) == spend
    assert all(isinstance(text, str) for text in spend.to_json().values())


def test_numbers_that_are_written_differently_are_the_same():
    assert Spend(0.1) == Spend("0.1") == Spend("1/10") == Spend("1e-1") == Spend(Fraction(1, 10))
    assert Spend.from_json({"epsilon": 0.3, "delta": 1e-07}) == Spend("3/10", "1e-7")
    assert Spend.from_json({}) == Spend()
    assert not Spend()
    assert Spend(0, 1e-9)


@given(st.floats(min_value=0, max_value=1e6))
def test_a_computed_bound_is_never_below_itself(bound):
    assert round_up(bound) >= Fraction(bound)


@given(FRACTIONS)
def test_what_is_read_is_never_less_than_what_is_spent(number):
    assert Fraction(format_budget(number)) >= number
    assert Fraction(format_budget(number, exact=True)) == number


@pytest.mark.parametrize(
    "number", ["", "x", "1/0", "inf", "nan", "1e9999", "1e400", "0x1", "1_0", True, None, "9" * 800]
)
def test_what_is_no_finite_number_is_refused(number):
    with pytest.raises(shoal.UsageError, match="finite number"):
        to_exact(number)


@pytest.mark.parametrize(
    ("epsilon", "delta", "fact"),
    [
        (None, 0, "Nobody says"),
        (0, 0, "more than 0"),
        ("-1/2", 0, "more than 0"),
        (float("inf"), 0, "Epsilon must be a finite"),
        (float("nan"), 0, "Epsilon must be"),
        (1, -1e-9, "not below 0"),
        (1, 1, "Delta|delta of 1"),
        (1, "x", "Delta is not a number"),
        ("100.1", 0, "above 100 says nothing about anybody"),
        (1e300, 0, "above 100"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(epsilon, delta, fact):
    with pytest.raises(shoal.UsageError, match=fact) as raised:
        parse_spend(epsilon, delta)
    assert raised.value.hint


def test_what_is_asked_for_is_taken_exactly():
    assert parse_spend("1/3", 1e-6) == Spend("1/3", "1/1000000")
    assert str(parse_spend(0.1, 1e-6)) == "ε 0.1, δ 1e-06"
    assert parse_spend(100) == Spend(100)


def test_tenths_add_up():
    three = sum([Spend(0.1, 1e-7)] * 2, Spend(0.1, 1e-7))
    assert three == Spend(0.3, 3e-7)
    assert three.within(Spend(0.3, 3e-7))
    assert not three.within(Spend(0.3, 2e-7))
    for wrong in ((-1.0, 0.0), (float("inf"), 0.0), (1.0, 2.0), (True, 0.0), (1, 0, -1)):
        with pytest.raises(shoal.UsageError):
            Spend(*wrong)
