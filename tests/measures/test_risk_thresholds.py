"""The risk above which people are counted is that of the classes that were asked for."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.measures.risk.assessment import assess


def crowd(sizes: list[int]) -> pa.Table:
    """Classes of so many people, told apart by their town."""
    towns = [f"town {i}" for i, size in enumerate(sizes) for _ in range(size)]
    ages = ["30"] * len(towns)
    disease = [["flu", "cold", "ulcer"][i % 3] for i in range(len(towns))]
    return pa.table({"town": towns, "age": ages, "disease": disease})


SCHEMA = shoal.Schema.of(quasi=["town", "age"], sensitive="disease")


def report_on(table: pa.Table, rule: str, **more: object) -> dict[str, object]:
    return shoal.report(table, schema=SCHEMA, rule=rule, pieces=1, **more).to_json()["data"]


def test_ten_that_are_asked_for_make_a_risk_of_one_in_ten() -> None:
    page = report_on(crowd([9, 10, 12]), "k-anonymity k=10")
    assert page["threshold"] == pytest.approx(0.1)
    assert page["risk"]["above"] == pytest.approx(9 / 31)


@pytest.mark.parametrize("k", [3, 6, 7, 11, 49])
def test_a_class_exactly_as_large_as_asked_for_is_never_above(k: int) -> None:
    risk = assess([k, k], threshold=Fraction(1, k))
    assert (risk.above, risk.min_people_alike) == (0, k)
    assert assess([k - 1, k], threshold=Fraction(1, k)).people_above == k - 1


def test_one_in_eleven_is_eleven_people() -> None:
    table = crowd([10, 11])
    for risk in ("1/11", Fraction(1, 11)):
        page = report_on(table, "k-anonymity k=2", threshold=risk)
        assert page["risk"]["above"] == pytest.approx(10 / 21)
    page = report_on(table, "k-anonymity k=11")
    assert page["risk"]["above"] == pytest.approx(10 / 21)


def test_without_a_size_that_is_asked_for_it_is_one_in_five(tmp_path: Path) -> None:
    page = report_on(crowd([4, 5]), "distinct-diversity l=2")
    assert page["threshold"] == pytest.approx(0.2)
    assert page["risk"]["above"] == pytest.approx(4 / 9)


def test_a_guide_that_names_one_in_eleven_asks_for_eleven() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "which-guarantee.md").read_text(encoding="utf-8")
    (line,) = (text for text in guide.splitlines() if "European Medicines Agency" in text)
    assert "k-anonymity k=11" in line
    assert "10 or 11" not in line


def test_a_risk_of_at_most_so_much_is_the_worst_persons_unless_it_says_average() -> None:
    """Ten classes of 40 and one of 2: half of a chance for two people, 1 in 37 on average."""
    table = crowd([40] * 10 + [2])
    rules = ["k-anonymity k=2", "k-anonymity k=10"]
    mean = shoal.frontier(table, SCHEMA, rules, methods="mondrian", max_average_risk=0.1)
    worst = shoal.frontier(table, SCHEMA, rules, methods="mondrian", max_risk=0.1)
    assert (mean.chosen.rule, mean.chosen.smallest) == ("k-anonymity k=2", 2)
    assert worst.chosen.rule == "k-anonymity k=10"
    assert worst.chosen.smallest >= 10
    assert "a risk of anybody of at most 0.1" in worst.wanted
    with pytest.raises(shoal.NotMetError, match="the least risk of the person most at risk"):
        mean.best(risk=0.0001)
