"""The page of the JSON that Shoal writes: each is made on bundled data, and every key described."""

from __future__ import annotations

import csv
import itertools
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reference_words import meaning

import shoal
from shoal.data import bundled

DEEP = 4
"""So many keys below one another are listed."""
LONG = 56
ROWS = 801
PLURAL = {"true or false": "true or false"}
ELSEWHERE = {"verdict", "finding", "findings", "forecast", "spec", "blocks"}
"""Keys whose content is a format of its own, or a drawing."""
NAMED = {"columns", "settings", "notes", "where", "rows", "candidates_before", "candidates_after"}
"""Keys that hold other words than ours: columns' names, a study's settings and rows, counts."""
ROLES = shoal.Schema.of(
    person="patient",
    identifier=["name", "admitted"],
    quasi=["age", "sex", "zip"],
    sensitive=["diagnosis"],
)
BINS = """
[columns]
patient = "person"
name = "identifier"
zip = "identifier"
admitted = "identifier"
diagnosis = "identifier"
[columns.age]
role = "quasi"
bounds = [0, 109]
hierarchy = { intervals = [20] }
[columns.sex]
role = "quasi"
domain = ["f", "m"]
"""


class Format(NamedTuple):
    """One kind of document: what it is, who writes it, and one that was made."""

    name: str
    told: str
    by: str
    document: Mapping[str, Any]


class Line(NamedTuple):
    """One key: where it stands, what it holds, an example."""

    path: str
    type: str
    example: str


def made(folder: Path) -> list[Format]:
    """One of each, in a folder that may be thrown away."""
    people = _some("st_anna.csv", folder, delimiter=";")  # the manifest says what is not as usual
    others = _some("harbour.csv", folder)
    rule = "k-anonymity k=5 & distinct-diversity l=2"
    release = shoal.publish(people, ROLES, rule, out=folder / "release")
    other = shoal.publish(others, ROLES, rule, out=folder / "other")
    noisy = shoal.publish(
        people, shoal.Schema.parse(BINS), form="counts", epsilon=1, out=folder / "counts"
    )
    with shoal.Ledger.init(folder / "releases.db") as ledger:
        ledger.admit(release, people=people)
        admission = ledger.admit(other, people=others, accept_risk="to show one")
        entry = ledger.entry(3)
    formats = [
        Format(
            "manifest",
            "The public half of a release: `manifest.json` in its folder.",
            "shoal publish",
            release.manifest,
        ),
        Format(
            "counts manifest",
            "The same of a release by noise.",
            "shoal publish --form counts",
            noisy.manifest,
        ),
        Format(
            "companion",
            "The private half: `companion.json` in the folder `NAME.private`.",
            "shoal publish",
            _read(folder / "release.private/companion.json"),
        ),
        Format(
            "verdict",
            "Whether a table meets a rule.",
            "shoal verify --json",
            release.verdict.to_json(),
        ),
        Format(
            "audit",
            "What was measured of a table.",
            "shoal audit --json",
            shoal.audit(folder / "release", ROLES, original=people).to_json(),
        ),
        Format(
            "finding",
            "What an attack learned; `witness` and `details` are the attack's own.",
            "shoal attack intersection --json",
            shoal.attack(
                "intersection", [folder / "release", folder / "other"], targets=others
            ).to_json(),
        ),
        Format(
            "red team",
            "What every attack learned that could run.",
            "shoal attack red-team --json",
            shoal.attack("red-team", [folder / "release"], targets=people).to_json(),
        ),
        Format(
            "forecast",
            "What others' releases would reveal.",
            "shoal forecast --json",
            shoal.forecast(release, overlap=500, rows=2600).to_json(),
        ),
        Format(
            "report",
            "The page to sign: `report.json`.",
            "shoal report --json",
            shoal.report(release, original=people).to_json(),
        ),
        Format(
            "admission",
            "A release judged together with the earlier ones.",
            "shoal ledger admit --json",
            admission.to_json(),
        ),
        Format(
            "ledger entry",
            "What is recorded for good.",
            "shoal ledger show --json",
            entry.to_json(),
        ),
        Format(
            "study",
            "A paper's table or figure, made again: `results.json`.",
            "shoal study",
            _study(),
        ),
    ]
    return [one._replace(document=json.loads(json.dumps(one.document))) for one in formats]


def _some(name: str, folder: Path, delimiter: str = ",") -> Path:
    """The first rows of a bundled table: as good to show a format, and quicker."""
    with bundled.path(name).open(encoding="utf-8", newline="") as file:
        rows = list(itertools.islice(csv.reader(file), ROWS))
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return folder / name


def _study() -> Mapping[str, Any]:
    """The first study that needs no data."""
    studies = shoal.experiments().items()
    bare = [name for name, (_, one) in studies if not one.data and one.seeds == 1]
    return shoal.study(bare[0]).to_json()


def _read(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return read


def lines(value: Any, path: str = "", deep: int = 1) -> Iterator[Line]:
    """Every key of a document, in order; those of a list's members once."""
    for key, inside in _members(value):
        at = f"{path}{key}"
        yield Line(at, _type(inside), _example(inside))
        if key in ELSEWHERE | NAMED or deep == DEEP:
            continue
        below = "[]." if isinstance(inside, list) else "."
        yield from lines(inside, at + below, deep + 1)


def _members(value: Any) -> list[tuple[str, Any]]:
    """The keys of a mapping, or of all mappings in a list, each with its first telling value."""
    tables = [one for one in (value if isinstance(value, list) else [value]) if _is_table(one)]
    found: dict[str, Any] = {}
    for table in tables:
        for key, inside in table.items():
            if found.get(key) in (None, [], {}):
                found[key] = inside
    return list(found.items())


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _type(value: Any) -> str:
    if _is_table(value):
        return "table"
    if isinstance(value, list | tuple):
        inside = _type(value[0]).partition(" of ")[0] if value else ""
        return f"list of {PLURAL.get(inside, inside + 's')}" if value else "list"
    kinds = {bool: "true or false", int: "whole number", float: "number", str: "text"}
    return kinds.get(type(value), "null")


def _example(value: Any) -> str:
    """The value on one short line; nothing for what is described below."""
    if _is_table(value) or (isinstance(value, list | tuple) and value and _is_table(value[0])):
        return ""
    text = json.dumps(value, ensure_ascii=False, default=str).replace("|", "¦").replace("`", "'")
    return f"`{text if len(text) <= LONG else text[: LONG - 2].rstrip() + ' …'}`"


def _described(one: Format) -> str:
    rows = "".join(
        f"| `{line.path}` | {line.type} | {line.example} | {meaning(one.name, line.path)} |\n"
        for line in lines(one.document)
    )
    return (
        f"## {one.name.capitalize()}\n\n{one.told} Written by `{one.by}`; "
        f"edition {one.document['edition']}.\n\n"
        f"| key | type | example | means |\n|---|---|---|---|\n{rows}"
    )


def page() -> str:
    """The page as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        parts = [_described(one) for one in made(Path(folder))]
    return f"""# JSON formats

What Shoal writes for programs. Every document has an `edition`; within one keys may be added. \
Infinity is the text \
`"inf"`, and what cannot be said is null. The examples were made from the bundled tables when this \
page was built; `[]` stands for each member of a list. All verbs print theirs with `--json`, on \
standard output, and nothing else there.

{chr(10).join(parts)}"""
