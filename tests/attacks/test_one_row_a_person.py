"""A release of one row a person says which row that is: an adversary looks for that one."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import shoal

SCHEMA = shoal.Schema.of(quasi=["age", "ward"], sensitive="ill", person="patient", drop="seen")


def encounters(seed: int = 5) -> pa.Table:
    draw = random.Random(seed)
    rows = [
        (draw.randrange(90), draw.randrange(20, 60), draw.choice("abc"), draw.choice("xyzuvw"), day)
        for day in range(240)
    ]
    return pa.table(
        {
            "patient": [f"P{row[0]}" for row in rows],
            "age": [row[1] for row in rows],
            "ward": [row[2] for row in rows],
            "ill": [row[3] for row in rows],
            "seen": pa.array([18_000 + row[4] for row in rows], pa.int32()).cast(pa.date32()),
        }
    )


def stand_for_people(table: pa.Table, latest: bool) -> list[int]:
    """The row of each person, counted from 1."""
    chosen: dict[str, int] = {}
    for at, patient in enumerate(table["patient"].to_pylist()):
        if latest or patient not in chosen:
            chosen[patient] = at  # the table is in the order of its days
    return sorted(chosen.values())


@pytest.mark.parametrize("which", ["latest", "first"])
@pytest.mark.parametrize("companion", [True, False])
def test_whoever_knows_all_rows_does_as_well_as_who_knows_the_published_ones(
    tmp_path, which, companion
):
    table = encounters()
    (tmp_path / "elsewhere").mkdir()
    releases = []
    for number, rule in enumerate(("k-anonymity k=3", "k-anonymity k=4")):
        made = shoal.publish(
            table,
            SCHEMA,
            rule,
            one_row=f"{which} by seen",
            out=tmp_path / f"r{number}",
            **({} if companion else {"companion": tmp_path / "elsewhere" / str(number)}),
        )
        releases.append(made.folder)
    rows = stand_for_people(table, which == "latest")
    published = table.take(rows)
    for attack, several in (("linking", releases[:1]), ("intersection", releases)):
        everything = shoal.attack(attack, several, schema=SCHEMA, targets=table)
        known = shoal.attack(attack, several, schema=SCHEMA, targets=published)
        assert everything.people == known.people == len(rows)
        assert everything.exposed == known.exposed
        assert everything.sure == known.sure
        assert set(everything.worst) <= {row + 1 for row in rows}


def test_a_ledger_takes_the_table_that_the_release_was_made_of(tmp_path):
    table = encounters()
    release = shoal.publish(
        table, SCHEMA, "k-anonymity k=5", one_row="latest by seen", out=tmp_path / "r"
    )
    with shoal.Ledger.init(tmp_path / "releases.db", name="Hospital") as ledger:
        admission = ledger.admit(release, people=table)
    assert admission.admitted
