"""What every study gives: its settings, its measurements row by row, and its charts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal import OutputError
from shoal.flow.folder import made
from shoal.pages import svg

EDITION = 1
RESULTS = "results.json"

Row = dict[str, Any]


@dataclass(frozen=True)
class Study:
    """The results of a paper's experiments, run again."""

    name: str
    data: str
    """What was studied."""
    rows: int
    settings: Mapping[str, Any]
    """Everything that was chosen: parameters, seeds."""
    results: Mapping[str, Sequence[Row]]
    """For each part its measurements, one a row."""
    charts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    """For each part its chart, as a Vega-Lite specification."""
    told: str = ""
    """The results in words."""
    files: tuple[Path, ...] = ()
    """What was written."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "edition": EDITION,
            "study": self.name,
            "data": self.data,
            "rows": self.rows,
            "settings": dict(self.settings),
            **{part: list(rows) for part, rows in self.results.items()},
        }

    def __str__(self) -> str:
        written = [f"Written: {', '.join(str(file) for file in self.files)}"] if self.files else []
        head = f"{self.name}, on {self.rows:,} rows of {self.data}"
        return "\n".join([head, self.told, *written])

    def write(self, folder: Path) -> tuple[Path, ...]:
        """The results as JSON and the charts as SVG; returns the files."""
        texts = {f"{part}.svg": svg(dict(spec)) for part, spec in self.charts.items()}
        texts[RESULTS] = json.dumps(self.to_json(), ensure_ascii=False, indent=1, allow_nan=False)
        for name, text in texts.items():
            _write(folder / name, text + "\n")
        return tuple(folder / name for name in texts)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(
            f"{path.name} cannot be written: {error.strerror or 'the disk failed'}.",
            "choose a folder you may write to, with enough free space.",
        ) from None


def prepared(out: str | Path) -> Path:
    """An existing folder for the results; before the work, for it may take long."""
    folder = made(Path(out))
    if (folder / RESULTS).exists():
        raise OutputError(
            f"{folder.name!r} holds the results of a study already.", "choose another folder."
        )
    return folder
