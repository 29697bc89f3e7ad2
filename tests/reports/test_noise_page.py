"""The report on releases made by noise: what is promised, what it means, and nothing private."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import main
from shoal.core.errors import UsageError
from shoal.dp.consistency import make_consistent
from shoal.dp.mechanisms import GAUSSIAN, LAPLACE
from shoal.dp.seeded_draws import draw_gaussian, draw_laplace
from shoal.reports.document import Callout, Chart, Page, Table
from shoal.reports.sections.usefulness import mean_noise_size

PEOPLE = 347
SCHEMA = """
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
kind = "number"
bounds = [0, 99]
hierarchy = { intervals = [20] }
[columns.sex]
role = "quasi"
domain = ["F", "M"]
[columns.disease]
role = "sensitive"
domain = ["cold", "flu", "none"]
"""
PARTS = [
    "In short",
    "Context",
    "Data",
    "Differential privacy",
    "Usefulness",
    "Adversarial testing",
    "Composition",
    "Mitigation",
    "Governance",
]


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    """A table, and a release of each form that needs no model."""
    folder = tmp_path_factory.mktemp("town")
    rng, schema = np.random.default_rng(5), shoal.Schema.parse(SCHEMA)
    with (folder / "people.csv").open("w", newline="") as file:
        write = csv.writer(file)
        write.writerow(["name", "age", "sex", "disease"])
        for i in range(PEOPLE):
            age, sex = int(rng.integers(20, 80)), "FM"[rng.integers(2)]
            write.writerow([f"n{i}", age, sex, ["cold", "flu", "none"][rng.integers(3)]])
    table = folder / "people.csv"
    for name, settings in {
        "counts": {"form": "counts", "epsilon": 1},
        "gaussian": {"form": "counts", "epsilon": 2, "delta": 1e-6, "marginals": 1, "seed": 1},
        "randomised": {"form": "randomised", "epsilon": 1, "rule": "k-anonymity k=5"},
    }.items():
        shoal.publish(table, schema, out=folder / name, **settings)
    return folder


@pytest.fixture(scope="module")
def page(town):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.reports.noise.evidence.RUNS", 100)  # as few as can be: it takes time
        return shoal.report(town / "counts", original=town / "people.csv", prior=0.1)


@pytest.fixture(scope="module")
def public(town):
    return shoal.report(town / "counts", public=True, original=town / "people.csv")


@pytest.fixture(scope="module")
def answers(town):
    """The pages on a randomised release: the publisher's, and the public's."""
    own = shoal.report(town / "randomised", original=town / "people.csv", prior=0.2)
    return own, shoal.report(town / "randomised", public=True)


def texts(page: Page) -> str:
    """Everything that the JSON says, and the HTML without its drawings' coordinates."""
    html = re.sub(r"<style>.*?</style>", "", page.html(), flags=re.DOTALL)
    return json.dumps(page.to_json(), ensure_ascii=False) + re.sub(r"<[^>]+>", "\n", html)


def blocks(page: Page, kind: type) -> list:
    return [block for section in page.sections for block in section.blocks if type(block) is kind]


def test_the_page_of_counts_has_every_part_and_survives_json(page):
    assert [section.heading for section in page.sections] == PARTS
    assert page.lead.startswith("Noisy counts are published under differential privacy (ε 1)")
    assert "cannot be seen in the file" in page.lead
    assert "holds what it promises" not in page.lead
    assert Page.from_json(json.loads(json.dumps(page.to_json(), allow_nan=False))) == page
    assert page.data["holds"] is True
    assert page.data["composition"]["admitted"] is None


def test_the_label_states_what_the_manifest_does(page, town):
    text, privacy = texts(page), json.loads((town / "counts/manifest.json").read_text())["privacy"]
    for key in ("definition", "unit", "neighbours", "mechanism", "composition", "randomness"):
        assert str(privacy[key]) in text
    assert all(line in text for line in privacy["not_protected"])


def test_what_it_means_is_what_semantic_privacy_says(page):
    meaning = shoal.semantic_privacy(1, prior=0.1, neighbours="add or remove")
    beliefs = page.data["privacy"]["beliefs"]
    assert [one["at_most"] for one in beliefs] == [one.at_most for one in meaning.beliefs]
    assert "tanh(ε/2) = 0.462" in texts(page)
    assert any(one.heading == "One bound is vacuous" for one in blocks(page, Callout))


def test_noise_stands_beside_the_counts(page):
    useful = page.data["useful"]
    assert useful["tables"] == 3
    assert useful["cells"] == 5 * 2 + 5 * 3 + 2 * 3
    assert useful["deviation"] == pytest.approx(4.223, abs=1e-3)
    assert abs(useful["people"] - PEOPLE) < 100
    assert {one["name"] for one in useful["marginals"]} == {
        "age × sex",
        "age × disease",
        "sex × disease",
    }


def test_errors_against_the_original_are_measured(page, town):
    errors = page.data["errors"]
    people, cells = (
        list(csv.DictReader((town / name).read_text().splitlines()))
        for name in ("people.csv", "counts/table.csv")
    )
    for one in people:
        one["age"] = str(int(one["age"]) // 20 * 20)
    for one in cells:  # an interval by where it begins
        one["age"] = one["age"] and re.findall(r"\d+", one["age"])[0]
    off, apart = [], []
    for cell in cells:
        asked = {name: cell[name] for name in ("age", "sex", "disease") if cell[name]}
        truth = sum(asked.items() <= one.items() for one in people)
        off.append(abs(int(cell["count"]) - truth))
        apart.append(abs(float(cell["estimate"]) - truth))
    assert errors["found"]["counts"] == pytest.approx(np.mean(off))
    assert errors["found"]["consistent"] == pytest.approx(np.mean(apart), abs=1e-3)
    assert errors["columns"].keys() == {"age", "sex", "disease"}
    assert page.data["rows"] == PEOPLE
    assert any("a count is off by" in " ".join(c.spec["title"]) for c in blocks(page, Chart))


def test_the_noise_is_audited_where_the_original_is_given(page, town):
    (finding,) = page.data["findings"]
    assert finding["attack"] == "auditing"
    assert finding["details"]["epsilon_low"] <= finding["details"]["epsilon_claimed"] == 1
    assert page.data["exceeded"] == []
    assert "Not audited" in texts(shoal.report(town / "counts"))


def test_the_public_page_has_nothing_that_is_not_public(public, town):
    text = texts(public)
    assert "Beside the original" not in text
    assert "people.csv" not in text
    assert public == shoal.report(town / "counts", public=True)  # the original is not read
    assert public.data.keys().isdisjoint({"rows", "errors", "verdict"})
    assert [section.heading for section in public.sections] == [p for p in PARTS if p != PARTS[5]]


def test_a_seed_is_said_first(town):
    page = shoal.report(town / "gaussian")
    assert page.data["holds"] is False
    assert "NOT to be released" in page.lead
    assert any(
        block.tone == "danger" for block in page.sections[0].blocks if type(block) is Callout
    )
    assert "but by chance" in texts(page)


def test_a_randomised_release_has_a_section_and_estimates(answers):
    page = answers[0]
    headings = [section.heading for section in page.sections]
    assert headings.index("Differential privacy") == headings.index("Identifiability") + 1
    (belief,) = page.data["privacy"]["beliefs"]
    assert belief["at_most"] == pytest.approx(0.2 * np.e / (1 + 0.2 * (np.e - 1)))
    tables = [table for table in blocks(page, Table) if table.caption == "disease"]
    assert sum(row[1] for row in tables[0].rows) == PEOPLE
    assert "kept or exchanged for another value, at random" in texts(page)


def test_a_public_page_on_a_randomised_release_tells_what_its_file_does(answers):
    page = answers[1]
    text = texts(page)
    assert "What can be estimated" in text
    assert "a person's own answers, which spend ε 1, can raise that to" in text
    assert "Answers and estimates are as in the published file" in page.foot
    assert "answers exclude no value" in page.data["composition"]["why"]
    assert "It could not be" not in text


def test_a_randomised_report_claims_no_more_than_a_file_can_show(answers):
    for page in answers:
        text = texts(page)
        assert "nothing its maker said was trusted" not in text.replace("\n", " ")
        assert "ε follows from what the publisher states" in text
        assert page.lead.startswith(
            "The published table meets k-anonymity k=5; its sensitive values were exchanged at "
            "random, as its publisher states (ε 1)."
        )
        assert "diversity" not in text


def test_what_is_left_of_a_randomised_table_is_told(answers):
    text = texts(answers[0])
    keep = np.e / (np.e + 2)
    assert f"disease {keep:.1%}" in text
    assert "Chance of a true answer" in text
    assert "Loss of the quasi-identifiers" in text
    assert "Columns and pairs moved by" in text


def test_bins_are_told_apart_from_noise(page):
    errors = page.data["errors"]
    assert 0 < errors["bins"] < errors["marginals"]
    assert "of which bins alone" in texts(page)


def test_estimates_have_their_own_deviation(page):
    useful = page.data["useful"]
    sizes, keys = (5, 2, 3), [(0, 1), (0, 2), (1, 2)]
    for key, marginal in zip(keys, useful["marginals"], strict=True):
        assert marginal["estimate_deviation"] == pytest.approx(
            useful["deviation"] * deviation_by_hand(key, keys, sizes)
        )


def deviation_by_hand(key, keys, sizes):
    """The root of what one cell's estimate takes of every measured cell, squared and summed."""
    weights = []
    for measured in keys:
        for cell in np.ndindex(*(sizes[at] for at in measured)):
            tables = {one: np.zeros([sizes[at] for at in one]) for one in keys}
            tables[measured][cell] = 1
            weights.append(make_consistent(tables, sizes)[key].flat[0])
    return np.sqrt(np.square(weights).sum())


def test_bounds_of_dates_are_dates(town, tmp_path):
    schema = shoal.Schema.parse(
        "[columns.day]\nrole = 'quasi'\nkind = 'date'\nbounds = [2024-01-01, 2024-12-31]\n"
        "hierarchy = { dates = ['quarter'] }\n[columns.sex]\nrole = 'quasi'\ndomain = ['F', 'M']"
    )
    (tmp_path / "t.csv").write_text("day,sex\n2024-02-03,F\n2024-05-06,M\n")
    shoal.publish(tmp_path / "t.csv", schema, form="counts", epsilon=1, out=tmp_path / "r")
    assert "2024-01-01 to 2024-12-31" in texts(shoal.report(tmp_path / "r", public=True))


def test_little_protection_is_said_aloud(town):
    release = shoal.publish(
        town / "people.csv", shoal.Schema.parse(SCHEMA), form="counts", epsilon=12, dry_run=True
    )
    (note,) = release.private["notes"]
    assert "little protection: the odds about anybody may move by e^ε" in note


def test_a_delta_for_everybody_is_noticed_after_reading(town, tmp_path):
    release = shoal.publish(
        town / "people.csv",
        shoal.Schema.parse(SCHEMA),
        form="counts",
        epsilon=1,
        delta="1/347",
        out=tmp_path / "r",
    )
    assert any(
        "not below one over the number of people" in note for note in release.private["notes"]
    )


def test_an_exceeded_budget_is_called_that(town, tmp_path):
    run, place = CliRunner().invoke, str(tmp_path / "releases.db")
    assert run(main, ["ledger", "init", "--ledger", place, "--epsilon", "0.5"]).exit_code == 0
    command = ["report", str(town / "counts"), "--ledger", place, "-o", str(tmp_path / "r.html")]
    ran = run(main, command)
    assert ran.exit_code == 4
    assert ran.stderr == "The budget is exceeded: see Composition.\n"


def test_a_prior_of_nothing_is_drawn_as_nothing(town):
    page = shoal.report(town / "counts", public=True, prior=0)
    assert {belief["at_most"] for belief in page.data["privacy"]["meaning"]["beliefs"]} == {0}


def publishing(town, *words):
    (town / "schema.toml").write_text(SCHEMA)
    table = [str(town / "people.csv"), "-s", str(town / "schema.toml")]
    return CliRunner().invoke(main, ["publish", *table, *map(str, words)])


def test_the_console_counts_cells_and_says_each_thing_once(town, tmp_path):
    ran = publishing(
        town,
        "--form",
        "counts",
        "--epsilon",
        1,
        "--delta",
        "1e-6",
        "--explain",
        "-o",
        tmp_path / "r",
    )
    assert ran.stdout.startswith("31 cells · ε 1, δ 1e-06\n")
    assert ran.stdout.count("standard deviation") == 1
    assert "of which bins alone: " in ran.stdout
    assert "failing classes" not in ran.stdout
    dry = publishing(town, "--form", "counts", "--epsilon", 1, "--explain", "--dry-run").stdout
    assert "measure" not in dry


def test_the_console_tells_how_many_answers_are_true(town):
    ran = publishing(
        town, "--form", "randomised", "--epsilon", 1, "-m", "k-anonymity k=5", "--dry-run"
    )
    assert " · ε 1 · loss of the quasi-identifiers " in ran.stdout
    assert "57.6% of the answers of disease are true" in ran.stdout
    again = publishing(
        town, "--form", "randomised", "--epsilon", 1, "-m", "k-anonymity k=5", "--dry-run", "--json"
    )
    assert json.loads(again.stdout)["true_answers"] == {"disease": pytest.approx(0.576, abs=1e-3)}


@pytest.mark.parametrize("form", [("counts",), ("randomised", "-m", "k-anonymity k=5")])
def test_what_a_seed_drew_is_not_called_published(town, tmp_path, form):
    ran = publishing(town, "--form", *form, "--epsilon", 1, "--seed", 1, "-o", tmp_path / "r")
    assert ran.exit_code == 0
    assert ran.stdout.splitlines()[-1].endswith("NOT to be released.")
    assert "verified" not in ran.stdout


def test_what_has_no_meaning_is_refused(town, tmp_path):
    with pytest.raises(UsageError, match="no row of anybody's: --targets has no meaning"):
        shoal.report(town / "counts", targets=town / "people.csv")
    plain, schema = tmp_path / "plain", shoal.Schema.parse(SCHEMA)
    shoal.publish(town / "people.csv", schema, "k-anonymity k=2", out=plain)
    with pytest.raises(UsageError, match="made by noise alone"):
        shoal.report(plain, prior=0.1)


def test_the_verb_writes_it(town, tmp_path):
    out = tmp_path / "report.html"
    ran = CliRunner().invoke(
        main, ["report", str(town / "counts"), "--prior", "20%", "-o", str(out)]
    )
    assert ran.exit_code == 0
    assert "20%" in out.read_text()
    seeded = CliRunner().invoke(main, ["report", str(town / "gaussian"), "-o", str(out), "-q"])
    assert seeded.exit_code == 3


@pytest.mark.parametrize("scale", [1.5, 12.0])
def test_the_mean_size_of_noise_is_that_of_draws(scale):
    rng = np.random.default_rng(2)
    assert mean_noise_size(LAPLACE, scale) == pytest.approx(
        np.abs(draw_laplace(scale, 200_000, rng)).mean(), rel=0.02
    )
    assert mean_noise_size(GAUSSIAN, scale) == pytest.approx(
        np.abs(draw_gaussian(scale, 200_000, rng)).mean(), rel=0.02
    )
