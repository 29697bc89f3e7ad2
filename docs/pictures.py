"""Draws the pictures of the documentation into docs/images/, by the code that draws the reports.

They are committed, so that the pages show them without a build; a test says when they are stale.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from shoal.reports.charts.theme import COLOUR, PALETTE, WIDTH, Spec, chart, svg

IMAGES = Path(__file__).parent / "images"
ROW = 46
ANSWER_AT = 388
QUESTIONS = (
    ("May others know columns of a person in it?", "k-anonymity", "always begin here"),
    ("… but not who is in it?", "k-map, δ-presence", "with a table of the population"),
    ("Must a value stay unknown?", "entropy or recursive diversity", "no class with one value"),
    ("May no value become much likelier either?", "t-closeness, β-likeness", "costs most detail"),
    ("May somebody know things besides?", "(c,k)-safety", "whatever they are, up to k of them"),
    ("Do several providers bring the rows?", "m-privacy around the rule", "in a pool"),
    ("Will you publish these people again?", "base it on the last; m-invariance", "with a ledger"),
    ("Do others publish about the same people?", "composition; one pool", "rarer, not ruled out"),
    ("Is nothing known of what others know?", "noise: counts, synthetic", "a budget ε for good"),
)
"""Question, what to ask for if the answer is yes, and what goes with it; from top to bottom."""


def guarantees() -> Spec:
    """The questions that lead to a guarantee."""
    rows: list[Spec] = [
        {"place": place, "question": question, "answer": answer, "note": note, "arrow": "yes →"}
        for place, (question, answer, note) in enumerate(QUESTIONS)
    ]
    at = {
        "field": "place",
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [-0.5, len(rows) - 0.5], "reverse": True},
    }
    return chart(
        "Which guarantee? Go down the list: every yes adds one",
        "A list of questions from top to bottom, each with the guarantee that a yes asks for.",
        rows,
        {"question": "question", "answer": "if yes, ask for", "note": "note"},
        height=ROW * len(rows),
        layer=[
            _rules(at),
            _words("question", 0, at, COLOUR["ink"], 14),
            _words("arrow", ANSWER_AT - 64, at, COLOUR["quiet"], 13),
            _words("answer", ANSWER_AT, at, COLOUR["after"], 14, dy=-8, bold=True),
            _words("note", ANSWER_AT, at, COLOUR["quiet"], 12, dy=10),
        ],
    )


def _rules(at: Spec) -> Spec:
    """A thin line above every question."""
    across = {"x": {"value": 0}, "x2": {"value": WIDTH}, "y": at}
    mark = {"type": "rule", "color": COLOUR["line"], "yOffset": -ROW / 2}
    return {"mark": mark, "encoding": across}


def _words(
    field: str, x: int, at: Spec, colour: str, size: int, dy: int = 0, bold: bool = False
) -> Spec:
    """One column of the list."""
    mark = {
        "type": "text",
        "align": "left",
        "baseline": "middle",
        "color": colour,
        "dy": dy,
        "fontSize": size,
        "fontWeight": 600 if bold else 400,
    }
    return {
        "mark": mark,
        "encoding": {"x": {"value": x}, "y": at, "text": {"field": field, "type": "nominal"}},
    }


PICTURES = {"which-guarantee": guarantees}


def drawn(spec: Spec) -> str:
    """The picture as a file that stands alone and follows the reader's light or dark setting."""
    dark = "".join(f"--{name}:{dark};" for name, (_, dark) in PALETTE.items())
    style = f"<style>@media (prefers-color-scheme: dark){{:root{{{dark}}}}}</style>"
    text = svg(spec)
    after = text.index(">") + 1
    return f"{text[:after]}{style}{text[after:]}\n"


def words(text: str) -> list[str]:
    """What a picture says: its texts in order, which no machine's fonts change."""
    found = [element.text or "" for element in ElementTree.fromstring(text).iter()]
    return [part.strip() for part in found if part.strip()]


def main() -> None:
    """Draw every picture."""
    for name, spec in PICTURES.items():
        (IMAGES / f"{name}.svg").write_text(drawn(spec()), encoding="utf-8")


if __name__ == "__main__":
    main()
