"""The documentation's page of claims is what the committed results say, number by number."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import shoal
from shoal.studies.claims import AGREES, DIFFERS, FOUND, Claim, Number, compute_mean
from shoal.studies.experiment import Experiment, Paper
from shoal.studies.outcome import Study
from shoal.studies.pages.grid import draw_grid
from shoal.studies.pages.lines import draw_lines

DOCS = Path(__file__).parent.parent / "docs"
NAME = "ganta-figure-1"
ROWS = [
    {"k": k, "seed": seed, "hit": 60.0 / k + 0.1 * seed, "people": ["somebody"] * 40}
    for k in (5, 10)
    for seed in range(3)
]


@pytest.fixture(scope="module")
def papers():
    """The script that writes the pages."""
    sys.path.insert(0, str(DOCS))
    try:
        yield importlib.import_module("papers")
    finally:
        sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def documents(papers):
    """The committed results of every study."""
    return papers.read(DOCS / "papers" / "results")


def charts(rows):
    return {
        "hits": draw_lines(rows, x="k", y="hit", by="", title="Hits", about="Hits | by k."),
        "asked": draw_grid(
            [{"k": 5, "": "a|b"}], columns=["k", ""], title="Asked", about="A table."
        ),
    }


def claims(rows):
    at = {k: compute_mean(rows, "hit", said=f"k = {k}", unit=" %", k=k) for k in (5, 10)}
    falls = AGREES if at[10].mean < at[5].mean else DIFFERS
    return [
        Claim("A larger k | helps.", "", (at[5], at[10]), falls, "It rises."),
        Claim(
            "At k = 5 it is 99 %.", "99 %", (at[5],), DIFFERS, "Ours `is_less` *here*.", (at[10],)
        ),
        Claim("Halves are told.", "", (at[10],), FOUND),
    ]


def results(**parts) -> dict:
    paper = Paper("Ganta et al. 2008", "Ganta and others, 2008")
    made = {"code": "f" * 64}
    found = Study(NAME, paper, "Figure 1: hits", [], {}, range(3), ROWS, claims(ROWS), made=made)
    return {**json.loads(json.dumps(found.to_json())), **parts}


@pytest.fixture
def one_study(monkeypatch):
    """A house with one small study."""
    declared = Experiment("Figure 1: hits", lambda lab: ROWS, claims, charts, seeds=3)
    monkeypatch.setattr(shoal, "experiments", lambda: {NAME: (Paper("G", "G"), declared)})


def put(folder: Path, document: dict) -> None:
    (folder / NAME).mkdir(parents=True)
    (folder / NAME / "results.json").write_text(json.dumps(document), encoding="utf-8")


def numbers(document):
    return [
        Number(**one) for claim in document["claims"] for one in (*claim["ours"], *claim["because"])
    ]


def wrong(document) -> list[str]:
    """The numbers of claims that the rows do not give again."""

    def same(one: Number) -> bool:
        again = one.again(document["rows"])
        parts = ("mean", "spread", "least", "most", "runs", "rows")
        return all(
            getattr(one, part) == pytest.approx(getattr(again, part), rel=1e-9, abs=1e-9)
            for part in parts
        )

    return [f"{document['study']}: {one}" for one in numbers(document) if not same(one)]


def test_the_page_of_claims_is_what_the_results_say(papers, documents):
    page = (DOCS / "papers" / "index.md").read_text(encoding="utf-8")
    assert page.rstrip("\n") == papers.index(documents).rstrip("\n")


def told(claim) -> dict:
    """A claim without its numbers' last digits."""

    def rounded(one):
        parts = {key: value for key, value in one.items() if not isinstance(value, float)}
        return parts | {
            key: float(f"{value:.9g}") for key, value in one.items() if isinstance(value, float)
        }

    numbers = {key: [rounded(one) for one in claim[key]] for key in ("ours", "because")}
    return json.loads(json.dumps({**claim, **numbers}))


def unlike(document) -> list[str]:
    """What the rows of a study do not give again: its numbers, its claims, its charts."""
    declared = shoal.experiments()[document["study"]][1]
    again = [told(claim.to_json()) for claim in declared.claims(document["rows"])]
    bad = [*wrong(document)]
    bad += [] if again == [told(claim) for claim in document["claims"]] else ["its claims"]
    for name, spec in declared.charts(document["rows"]).items():
        bad += [] if spec["data"]["values"] else [name]  # tests/test_site.py has them all drawn
    return [f"{document['study']}: {one}" for one in bad]


def test_every_claim_number_and_chart_of_every_study_is_made_again_from_its_rows(papers, documents):
    """After a run: `python docs/papers.py --from studies/`."""
    assert [one["study"] for one in documents] == list(shoal.experiments())
    assert [one["study"] for one in documents if papers.unfit(one)] == []
    assert [line for one in documents for line in unlike(one)] == []


def test_what_the_rows_do_not_give_again_is_noticed(one_study):
    assert unlike(results()) == []
    turned = results()
    turned["claims"][0]["verdict"] = DIFFERS
    assert unlike(turned) == [f"{NAME}: its claims"]
    fewer = results()
    del fewer["claims"][2]
    assert unlike(fewer) == [f"{NAME}: its claims"]


def test_a_number_that_the_rows_do_not_give_is_noticed():
    assert len(numbers(results())) == 5
    assert wrong(results()) == []
    forged = results()
    forged["claims"][1]["ours"][0]["mean"] += 1e-6
    assert len(wrong(forged)) == 1
    moved = results(rows=[{**row, "hit": row["hit"] + 1} for row in ROWS])
    assert len(wrong(moved)) == 5


def test_a_runs_results_become_pages_and_charts(papers, one_study, tmp_path):
    put(tmp_path / "run", results())
    papers.main(tmp_path / "docs", tmp_path / "run")
    summary = (tmp_path / "docs" / "index.md").read_text(encoding="utf-8")
    assert "1 of 2 claims agrees, 1 differs." in summary
    assert f"[A larger k \\| helps.](ganta.md#{NAME})" in summary
    summary = summary.replace("\N{NO-BREAK SPACE}", " ")
    assert "12.1 ± 0.1 % (k = 5)<br>6.1 ± 0.1 % (k = 10; 3 runs)" in summary
    assert "| 99 % | 12.1 ± 0.1 % (k = 5; 3 runs) | **≠ differs** |" in summary
    claimed, beside = summary.split("### Found beside the paper")
    assert "Halves are told." in beside
    assert "Halves are told." not in claimed
    assert "| 2 | 1 | 0 | 1 | 0 |" in claimed  # of two claims; what was found is not counted
    assert "Ours `is_less` \\*here\\*." in summary
    page = (tmp_path / "docs" / "ganta.md").read_text(encoding="utf-8")
    page = page.replace("\N{NO-BREAK SPACE}", " ")
    assert f"(images/{NAME}-asked.svg)\n\n| k |   |\n| --- | --- |\n| 5 | a\\|b |" in page
    assert "### Found beside the paper\n\n| No. | Found | Ours | More |" in page
    assert f"## {NAME}\n" in page
    assert f"![Hits \\| by k.](images/{NAME}-hits.svg)" in page
    assert f"[{NAME}.json](results/{NAME}.json)" in page
    assert "| 2 | 6.1 ± 0.1 % | `hit` | k = 10 | 3 |" in page
    assert f"shoal study {NAME} -o studies/" in page
    drawing = tmp_path / "docs" / "images" / f"{NAME}-hits.svg"
    assert drawing.read_text(encoding="utf-8").startswith("<svg")
    kept = papers.read(tmp_path / "docs" / "results")
    assert kept == [results()]
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.*")}
    papers.main(tmp_path / "docs")  # again, from what was taken
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.*")} == before


@pytest.mark.parametrize(
    "parts",
    [
        {"stand_in": True},
        {"data": [{"name": "own", "told": "mine", "rows": 6, "sha256": None, "stand_in": False}]},
        {"settings": {"k": [5]}},
        {"edition": 1},
    ],
)
def test_what_is_not_about_the_paper_is_not_taken(papers, one_study, tmp_path, parts):
    put(tmp_path / "run", results(**parts))
    assert papers.take(tmp_path / "run", tmp_path / "docs") == []
    assert list((tmp_path / "docs" / "results").iterdir()) == []


def test_studies_that_are_gone_are_not_read(papers, tmp_path):
    (tmp_path / "docs" / "results").mkdir(parents=True)
    (tmp_path / "docs" / "results" / "gone-figure-9.json").write_text("{}", encoding="utf-8")
    with pytest.raises(SystemExit, match="gone-figure-9"):
        papers.read(tmp_path / "docs" / "results")


def test_what_nothing_is_made_from_is_left_out_of_large_results(papers, one_study, monkeypatch):
    whole = json.loads(papers.fitting(results()))
    assert whole == results()
    monkeypatch.setattr(papers, "LARGE", 1000)
    small = json.loads(papers.fitting(results()))
    assert small["left_out"] == ["people"]
    assert set(small["rows"][0]) == {"k", "seed", "hit"}
    assert unlike(small) == []
    assert charts(small["rows"]) == charts(ROWS)


def test_without_results_every_page_is_there(papers, tmp_path):
    papers.main(tmp_path)
    assert sorted(file.stem for file in tmp_path.glob("*.md")) == [
        "ganta",
        "index",
        "m-privacy",
        "martin",
        "sattar",
        "sweeney",
    ]
    for file in tmp_path.glob("*.md"):
        assert "No study's results are here yet." in file.read_text(encoding="utf-8")


def test_one_way_round_in_a_table_of_markdown(papers):
    assert papers.plain("a`b|c`d|e") == "a`b\\|c`d\\|e"
    assert papers.plain("one ` alone_x") == "one \\` alone\\_x"
    assert papers.plain("<b>\n[x]") == "\\<b\\> \\[x\\]"
    assert str(replace(compute_mean(ROWS, "hit", k=5), unit=" %")) == "12.1 ± 0.1 %"
