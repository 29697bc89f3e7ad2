"""Both schools side by side: halves, what is added at about equal loss, and a page."""

from __future__ import annotations

import csv
import gzip
import json

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.releases.options import COUNTS, RANDOMISED
from shoal.reports.charts.side_by_side import chart_side_by_side
from shoal.reports.pages.side_by_side import judge_conclusion, render_side_by_side
from shoal.verbs.side_by_side.result import Figure, GuaranteeOutcome, SideBySide
from shoal.verbs.side_by_side.two_tables import Halves, TwoTables
from shoal.verbs.side_by_side.verb import list_usual_rules, side_by_side

VALUES = ("a", "b", "c", "d", "e")
SIX = ("workclass", "education", "marital_status", "race", "sex", "native_country")


def people(rows: int, seed: int = 0, first: int = 0) -> pa.Table:
    """A table in which the value depends a little on the age."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, rows)
    code = np.where(rng.random(rows) < 0.5, age % 5, rng.integers(0, 5, rows))
    return pa.table(
        {
            "id": [f"p{first + i}" for i in range(rows)],
            "age": age,
            "sex": rng.choice(["f", "m"], rows),
            "ill": np.array(VALUES)[code],
        }
    )


def stated(**more: object) -> shoal.Schema:
    given = {
        "id": shoal.person,
        "age": shoal.quasi(bounds=(0, 99)),
        "sex": shoal.quasi(domain=["f", "m"]),
        "ill": shoal.sensitive(domain=list(VALUES)),
    }
    return shoal.Schema(()).set(**{**given, **more})


@pytest.fixture(scope="module")
def found() -> SideBySide:
    return side_by_side(
        people(900), stated(), k=3, epsilons=(1, 4), seeds=2, forms=(RANDOMISED, COUNTS)
    )


# Halves


def test_halves_share_people_and_the_control_is_in_neither():
    whole = Halves.read(people(601), stated(), "ill", 60, {})
    pair = whole.pair(3)
    one, other = pair.halves
    assert pair.shared == len(pair.both) == 60
    assert len(pair.control) == 30
    assert (one.keys[:, :60] == other.keys[:, :60]).all()
    assert len(one) + len(other) - 60 + 30 == 601
    assert abs(len(one) - len(other)) <= 1
    assert pair.prior.sum() == pytest.approx(1)
    again = whole.pair(3).halves[0]
    assert (again.keys == one.keys).all()
    assert not np.array_equal(whole.pair(4).halves[0].keys, one.keys)


def test_two_given_tables_are_joined_by_the_person():
    everybody = people(400)
    one, other = everybody.slice(0, 250), everybody.slice(150, 250)
    pair = TwoTables.read(one, other, stated(), "ill", {}).pair(0)
    assert pair.shared == 50
    assert len(pair.control) == 50
    assert [len(half) for half in pair.halves] == [200, 200]
    first, second = (half.some(np.arange(50)) for half in pair.halves)
    assert (first.keys == second.keys).all()
    assert (first.values == second.values).all()


@pytest.mark.parametrize(
    ("rows", "given", "said"),
    [
        (40, {}, "A table of 40 rows has no two halves that share 6 people."),
        (100, {"overlap": 50}, "A table of 100 rows has no two halves that share 50 people."),
        (100, {"epsilons": [0]}, "Epsilon must be more than 0"),
        (100, {"forms": ["loud"]}, "There is no noisy form 'loud'."),
        (100, {"seeds": 0}, "seeds is a whole number from 1 on."),
        (100, {"on": "age"}, "There is no sensitive column 'age'."),
        (100, {"other": people(30, first=500)}, "The two tables have 0 people in common."),
    ],
)
def test_what_cannot_be_compared_is_refused(rows, given, said):
    with pytest.raises(shoal.ShoalError) as error:
        side_by_side(people(rows), stated(), **given)
    assert error.value.fact.startswith(said)
    assert error.value.hint


# What comes of it


def test_both_schools_are_measured(found):
    assert [one.name for one in found.made] == [
        *list_usual_rules(3),
        "randomised, ε = 1",
        "randomised, ε = 4",
        "counts, ε = 1",
        "counts, ε = 4",
    ]
    plain = found.made[0]
    assert plain.added.low > 0
    assert plain.settled.mean > 0
    assert plain.width.mean > 0
    assert plain.bound is None
    assert plain.noiseless is None
    noisy = [one for one in found.made if one.epsilon]
    assert all(one.settled.high == 0 for one in noisy)
    assert all(one.right.mean <= one.bound for one in noisy)
    assert [one.width is None for one in noisy] == [False, False, True, True]
    assert noisy[0].loss.mean > noisy[1].loss.mean > noisy[1].noiseless.mean
    assert noisy[2].loss.mean > noisy[3].loss.mean > noisy[3].noiseless.mean
    assert (found.people, found.control, found.seeds) == (150, 75, 2)


def test_what_is_added_is_paired_by_seed(found):
    for one in found.made:
        assert one.added.mean == pytest.approx(one.right.mean - one.control.mean)
        assert one.added.low <= one.added.mean <= one.added.high
        assert len(one.gains) == found.seeds


def test_rules_are_compared_with_the_noise_that_loses_about_as_much(found):
    rules = [one for one in found.made if not one.epsilon]
    assert len(found.compared) == 2 * len(rules)
    assert found.compared[0].rule == max(rules, key=lambda one: one.added.mean).name
    known = {one.name: one for one in found.made}
    for one in found.compared:
        rule, form = known[one.rule], [o for o in found.made if o.form == one.form]
        nearest = min(form, key=lambda o: abs(o.loss.mean - rule.loss.mean))
        assert one.noise == nearest.name
        more = [a - b for a, b in zip(rule.gains, nearest.gains, strict=True)]
        assert one.more == Figure.of(more)
        assert one.worse == (min(more) > 0)


def test_the_bound_is_that_of_two_releases_with_and_without_a_row(found):
    counts = next(one for one in found.made if one.name == "counts, ε = 1")
    c, grown = counts.control.mean, np.exp(2)
    assert counts.bound == pytest.approx(min(grown * c, 1 - (1 - c) / grown))


def test_the_same_seeds_give_the_same_figures(found):
    again = side_by_side(
        people(900),
        stated(),
        rules=list_usual_rules(3)[:1],
        k=3,
        epsilons=["4"],
        seeds=2,
        forms=[COUNTS],
    )
    known = {one.name: one for one in found.outcomes}
    assert [one.right for one in again.made] == [known[one.name].right for one in again.made]
    assert [one.loss for one in again.made] == [known[one.name].loss for one in again.made]


def test_it_is_plain_json_a_page_and_a_table_of_text(found, tmp_path):
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert told["edition"] == 1
    assert {one["school"] for one in told["outcomes"]} == {"classes", "differential privacy"}
    lines = str(found).splitlines()
    assert lines[0].startswith("Two tables of 488 and 487 rows that share 150 people; ill guessed")
    assert len(lines) == 2 + len(found.made)
    html = render_side_by_side(told).html()
    assert "The paper&#39;s conclusion" in html
    assert "by construction" in html
    assert "± " in html
    assert "+ composition l=2" in html
    assert found.page().data["public"] is False


def test_a_page_and_its_twin_are_written(tmp_path):
    out = tmp_path / "sides"
    side_by_side(
        people(300),
        stated(),
        rules=list_usual_rules(3)[:1],
        epsilons=[1],
        seeds=1,
        forms=[COUNTS],
        out=out,
    )
    assert sorted(one.name for one in out.iterdir()) == ["side-by-side.html", "side-by-side.json"]
    assert json.loads((out / "side-by-side.json").read_text())["data"]["seeds"] == 1


def test_what_noise_cannot_do_without_is_told_as_a_reason():
    found = side_by_side(
        people(300),
        stated(ill=shoal.sensitive),
        k=3,
        rules=list_usual_rules(3)[:1],
        epsilons=[1],
        seeds=1,
        forms=(RANDOMISED, COUNTS),
    )
    assert [one.name for one in found.made] == ["k-anonymity k=3"]
    reasons = [one.reason for one in found.outcomes if one.reason]
    assert len(reasons) == 2
    assert all('"ill"' in reason for reason in reasons)
    assert found.holds is None
    assert "not made: counts, ε = 1: " in str(found)
    assert "made no release" in judge_conclusion(found.to_json()).text


def outcome(
    name: str, form: str, epsilon: str | None, loss: float, *gains: float
) -> GuaranteeOutcome:
    same, none = Figure.of([0.25]), Figure.of([0.0])
    return GuaranteeOutcome(
        name,
        form,
        epsilon,
        Figure.of([loss]),
        None if epsilon is None else none,
        None,
        same,
        same,
        none,
        same,
        same,
        gains,
    )


def test_the_conclusion_can_fail_and_one_seed_does_not_tell():
    noise = [
        outcome("counts, ε = 1", COUNTS, "1", 0.5, 0.1, 0.1),
        outcome("counts, ε = 4", COUNTS, "4", 0.1, 0.3, 0.3),
    ]
    crowd = outcome("k-anonymity k=5", "partition", None, 0.45, 0.2, 0.11)
    told = SideBySide((crowd, *noise), "ill", (9, 9), 3, 1, 0.2, 2)
    assert told.holds is True
    assert told.compared[0].noise == "counts, ε = 1"
    assert told.compared[0].more.low == pytest.approx(0.01)
    assert (
        judge_conclusion(told.to_json()).heading
        == "The paper's conclusion holds here, for 1 of 1 rules"
    )
    assert "counts at ε = 1 each (loss 0.500) 10.0 ± 0.0" in told.sentence
    crowd = outcome("k-anonymity k=50", "partition", None, 0.45, 0.2, 0.09)
    told = SideBySide((crowd, *noise), "ill", (9, 9), 3, 1, 0.2, 2)
    assert told.holds is False
    assert judge_conclusion(told.to_json()).heading == "The paper's conclusion does not hold here"
    assert "nobody by `k-anonymity k=50`" in judge_conclusion(told.to_json()).text
    assert SideBySide((crowd, *noise), "ill", (9, 9), 3, 1, 0.2, 1).holds is None


def test_every_series_is_named_once_and_a_loss_that_is_cut_off_is_told():
    made = [outcome(rule, "partition", None, 0.3, 0.2, 0.2) for rule in list_usual_rules(5)[:2]]
    made += [
        outcome(f"{form}, ε = {e}", form, str(e), loss, 0.1, 0.1)
        for form in (RANDOMISED, COUNTS)
        for e, loss in ((1, 1.0), (4, 0.4))
    ]
    spec = chart_side_by_side(SideBySide(tuple(made), "ill", (9, 9), 3, 1, 0.105, 2).to_json())
    values = spec["data"]["values"]
    assert sum(one["label"].startswith("counts, ε = ") for one in values) == 1
    assert [one["lost"] for one in values[2:]] == ["≥ 1", "0.400"] * 2
    drawn = json.dumps(spec, ensure_ascii=False)
    for said in ("the most common value 10.5%", "bins alone", "the control, in neither table"):
        assert said in drawn


def test_adult_has_the_figures_of_the_specification(real_data):
    with gzip.open(real_data / "adult.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if "?" not in row.values()]
    rows = [row for row in rows if row["split"] == "train"]
    table = {name: [row[name] for row in rows] for name in (*SIX, "occupation")}
    schema = shoal.Schema(()).set(
        age=shoal.quasi(bounds=(17, 90)),
        **{name: shoal.quasi(domain=sorted(set(table[name]))) for name in SIX},
        occupation=shoal.sensitive(domain=sorted(set(table["occupation"]))),
    )
    table["age"] = [int(row["age"]) for row in rows]
    found = side_by_side(
        pa.table(table),
        schema,
        rules=["k-anonymity k=5"],
        epsilons=[1],
        seeds=1,
        forms=[RANDOMISED],
    )
    plain, noisy = found.made
    assert found.people == 5000
    assert plain.settled.mean == pytest.approx(0.0544, abs=0.01)
    assert plain.right.mean == pytest.approx(0.462, abs=0.015)
    assert plain.added.low > 0.15
    assert noisy.settled.mean == 0
    assert noisy.added.high < 0.05
    assert noisy.right.mean < noisy.bound
