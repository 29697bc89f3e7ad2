"""Writes docs/papers/: what the papers claim, checked, a page for each paper, and the charts.

Everything is made from ``docs/papers/results/NAME.json``, which are the studies' own results;
``python docs/papers.py --from studies/`` takes them from the folder of a run first.
"""

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import shoal
from shoal.reports.charts.theme import draw_svg
from shoal.reports.charts.theme import tabulate_chart as behind
from shoal.studies import PAPERS
from shoal.studies.outcome import EDITION
from shoal.studies.pages.claim_summary import (
    BESIDE,
    DECIDED,
    HEADS,
    SPREAD,
    TRACED,
    describe_claim,
    list_comparison_warnings,
    select_claims,
    select_findings,
    trace_numbers,
)
from shoal.studies.pages.words import (
    VERDICTS,
    count_verdicts,
    end_sentence,
    format_verdict,
    make_unbreakable,
    summarise_verdicts,
)

HERE = Path(__file__).parent / "papers"
RESULTS = "results"
LARGE = 400_000
"""A committed file of results is not larger, if that can be helped."""
Study = Mapping[str, Any]
Claim = Mapping[str, Any]
CLAIMED = ("Claim", "Paper", "Ours", "Verdict", "Why")
FINDING = ("Found", "Ours", "More")


# Taking the results of a run


def take(source: Path, out: Path) -> list[str]:
    """Copy the results of a run that are about the papers. Returns the studies taken."""
    taken = []
    (out / RESULTS).mkdir(parents=True, exist_ok=True)
    for name in shoal.experiments():
        file = source / name / "results.json"
        if not file.is_file():
            continue
        document = json.loads(file.read_text(encoding="utf-8"))
        if why := unfit(document):
            print(f"{name} is left: {why}", file=sys.stderr)
            continue
        write(out / RESULTS / f"{name}.json", fitting(document))
        taken.append(name)
    return taken


def unfit(document: Study) -> str:
    """Why results say nothing about the paper; nothing where they do."""
    if document.get("edition") != EDITION:
        return "it is of another edition"
    if document["stand_in"]:
        return "its people are made up"
    if any(one["name"] == "own" for one in document["data"]):
        return "it is of a table of one's own"
    declared = dict(shoal.experiments()[document["study"]][1].settings)
    if document["settings"] != json.loads(json.dumps(declared)):
        return "its settings are not the study's own"
    return ""


def fitting(document: dict[str, Any]) -> str:
    """The JSON, a row a line; where that is too large, without what nothing is made from."""
    text = written(document)
    if len(text.encode()) <= LARGE:
        return text
    rows = document["rows"]
    left: list[str] = []
    made = remade(document, rows)
    for name in columns(rows):
        fewer = [{key: value for key, value in row.items() if key != name} for row in rows]
        if made == remade(document, fewer):
            rows, left = fewer, [*left, name]
    return written({**document, "left_out": left, "rows": rows})


def columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of all columns."""
    return list(dict.fromkeys(name for row in rows for name in row))


def remade(document: Study, rows: Sequence[Mapping[str, Any]]) -> tuple[Any, ...] | None:
    """The claims and the charts, or nothing where they cannot be made from these rows."""
    try:
        said = shoal.experiments()[document["study"]][1].claims(rows)
        return [claim.to_json() for claim in said], charts(document, rows)
    except (LookupError, TypeError, ValueError, ArithmeticError, shoal.ShoalError):
        return None


def written(document: Study) -> str:
    """JSON with a row a line, so that two versions can be compared."""
    rest = {key: value for key, value in document.items() if key != "rows"}
    head = json.dumps(rest, ensure_ascii=False, indent=1)
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in document["rows"])
    return f'{head[:-2]},\n "rows": [\n{rows}\n]\n}}'


def write(path: Path, text: str) -> None:
    """Text with a line's end at its end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


# Reading them


def read(folder: Path) -> list[Study]:
    """The studies of which there are results, in the studies' own order."""
    files = {file.stem: file for file in folder.glob("*.json")}
    if unknown := sorted(set(files) - set(shoal.experiments())):
        raise SystemExit(f"There is no study {unknown[0]!r}: remove its results.")
    return [
        json.loads(files[name].read_text(encoding="utf-8"))
        for name in shoal.experiments()
        if name in files
    ]


def charts(document: Study, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The study's charts, drawn from rows."""
    return dict(shoal.experiments()[document["study"]][1].charts(rows))


def room(name: str) -> str:
    """The paper's page: that of a study's name.

    >>> room("m-privacy-figure-6")
    'm-privacy'
    """
    return next(one for one in rooms() if name.startswith(f"{one}-"))


def rooms() -> list[str]:
    """The papers by the names of their pages."""
    return [one.replace("_", "-") for one in PAPERS]


# Writing


def plain(text: str) -> str:
    """Text inside a table of Markdown, in which `backticks` still set code.

    >>> plain("T*a | `a_b`")
    'T\\\\*a \\\\| `a_b`'
    """
    parts = " ".join(text.split()).split("`")
    if len(parts) % 2 == 0:  # no pairs: nothing is code
        return "\\`".join(map(_escaped, parts))
    return "`".join(
        part.replace("|", "\\|") if i % 2 else _escaped(part) for i, part in enumerate(parts)
    )


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_<>|\[\]])", r"\\\1", text)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def row(claim: Claim, link: str = "") -> list[str]:
    """A claim's, or what was found beside the paper: without a paper's figure and a verdict."""
    one = describe_claim(claim)
    says = f"[{plain(one.says)}]({link})" if link else plain(one.says)
    ours = "<br>".join(f"{number} ({plain(note)})" if note else number for number, note in one.ours)
    judged = [f"**{make_unbreakable(one.verdict)}**"] if one.verdict else []
    theirs = [plain(one.theirs)] if one.verdict else []
    return [says, *theirs, ours, *judged, plain(one.why)]


def index(studies: Sequence[Study]) -> str:
    """The summary: every claim of every paper, and apart what was found beside them."""
    parts = ["# What the papers claim, checked\n"]
    by_paper = {
        name: [one for one in studies if room(one["study"]) == name and one["claims"]]
        for name in rooms()
    }
    some = {name: of for name, of in by_paper.items() if of}
    parts += _in_short(some) if some else ["No study's results are here yet.\n"]
    for name, of in some.items():
        cited = of[0]["paper"]
        parts += [
            f"## {cited['short']}\n",
            f"{plain(end_sentence(cited['cited']))}\n",
            f"{summarise_verdicts(select_claims(claims(of)))}\n",
            *_linked(name, of),
        ]
    return "\n".join(parts)


def _linked(name: str, studies: Sequence[Study]) -> list[str]:
    """A paper's claims and findings, each leading to its study and to its rows."""
    parts = []
    for pick, heads in ((select_claims, CLAIMED), (select_findings, FINDING)):
        rows = [
            [*row(claim, f"{name}.md#{one['study']}"), f"[JSON]({RESULTS}/{one['study']}.json)"]
            for one in studies
            for claim in pick(one["claims"])
        ]
        parts += [f"### {BESIDE}\n"] if rows and pick is select_findings else []
        parts += [table((*heads, "Rows"), rows)] if rows else []
    return parts


def claims(studies: Sequence[Study]) -> list[Claim]:
    """All claims of some studies, and what was found beside them."""
    return [claim for one in studies for claim in one["claims"]]


def _in_short(papers: Mapping[str, Sequence[Study]]) -> list[str]:
    every = {name: select_claims(claims(of)) for name, of in papers.items()}
    all_of = [one for of in papers.values() for one in of]
    rows = [
        [
            f"[{of[0]['paper']['short']}]({name}.md)",
            str(len(every[name])),
            *(str(count_verdicts(every[name]).get(word, 0)) for word in VERDICTS),
        ]
        for name, of in papers.items()
    ]
    return [
        f"{summarise_verdicts([claim for some in every.values() for claim in some])}\n",
        table(("Paper", "Claims", *map(format_verdict, VERDICTS)), rows),
        *(f"**{head}.** {said}\n" for head, said in list_comparison_warnings(all_of)),
        f"Made by `shoal study --all -o studies/` on the papers' data. {DECIDED} *Corrected*: the "
        "paper prints a mistake, and ours is the right figure. A claim leads to its study, which "
        f"says of which rows each number is the mean, and where they are. {SPREAD}\n",
    ]


def paper(name: str, studies: Sequence[Study]) -> str:
    """A paper's page: every study of which there are results."""
    declared = import_module(f"shoal.studies.{name.replace('-', '_')}").PAPER
    parts = [f"# {declared.short}\n", f"{plain(end_sentence(declared.cited))}\n"]
    for one in studies:
        parts += _study(one)
    return "\n".join(parts if studies else [*parts, "No study's results are here yet.\n"])


def _study(one: Study) -> list[str]:
    name = one["study"]
    drawn = [
        part
        for chart, spec in charts(one, one["rows"]).items()
        for part in _drawn(f"{name}-{chart}", spec)
    ]
    data = [f"On {part['told']}, {part['rows']:,} rows." for part in one["data"]]
    return [
        f"## {name}\n",
        f"{plain(end_sentence(one['shows']))}\n",
        *drawn,
        *_said(select_claims(one["claims"]), CLAIMED),
        *_beside(one),
        *(f"* {plain(note)}\n" for note in (*data, *one["notes"])),
        f"Everything that was measured: [{name}.json]({RESULTS}/{name}.json). Run it again:\n",
        f"```text\nshoal study {name} -o studies/\n```\n",
    ]


def _drawn(file: str, spec: Mapping[str, Any]) -> list[str]:
    """The picture; one of a printed table is followed by the table, for those who cannot see it."""
    shown = [f"![{plain(spec['description'])}](images/{file}.svg)\n"]
    if not spec.get("usermeta", {}).get("printed"):
        return shown
    heads, rows = behind(dict(spec))
    cells = [[plain(str(part)) for part in row] for row in rows]
    return [*shown, table([plain(head) or "\N{NO-BREAK SPACE}" for head in heads], cells)]


def _beside(one: Study) -> list[str]:
    some = _said(select_findings(one["claims"]), FINDING)
    return [f"### {BESIDE}\n", *some] if some else []


def _said(some: Sequence[Claim], heads: Sequence[str]) -> list[str]:
    """Claims, and of which rows every number of theirs is the mean."""
    if not some:
        return []
    rows = [
        [str(i), number, f"`{of}`", plain(over), f"{count:,}"]
        for i, number, of, over, count in trace_numbers(some)
    ]
    numbered = [[str(i), *row(claim)] for i, claim in enumerate(some, 1)]
    said = [table(("No.", *heads), numbered)]
    return [*said, f"{TRACED}:\n", table(HEADS, rows)] if rows else said


def main(out: Path = HERE, source: Path | None = None) -> None:
    """Write the pages and the charts."""
    if source is not None:
        print(f"{len(take(source, out))} studies' results taken")
    studies = read(out / RESULTS)
    write(out / "index.md", index(studies))
    for name in rooms():
        write(out / f"{name}.md", paper(name, [s for s in studies if room(s["study"]) == name]))
    for one in studies:
        for chart, spec in charts(one, one["rows"]).items():
            write(out / "images" / f"{one['study']}-{chart}.svg", draw_svg(spec, adaptive=False))


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--from", dest="source", type=Path, help="the folder of a run")
    main(source=asked.parse_args().source)
