"""A small town, as a CSV file, and what its columns are."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from datetime import date, timedelta
from pathlib import Path

import shoal

COLUMNS = ("patient", "name", "age", "hospital", "sex", "zip", "born", "diagnosis")


def people(rows: int = 80, seed: int = 1) -> list[dict[str, str]]:
    rng = random.Random(seed)
    found = []
    for i in range(rows):
        age = rng.randrange(18, 90)
        born = date(2026, 1, 1) - timedelta(days=365 * age + rng.randrange(365))
        found.append(
            {
                "patient": f"P{i:03d}",
                "name": f"Person {i}",
                "age": str(age),
                "hospital": rng.choice(["North", "South"]),
                "sex": rng.choice("fm"),
                "zip": f"0{rng.choice(['1301', '1302', '2138', '2139'])}",
                "born": born.isoformat(),
                "diagnosis": rng.choice(["flu", "cold", "asthma", "angina"]),
            }
        )
    return found


def write(path: Path, rows: list[dict[str, str]], columns=None) -> Path:
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, columns or list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def classes(rows, quasi) -> Counter:
    return Counter(tuple(row[name] for name in quasi) for row in rows)


class Town:
    """What tests of several rooms use again and again."""

    quasi = ("age", "sex", "zip")
    columns = COLUMNS
    people = staticmethod(people)
    write = staticmethod(write)
    read = staticmethod(read)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows = people()
        self.table = write(folder / "people.csv", self.rows)

    def schema(self, **roles) -> shoal.Schema:
        return (
            shoal.Schema(())
            .set(
                patient=shoal.person,
                name=shoal.identifier,
                age=shoal.quasi,
                hospital=shoal.provider,
                sex=shoal.quasi,
                zip=shoal.quasi,
                born=shoal.identifier,
                diagnosis=shoal.sensitive,
            )
            .set(roles)
        )

    def publish(self, rule="k-anonymity k=4", schema=None, source=None, **settings):
        settings = {"out": self.folder / "release", **settings}
        return shoal.publish(source or self.table, schema or self.schema(), rule, **settings)

    def published(self, release) -> list[dict[str, str]]:
        return read(release.path)

    def sizes(self, release, quasi=None) -> list[int]:
        return sorted(classes(self.published(release), quasi or self.quasi).values())

    def manifest(self, release) -> dict:
        return json.loads((release.folder / "manifest.json").read_text(encoding="utf-8"))

    def companion(self, release) -> dict:
        return json.loads((release.companion / "companion.json").read_text(encoding="utf-8"))

    def names(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}
