"""The worst attack is the one that exposes the largest share of people, whatever guessing gives."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import main
from shoal.core.release import Finding
from shoal.verbs.red_team import measure_harm, rank_findings

AGES = ["20-29", "30-39", "40-49", "50-59"]
SCHEMA = shoal.Schema.of(quasi=["age"], sensitive=["hiv", "ill"])


def _skewed() -> pa.Table:
    """Three classes of ten people without HIV, and one of whom a few have it."""
    hiv = ["no"] * 30 + ["no"] * 7 + ["yes"] * 3
    ill = [*("abcde" * 6), *("a" * 8), *"bc"]
    return pa.table({"age": [age for age in AGES for _ in range(10)], "hiv": hiv, "ill": ill})


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("skewed") / "release"
    shoal.publish(_skewed(), SCHEMA, "k-anonymity k=10", out=folder)
    return folder


def finding(attack="a", exposed=10, people=20, sure=1.0, guessing=0.25, **more):
    return Finding(
        attack=attack,
        people=people,
        exposed=exposed,
        sure=sure,
        guessing=guessing,
        sentence="s",
        defence="d",
        **more,
    )


def test_certainty_about_a_common_value_comes_before_belief_about_fewer_people(release):
    found = shoal.red_team(release)
    assert [one.attack for one in found.findings] == ["homogeneity", "skewness"]
    first, second = found.findings
    assert (first.exposed, first.people, first.on) == (30, 40, "hiv")
    assert 0 < second.rate < first.rate
    assert measure_harm(second) > measure_harm(
        first
    )  # guessing is right about most people's HIV status
    assert found.rate == first.rate


def test_red_team_says_what_it_ranks_by(release):
    told = CliRunner().invoke(main, ["attack", "red-team", str(release)]).output.splitlines()
    assert told[0].startswith("Ranked by the share of people exposed; where that is equal, by ")
    assert told[2].startswith("attack")
    assert told[3].startswith("homogeneity")


@pytest.mark.parametrize("fewest", [None, 10])
def test_the_report_names_the_attack_that_exposes_the_largest_share(release, tmp_path, fewest):
    file = tmp_path / "report.html"
    public = [] if fewest is None else ["--public"]
    made = CliRunner().invoke(main, ["report", str(release), "-o", str(file), *public, "--json"])
    assert made.exit_code == 0, made.output
    lead = json.loads(made.stdout)["lead"]
    worst = "The worst of 2 attacks on it by the share of people exposed"
    if fewest is None:
        assert f"{worst} is homogeneity: 30 of 40 rows" in lead
    else:
        assert f"{worst}, homogeneity on hiv, succeeds on" in lead


def test_equal_shares_are_ranked_by_what_an_attack_adds():
    sure = finding("sure", guessing=0.1)
    common = finding("common", guessing=0.9)
    chance = finding("chance", guessing=0.1, control=0.5)
    most = finding("most", exposed=11, guessing=0.99)
    for order in ([sure, common, chance, most], [most, chance, common, sure]):
        assert [one.attack for one in rank_findings(order)] == ["most", "sure", "common", "chance"]


def test_the_sentence_about_columns_is_true_of_its_attack():
    found = shoal.attack("homogeneity", [_skewed()], schema=SCHEMA)
    assert found.sentence.endswith(
        "Of 2 sensitive columns hiv exposes people by it, no other does."
    )
    both = shoal.attack(
        "homogeneity",
        [pa.table({"age": ["1", "1", "2", "2"], "hiv": list("nnyn"), "ill": list("abcc")})],
        schema=SCHEMA,
    )
    assert both.sentence.endswith(
        "Of 2 sensitive columns ill and hiv each expose the largest share of people by it (50.0%)."
    )
    table = pa.table({"age": list("111222333"), "hiv": list("nnnnnnnyn"), "ill": list("aaabcdbcd")})
    most = shoal.attack("homogeneity", [table], schema=SCHEMA)
    assert most.sentence.endswith(
        "Of 2 sensitive columns hiv exposes the largest share of people by it; others are ill "
        "(33.3%)."
    )
