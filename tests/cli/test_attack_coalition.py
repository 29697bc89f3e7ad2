"""``shoal attack coalition``: tables and release folders, the red team, and what is refused."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.data import bundled

ROLES = (
    "--identifier patient --identifier name --quasi age --quasi sex --quasi zip "
    "--identifier admitted --sensitive diagnosis --provider ward"
).split()
PAPER = "--quasi Age --quasi Zip --sensitive Disease --identifier Name --provider Provider".split()
WARDS = ("Heart", "Lung", "Skin")


@pytest.fixture(autouse=True)
def wards(here):
    """The patients with the ward that provided each: every second one is of the first ward."""
    lines = (here / "patients.csv").read_text(encoding="utf-8").splitlines()[:121]
    column = ["ward", *(WARDS[0] if i % 2 else WARDS[1 + i % 3 % 2] for i in range(120))]
    rows = (f"{line},{ward}\n" for line, ward in zip(lines, column, strict=True))
    (here / "wards.csv").write_text("".join(rows), encoding="utf-8")
    table = bundled.path("mprivacy_table1_ta.csv").read_text(encoding="utf-8")
    (here / "ta.csv").write_text(table, encoding="utf-8")
    return here


@pytest.fixture
def release(shoal):
    done = shoal("publish", "wards.csv", "-o", "release", "-m", "k-anonymity k=3", *ROLES, "-q")
    assert done.exit_code == 0, done.stderr
    return "release"


def found(done):
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_a_table_of_others_with_its_providers(shoal):
    told = found(shoal("attack", "coalition", "ta.csv", *PAPER, "--coalition", "P1", "--json"))
    assert (told["exposed"], told["people"], told["worst"]) == (1, 7, [3])
    text = shoal("attack", "coalition", "ta.csv", *PAPER, "--coalition", "P1").stdout
    assert text.startswith(told["sentence"])
    assert "One row is left" in text
    assert not any(word in text for word in ("P1", "Epilepsy", "Sara"))
    shown = shoal("attack", "coalition", "ta.csv", *PAPER, "--coalition", "P1", "--show").stdout
    assert "(P1)" in shown
    assert "Epilepsy" in shown
    assert "Sara" not in shown  # names of people are not read
    pair = found(
        shoal(
            "attack",
            "coalition",
            "ta.csv",
            *PAPER,
            "--coalition",
            "P1",
            "--coalition",
            "P2",
            "--json",
        )
    )
    assert pair["witness"]["members"] == 2
    two = found(shoal("attack", "coalition", "ta.csv", *PAPER, "--members", 2, "--json"))
    assert (two["exposed"], two["details"]["coalitions"]) == (2, 6)
    limited = shoal("attack", "coalition", "ta.csv", *PAPER, "--limit", 0.1)
    assert limited.exit_code == 4


def test_a_release_is_counted_with_its_companion(shoal, here, release):
    told = found(
        shoal("attack", "coalition", release, "--coalition", "Heart", "--sure", 0.6, "--json")
    )
    with (here / "release/table.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    who = pq.read_table(here / "release.private/rows.parquet")["provider"].to_pylist()
    left: dict[tuple, Counter] = {}
    for row, ward in zip(rows, who, strict=True):
        if ward != "Heart":
            cells = row["age"], row["sex"], row["zip"]
            left.setdefault(cells, Counter())[row["diagnosis"]] += 1
    exposed = sum(n for one in left.values() for n in one.values() if n / one.total() >= 0.6)
    assert exposed > 0
    assert (told["exposed"], told["people"]) == (exposed, sum(w != "Heart" for w in who))
    assert told["details"]["after"]["isolated"] == sum(one.total() == 1 for one in left.values())
    again = found(
        shoal(
            "attack", "coalition", release, *ROLES, "--coalition", "Heart", "--sure", 0.6, "--json"
        )
    )
    assert again == told


def test_the_red_team_includes_it_where_providers_are_known(shoal, here, release):
    told = found(shoal("attack", "red-team", release, "--members", 2, "--json"))
    one = next(one for one in told["findings"] if one["attack"] == "coalition")
    assert one["details"]["members"] == 2
    (here / "release.private").rename(here / "elsewhere")
    told = found(shoal("attack", "red-team", release, "--json"))
    reasons = {one["attack"]: one["reason"] for one in told["skipped"]}
    assert "who provided each row" in reasons["coalition"]
    for name in ("red-team", "coalition"):
        done = shoal("attack", name, release, "--members", 2)
        assert done.exit_code == 2
        assert "needs to know who provided each row" in done.stderr
        assert "private companion" in done.stderr


def test_a_companion_that_was_changed_is_refused(shoal, here, release):
    path, seal = (here / "release.private" / name for name in ("rows.parquet", "companion.json"))
    who = pq.read_table(path)["provider"].to_pylist()
    pq.write_table(pa.table({"provider": who[::-1]}), path)
    done = shoal("attack", "coalition", release)
    assert done.exit_code == 5
    assert "changed" in done.stderr
    told = json.loads(seal.read_text(encoding="utf-8"))
    seal.write_text(json.dumps({**told, "rows_sha256": ""}), encoding="utf-8")
    done = shoal("attack", "coalition", release)
    assert done.exit_code == 5
    assert "rows_sha256" in done.stderr
    pq.write_table(pa.table({"provider": who[:-1]}), path)
    resealed = {**told, "rows_sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    seal.write_text(json.dumps(resealed), encoding="utf-8")
    done = shoal("attack", "coalition", release)
    assert done.exit_code == 5
    assert "has not as many rows as the table" in done.stderr
    path.unlink()
    done = shoal("attack", "coalition", release)
    assert done.exit_code == 5
    assert "a whole copy of the companion" in done.stderr


def test_a_name_may_have_a_comma(shoal, here):
    text = (here / "ta.csv").read_text(encoding="utf-8").replace("P1,", '"P1, Inc",')
    (here / "ta.csv").write_text(text, encoding="utf-8")
    told = found(shoal("attack", "coalition", "ta.csv", *PAPER, "--coalition", "P1, Inc", "--json"))
    assert (told["exposed"], told["people"], told["worst"]) == (1, 7, [3])


@pytest.mark.parametrize(
    ("wards", "why"),
    [
        (["Heart"] * 6, "All rows are of one provider"),
        (
            ["Heart", "heart ", "Lung"] * 2,
            "2 providers in column 'ward' differ by case or space only",
        ),
        (["Heart", "", "Lung"] * 2, "2 rows have no provider"),
    ],
)
def test_providers_who_cannot_be_told_apart_are_refused(shoal, here, wards, why):
    rows = (f"{20 + i // 3},flu,{ward}\n" for i, ward in enumerate(wards))
    (here / "t.csv").write_text("age,illness,ward\n" + "".join(rows), encoding="utf-8")
    roles = "--quasi age --sensitive illness --provider ward".split()
    done = shoal("attack", "coalition", "t.csv", *roles)
    assert done.exit_code == 5
    assert why in done.stderr
    assert "Heart" not in done.stderr


def test_buckets_do_not_say_whose_value_is_whose(shoal):
    done = shoal(
        "publish",
        "wards.csv",
        "-o",
        "in-buckets",
        "-m",
        "distinct-diversity l=2",
        "--form",
        "buckets",
        *ROLES,
        "-q",
    )
    assert done.exit_code == 0, done.stderr
    done = shoal("attack", "coalition", "in-buckets")
    assert done.exit_code == 5
    assert "which value came from whom is not known" in done.stderr


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (["--coalition", "P9"], "provided no row of the release: 'P9'"),
        (["--coalition", "P1,P2"], "in a --coalition of its own"),
        (["--coalition", "P1", "--coalition", "P2", "--members", "2"], "named already"),
        (["--members", "4"], "leaves nobody"),
        (["--members", "0"], "at least 1"),
        (["--pieces", "2"], "coalition has no option 'pieces'"),
    ],
)
def test_what_cannot_be_asked_is_wrong_usage(shoal, asked, why):
    done = shoal("attack", "coalition", "ta.csv", *PAPER, *asked)
    assert done.exit_code == 2
    assert why in done.stderr
