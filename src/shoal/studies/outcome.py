"""What a study gives: its measurements row by row, its claims beside the paper's, its charts.

On disk a folder of its name holds ``results.json`` (all of it), ``results.csv`` (the rows), the
charts as SVG, and ``page.html``, which is a rendering of the JSON.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal import OutputError
from shoal.core.atomic_file import write_file
from shoal.reports.charts.theme import draw_svg
from shoal.studies.claims import Claim, Row
from shoal.studies.experiment import Paper, Spec
from shoal.studies.keys import to_plain
from shoal.studies.pages.study import make_study_page, mark_stand_in

EDITION = 2
RESULTS, ROWS, PAGE = "results.json", "results.csv", "page.html"
STATED = {"study", "paper", "shows", "stand_in", "data", "settings", "seeds", "claims", "made"}
"""What every results.json says."""


@dataclass(frozen=True)
class Study:
    """One table or figure of a paper, made again."""

    name: str
    paper: Paper
    shows: str
    data: Sequence[Mapping[str, Any]]
    """Of each table its name, what it is, rows, hash, and whether it is a stand-in; of a user's own
    no hash, for with it anybody could try which table it is of."""
    settings: Mapping[str, Any]
    seeds: Sequence[int]
    rows: Sequence[Row]
    claims: Sequence[Claim]
    charts: Mapping[str, Spec] = field(default_factory=dict, repr=False)
    notes: Sequence[str] = ()
    made: Mapping[str, Any] = field(default_factory=dict)
    """By which Shoal (version, hash of its code), the seconds that measuring took, and how many of
    them before this run."""
    files: tuple[Path, ...] = ()
    """What was written."""
    parameters: Sequence[str] = ()
    """The columns that say what was measured; in the others is what came out."""
    usual: Mapping[str, Any] = field(default_factory=dict)
    """The study's own settings and number of seeds, where nobody asks for others."""

    @property
    def stand_in(self) -> bool:
        """Whether any table is made up: then nothing is said about the paper."""
        return any(table["stand_in"] for table in self.data)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "edition": EDITION,
            "study": self.name,
            "paper": {"short": self.paper.short, "cited": self.paper.cited},
            "shows": self.shows,
            "stand_in": self.stand_in,
            "data": [dict(table) for table in self.data],
            "settings": dict(self.settings),
            "seeds": list(self.seeds),
            "usual": dict(self.usual),
            "parameters": list(self.parameters),
            "charts": list(self.charts),
            "notes": list(self.notes),
            "claims": [claim.to_json() for claim in self.claims],
            "rows": [dict(row) for row in self.rows],
            "made": dict(self.made),
        }

    def __str__(self) -> str:
        lines = [f"{self.name} ({self.paper.short}). {self.shows}"]
        lines += [f"  on {table['told']}, {table['rows']:,} rows" for table in self.data]
        lines += [_describe_claim(claim) for claim in self.claims]
        lines += [f"Written: {', '.join(str(file) for file in self.files)}"] if self.files else []
        return "\n".join(lines)

    def write(self, folder: Path) -> tuple[Path, ...]:
        """JSON, CSV, SVG and the page; where the JSON is, all the rest is, and is of this result.

        So an earlier JSON goes first, with the charts that it had and this one has not.
        """
        document = to_plain(self.to_json(), "A study")
        specs = {name: mark_stand_in(spec, self.stand_in) for name, spec in self.charts.items()}
        texts = {f"{name}.svg": draw_svg(spec) for name, spec in specs.items()}
        texts[ROWS] = _write_csv(self.rows, self.stand_in)
        texts[PAGE] = make_study_page(document, specs).html()
        texts[RESULTS] = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
        stale = {f"{name}.svg" for name in _list_charts(folder)} - texts.keys()
        _clear(folder, [RESULTS, *sorted(stale)])
        for name, text in texts.items():
            write_file(folder / name, text if text.endswith("\n") else f"{text}\n")
        return tuple(folder / name for name in texts)


def read_results(folder: Path) -> dict[str, Any] | None:
    """The JSON of a study that was written to a folder; none where there is none of ours."""
    try:
        document = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    ours = (
        isinstance(document, dict)
        and document.get("edition") == EDITION
        and document.keys() >= STATED
    )
    return document if ours else None


def _list_charts(folder: Path) -> list[str]:
    names = (read_results(folder) or {}).get("charts", ())
    return [name for name in names if isinstance(name, str) and Path(name).name == name]


def _clear(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(
                f"{name} of an earlier result cannot be removed ({error.strerror}).",
                "choose another folder.",
            ) from None


def _describe_claim(claim: Claim) -> str:
    ours = "; ".join(
        f"{number.said}: {number}" if number.said else str(number) for number in claim.ours
    )
    theirs = f" Theirs: {claim.theirs}." if claim.theirs else ""
    why = f" {claim.why}" if claim.why else ""
    return f"  {claim.verdict:9} {claim.says}{theirs} Ours: {ours}.{why}"


def _write_csv(rows: Sequence[Row], stand_in: bool) -> str:
    """Every row; what is a list inside is JSON."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, *(["stand_in"] if stand_in else [])])
    for row in rows:
        cells = [_cell(row.get(name)) for name in names]
        writer.writerow([*cells, *(["made up"] if stand_in else [])])
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    return value
