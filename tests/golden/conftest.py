"""The papers' tables as files, and their answers."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def golden():
    """The golden file of a name."""
    return lambda name: json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture
def table(tmp_path):
    """Writes rows as a CSV file, with their labels as printed."""

    def write(name, rows):
        path = tmp_path / f"{name}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return path

    return write
