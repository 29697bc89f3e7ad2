"""Pages of studies: claims beside the paper's, traceable numbers, a stand-in that is marked."""

from __future__ import annotations

import json
import re

import pytest

from shoal.core.errors import UsageError
from shoal.reports.document import NotedText, Page, Section, Table
from shoal.studies.claims import AGREES, CORRECTED, DIFFERS, FOUND, Claim, compute_mean
from shoal.studies.pages.checked import make_claims_page
from shoal.studies.pages.claim_summary import BESIDE, SPREAD, select_claims
from shoal.studies.pages.lines import draw_lines
from shoal.studies.pages.rows import FEW, average_seeds, describe_measurements
from shoal.studies.pages.study import (
    STAND_IN,
    make_study_page,
    mark_stand_in,
    remove_printed,
)
from shoal.studies.pages.tables import make_trace_table
from shoal.studies.pages.words import summarise_verdicts

ROWS = [
    {"data": "adult", "k": k, "seed": seed, "hit": 50.0 / k + 0.25 * seed, "people": [k, seed]}
    for k in (5, 10)
    for seed in range(3)
]


def document(stand_in: bool = False, name: str = "ganta-figure-1", **parts):
    claims = (
        Claim(
            "Of two releases 12 % are known.",
            "about 12 %",
            (compute_mean(ROWS, "hit", said="Adult, k = 5", unit=" %", k=5),),
            DIFFERS,
            "The subsets are <larger>.",
            (compute_mean(ROWS, "hit", k=10),),
        ),
        Claim(
            "A larger k helps.",
            "",
            (
                compute_mean(ROWS, "hit", said="k = 5", k=5),
                compute_mean(ROWS, "hit", said="k = 10", k=10),
            ),
            AGREES,
        ),
        Claim("Halves are told.", "", (compute_mean(ROWS, "hit", said="all"),), FOUND),
    )
    return {
        "edition": 2,
        "study": name,
        "paper": {"short": "Ganta et al. 2008", "cited": "G & K, 2008"},
        "shows": "Figure 1: people <known>",
        "stand_in": stand_in,
        "data": [
            {
                "name": "adult",
                "told": "Adult",
                "rows": 45222,
                "sha256": "ab" * 32,
                "stand_in": stand_in,
            }
        ],
        "settings": {"k": [5, 10], "overlap": 5000},
        "seeds": [0, 1, 2],
        "notes": ["Ages are years."],
        "claims": [] if stand_in else [claim.to_json() for claim in claims],
        "rows": ROWS,
        "made": {"version": "1.0", "code": "f" * 64, "seconds": 12.34},
        "parameters": ["data", "k", "seed"],
        "usual": {"settings": {"k": [5, 10], "overlap": 5000}, "seeds": 3},
        **parts,
    }


def chart():
    return {"hits": draw_lines(ROWS, x="k", y="hit", by="", title="Hits fall", about="A line.")}


def said(html: str) -> str:
    """What a reader sees, in one line."""
    text = re.sub(r"<(style|svg).*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", text).replace("\N{NO-BREAK SPACE}", " ").split())


def test_a_studys_page_says_claims_verdicts_reasons_and_how_it_was_made():
    page = make_study_page(document(), chart())
    text = said(page.html())
    for part in (
        "about 12 %",
        "10.2 ± 0.2 %",
        "≠ differs",
        "✓ agrees",
        "no figure",
        "The subsets are &lt;larger&gt;.",
        "1 of 2 claims agrees, 1 differs.",
        "Hits fall",
        "A line.",
        "Ages are years.",
        "45,222",
        "ab" * 32,
        "5, 10",
        "5,000",
        "0, 1, 2",
        "shoal study ganta-figure-1 -o studies/",
        "12.3 seconds",
        SPREAD,
    ):
        assert part in text, part
    assert re.findall(r'href="([^"#]+)"', page.html()) == [
        "results.json",
        "results.csv",
        "hits.svg",
    ]
    assert Page.from_json(json.loads(json.dumps(page.to_json()))).html() == page.html()


def test_what_was_found_beside_the_paper_is_told_apart_and_not_counted():
    page = make_study_page(document(), {})
    first, second = page.sections[:2]
    assert [row[1][0].text for row in first.blocks[0].rows] == [
        "Of two releases 12 % are known.",
        "A larger k helps.",
    ]
    assert second.heading == BESIDE
    assert second.blocks[0].columns == ("No.", "Found", "Ours")
    assert [row[1][0].text for row in second.blocks[0].rows] == ["Halves are told."]
    assert second.blocks[1].rows[0][2:5] == ("hit", "all", 6)
    some = [one for one in document()["claims"] if one["verdict"] == "found"]
    alone = said(make_study_page(document(claims=some), {}).html())
    assert "No claim of the paper is compared here." in alone
    assert "Verdict" not in alone


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ({"seeds": [0]}, "shoal study ganta-figure-1 -o studies/ --seeds 1"),
        (
            {"seeds": [0], "usual": {"settings": {}, "seeds": 1}},
            "shoal study ganta-figure-1 -o studies/",
        ),
        (
            {"settings": {"k": [5], "overlap": 5000}, "seeds": [0, 1]},
            'shoal.study("ganta-figure-1", "studies/", seeds=2, k=[5])',
        ),
        (
            {
                "data": [
                    {"name": "own", "told": "a.csv", "rows": 9, "sha256": None, "stand_in": False}
                ]
            },
            "shoal study ganta-figure-1 -o studies/ --data FILE -s schema.toml",
        ),
    ],
)
def test_the_line_to_run_it_again_asks_for_what_is_not_usual(parts, line):
    blocks = make_study_page(document(**parts), {}).sections[-1].blocks
    assert blocks[-1].text == line
    note = [fact.note for fact in blocks[1].items if fact.label == "k"]
    assert note == ["(the study's own: 5, 10)" if "k=" in line else ""]


def test_the_chart_stands_on_the_pages_own_ground():
    html = make_study_page(document(), chart()).html()
    assert chart()["hits"]["background"] == "white"
    assert 'fill="white"' not in html


def test_a_stand_in_is_marked_first_and_compared_with_nothing():
    drawn = {name: mark_stand_in(spec, stand_in=True) for name, spec in chart().items()}
    page = make_study_page(document(stand_in=True), drawn)
    text = said(page.html())
    assert page.lead.startswith(STAND_IN)
    assert text.index("Synthetic stand-in") < text.index("Hits fall")
    assert page.sections[0].blocks[0].tone == "warning"
    assert "Verdict" not in text
    assert "about 12 %" not in text
    assert "--stand-in" in text
    assert mark_stand_in(chart()["hits"], stand_in=False) == chart()["hits"]


def test_other_data_or_settings_are_compared_with_nothing():
    text = said(make_study_page(document(claims=[]), {}).html())
    assert "Nothing is compared with the paper here" in text
    assert "Chart" not in text


def test_every_number_is_traced_to_its_rows_and_file():
    (table,) = make_trace_table(select_claims(document()["claims"]), ["a.json", "a.json"])
    assert [row[2:] for row in table.rows] == [
        ("hit", "k = 5", 3, "a.json"),
        ("hit", "k = 10", 3, "a.json"),
        ("hit", "k = 5", 3, "a.json"),
        ("hit", "k = 10", 3, "a.json"),
    ]
    assert [row[0] for row in table.rows] == [1, 1, 2, 2]


def test_the_page_of_all_claims():
    studies = [document(), document(name="ganta-figure-2"), document(True, "sattar-figure-1")]
    page = make_claims_page(studies, "page.html", "results.json")
    text, html = said(page.html()), page.html()
    assert "2 of 4 claims agree, 2 differ." in text
    assert [(fact.label, fact.value) for fact in page.sections[0].blocks[0].items] == [
        ("✓ agrees", 2),
        ("≈ partly", 0),
        ("≠ differs", 2),
        ("→ corrected", 0),
    ]
    assert "compared with nothing: sattar-figure-1." in text
    assert html.count('href="ganta-figure-1/page.html"') == 4  # two claims, a finding, and the list
    assert "ganta-figure-2/results.json" in text
    assert '<th scope="col"></th>' not in html
    assert text.count(BESIDE) == 1
    assert page.sections[-1].blocks[0].rows[0][2:] == (2, 1)
    assert Page.from_json(json.loads(json.dumps(page.to_json()))).html() == html
    assert "No study has been run" in said(make_claims_page([], "page.html", "results.json").html())


def warned(*studies):
    blocks = make_claims_page(studies, "page.html", "results.json").sections[0].blocks
    return [block.heading for block in blocks if block.kind == "callout"]


def test_studies_of_other_code_or_of_fewer_seeds_are_warned_of():
    one, other = document(), document(name="ganta-figure-2")
    assert warned(one, other) == []
    newer = {**other, "made": {**other["made"], "code": "e" * 64}}
    assert warned(one, newer) == ["Made by different code"]
    assert warned(one, {**other, "seeds": [0]}) == ["Fewer seeds than usual"]
    page = make_claims_page([one, {**newer, "seeds": [0]}], "page.html", "results.json")
    text = said(page.html())
    assert "ganta-figure-2 (1 of 3)" in text
    assert "eeeeeeeeeeee ganta-figure-2" in text


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ([AGREES], "The one claim agrees."),
        ([AGREES, AGREES], "Both claims agree."),
        ([DIFFERS] * 3, "All 3 claims differ."),
        (
            [AGREES, CORRECTED, DIFFERS, AGREES],
            "2 of 4 claims agree, 1 differs, 1 corrects a mistake in print.",
        ),
    ],
)
def test_verdicts_in_words(verdicts, words):
    assert summarise_verdicts([{"verdict": one} for one in verdicts]) == words


def test_few_rows_are_printed_and_many_are_averaged_over_seeds():
    told, table = describe_measurements(ROWS, ["data", "k", "seed"])
    assert told.startswith("Every measurement, 6 rows.")
    assert "data = adult" in told
    assert "people" in told
    assert table.columns == ("k", "seed", "hit")
    many = [
        {"k": k, "l": "x", "seed": seed, "hit": 50.0 / k + seed, "same": k * k}
        for k in range(1, FEW // 2 + 2)
        for seed in (0, 1)
    ]
    told, table = describe_measurements(many, ["k", "seed"])
    assert table.columns == ("k", "hit", "same")
    assert table.rows[4] == (5, "10.5 ± 0.7", 25)
    assert f"all {len(many)} measurements are in `results.csv`" in told
    assert len(average_seeds(many, ["k", "seed"])) == len(table.rows) == len(many) // 2


def test_only_seeds_are_averaged():
    drawn = [
        {"k": k, "seed": seed, "c": c, "hit": k + c + seed}
        for k in (5, 10)
        for seed in (0, 1)
        for c in (25, 50)
    ]
    alone = [{"k": k, "hit": float(k)} for k in (5, 10)]
    found = average_seeds([*drawn, *alone], ["k", "seed"])
    assert [(row["k"], row.get("c"), row["hit"]) for row in found] == [
        (5, 25, "30.5 ± 0.7"),
        (5, 50, "55.5 ± 0.7"),
        (10, 25, "35.5 ± 0.7"),
        (10, 50, "60.5 ± 0.7"),
        (5, None, 5.0),
        (10, None, 10.0),
    ]
    # A seed that has more rows than another: nobody knows which belong together.
    uneven = average_seeds([*drawn, {"k": 5, "seed": 0, "c": 99, "hit": 7}], ["k", "seed"])
    assert sum(row["k"] == 5 for row in uneven) == 5
    assert {row.get("seed") for row in uneven if row["k"] == 5} == {0, 1}
    assert sum(row["k"] == 10 for row in uneven) == 2
    unknown = describe_measurements(
        [{"k": k, "seed": s, "hit": s} for k in range(50) for s in (0, 1)]
    )
    assert unknown[0].startswith("100 rows; all 100")


def test_very_many_rows_are_cut_and_it_is_said():
    told, table = describe_measurements([{"k": k, "hit": 1.5 * k} for k in range(500)], ["k"])
    assert len(table.rows) == FEW
    assert told.startswith("The first 60 of 500 rows; all 500 measurements")


def test_notes_in_a_table_are_escaped_and_link_to_neighbours_alone():
    cells = (
        NotedText("<i>", "`a` <b>", "danger", "x/page.html"),
        (NotedText("1"), NotedText("2", "two")),
    )
    page = Page("t", (Section("s", (), (Table(("A", "B"), (cells,), "Cap", folded=True),)),))
    html = page.html()
    assert "<i>" not in html
    assert "<b>" not in html
    assert '<a href="x/page.html">&lt;i&gt;</a>' in html
    assert "<code>a</code>" in html
    assert "<summary>Cap</summary>" in html
    assert Page.from_json(json.loads(json.dumps(page.to_json()))) == page
    for link in (
        "https://example.org",
        "javascript:alert",
        "//host/x",
        "/etc/x",
        "a b",
        'x"y',
        "..",
        "../x",
        "a/../../x",
        "a/..",
        "..#x",
    ):
        with pytest.raises(UsageError):
            NotedText("x", link=link)
    assert NotedText("x", link="a..b/c.html#d").link == "a..b/c.html#d"
    with pytest.raises(UsageError):
        NotedText("x", tone="loud")


def test_beside_made_up_people_the_paper_s_figures_are_not_drawn():
    theirs = [{"k": 5, "hit": 12, "said": "paper: about 12 %"}]
    drawn = draw_lines(ROWS, x="k", y="hit", by="", labels={}, title="t", about="a", theirs=theirs)
    assert "about 12 %" in json.dumps(drawn)
    assert "about 12 %" not in json.dumps(mark_stand_in(drawn, stand_in=True))
    plain = draw_lines(ROWS, x="k", y="hit", by="", labels={}, title="t", about="a")
    assert remove_printed(plain) == plain
