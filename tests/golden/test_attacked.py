"""Ganta 2008 and Sattar 2018: two releases joined, with the people the papers name.

The papers write ages as `<30`, `3*` and `15-25`; the releases here say the same as ranges, which is
how Shoal writes them.
"""

from __future__ import annotations

import pytest

import shoal
from shoal.flow.attack import attack

GANTA = {
    "Age": {"<30": "[0-29]", "3*": "[30-39]", ">=40": "[40-120]",
            "<35": "[0-34]", ">=35": "[35-120]"},
}  # fmt: skip
SATTAR = {
    "Age": {f"{low}-{high}": f"[{low}-{high}]"
            for low, high in ((15, 25), (26, 40), (10, 30), (31, 50))},
}  # fmt: skip
ZIPS = ("5087", "5095", "5187", "5195", "6000")
AGE = shoal.quasi(shoal.ordered(), kind="number")


@pytest.mark.parametrize("which", [0, 1])
def test_ganta_s_releases_have_their_k(golden, table, which):
    given = golden("ganta_table1")
    schema = shoal.Schema.of(quasi=given["qi"], sensitive=[given["sensitive"]])
    audit = shoal.audit(table("release", given[f"R{which + 1}"]), schema)
    assert audit.reached("k-anonymity") == given["k"][which]


@pytest.mark.parametrize("at", range(4))
def test_ganta_s_people_lose_as_much_as_the_paper_says(golden, table, at):
    given = golden("ganta_table1")
    person = given["expected"]["by_age"][at]
    target = {"Zip": given["target"]["Zip"], "Age": person["age"], "Nationality": "Japanese"}
    schema = shoal.Schema.of(sensitive=[given["sensitive"]]).set(
        Zip=shoal.quasi(shoal.prefixes(), kind="code"),
        Age=AGE,
        Nationality=shoal.quasi(kind="category"),
    )
    releases = [table(name, given[name], GANTA) for name in ("R1", "R2")]
    finding = attack("intersection", releases, targets=table("people", [target]), schema=schema)
    before, after = finding.details["candidates_before"], finding.details["candidates_after"]
    assert before == {min(person["EA"]): 1}
    assert after == {len(person["intersection"]): 1}
    assert finding.details["mean_drop"] == person["drop"]
    assert finding.exposed == (len(person["intersection"]) == 1)


@pytest.mark.parametrize(("name", "rows"), [("A", "A_published_corrected"), ("B", "B_published")])
def test_sattar_s_releases_have_their_k(golden, table, name, rows):
    given = golden("sattar_tables1_2")
    schema = shoal.Schema.of(quasi=given["qi"], sensitive=[given["sensitive"]])
    audit = shoal.audit(table(name, given[rows]), schema)
    assert audit.reached("k-anonymity") == given["expected"][f"k_{name}"]


@pytest.mark.parametrize("rows", ["corrected", "as_printed"])
@pytest.mark.parametrize("who", ["Alice", "Bob", "Lalin"])
def test_sattar_s_people_keep_what_the_paper_says(golden, table, rows, who):
    given = golden("sattar_tables1_2")
    expected = given["expected"][f"attack_{rows}"][who]
    person = next(row for row in given["A_original"] if row["Name"] == who)
    schema = shoal.Schema.of(sensitive=[given["sensitive"]]).set(
        Age=AGE,
        Sex=shoal.quasi(kind="category"),
        Zip=shoal.quasi(shoal.tree([(z, f"{z[:2]}**", f"{z[0]}***", "*") for z in ZIPS])),
        Name=shoal.person,
    )
    releases = [
        table("A", given[f"A_published_{rows}"], SATTAR), table("B", given["B_published"], SATTAR)
    ]  # fmt: skip
    targets = table("targets", [{key: person[key] for key in ("Name", *given["qi"])}])
    finding = attack("intersection", releases, targets=targets, schema=schema)
    assert finding.details["candidates_after"] == {len(expected["intersection"]): 1}
    assert finding.details["candidates_before"] == {min(len(expected["A"]), len(expected["B"])): 1}
    assert finding.witness == ((who,) if len(expected["intersection"]) == 1 else ())
