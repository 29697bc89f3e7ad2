"""People, not rows: what is counted where a table has a row for an encounter.

The oracle is plain Python over dictionaries, written from the definitions; it shares nothing with
what it checks.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import random
import shutil
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.seeds import seeds

import shoal
from shoal.core.errors import InputError, NotEvaluatedError, UsageError
from shoal.releases.companion import hash_person_values
from shoal.releases.people import parse_one_row

SCHEMA = shoal.Schema.of(quasi=["age", "sex"], sensitive=["disease", "blood"], person="patient")
Row = dict[str, Any]


def encounters(seed: int) -> list[Row]:
    """A small table with several rows a person; some columns are constant for a person."""
    rng = random.Random(seed)
    people = rng.randint(2, 9)
    blood = {person: rng.choice("abo") for person in range(people)}
    moves = rng.random() < 0.6
    home = {person: rng.choice("xy") for person in range(people)}
    return [
        {
            "patient": f"p{person}",
            "age": rng.choice(["30", "40"]) if moves else home[person],
            "sex": home[person],
            "disease": rng.choice(["flu", "hiv", "cold", "ulcer"][: rng.randint(1, 4)]),
            "blood": blood[person] + " type",
        }
        for person in range(people)
        for _ in range(rng.choice([1, 1, 2, 3]))
    ]


def table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows)


def classes(rows: list[Row]) -> dict[Any, list[Row]]:
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault((row["age"], row["sex"]), []).append(row)
    return found


def values_of(rows: list[Row], column: str) -> dict[str, set[str]]:
    """By person the set of values."""
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["patient"], set()).add(row[column])
    return found


def k_of(rows: list[Row]) -> int:
    return min(len({row["patient"] for row in some}) for some in classes(rows).values())


def alpha_of(rows: list[Row], column: str) -> Fraction:
    worst = Fraction(0)
    for some in classes(rows).values():
        sets = values_of(some, column)
        for value in set().union(*sets.values()):
            share = Fraction(sum(value in own for own in sets.values()), len(sets))
            worst = max(worst, share)
    return worst


def l_of(rows: list[Row], column: str) -> int:
    return min(
        _l_of_sets(list(values_of(some, column).values())) for some in classes(rows).values()
    )


def _l_of_sets(sets: list[set[str]]) -> int:
    """The largest l for which no l - 2 negations settle a value: SPEC by enumeration."""
    every = sorted(set().union(*sets))
    for size in range(len(every) + 1):
        for negated in combinations(every, size):
            left = [own for own in sets if not own & set(negated)]
            if left and set.intersection(*left):
                return size + 1
    raise AssertionError("somebody is always left with something")


def entropy_of(rows: list[Row], column: str) -> float | None:
    """exp of the least entropy over persons; None where somebody has two values."""
    if any(len(own) > 1 for own in values_of(rows, column).values()):
        return None
    found = []
    for some in classes(rows).values():
        own = [next(iter(one)) for one in values_of(some, column).values()]
        shares = [own.count(value) / len(own) for value in set(own)]
        found.append(math.exp(-sum(share * math.log(share) for share in shares)))
    return min(found)


def closeness_of(rows: list[Row], column: str) -> Fraction | None:
    """The largest distance of a class's persons from all persons, each value as far as another."""
    everybody = values_of(rows, column)
    if any(len(own) > 1 for own in everybody.values()):
        return None
    whole = [next(iter(one)) for one in everybody.values()]
    worst = Fraction(0)
    for some in classes(rows).values():
        own = [next(iter(one)) for one in values_of(some, column).values()]
        moved = (
            abs(Fraction(own.count(value), len(own)) - Fraction(whole.count(value), len(whole)))
            for value in set(whole)
        )
        worst = max(worst, sum(moved, Fraction()) / 2)
    return worst


def risks_of(rows: list[Row]) -> dict[str, Fraction]:
    """By person the largest over its classes of 1 / persons of the class."""
    found: dict[str, Fraction] = {}
    for some in classes(rows).values():
        people = {row["patient"] for row in some}
        for person in people:
            found[person] = max(found.get(person, Fraction(0)), Fraction(1, len(people)))
    return found


def check_audit(seed: int) -> None:
    rows = encounters(seed)
    found = shoal.audit(table(rows), SCHEMA)
    people = {row["patient"] for row in rows}
    assert (found.rows, found.people) == (len(rows), len(people))
    assert found.reached("k-anonymity") == k_of(rows)
    for column in ("disease", "blood"):
        assert found.reached("alpha-k", on=column) == pytest.approx(float(alpha_of(rows, column)))
        assert found.reached("distinct-diversity", on=column) == l_of(rows, column)
        entropy, closeness = entropy_of(rows, column), closeness_of(rows, column)
        if entropy is None or closeness is None:
            left = {one.model for one in found.not_evaluated if one.on == column}
            assert {
                "entropy-diversity",
                "recursive-diversity",
                "t-closeness",
                "beta-likeness",
                "delta-disclosure",
                "ck-safety",
                "composition",
            } <= left
            with pytest.raises(NotEvaluatedError):
                found.reached("entropy-diversity", on=column)
        else:
            assert found.reached("entropy-diversity", on=column) == pytest.approx(entropy)
            assert found.reached("t-closeness", on=column) == pytest.approx(float(closeness))
    check_risk(rows, found.risk)


def check_risk(rows: list[Row], found: Any) -> None:
    risks = risks_of(rows)
    assert (found.rows, found.people) == (len(rows), len(risks))
    assert found.prosecutor == pytest.approx(float(max(risks.values())))
    assert found.marketer == pytest.approx(float(sum(risks.values()) / len(risks)))
    alone = sum(risk == 1 for risk in risks.values())
    assert (found.uniques, found.unique_share) == (alone, pytest.approx(alone / len(risks)))
    above = sum(risk > Fraction(1, 5) for risk in risks.values())
    assert found.above == pytest.approx(above / len(risks))


def check_verify(seed: int) -> None:
    rows = encounters(seed)
    k, l = k_of(rows), l_of(rows, "disease")
    alpha = alpha_of(rows, "disease")
    holding = (
        f"k-anonymity k={k} & distinct-diversity l={l} on=disease"
        f" & alpha-k alpha={alpha} k={k} on=disease"
    )
    assert shoal.verify(table(rows), SCHEMA, holding, with_persons=True).holds
    broken = [f"k-anonymity k={k + 1}", f"distinct-diversity l={l + 1} on=disease"]
    for rule in broken:
        assert not shoal.verify(table(rows), SCHEMA, rule, with_persons=True).holds, rule
    found = shoal.verify(table(rows), SCHEMA, "entropy-diversity l=1 on=disease", with_persons=True)
    evaluated = entropy_of(rows, "disease") is not None
    assert found.holds is evaluated
    assert bool(found.judgements[0].reason) is not evaluated
    assert (found.rows, found.people) == (len(rows), len({row["patient"] for row in rows}))


@pytest.mark.parametrize("seed", seeds(8, 25))
def test_audit_and_risk_count_people_as_the_definitions_do(seed: int) -> None:
    check_audit(seed)


@pytest.mark.parametrize("seed", seeds(5, 12))
def test_verify_counts_people_as_the_definitions_do(seed: int) -> None:
    check_verify(seed)


@pytest.mark.long
def test_two_thousand_random_tables_agree_with_the_definitions() -> None:
    for seed in range(1_000, 3_000):
        check_audit(seed)
        check_verify(seed)


def test_three_rows_of_one_person_are_a_class_of_one() -> None:
    rows = [{"patient": "p", "age": "30", "sex": "f", "disease": "hiv", "blood": "a"}] * 3
    found = shoal.audit(table(rows), SCHEMA)
    assert (found.reached("k-anonymity"), found.risk.uniques, found.risk.prosecutor) == (1, 1, 1)
    assert "3 rows of 1 person in" in str(found)


def test_what_cannot_be_judged_on_people_says_why_in_text_and_json() -> None:
    rows = [
        {"patient": "p", "age": "30", "sex": "f", "disease": "hiv", "blood": "a"},
        {"patient": "p", "age": "30", "sex": "f", "disease": "flu", "blood": "a"},
        {"patient": "q", "age": "30", "sex": "f", "disease": "flu", "blood": "b"},
    ]
    found = shoal.audit(table(rows), SCHEMA)
    assert "not evaluated" in str(found)
    assert "1 person has several values of 'disease'" in str(found)
    left = found.to_json()["not_evaluated"]
    assert {one["on"] for one in left} == {"disease"}
    assert all("several values of 'disease'" in one["reason"] for one in left)
    assert found.reached("t-closeness", on="blood") >= 0


def test_a_value_that_everybody_shares_is_found_among_sets() -> None:
    """Two values in the class, and both people have one of them: l is 1, not 2."""
    rows = [
        {"patient": p, "age": "30", "sex": "f", "disease": d, "blood": "a"}
        for p, d in [("p", "hiv"), ("p", "flu"), ("q", "hiv"), ("q", "cold")]
    ]
    found = shoal.audit(table(rows), SCHEMA)
    assert found.reached("distinct-diversity", on="disease") == 1
    assert found.reached("alpha-k", on="disease") == 1


def completions(rows: list[Row]) -> list[list[Row]]:
    """The rows with each combination of the table's diseases where none is known."""
    known = sorted({row["disease"] for row in rows if row["disease"] is not None})
    blank = [i for i, row in enumerate(rows) if row["disease"] is None]
    found = []
    for values in product(known, repeat=len(blank)):
        chosen = dict(zip(blank, values, strict=True))
        found.append(
            [row | {"disease": chosen.get(i, row["disease"])} for i, row in enumerate(rows)]
        )
    return found


@pytest.mark.parametrize("seed", seeds(5, 12))
def test_an_unknown_value_of_a_person_with_several_is_the_worst_it_may_be(seed: int) -> None:
    rng = random.Random(seed)
    rows = encounters(seed)
    for at in rng.sample(range(len(rows)), min(3, len(rows) - 1)):
        rows[at] |= {"disease": None}
    if not any(row["disease"] for row in rows):
        rows[0]["disease"] = "flu"
    found = shoal.audit(table(rows), SCHEMA)
    complete = completions(rows)
    assert found.reached("distinct-diversity", on="disease") == min(
        l_of(one, "disease") for one in complete
    )
    assert found.reached("alpha-k", on="disease") == pytest.approx(
        float(max(alpha_of(one, "disease") for one in complete))
    )


def test_an_empty_person_is_an_error() -> None:
    rows = [
        {"patient": p, "age": "30", "sex": "f", "disease": "flu", "blood": "a"}
        for p in ("p", "q", None)
    ]
    for verb in (
        lambda: shoal.audit(table(rows), SCHEMA),
        lambda: shoal.verify(table(rows), SCHEMA, "k-anonymity k=1", with_persons=True),
        lambda: shoal.publish(table(rows), SCHEMA, "k-anonymity k=2", dry_run=True),
    ):
        with pytest.raises(InputError, match="1 row does not say who it is about"):
            verb()


def with_companion(rows: list[Row], folder: Any) -> shoal.Release:
    """A release whose private companion says that its rows are these people's, in their order.

    Releases are made of one row a person; one made otherwise is written here by hand.
    """
    alone = [row | {"patient": f"n{i}"} for i, row in enumerate(rows)]
    release = shoal.publish(
        table(alone), SCHEMA, "k-anonymity k=1", out=folder / "release", method="datafly"
    )
    about = json.loads((release.companion / "companion.json").read_text())
    published = list(csv.DictReader(release.path.open(encoding="utf-8")))
    left = [dict(row) for row in rows]
    who = []
    for shown in published:  # any row of the same labels and values
        at = next(i for i, row in enumerate(left) if all(row[c] == shown[c] for c in shown))
        who.append(left.pop(at)["patient"])
    keyed = hash_person_values(sorted(set(who)), bytes.fromhex(about["key"])).to_pylist()
    names = dict(zip(sorted(set(who)), keyed, strict=True))
    file = release.companion / "rows.parquet"
    pq.write_table(pa.table({"person": [names[one] for one in who]}), file)
    about["rows_sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    (release.companion / "companion.json").write_text(json.dumps(about))
    return release


@pytest.mark.parametrize("seed", range(4))
def test_a_release_is_verified_and_audited_by_the_people_of_its_companion(
    seed: int, tmp_path: Path
) -> None:
    rows = encounters(seed)
    release = with_companion(rows, tmp_path)
    k, people = k_of(rows), len({row["patient"] for row in rows})
    found = shoal.verify(release.folder, rule=f"k-anonymity k={k}")
    assert (found.holds, found.people, found.rows) == (True, people, len(rows))
    assert not shoal.verify(release.folder, rule=f"k-anonymity k={k + 1}").holds
    audited = shoal.audit(release.folder)
    assert (audited.people, audited.reached("k-anonymity")) == (people, k)
    check_risk(rows, audited.risk)


def test_without_the_companion_people_are_not_evaluated(tmp_path: Path) -> None:
    rows = [
        {"patient": f"p{i}", "age": "30", "sex": "f", "disease": "flu", "blood": "a"}
        for i in range(4)
    ]
    release = shoal.publish(table(rows), SCHEMA, "k-anonymity k=4", out=tmp_path / "release")
    assert release.manifest["people"] == "one row each"
    assert shoal.verify(release.folder).people == 4
    shutil.rmtree(release.companion)
    found = shoal.verify(release.folder)
    assert found.people is None
    assert "companion" in found.people_not_evaluated
    assert "NOT EVALUATED" in str(found)
    assert "not evaluated" in str(shoal.audit(release.folder))


# One row a person


HOSPITAL = shoal.Schema.of(
    quasi=["age", "sex"], sensitive="disease", person="patient", identifier="admitted"
)


def stays(people: int = 40, seed: int = 5) -> list[Row]:
    """Encounters with days, some of them on one day."""
    rng = random.Random(seed)
    return [
        {
            "patient": f"p{person:03}",
            "age": 30 + rng.randrange(12),
            "sex": rng.choice("fm"),
            "disease": rng.choice(["flu", "hiv", "cold"]),
            "admitted": f"2024-0{1 + rng.randrange(3)}-1{rng.randrange(3)}",
        }
        for person in range(people)
        for _ in range(rng.choice([1, 2, 3]))
    ]


def chosen_by(rows: list[Row], latest: bool) -> dict[str, set[tuple[Any, ...]]]:
    """By person the rows that may stand for them."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["patient"], []).append(row)
    pick = max if latest else min
    return {
        who: {
            tuple(row.values())
            for row in own
            if row["admitted"] == pick(one["admitted"] for one in own)
        }
        for who, own in found.items()
    }


def csv_file(rows: list[Row], path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("text", ["latest by admitted", "first by admitted", "random"])
def test_one_row_a_person_is_chosen_before_anything_is_counted(text: str, tmp_path: Path) -> None:
    rows = stays()
    path = csv_file(rows, tmp_path / "stays.csv")
    with pytest.raises(InputError, match=r"people who have a row already.*\n.*--one-row"):
        shoal.publish(path, HOSPITAL, "k-anonymity k=3", out=tmp_path / "refused")
    release = shoal.publish(
        path, HOSPITAL, "k-anonymity k=3", out=tmp_path / "release", one_row=text
    )
    people = {row["patient"] for row in rows}
    assert (release.verdict.rows, release.verdict.people) == (len(people), len(people))
    assert (release.manifest["one_row"], release.manifest["people"]) == (text, "one row each")
    assert shoal.verify(release.folder).holds
    told = json.loads((release.companion / "companion.json").read_text())
    assert (told["one_row"], len(bytes.fromhex(told["one_row_key"]))) == (text, 32)
    assert "one_row_key" not in release.manifest


@pytest.mark.parametrize("latest", [True, False])
def test_the_row_that_stands_for_a_person_is_the_first_or_the_latest(
    latest: bool, tmp_path: Path
) -> None:
    rows = stays()
    path = csv_file(rows, tmp_path / "stays.csv")
    asked = parse_one_row(f"{'latest' if latest else 'first'} by admitted", HOSPITAL)
    with closing(shoal.open(path, kinds={"age": "label"}, one_row=asked)) as frame:
        columns = {name: frame.column(name).to_pylist() for name in rows[0]}
    kept = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    may_be = chosen_by(rows, latest)
    assert sorted(row["patient"] for row in kept) == sorted(may_be)
    for row in kept:
        own = row | {"age": int(row["age"]), "admitted": str(row["admitted"])}
        assert tuple(own.values()) in may_be[row["patient"]]


def test_the_same_key_chooses_the_same_rows_however_the_columns_are_read(tmp_path: Path) -> None:
    path = csv_file(stays(), tmp_path / "stays.csv")
    asked = parse_one_row("random", HOSPITAL)
    drawn = []
    for kinds in ({}, {"age": "label", "admitted": "label"}):
        with closing(shoal.open(path, kinds=kinds, one_row=asked)) as frame:
            pairs = zip(
                frame.column("patient").to_pylist(),
                map(str, frame.column("age").to_pylist()),
                map(str, frame.column("admitted").to_pylist()),
                strict=True,
            )
            drawn.append(sorted(pairs))
    assert drawn[0] == drawn[1]
    with closing(shoal.open(path, one_row=parse_one_row("random", HOSPITAL))) as frame:
        other = sorted(
            zip(
                frame.column("patient").to_pylist(),
                map(str, frame.column("age").to_pylist()),
                strict=True,
            )
        )
    assert other != [(who, age) for who, age, _ in drawn[0]]


def test_the_time_of_day_decides_which_row_is_the_latest() -> None:
    rows = [
        {
            "patient": "p",
            "age": 30 + hour,
            "sex": "f",
            "disease": "flu",
            "admitted": f"2024-01-01 {hour:02}:30",
        }
        for hour in range(9)
    ]
    for text, age in (("latest by admitted", 38), ("first by admitted", 30)):
        asked = parse_one_row(text, HOSPITAL)
        with closing(shoal.open(table(rows), one_row=asked)) as frame:
            assert frame.column("age").to_pylist() == [age]


def test_a_report_reads_the_original_as_it_was_published(tmp_path: Path) -> None:
    path = csv_file(stays(60), tmp_path / "stays.csv")
    release = shoal.publish(
        path, HOSPITAL, "k-anonymity k=3", out=tmp_path / "release", one_row="random"
    )
    page = shoal.report(release.folder, original=path)
    assert "One row a person" in str(page.to_json())
    measured = shoal.audit(release.folder, original=path)
    assert measured.utility["rows_suppressed"] == 0
    shutil.rmtree(release.companion)
    with pytest.raises(InputError, match="companion"):
        shoal.report(release.folder, original=path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("newest by admitted", "first or the latest"),
        ("latest by nowhere", "nowhere"),
        ("latest by disease", "no number and no date"),
        ("latest", "first or the latest"),
    ],
)
def test_what_nobody_can_choose_by_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        shoal.publish(table(stays()), HOSPITAL, "k-anonymity k=3", one_row=text, dry_run=True)


def test_one_row_needs_a_person_column() -> None:
    schema = HOSPITAL.set(patient="identifier")
    with pytest.raises(UsageError, match="no column says who"):
        shoal.publish(table(stays()), schema, "k-anonymity k=3", one_row="random", dry_run=True)


def test_noise_coalitions_frontier_and_pools_refuse_repeated_people_and_take_one_row(
    tmp_path: Path,
) -> None:
    rows = [row | {"site": "AB"[i % 2]} for i, row in enumerate(stays(60))]
    path = csv_file(rows, tmp_path / "stays.csv")
    people = len({row["patient"] for row in rows})
    schema = HOSPITAL.set(
        age=shoal.quasi(bounds=(0, 120)),
        sex=shoal.quasi(domain=("f", "m")),
        disease=shoal.sensitive(domain=("flu", "hiv", "cold")),
        site="provider",
    )
    noisy = schema.set(site="identifier")
    verbs = {
        "counts": lambda **more: shoal.publish(
            path, noisy, form="counts", epsilon=1, out=tmp_path / f"c{len(more)}", **more
        ),
        "synthetic": lambda **more: shoal.publish(
            path, noisy, form="synthetic", epsilon=1, out=tmp_path / f"s{len(more)}", **more
        ),
        "randomised": lambda **more: shoal.publish(
            path,
            noisy,
            "k-anonymity k=2",
            form="randomised",
            epsilon=1,
            out=tmp_path / f"r{len(more)}",
            **more,
        ),
        "m-privacy": lambda **more: shoal.m_privacy(path, schema, "k-anonymity k=1", 1, **more),
        "frontier": lambda **more: shoal.frontier(
            path, noisy, ["k-anonymity k=2"], methods="mondrian", **more
        ),
    }
    for verb in verbs.values():
        with pytest.raises(InputError, match="people who have a row already"):
            verb()
    made = {name: verb(one_row="latest by admitted") for name, verb in verbs.items()}
    assert made["m-privacy"].rows == people
    for name in ("counts", "synthetic", "randomised"):
        assert made[name].manifest["one_row"] == "latest by admitted"
        assert shoal.verify(made[name].folder).holds
    kinds = {
        "age": "number",
        "sex": "category",
        "disease": "category",
        "patient": "code",
        "site": "category",
        "admitted": "date",
    }
    agreed = shoal.Schema(tuple(replace(c, kind=kinds[c.name]) for c in schema.columns))
    inside = "m-privacy m=1 (k-anonymity k=2)"
    shoal.pool_init(tmp_path / "pool", agreed, inside, providers=["A", "B"])
    own = [row for row in rows if row["site"] == "A"]
    with pytest.raises(InputError, match="people who have a row already"):
        shoal.pool_add(tmp_path / "pool", "A", table(own))
    added = shoal.pool_add(tmp_path / "pool", "A", table(own), one_row="random")
    assert added.rows == len({row["patient"] for row in own})


# A number that repeats and is dropped


def test_a_dropped_number_that_repeats_raises_a_question(tmp_path: Path) -> None:
    rows = stays()
    schema = HOSPITAL.set(patient="identifier")
    release = shoal.publish(table(rows), schema, "k-anonymity k=3", out=tmp_path / "release")
    notes = " ".join(release.to_json()["notes"])
    people = len({row["patient"] for row in rows})
    assert f"patient repeats: {len(rows)} rows of {people} values" in notes
    assert "role person" in notes
    looked = shoal.look(table(rows), schema)
    assert f"patient repeats: {len(rows)} rows of {people} values" in str(looked)
    assert any("patient repeats" in one for one in looked.to_json()["notes"])


def test_nothing_is_asked_where_no_dropped_value_repeats() -> None:
    rows = [row | {"patient": f"n{i}"} for i, row in enumerate(stays())]
    plain = [{name: row[name] for name in row if name != "admitted"} for row in rows]
    schema = shoal.Schema.of(quasi=["age", "sex"], sensitive="disease", identifier="patient")
    release = shoal.publish(table(plain), schema, "k-anonymity k=3", dry_run=True)
    assert not any("repeats" in note for note in release.private["notes"])
