"""Draws the pictures of the documentation into docs/images/, by the code that draws the reports.

They are committed, so that the pages show them without a build; a test says when they are stale.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import shoal
from shoal.reports.charts.theme import COLOUR, PALETTE, WIDTH, Spec, draw_svg, make_chart

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
    return make_chart(
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


# The house

HOUSE = Path(shoal.__file__).parent
RENDERING = "pages"
PARTS = {
    **{f"reports.{part}": RENDERING for part in ("charts", "document", "format", "pages")},
    "data.bundled": "bundled",
}
"""Parts of rooms that stand on a lower floor than the rest of their room."""
SINGLE = {"", "studies", "testing"}
"""The front of the package, and packages of their own: they stand beside the house."""
FLOORS = {
    "kernels": "ground",
    "core": "nouns",
    "models": "ideas, edges",
    "releases": "a release",
    "adversary": "an attacker",
    "ledger": "judgement",
    "verbs": "verbs",
    "reports": "above",
    "pool": "groups",
    "cli": "doors",
}
"""What a floor is called, by one of its rooms."""
DOORS = ("cli",)
FLOOR_HEIGHT, BOX_HEIGHT, LEFT, GAP = 62, 30, 92, 10


def room_of(module: str) -> str:
    """The room that a module stands in."""
    for part, name in PARTS.items():
        if module == part or module.startswith(f"{part}."):
            return name
    return module.partition(".")[0]


def imports_of_rooms() -> dict[str, set[str]]:
    """For every room those that it imports from, wherever in its text."""
    rooms: dict[str, set[str]] = {}
    for path in sorted(HOUSE.rglob("*.py")):
        parts = path.relative_to(HOUSE).with_suffix("").parts
        room = room_of(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
        if room not in SINGLE:
            rooms.setdefault(room, set()).update(_imported_rooms(path))
    return {
        room: {other for other in others if other in rooms} - {room}
        for room, others in rooms.items()
    }


def _imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "shoal":
            module = (node.module or "").partition(".")[2]
            rooms |= {room_of(f"{module}.{alias.name}".strip(".")) for alias in node.names}
    return rooms


def floors_of(imports: Mapping[str, set[str]]) -> dict[str, int]:
    """A room stands one floor above the highest that it imports from; doors use the front alone."""
    floors: dict[str, int] = {}
    while len(floors) < len(imports):
        floors |= {
            room: 1 + max((floors[other] for other in others), default=-1)
            for room, others in imports.items()
            if others <= floors.keys()
        }
    return floors | {room: 1 + max(floors.values()) for room in DOORS}


def nearest(imports: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """The imports that are not made by way of another room too."""
    reached: dict[str, set[str]] = {}
    for room in sorted(imports, key=floors_of(imports).__getitem__):
        reached[room] = set().union(*({other} | reached[other] for other in imports[room]))
    return [
        (room, other)
        for room, others in imports.items()
        for other in sorted(others)
        if not any(other in reached[via] for via in others)
    ]


def architecture() -> Spec:
    """The rooms on their floors, and which imports from which."""
    imports = imports_of_rooms()
    floors = floors_of(imports)
    top = max(floors.values())
    boxes: dict[str, Spec] = {}
    for floor in range(top + 1):
        rooms = sorted(room for room in floors if floors[room] == floor)
        width = min(150, (WIDTH - LEFT - GAP * (len(rooms) - 1)) / len(rooms))
        left = LEFT + (WIDTH - LEFT - width * len(rooms) - GAP * (len(rooms) - 1)) / 2
        for place, room in enumerate(rooms):
            x, y = left + place * (width + GAP), (top - floor) * FLOOR_HEIGHT
            boxes[room] = {
                "room": room,
                "x": x,
                "x2": x + width,
                "middle": x + width / 2,
                "y": y,
                "y2": y + BOX_HEIGHT,
                "centre": y + BOX_HEIGHT / 2,
                "imports": ", ".join(sorted(imports[room])) or "nothing",
            }
    lines = [
        {
            "x": boxes[room]["middle"],
            "y": boxes[room]["y2"],
            "x2": boxes[other]["middle"],
            "y2": boxes[other]["y"],
        }
        for room, other in nearest(imports)
    ]
    captions = [
        {"floor": FLOORS[room], "centre": boxes[room]["centre"]} for room in FLOORS if room in boxes
    ]
    height = (top + 1) * FLOOR_HEIGHT - (FLOOR_HEIGHT - BOX_HEIGHT)
    x = {"type": "quantitative", "axis": None, "scale": {"domain": [0, WIDTH], "nice": False}}
    y = {
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [0, height], "reverse": True, "nice": False},
    }
    at = {
        "x": {**x, "field": "x"},
        "x2": {"field": "x2"},
        "y": {**y, "field": "y"},
        "y2": {"field": "y2"},
    }
    return make_chart(
        "The house: a room imports only from floors below",
        "Rooms of the package in rows, each joined by lines to the rooms below that it uses.",
        list(boxes.values()),
        {"room": "room", "imports": "imports from"},
        height=height,
        layer=[
            {
                "data": {"values": lines},
                "mark": {"type": "rule", "color": COLOUR["line"]},
                "encoding": at,
            },
            {
                "mark": {
                    "type": "rect",
                    "color": COLOUR["paper"],
                    "stroke": COLOUR["after"],
                    "cornerRadius": 5,
                },
                "encoding": at,
            },
            {
                "mark": {"type": "text", "fontSize": 13, "color": COLOUR["ink"]},
                "encoding": {
                    "x": {**x, "field": "middle"},
                    "y": {**y, "field": "centre"},
                    "text": {"field": "room", "type": "nominal"},
                },
            },
            {
                "data": {"values": captions},
                "mark": {"type": "text", "align": "left", "fontSize": 12, "color": COLOUR["quiet"]},
                "encoding": {
                    "x": {**x, "datum": 0},
                    "y": {**y, "field": "centre"},
                    "text": {"field": "floor", "type": "nominal"},
                },
            },
        ],
    )


PICTURES = {"which-guarantee": guarantees, "architecture": architecture}


def drawn(spec: Spec) -> str:
    """The picture as a file that stands alone and follows the reader's light or dark setting."""
    dark = "".join(f"--{name}:{dark};" for name, (_, dark) in PALETTE.items())
    style = f"<style>@media (prefers-color-scheme: dark){{:root{{{dark}}}}}</style>"
    text = draw_svg(spec)
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
