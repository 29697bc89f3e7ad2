"""The documentation is true: its commands run, and what it quotes is what there is.

Each page starts in an empty folder. Its ``sh`` and ``python`` blocks run in order, so that a later
one may use what an earlier one made; the Python blocks of a page share their names.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner
from tests import hanging

import shoal
from shoal.attacks import load_attacks
from shoal.cli.main import main as command
from shoal.core.column import ROLES
from shoal.measures import measures
from shoal.methods import load_methods
from shoal.models import registry

ROOT = Path(__file__).resolve().parent.parent
CLAIMS = ROOT / "docs/papers/index.md"
AUDIT = ROOT / "docs/how-to/audit.md"
MADE = (ROOT / "docs/papers", ROOT / "docs/reference")
"""What else lies in these folders `make docs` writes: a fresh clone has none of it."""
WRITTEN = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent not in MADE]
PAGES = [ROOT / "README.md", CLAIMS, *WRITTEN]
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
THEORY = sorted(set((ROOT / "docs/theory").glob("*.md")) - {ROOT / "docs/theory/index.md"})
CITED = re.compile(r"(?<!\*)\*(?!\*)[^*\n]*[A-Z][^*\n]*\b(?:19|20)\d\d\b[^*\n]*\*(?!\*)")
"""A citation: in italics, on one line, with a name and a year."""


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def script(name: str) -> ModuleType:
    """One of the scripts beside the pages; they find each other as when they are started."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(ROOT / "docs"))


def blocks(page: Path) -> list[tuple[str, str]]:
    """The page's runnable blocks in order, neighbours in Python as one."""
    found: list[tuple[str, str]] = []
    for language, code in BLOCK.findall(text_of(page)):
        if language == "python" and found and found[-1][0] == "python":
            found[-1] = ("python", found[-1][1] + "\n" + code)
        elif language in ("sh", "python"):
            found.append((language, code))
    return found


def run(language: str, code: str, folder: Path, environment: dict[str, str]) -> str:
    starts = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": ["python-block"]}
    line = [*starts[language], code]
    done = subprocess.run(
        line,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=hanging.SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    return done.stdout


TAKING_LONG = {
    f"docs/how-to/{name}.md"
    for name in (
        "attack",
        "ci",
        "composition",
        "forecast",
        "hospital",
        "ledger",
        "m-privacy",
        "pool",
        "report",
        "researcher",
        "second-release",
        "statistics-office",
    )
}
"""Pages with the most commands: the readme, the tutorial and the theory are run every time."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.long] * (name_of(page) in TAKING_LONG))
        for page in PAGES
        if blocks(page) and page != AUDIT
    ],
    ids=name_of,
)
def test_every_block_of_the_page_runs(page, tmp_path, quick_command_line):
    ran = [run(language, code, tmp_path, quick_command_line) for language, code in blocks(page)]
    assert len(ran) == len(blocks(page))


FAILING = {
    "sh": ["false | cat\ntrue", "shoal verify nothing/"],
    "python": [
        "assert False",
        "shoal.rule('k-anonymity k=2')",  # loaded, but not by the page
        "import warnings; warnings.warn('old')",
        "raise SystemExit('refused')",
        "import nothing_of_that_name",
    ],
}


@pytest.mark.parametrize("started", ["command_line", "quick_command_line"])
def test_a_block_that_fails_is_noticed(tmp_path, started, request):
    environment = request.getfixturevalue(started)
    for language, codes in FAILING.items():
        for code in codes:
            with pytest.raises(AssertionError):
                run(language, code, tmp_path, environment)


def test_a_block_runs_as_if_it_were_started(tmp_path, command_line, quick_command_line):
    (tmp_path / "beside.py").write_text("name = __name__\n", encoding="utf-8")
    code = """
import os, sys, beside
print(os.getcwd(), __name__, beside.name, sys.argv, sys.warnoptions, sorted(globals()))
class Own: pass
print(Own.__module__, sys.modules["__main__"].Own is Own, os.environ.get("PYTHONUTF8"))
"""
    told = [run("python", code, tmp_path, one) for one in (command_line, quick_command_line)]
    assert told[0].replace("'__annotations__', ", "") == told[1]


def test_nothing_warns_when_it_is_loaded(tmp_path, command_line):
    every = "import shoal; print([getattr(shoal, name) for name in shoal.__all__][0])"
    assert run("python", every, tmp_path, command_line)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_its_language(page):
    text = text_of(page)
    opened = re.findall(r"^```(\w*)", text, re.MULTILINE)[::2]
    assert set(opened) <= {"sh", "python", "text", "toml", "json"}
    assert text.count("\n```") % 2 == 0


@pytest.fixture(scope="module")
def generated() -> set[Path]:
    """The pages that `make docs` writes, whether or not it has."""
    scripts = {name: script(name) for name in ("papers", "reference")}
    names = {"papers": scripts["papers"].rooms(), "reference": scripts["reference"].PAGES}
    return {ROOT / f"docs/{folder}/{name}.md" for folder in names for name in names[folder]}


def lost(page: Path, text: str, generated: set[Path]) -> list[str]:
    """The links that lead to no file, and to none that will be there."""
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    inside = {link: (page.parent / link).resolve() for link in links if "://" not in link}
    return [link for link, to in inside.items() if to not in generated and not to.is_file()]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page, generated):
    assert lost(page, text_of(page), generated) == []


def test_a_link_that_leads_nowhere_is_noticed(generated):
    good = "[a](ganta.md#ganta-figure-1) [b](../reference/formats.md) [c](../tutorial.md)"
    assert lost(CLAIMS, good, generated) == []
    bad = ["gantt.md", "../reference/format.md", "../ganta.md", "results/none.json", "reference/"]
    assert lost(CLAIMS, "".join(f"[x]({link})" for link in bad), generated) == bad
    assert generated & {page.resolve() for page in PAGES} == set()


def test_the_targets_of_make_exist():
    makefile = text_of(ROOT / "Makefile")
    named = set(re.findall(r"\bmake ([a-z]+)\b(?=\s*(?:#|`|$))", text_of(ROOT / "README.md"), re.M))
    assert {"demo", "test"} <= named
    assert {one for one in named if not re.search(rf"^{one}:", makefile, re.M)} == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_names_and_requirements_that_are_quoted_exist(page):
    text = text_of(page)
    submodules = {"dp", "studies", "testing"}
    names = set(re.findall(r"\bshoal\.([A-Za-z]\w*)\b(?!/|\.csv)", text)) - {"toml"}
    assert names - set(shoal.__all__) - submodules == set()
    models = "|".join(registry())
    for quoted in re.findall(rf'"((?:{models}) [a-z]+=[^"]+)"', text):
        assert shoal.rule(quoted), quoted


def told_by(*line: str) -> str:
    """What `shoal LINE --help` prints."""
    done = CliRunner().invoke(command, [*line, "--help"], prog_name="shoal")
    assert done.exit_code == 0, line
    return done.stdout


def test_verbs_and_options_that_are_quoted_exist():
    top = told_by()
    verbs = set(re.findall(r"^  ([a-z][a-z-]*)  ", top, re.MULTILINE))
    text = "\n".join(text_of(page) for page in PAGES)
    quoted = re.findall(r"(?:^|`)(?:\$ )?shoal ([a-z][a-z-]*)\b([^`\n#]*)", text, re.MULTILINE)
    assert {verb for verb, _ in quoted} <= verbs
    helps = {verb: told_by(verb) for verb in verbs}
    for verb, told in helps.items():
        parts = re.findall(r"^  ([a-z][a-z-]*)  ", told.partition("\nCommands:")[2], re.MULTILINE)
        for part in parts:  # ledger init, pool add, ...
            helps[verb] += told_by(verb, part)
    for verb, rest in quoted:
        options = re.findall(r"(?<![\w-])--[a-z-]+", re.sub(r'"[^"]*"', "", rest))
        assert [one for one in options if one not in helps[verb]] == [], verb
    every = "\n".join([top, *helps.values()])
    assert {one for one in re.findall(r"`(--[a-z-]+)", text) if one not in every} == set()


def test_the_table_of_roles_is_complete():
    rows = re.findall(r"^\| `(\w+)` \|", text_of(ROOT / "docs/how-to/schema.md"), re.MULTILINE)
    assert set(rows) == set(ROLES) - {"undecided"}


@pytest.mark.parametrize("name", sorted(registry()))
def test_a_model_s_page_names_its_parameters(name):
    text = text_of(ROOT / f"docs/theory/{name}.md")
    written = re.findall(rf'"{name}((?: \w+=[^" ]+)+)(?: \([^"]*\))?"', text)
    assert written, "the page does not say how the model is written"
    known = {field.name for field in fields(registry()[name])}
    assert {pair.partition("=")[0] for one in written for pair in one.split()} <= known
    assert "does not protect" in text


# The theory pages


def lacking(text: str) -> set[str]:
    """Which of the four things that every theory page has this one lacks."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    sections = list(zip(parts[1::2], parts[2::2], strict=True))

    def under(*headings: str) -> str:
        return "".join(body for heading, body in sections if heading.startswith(headings))

    found = {
        "definition": len(under("Definition", "How it works")) > 150,
        "citation": CITED.search(text) is not None,
        "what it does not": len(under("What it does not")) > 80,
        "example": re.search(r"^```(?:sh|python)\n", under("Example"), re.MULTILINE) is not None,
    }
    return {name for name, there in found.items() if not there}


@pytest.mark.parametrize("page", THEORY, ids=lambda page: page.stem)
def test_a_theory_page_has_definition_citation_limits_and_an_example(page):
    assert lacking(text_of(page)) == set()


def test_a_theory_page_without_one_of_them_is_noticed():
    text = text_of(ROOT / "docs/theory/k-map.md")
    assert lacking(text.replace("## Definition", "## About")) == {"definition"}
    assert lacking(text.replace("2002", "")) == {"citation"}
    assert lacking(text.partition("## What it does not protect")[0]) == {"what it does not"}
    assert lacking(text.replace("```python", "```text")) == {"example"}


def members() -> list[str]:
    """Every model, method, attack and measure by its name."""
    return [*registry(), *load_methods(), *load_attacks(), "auditing", *measures()]


@pytest.mark.parametrize("name", members())
def test_a_member_of_every_room_has_its_page_and_its_line_in_the_glossary(name):
    assert ROOT / f"docs/theory/{name}.md" in THEORY
    line = re.escape(f"| [{name}](theory/{name}.md) |") + r" [^|]{10,120} \|$"
    assert len(re.findall(line, text_of(ROOT / "docs/glossary.md"), re.MULTILINE)) == 1


def test_the_design_s_words_are_in_the_glossary():
    known = set(re.findall(r"^\| ([^|]+) \|", text_of(ROOT / "docs/glossary.md"), re.MULTILINE))
    words = (
        "table role hierarchy tally cell class cut model method release forecast ledger study "
        "identifier quasi-identifier sensitive provider person keep companion manifest verdict"
    )
    assert {*words.split(), "attack, finding", "held back", "survey weight"} <= known


# Which guarantee should I ask for?


def test_every_guarantee_and_every_attack_is_in_the_decision_guide():
    text = text_of(ROOT / "docs/which-guarantee.md")
    table = text.partition("## What stops what")[2].partition("## The same on a table")[0]
    rows = re.findall(r"^\| \[([a-z-]+)\]\(theory/\1\.md\)(.*) \|$", table, re.MULTILINE)
    assert {name for name, _ in rows} >= set(registry())
    assert {rest.count(" | ") for _, rest in rows} == {7}
    assert {name for name in load_attacks() if f"[{name}](theory/{name}.md)" not in table} == set()
    asked = [quoted.partition(" ")[0] for quoted in re.findall(r'`"([a-z-]+ [^"]+)"`', text)]
    assert set(asked) == set(registry())  # what to type stands beside each


def test_the_pictures_are_as_the_code_draws_them():
    pictures = script("pictures")
    for name, picture in pictures.PICTURES.items():
        stored = text_of(ROOT / f"docs/images/{name}.svg")
        assert pictures.words(stored) == pictures.words(pictures.drawn(picture()))
        assert f"images/{name}.svg" in text_of(ROOT / f"docs/{name}.md")


# What else is quoted


def test_every_block_of_the_page_about_audits_runs_and_its_keys_are_there(
    tmp_path, quick_command_line
):
    for language, code in blocks(AUDIT):
        run(language, code, tmp_path, quick_command_line)
    audit = json.loads(text_of(tmp_path / "audit.json"))
    shown = [code for language, code in BLOCK.findall(text_of(AUDIT)) if language == "json"]
    (example,) = (json.loads(code) for code in shown)
    assert list(audit) == list(example)
    for key in ("edition", "rows", "classes"):
        assert audit[key] == example[key]
    for one in example["reached"]:
        assert one in audit["reached"]
    for key in ("risk", "utility"):
        assert {k: audit[key][k] for k in example[key]} == example[key]


def test_the_changelog_has_this_version():
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    assert project["version"] == shoal.__version__
    assert f"## [{shoal.__version__}]" in text_of(ROOT / "CHANGELOG.md")
