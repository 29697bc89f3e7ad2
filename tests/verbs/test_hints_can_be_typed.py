"""Hints name what the table has, and protect what they speak of."""

from __future__ import annotations

import datetime
import itertools
import shlex

import pyarrow as pa
import pytest

import shoal
from shoal.core.errors import InputError, UsageError

ROWS = 24


def stays(**more):
    return pa.table(
        {
            "who": [f"p{i // 2}" for i in range(ROWS)],
            "age": [30 + 10 * (i % 2) for i in range(ROWS)],
            "ill": ["flu" if i % 3 else "cold" for i in range(ROWS)],
            "the job": ["cook" if i % 4 < 2 else "clerk" for i in range(ROWS)],
            **more,
        }
    )


def test_a_rule_without_a_column_is_offered_for_each_sensitive_one():
    schema = shoal.Schema.of(quasi=["age"], sensitive=["ill", "the job"], drop=["who"])
    with pytest.raises(UsageError, match="2 columns are sensitive") as caught:
        shoal.publish(stays(), schema, "k-anonymity k=2 & distinct-diversity l=2")
    hint = caught.value.hint
    assert '-m "distinct-diversity l=2 on=ill"' in hint
    assert "ill*" not in hint
    words = shlex.split(hint.partition(": ")[2].removesuffix("."))
    rules = [word for before, word in itertools.pairwise(words) if before == "-m"]
    assert len(rules) == 2
    whole = " & ".join(["k-anonymity k=2", *rules])
    released = shoal.publish(stays(), schema, whole)
    assert released.verdict.holds
    assert released.private["unjudged"] == []


def refusal(table, **roles):
    schema = shoal.Schema.of(quasi=["age"], sensitive="ill", person="who").set(
        {"the job": "drop", **roles}
    )
    with pytest.raises(InputError, match="people who have a row already") as caught:
        shoal.publish(table, schema, "k-anonymity k=2")
    return caught.value.hint


def test_one_row_a_person_is_offered_by_a_date_that_the_table_has():
    days = [datetime.date(2024, 1, 1 + i) for i in range(ROWS)]
    hint = refusal(stays(came_in=days), came_in="drop")
    assert '--one-row "latest by came_in"' in hint
    assert "admitted" not in hint


def test_one_row_a_person_is_drawn_where_the_table_has_no_date():
    hint = refusal(stays())
    assert "--one-row random" in hint
    assert "admitted" not in hint
