"""The page of a study: a rendering of its JSON, with its charts."""

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
from shoal.studies.pages.claim_summary import BESIDE, SPREAD, select_claims, select_findings
from shoal.studies.pages.rows import describe_measurements
from shoal.studies.pages.tables import make_claims_table, make_findings_table, make_trace_table
from shoal.studies.pages.words import end_sentence, summarise_verdicts

STAND_IN = "Synthetic stand-in, not the paper's data"
RESULTS, ROWS = "results.json", "results.csv"
Document = Mapping[str, Any]


def mark_stand_in(spec: Spec, stand_in: bool) -> Spec:
    """The chart as it is; or without the paper's figures, and with a title that says why.

    Beside made-up people they would look like a result.
    """
    if not stand_in:
        return spec
    spec = remove_printed(spec)
    title = spec.get("title") or []
    lines = [title] if isinstance(title, str) else list(title)
    return {**spec, "title": [f"{STAND_IN}:", *lines]}


def remove_printed(node: Any) -> Any:
    """A specification without the layers of the paper's own figures, which have words ``said``."""
    if isinstance(node, dict):
        return {key: remove_printed(part) for key, part in node.items()}
    if isinstance(node, list):
        return [remove_printed(part) for part in node if not _is_printed(part)]
    return node


def _is_printed(layer: Any) -> bool:
    if not isinstance(layer, dict):
        return False
    values = layer.get("data", {}).get("values", ())
    return bool(values) and all("said" in value for value in values)


def make_study_page(document: Document, charts: Mapping[str, Spec]) -> Page:
    """A study's page, from its JSON and its charts."""
    summary, table = describe_measurements(document["rows"], document.get("parameters"))
    is_stand_in = document["stand_in"]
    cited = end_sentence(document["paper"]["cited"])
    sections = [
        Section(
            "Made-up people" if is_stand_in else "The paper, and ours", *_compare_claims(document)
        ),
        *_findings_section(document["claims"]),
        *_chart_section(charts),
        Section("The numbers", (summary,), (table,) if table.rows else ()),
        *_notes_section(document["notes"]),
        Section("How it was made", (), _origin_blocks(document, charts)),
    ]
    lead = f"{STAND_IN}. {cited}" if is_stand_in else cited
    return Page(document["shows"], tuple(sections), lead=lead, foot=_make_foot(document["made"]))


def _compare_claims(document: Document) -> tuple[tuple[str, ...], tuple[Block, ...]]:
    """What the paper says beside what came out; nothing is compared with made-up people."""
    if document["stand_in"]:
        return (), (_warn_of_stand_in(document),)
    if not document["claims"]:
        return (
            "Nothing is compared with the paper here: that is done on the paper's own data "
            "with the settings of the study.",
        ), ()
    claims = select_claims(document["claims"])
    if not claims:
        return (summarise_verdicts(claims),), ()
    table = make_claims_table(claims, [""] * len(claims))
    notes = (SPREAD,) if len(document["seeds"]) > 1 else ()
    return (summarise_verdicts(claims), *notes), (
        table,
        *make_trace_table(claims, [RESULTS] * len(claims)),
    )


def _findings_section(claims: Sequence[Document]) -> list[Section]:
    findings = select_findings(claims)
    table = make_findings_table(findings, [""] * len(findings))
    return (
        [Section(BESIDE, (), (table, *make_trace_table(findings, [RESULTS] * len(findings))))]
        if findings
        else []
    )


def _warn_of_stand_in(document: Document) -> Callout:
    names = ", ".join(table["told"] for table in document["data"] if table["stand_in"])
    return Callout(
        f"These are not the paper's people: {names}. The numbers show that the study runs; they "
        "say nothing about the paper, and no claim is compared.",
        "warning",
        STAND_IN,
    )


def _chart_section(charts: Mapping[str, Spec]) -> list[Section]:
    """On the page's own ground: white and an edge are for the chart alone in a file."""
    blocks = tuple(
        Chart(
            {key: part for key, part in spec.items() if key not in ("background", "padding")},
            str(spec.get("description", "")),
        )
        for spec in charts.values()
    )
    return [Section("Charts" if len(blocks) > 1 else "Chart", (), blocks)] if blocks else []


def _notes_section(notes: Sequence[str]) -> list[Section]:
    return [Section("Assumed, and not as in the paper", tuple(notes))] if notes else []


def _origin_blocks(document: Document, charts: Mapping[str, Spec]) -> tuple[Block, ...]:
    files = [
        (RESULTS, "everything on this page, for programs"),
        (ROWS, f"the measurements, {len(document['rows']):,} rows"),
        *((f"{name}.svg", "the chart alone") for name in charts),
    ]
    return (
        *_data_table(document["data"]),
        Fields(tuple(_list_settings(document)), "Parameters"),
        Table(("File", "Holds"), tuple((NotedText(name, link=name), what) for name, what in files)),
        Code(
            _command_to_repeat(document),
            "Run it again, in Python" if _find_changed_settings(document) else "Run it again",
        ),
    )


def _data_table(tables: Sequence[Document]) -> tuple[Block, ...]:
    if not tables:
        return ()
    rows = tuple(
        (NotedText(table["told"], f"`{table['sha256']}`" if table["sha256"] else ""), table["rows"])
        for table in tables
    )
    return (Table(("Data, with its SHA-256", "Rows"), rows),)


def _list_settings(document: Document) -> list[Fact]:
    """Every setting, and beside one that is not the study's own which that is."""
    seeds, other = document["seeds"], _find_changed_settings(document)
    own = document.get("usual", {}).get("settings", {})
    drawn = ", ".join(map(str, seeds)) if len(seeds) > 1 else "nothing is drawn at random, or once"
    settings = [
        Fact(
            name.replace("_", " "),
            _format_value(value),
            f"(the study's own: {_format_value(own[name])})" if name in other else "",
        )
        for name, value in document["settings"].items()
    ]
    return [*settings, Fact("seeds", drawn)]


def _find_changed_settings(document: Document) -> dict[str, Any]:
    own = document.get("usual", {}).get("settings", {})
    return {
        name: value
        for name, value in document["settings"].items()
        if name in own and _format_value(value) != _format_value(own[name])
    }


def _format_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_format_value(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_format_value(part) for part in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _command_to_repeat(document: Document) -> str:
    """The line to type; other settings than the study's own are asked for in Python alone."""
    seeds, own = len(document["seeds"]), "own" in {table["name"] for table in document["data"]}
    usual = document.get("usual", {}).get("seeds", 1)
    other = seeds if seeds != usual else None
    if changed := _find_changed_settings(document):
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


def _make_foot(origin: Document) -> str:
    parts = [f"Shoal {origin['version']}"] if "version" in origin else []
    parts += [f"code `{origin['code'][:12]}`"] if "code" in origin else []
    parts += [f"{origin['seconds']:,.1f} seconds"] if "seconds" in origin else []
    return ", ".join(parts) + "." if parts else ""
