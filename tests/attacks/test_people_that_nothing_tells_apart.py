"""People are not evaluated where nothing tells them apart, nor counted twice in a population."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shoal
from shoal.core.errors import InputError, NotMetError

SCHEMA = shoal.Schema.of(quasi=["age", "city"], sensitive="illness", person="patient")
ROWS = pa.table(
    {
        "patient": ["1", "1", "1", "2", "3", "4"],
        "age": ["30-39"] * 3 + ["40-49"] * 3,
        "city": ["a"] * 3 + ["b"] * 3,
        "illness": ["hiv", "hiv", "hiv", "flu", "cold", "cold"],
    }
)
WITHOUT = ROWS.drop_columns("patient")


def test_a_table_without_its_person_column_is_not_counted_in_silence() -> None:
    verdict = shoal.verify(WITHOUT, SCHEMA, "k-anonymity k=3")
    assert "lacks it" in verdict.people_not_evaluated
    assert "NOT EVALUATED" in str(verdict)
    found = shoal.audit(WITHOUT, SCHEMA)
    assert "lacks it" in found.people_not_evaluated
    counted = shoal.verify(ROWS, SCHEMA, "k-anonymity k=3", with_persons=True)
    assert not counted.holds
    assert counted.people_not_evaluated == ""


def test_an_attack_on_such_a_table_says_what_it_takes_for_a_person() -> None:
    finding = shoal.attack("homogeneity", [WITHOUT], schema=SCHEMA)
    assert any("row is taken for a person" in one for one in finding.assumptions)
    counted = shoal.attack("homogeneity", [ROWS], schema=SCHEMA)
    assert not any("row is taken for a person" in one for one in counted.assumptions)


@pytest.mark.parametrize("asked", ["verify", "audit", "publish"])
def test_a_population_that_has_somebody_twice_hides_nobody(asked: str) -> None:
    people = ROWS.drop_columns("illness")
    one_row = pa.table(
        {
            "patient": ["1", "2"],
            "age": ["30-39", "40-49"],
            "city": ["a", "b"],
            "illness": ["hiv", "flu"],
        }
    )
    asks = {
        "verify": lambda population: shoal.verify(
            WITHOUT, SCHEMA, "k-map k=3", population=population
        ),
        "audit": lambda population: shoal.audit(WITHOUT, SCHEMA, population=population),
        "publish": lambda population: shoal.publish(
            one_row, SCHEMA, "k-map k=3", population=population
        ),
    }
    with pytest.raises(InputError, match="2 rows of the population are about people who have"):
        asks[asked](people)
    apart = people.set_column(0, "patient", pa.array([str(i) for i in range(6)]))
    asks[asked](apart)


def test_a_release_knows_its_population_by_the_person_column_of_its_table(tmp_path) -> None:
    people = pa.table(
        {
            "patient": [str(i) for i in range(20)],
            "age": [30 + i // 5 for i in range(20)],
            "illness": ["flu", "hiv"] * 10,
        }
    )
    schema = shoal.Schema.of(quasi="age", sensitive="illness", person="patient")
    shoal.publish(people, schema, "k-anonymity k=5", out=tmp_path / "release")
    everybody = people.select(["patient", "age"])
    assert shoal.audit(tmp_path / "release", population=everybody).reached("k-map") >= 5
    twice = pa.concat_tables([everybody, everybody])
    with pytest.raises(InputError, match="20 rows of the population"):
        shoal.audit(tmp_path / "release", population=twice)


def test_columns_that_a_pattern_drops_are_no_columns_of_an_audit() -> None:
    schema = shoal.Schema.of(quasi=["age", "city"], sensitive="illness", drop="pat*")
    assert shoal.audit(ROWS, schema).reached("k-anonymity") == 3
    with pytest.raises(NotMetError, match="never published: patient"):
        shoal.verify(ROWS, schema, "k-anonymity k=3")
