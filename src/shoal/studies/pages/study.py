"""The page of a study: a rendering of its JSON, with its charts.

`checked_page`, the page of all claims, is in `shoal.studies.pages.checked`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reports.charts.theme import Spec
from shoal.reports.document import (
    Block,
    Callout,
    Chart,
    Code,
    Fact,
    Fields,
    NotedText,
    Page,
    Section,
    Table,
)
from shoal.studies.pages.checked import checked_page
from shoal.studies.pages.rows import measurements
from shoal.studies.pages.tables import claims_table, found_table, traced
from shoal.studies.pages.told import BESIDE, SPREAD, claimed, found
from shoal.studies.pages.words import ended, summed_up

__all__ = ["checked_page", "marked", "study_page"]

STAND_IN = "Synthetic stand-in, not the paper's data"
RESULTS, ROWS = "results.json", "results.csv"
Document = Mapping[str, Any]


def marked(spec: Spec, stand_in: bool) -> Spec:
    """The chart as it is; or without the paper's figures, and with a title that says why.

    Beside made-up people they would look like a result.
    """
    if not stand_in:
        return spec
    spec = unprinted(spec)
    title = spec.get("title") or []
    lines = [title] if isinstance(title, str) else list(title)
    return {**spec, "title": [f"{STAND_IN}:", *lines]}


def unprinted(node: Any) -> Any:
    """A specification without the layers of the paper's own figures, which have words ``said``."""
    if isinstance(node, dict):
        return {key: unprinted(part) for key, part in node.items()}
    if isinstance(node, list):
        return [unprinted(part) for part in node if not _printed(part)]
    return node


def _printed(layer: Any) -> bool:
    if not isinstance(layer, dict):
        return False
    values = layer.get("data", {}).get("values", ())
    return bool(values) and all("said" in value for value in values)


def study_page(document: Document, charts: Mapping[str, Spec]) -> Page:
    """A study's page, from its JSON and its charts."""
    said, table = measurements(document["rows"], document.get("parameters"))
    made_up = document["stand_in"]
    cited = ended(document["paper"]["cited"])
    sections = [
        Section("Made-up people" if made_up else "The paper, and ours", *_claims(document)),
        *_found(document["claims"]),
        *_drawn(charts),
        Section("The numbers", (said,), (table,) if table.rows else ()),
        *_notes(document["notes"]),
        Section("How it was made", (), _made(document, charts)),
    ]
    lead = f"{STAND_IN}. {cited}" if made_up else cited
    return Page(document["shows"], tuple(sections), lead=lead, foot=_foot(document["made"]))


def _claims(document: Document) -> tuple[tuple[str, ...], tuple[Block, ...]]:
    """What the paper says beside what came out; nothing is compared with made-up people."""
    if document["stand_in"]:
        return (), (_warning(document),)
    if not document["claims"]:
        return (
            "Nothing is compared with the paper here: that is done on the paper's own data "
            "with the settings of the study.",
        ), ()
    claims = claimed(document["claims"])
    if not claims:
        return (summed_up(claims),), ()
    table = claims_table(claims, [""] * len(claims))
    drawn = (SPREAD,) if len(document["seeds"]) > 1 else ()
    return (summed_up(claims), *drawn), (table, *traced(claims, [RESULTS] * len(claims)))


def _found(claims: Sequence[Document]) -> list[Section]:
    """What is no claim of the paper's, apart."""
    some = found(claims)
    table = found_table(some, [""] * len(some))
    return [Section(BESIDE, (), (table, *traced(some, [RESULTS] * len(some))))] if some else []


def _warning(document: Document) -> Callout:
    names = ", ".join(one["told"] for one in document["data"] if one["stand_in"])
    return Callout(
        f"These are not the paper's people: {names}. The numbers show that the study runs; they "
        "say nothing about the paper, and no claim is compared.",
        "warning",
        STAND_IN,
    )


def _drawn(charts: Mapping[str, Spec]) -> list[Section]:
    """On the page's own ground: white and an edge are for the chart alone in a file."""
    blocks = tuple(
        Chart(
            {key: part for key, part in spec.items() if key not in ("background", "padding")},
            str(spec.get("description", "")),
        )
        for spec in charts.values()
    )
    return [Section("Charts" if len(blocks) > 1 else "Chart", (), blocks)] if blocks else []


def _notes(notes: Sequence[str]) -> list[Section]:
    return [Section("Assumed, and not as in the paper", tuple(notes))] if notes else []


def _made(document: Document, charts: Mapping[str, Spec]) -> tuple[Block, ...]:
    files = [
        (RESULTS, "everything on this page, for programs"),
        (ROWS, f"the measurements, {len(document['rows']):,} rows"),
        *((f"{name}.svg", "the chart alone") for name in charts),
    ]
    return (
        *_data(document["data"]),
        Fields(tuple(_settings(document)), "Parameters"),
        Table(("File", "Holds"), tuple((NotedText(name, link=name), what) for name, what in files)),
        Code(_again(document), "Run it again, in Python" if _changed(document) else "Run it again"),
    )


def _data(tables: Sequence[Document]) -> tuple[Block, ...]:
    if not tables:
        return ()
    rows = tuple(
        (NotedText(one["told"], f"`{one['sha256']}`" if one["sha256"] else ""), one["rows"])
        for one in tables
    )
    return (Table(("Data, with its SHA-256", "Rows"), rows),)


def _settings(document: Document) -> list[Fact]:
    """Every setting, and beside one that is not the study's own which that is."""
    seeds, other = document["seeds"], _changed(document)
    own = document.get("usual", {}).get("settings", {})
    drawn = ", ".join(map(str, seeds)) if len(seeds) > 1 else "nothing is drawn at random, or once"
    asked = [
        Fact(
            name.replace("_", " "),
            _value(value),
            f"(the study's own: {_value(own[name])})" if name in other else "",
        )
        for name, value in document["settings"].items()
    ]
    return [*asked, Fact("seeds", drawn)]


def _changed(document: Document) -> dict[str, Any]:
    """The settings that are not the study's own."""
    own = document.get("usual", {}).get("settings", {})
    return {
        name: value
        for name, value in document["settings"].items()
        if name in own and _value(value) != _value(own[name])
    }


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_value(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_value(part) for part in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _again(document: Document) -> str:
    """The line to type; other settings than the study's own are asked for in Python alone."""
    seeds, own = len(document["seeds"]), "own" in {one["name"] for one in document["data"]}
    usual = document.get("usual", {}).get("seeds", 1)
    other = seeds if seeds != usual else None
    if changed := _changed(document):
        parts = [f'"{document["study"]}"', '"studies/"']
        parts += [f"seeds={other}"] if other else []
        parts += ["stand_in=True"] if document["stand_in"] else []
        parts += ["data=table, schema=schema"] if own else []
        parts += [f"{name}={value!r}" for name, value in changed.items()]
        return f"shoal.study({', '.join(parts)})"
    parts = [f"shoal study {document['study']} -o studies/"]
    parts += [f"--seeds {other}"] if other else []
    parts += ["--stand-in"] if document["stand_in"] else []
    parts += ["--data FILE -s schema.toml"] if own else []
    return " ".join(parts)


def _foot(made: Document) -> str:
    told = [f"Shoal {made['version']}"] if "version" in made else []
    told += [f"code `{made['code'][:12]}`"] if "code" in made else []
    told += [f"{made['seconds']:,.1f} seconds"] if "seconds" in made else []
    return ", ".join(told) + "." if told else ""
