"""The papers' tables attacked, with their labels as printed: Ganta 2008, Sattar 2018, Sweeney 2002.

Everything goes through files, as somebody would who found the tables on a web page.
"""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import main


def roles(given):
    sensitive = [given["sensitive"]] if "sensitive" in given else []
    return shoal.Schema.of(quasi=given["qi"], sensitive=sensitive)


# Ganta, Table 1


@pytest.fixture
def ganta(golden, table):
    given = golden("ganta_table1")
    return given, [table(name, given[name]) for name in ("R1", "R2")]


@pytest.mark.parametrize("which", [0, 1])
def test_ganta_s_releases_have_their_k(ganta, which):
    given, releases = ganta
    audit = shoal.audit(releases[which], roles(given))
    assert audit.reached("k-anonymity") == given["k"][which]


@pytest.mark.parametrize("at", range(4))
def test_ganta_s_people_lose_as_much_as_the_paper_says(ganta, table, at):
    given, releases = ganta
    person = given["expected"]["by_age"][at]
    target = {"Zip": given["target"]["Zip"], "Age": person["age"], "Nationality": "Japanese"}
    finding = shoal.attack(
        "intersection", releases, targets=table("people", [target]), schema=roles(given), show=True
    )
    left = person["intersection"]
    assert finding.details["candidates_before"] == {min(person["EA"]): 1}
    assert finding.details["candidates_after"] == {len(left): 1}
    assert finding.details["prior"] == person["EA"]
    assert finding.details["mean_drop"] == person["drop"]
    assert finding.exposed == (len(left) == 1)
    assert sorted(finding.witness["left_named"]) == sorted(left)


def test_alice_s_illness_is_known_on_the_command_line(ganta, table, tmp_path):
    given, releases = ganta
    target = {"Zip": "13012", "Age": 28, "Nationality": "Russian"}
    schema = tmp_path / "schema.toml"
    schema.write_text(roles(given).to_toml(), encoding="utf-8")
    words = [
        "attack",
        "intersection",
        *releases,
        "--targets",
        table("people", [target]),
        "-s",
        schema,
        "--json",
    ]
    silent, shown = (
        CliRunner().invoke(main, [*map(str, words), *more]) for more in ([], ["--show"])
    )
    assert silent.exit_code == shown.exit_code == 0
    told = json.loads(silent.stdout)
    assert (told["people"], told["exposed"], told["sure"]) == (1, 1, 1.0)
    assert told["worst"] == [1]
    assert "AIDS" not in silent.stdout
    assert json.loads(shown.stdout)["witness"]["left_named"] == ["AIDS"]


# Sattar, Tables 1 and 2


@pytest.mark.parametrize(("name", "rows"), [("A", "A_published_corrected"), ("B", "B_published")])
def test_sattar_s_releases_have_their_k(golden, table, name, rows):
    given = golden("sattar_tables1_2")
    audit = shoal.audit(table(name, given[rows]), roles(given))
    assert audit.reached("k-anonymity") == given["expected"][f"k_{name}"]


@pytest.mark.parametrize("rows", ["corrected", "as_printed"])
@pytest.mark.parametrize("who", ["Alice", "Bob", "Lalin"])
def test_sattar_s_people_keep_what_the_paper_says(golden, table, rows, who):
    given = golden("sattar_tables1_2")
    expected = given["expected"][f"attack_{rows}"][who]
    releases = [table("A", given[f"A_published_{rows}"]), table("B", given["B_published"])]
    everybody = [{key: row[key] for key in ("Name", *given["qi"])} for row in given["A_original"]]
    person = [row for row in everybody if row["Name"] == who]
    finding = shoal.attack(
        "intersection",
        releases,
        targets=table("targets", person),
        schema=roles(given).set(Name=shoal.person),
        show=True,
    )
    left = expected["intersection"]
    assert finding.details["prior"] == [len(expected["A"]), len(expected["B"])]
    assert finding.details["candidates_after"] == {len(left): 1}
    assert finding.witness["left_named"] == left
    assert finding.worst == ((1,) if len(left) == 1 else finding.worst)


def test_sattar_s_one_vulnerable_person_is_found_among_all_of_hospital_a(golden, table):
    given = golden("sattar_tables1_2")
    releases = [table("A", given["A_published_corrected"]), table("B", given["B_published"])]
    everybody = [{key: row[key] for key in ("Name", *given["qi"])} for row in given["A_original"]]
    both = [row for row in everybody if row["Name"] in given["expected"]["overlap"]]
    finding = shoal.attack(
        "intersection",
        releases,
        targets=table("targets", both),
        schema=roles(given).set(Name=shoal.person),
    )
    assert finding.people == len(both)
    worst = [both[row - 1]["Name"] for row in finding.worst[: finding.exposed]]
    assert worst == given["expected"]["vulnerable_individuals_l2"]


# Sweeney, Figure 3: the ZIPs' last 0 stands for any digit, which only the hierarchy can say


def figure_3(given):
    races, (root,) = given["hierarchies"]["Race"]
    zips = ("02138", "02139", "02141", "02142")
    return shoal.Schema(()).set(
        Race=shoal.quasi(shoal.tree([(race, root) for race in races])),
        ZIP=shoal.quasi(shoal.tree([(z, f"{z[:4]}0", "*") for z in zips]), kind="code"),
    )


def test_figure_3_in_the_same_order_is_recovered(golden, table):
    given = golden("sweeney_fig3")
    releases = [table(name, given[name]) for name in ("GT1", "GT2")]
    finding = shoal.attack("order", releases, schema=figure_3(given))
    expected = given["expected"]["unsorted_attack"]
    assert finding.exposed == expected["unique_rows_recovered"] == 12
    assert finding.details["recovered"] == 12
    assert finding.details["p_value"] < 0.01


def test_figure_3_in_another_order_says_nothing(golden, table):
    given = golden("sweeney_fig3")
    second = given["GT2"][5:] + given["GT2"][:5]
    releases = [table("GT1", given["GT1"]), table("GT2", second)]
    assert shoal.attack("order", releases, schema=figure_3(given)).exposed == 0


# Sweeney, Figures 4 and 5: `person`, `human` and `1960-69` as printed


def figure_4(given):
    return roles(given).set(
        Race=shoal.quasi(shoal.tree([("black", "person"), ("white", "person")])),
        Gender=shoal.quasi(shoal.tree([("male", "human"), ("female", "human")])),
    )


PAIRS = {
    "complementary": ("GT1", "GT3"),
    "temporal": ("GT1", "GTt1"),
    "temporal, based on the first": ("GT1", "defended_release"),
}


@pytest.mark.parametrize("case", PAIRS)
def test_figures_4_and_5_linked(golden, table, case):
    given = golden("sweeney_fig4_5")
    added = given["temporal"]["added_released"]
    tables = {
        "GT1": given["GT1"],
        "GT3": given["GT3"],
        "GTt1": given["GT3"] + added,
        "defended_release": given["GT1"] + added,
    }
    releases = [table(name, tables[name]) for name in PAIRS[case]]
    finding = shoal.attack(case.partition(",")[0], releases, schema=figure_4(given))
    if "based" in case:
        assert finding.exposed == given["expected"]["defence_base_on_GT1"]["unique_after_link"] == 0
        return
    unique = given["expected"]["unique_rows"]
    assert finding.details["resolved"] == len(given["GT1"]) == 12
    assert finding.exposed == len(unique) == 2
    linked = [given["LT"][row - 1] for row in finding.worst[:2]]
    assert sorted(map(str, linked)) == sorted(map(str, unique))


def test_figures_4_and_5_shuffled_are_linked_alike(golden, table):
    given = golden("sweeney_fig4_5")
    releases = [table("GT1", given["GT1"]), table("GT3", given["GT3"][::-1])]
    finding = shoal.attack("complementary", releases, schema=figure_4(given))
    assert (finding.details["resolved"], finding.exposed) == (12, 2)
