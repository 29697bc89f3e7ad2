"""The report's part on knowledge beyond the table: the paper's numbers, and never in public."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.core.errors import UsageError
from shoal.core.release import Finding
from shoal.core.theory.worst_case_disclosure import MAX_PIECES
from shoal.measures.risk.assessment import assess
from shoal.reports.charts.knowledge import KINDS, Promise
from shoal.reports.document import Callout, Chart, Fields, Page, Section, Text
from shoal.reports.evidence import Evidence
from shoal.reports.redact import redact_evidence
from shoal.reports.release_page import build_release_page
from shoal.reports.sections.knowledge import (
    KnowledgeEvidence,
    advise_on_knowledge,
    build_knowledge_blocks,
    check_pieces,
)

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "martin_fig1_3.json").read_text(encoding="utf-8")
)
HEADING = "What if somebody knows more?"
DISEASES = {row["Disease"] for row in GOLDEN["fig3"]}


def figure_3(folder: Path, second: bool = False) -> Path:
    """The paper's Figure 3: two classes, by sex; with ``second`` another sensitive column."""
    path = folder / "figure3.csv"
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["Sex", "Disease", *(["Ward"] if second else [])])
        for i, row in enumerate(GOLDEN["fig3"]):
            writer.writerow([row["Sex"], row["Disease"], *([f"W{i % 5}"] if second else [])])
    return path


def reported(folder: Path, *, second: bool = False, **asked) -> Page:
    sensitive = ["Disease", *(["Ward"] if second else [])]
    schema = shoal.Schema.of(quasi=["Sex"], sensitive=sensitive)
    return shoal.report(figure_3(folder, second), schema=schema, **asked)


def part(page: Page) -> list:
    """The blocks of this part."""
    blocks = next(s.blocks for s in page.sections if s.heading == "Identifiability")
    start = [i for i, b in enumerate(blocks) if isinstance(b, Text) and b.heading == HEADING]
    if not start:
        return []
    blocks_of_part = list(blocks[start[0] :])
    ends = [
        i
        for i, b in enumerate(blocks_of_part)
        if isinstance(b, Text) and "did not run" in b.heading
    ]
    return blocks_of_part[: ends[0]] if ends else blocks_of_part


def curves(page: Page) -> list[list[float]]:
    """The data of the first chart, by kind."""
    points = next(b for b in part(page) if isinstance(b, Chart)).spec["data"]["values"]
    return [[p["belief"] for p in points if p["side"] == kind] for kind in KINDS]


def words(blocks: list) -> str:
    page = Page("x", (Section("x", (), tuple(blocks)),))
    return json.dumps(page.to_json(), ensure_ascii=False)


def test_figure_3_is_drawn_with_the_papers_numbers_and_stops_at_one(tmp_path):
    page = reported(tmp_path)
    expected = [float(Fraction(p)) for p in GOLDEN["expected"]["max_disclosure_by_k"][:3]]
    assert expected == [0.4, 2 / 3, 1.0]
    assert curves(page) == [pytest.approx(expected)] * 2
    knowledge = page.data["knowledge"]
    assert knowledge["column"] == "Disease"
    assert knowledge["implications"] == pytest.approx(expected)
    assert knowledge["negations"] == pytest.approx(expected)
    assert (knowledge["k"], knowledge["worst"]) == (1, pytest.approx(2 / 3))
    second = [b for b in part(page) if isinstance(b, Chart)][1].spec["data"]["values"]
    assert sum(p["classes"] for p in second) == 2


def test_the_story_has_the_fraction_and_rows_and_no_values(tmp_path):
    text = words(part(reported(tmp_path)))
    assert "is 66.7% (2/3) sure" in text
    assert "row 1's person" in text
    assert not any(disease in text for disease in DISEASES)
    shown = words(part(reported(tmp_path, show=True)))
    assert any(disease in shown for disease in DISEASES)


def test_it_is_in_no_ranking_and_against_no_limit(tmp_path):
    page = reported(tmp_path, limit=0.0)
    names = [finding["attack"] for finding in page.data["findings"]]
    assert "background" not in names
    assert "background" not in page.data["exceeded"]
    assert "background" not in [skipped["attack"] for skipped in page.data["skipped"]]
    assert page.data["knowledge"]["finding"]["attack"] == "background"


def test_the_worst_of_several_columns_is_drawn_and_every_one_is_told(tmp_path):
    page = reported(tmp_path, second=True, rule="ck-safety c=0.7 k=2 on=Ward")
    beliefs = {column["column"]: column["worst"] for column in page.data["knowledge"]["by_column"]}
    assert set(beliefs) == {"Disease", "Ward"}
    assert "The worst about each column" in words(part(page))


@pytest.mark.parametrize("column", ["Disease", "Ward"])
def test_of_several_columns_the_one_asked_for_is_told_with_its_own_promise(tmp_path, column):
    page = reported(tmp_path, second=True, on=column, rule="ck-safety c=0.7 k=2 on=Ward")
    text = words(part(page))
    assert page.data["knowledge"]["column"] == column
    assert f"somebody's {column}" in text
    assert ("promised: less than 70%" in text) == (column == "Ward")
    assert ("promises nothing about that" in text) == (column == "Disease")
    assert page.data["knowledge"]["k"] == (2 if column == "Ward" else 1)


def test_as_promised_only_where_every_promise_is_kept(tmp_path):
    """With one piece 2/3 can be believed, and with two everything, which is not less than 1."""
    page = reported(tmp_path, rule="ck-safety c=0.7 k=1 & ck-safety c=1 k=2")
    callout = next(b for b in part(page) if isinstance(b, Callout))
    assert (page.data["holds"], callout.tone) == (False, "danger")
    assert "as promised" not in words(part(page))
    assert callout.text.startswith("With two pieces of knowledge somebody can become certain")
    assert page.data["knowledge"]["k"] == 2


def test_several_promises_that_are_kept_are_all_told(tmp_path):
    page = reported(
        tmp_path, rule="ck-safety c=0.7 k=1 & ck-safety c=0.5 k=0 & ck-safety c=0.9 k=1"
    )
    callout = next(b for b in part(page) if isinstance(b, Callout))
    assert callout.tone == "good"
    assert callout.text == (
        "With no further knowledge nobody can become 50% sure of anybody's Disease, nor 70% sure "
        "with one piece of knowledge, as promised; with more nothing is promised."
    )
    assert "less than 50% with up to 0, 70% with up to 1 pieces" in words(part(page))


def test_the_public_version_has_none_of_it(tmp_path):
    page = reported(tmp_path, public=True, fewest=2)
    assert part(page) == []
    assert "knowledge" not in page.data
    text = json.dumps(page.to_json(), ensure_ascii=False)
    for word in (HEADING, "pieces of knowledge", "2/3", "entropy of the class", "--pieces"):
        assert word not in text
    attacks = [attempt["attack"] for attempt in (*page.data["findings"], *page.data["skipped"])]
    assert "background" not in attacks


def test_a_promise_is_drawn_at_its_own_number_of_pieces(tmp_path):
    page = reported(tmp_path, rule="ck-safety c=0.7 k=1")
    assert "promised: less than 70%" in words(part(page))
    callout = next(b for b in part(page) if isinstance(b, Callout))
    assert (callout.tone, "as promised" in callout.text) == ("good", True)
    broken = reported(tmp_path, rule="distinct-diversity l=2 & ck-safety c=2/3 k=1 on=Disease")
    callout = next(b for b in part(broken) if isinstance(b, Callout))
    assert callout.tone == "danger"  # strictly less: 2/3 itself breaks it
    assert broken.data["holds"] is False
    longer = reported(tmp_path, rule="ck-safety c=1 k=3", pieces=1)
    assert longer.data["knowledge"]["k"] == 3


def test_pieces_are_as_asked_and_the_command_says_so(tmp_path):
    page = reported(tmp_path, pieces=1)
    assert curves(page)[0] == pytest.approx([0.4, 2 / 3])
    assert "--pieces 1" in json.dumps(page.to_json())
    assert "--pieces" not in json.dumps(reported(tmp_path).to_json())


@pytest.mark.parametrize("pieces", [0, -1, 41, 1.5, "many"])
def test_what_is_no_number_of_pieces_is_refused_before_anything_is_read(pieces):
    with pytest.raises(UsageError, match="pieces"):
        shoal.report("no-such-file.csv", pieces=pieces)
    assert check_pieces(MAX_PIECES) == MAX_PIECES == 40  # as many as the attack takes


def test_nothing_sensitive_leaves_the_part_out(tmp_path):
    schema = shoal.Schema.of(quasi=["Sex"], identifier=["Disease"])
    page = shoal.report(figure_3(tmp_path), schema=schema)
    assert part(page) == []
    assert page.data["knowledge"] is None
    # An attack that did not run is never hidden.
    assert "background" in [skipped["attack"] for skipped in page.data["skipped"]]


def test_a_column_that_is_hidden_is_said_not_to_be_examined(tmp_path):
    path = figure_3(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace("Mumps", "*"), encoding="utf-8")
    page = shoal.report(path, schema=shoal.Schema.of(quasi=["Sex"], sensitive=["Disease"]))
    assert page.data["knowledge"] is None
    reasons = [
        skipped["why"] for skipped in page.data["skipped"] if skipped["attack"] == "background"
    ]
    assert len(reasons) == 1
    assert "suppressed" in reasons[0]


# By hand


def story() -> Finding:
    return Finding(
        attack="background",
        people=10,
        exposed=0,
        sure=0.5,
        guessing=0.2,
        sentence="s",
        defence="d",
        example="e",
        witness={"exact": "1/2"},
    )


def make_evidence(
    worst: float, least: float, promise: Promise | None = None, column="x"
) -> KnowledgeEvidence:
    beyond = None if promise is None else np.array([not promise.met])
    return KnowledgeEvidence(
        column,
        (0.2, worst),
        (0.2, worst),
        1,
        story(),
        np.array([1.0]),
        np.array([worst]),
        beyond,
        () if promise is None else (promise,),
        least,
    )


def test_advice_is_a_rule_that_is_stronger_than_what_is_and_can_be_met():
    advice = advise_on_knowledge(make_evidence(0.9, 0.3))
    assert "`ck-safety c=0.6 k=1 on=x`" in advice
    rule = shoal.rule(advice.split("`")[1])
    assert 0.3 < float(rule.c) <= 0.9
    assert shoal.rule(
        advise_on_knowledge(make_evidence(0.9, 0.3, column="blood group")).split("`")[1]
    )
    assert advise_on_knowledge(make_evidence(0.5, 0.5)).startswith(
        "little: even the whole table as one class"
    )
    assert "`" not in advise_on_knowledge(make_evidence(0.5, 0.4, Promise(0.6, 1, met=True)))
    assert "`ck-safety" in advise_on_knowledge(make_evidence(0.9, 0.4, Promise(0.6, 1, met=False)))


def test_tones_warn_where_one_piece_makes_nearly_sure():
    tones = [
        next(
            b.tone
            for b in build_knowledge_blocks(make_evidence(worst, 0.1))
            if isinstance(b, Callout)
        )
        for worst in (0.5, 0.8, 1.0)
    ]
    assert tones == ["note", "warning", "warning"]
    assert build_knowledge_blocks(None) == []


def test_kept_columns_are_said_to_be_left_out():
    assert "kept columns too (town)" in words(
        build_knowledge_blocks(make_evidence(0.5, 0.1), ("town",))
    )
    assert "kept columns" not in words(build_knowledge_blocks(make_evidence(0.5, 0.1)))


def test_evidence_for_the_public_has_lost_it():
    evidence = Evidence(
        rows=10,
        classes=1,
        sizes={10: 1},
        risk=assess(np.array([10])),
        knowledge=make_evidence(0.5, 0.1),
    )
    assert [isinstance(b, Fields) for b in part(build_release_page(evidence))][-1]
    assert redact_evidence(evidence).knowledge is None
    assert part(build_release_page(redact_evidence(evidence))) == []
