"""The architecture, read from the source: floors, cycles, sizes, names, documentation."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
from dataclasses import MISSING, fields, replace
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from shoal import testing
from shoal.attacks import get_attack_needs, load_attacks
from shoal.core.axis import Axis
from shoal.core.tally import Cut, Tally
from shoal.core.theory.adversary_view import ReleaseView, Targets, View
from shoal.measures import measures
from shoal.methods import guarantees_rule, load_methods
from shoal.models import _verifiers, registry, rule

ROOT = Path(__file__).parent.parent
HOUSE = ROOT / "src" / "shoal"
THEORY = ROOT / "docs" / "theory"

RENDERING = {"reports.charts", "reports.document", "reports.format", "reports.pages"}
"""Plain numbers in, a page out: they know nothing of tables, and any floor above may call them."""
FLOORS = (
    {"kernels"},
    {"core"},
    {"attacks", "dp", "measures", "methods", "models"},
    {"engines", "data.bundled", *RENDERING},
    {"releases"},
    {"adversary"},
    {"forecasts", "ledger"},
    {"verbs"},
    {"data", "reports"},
    {"pool"},
    {"studies"},
    {"cli", "web"},
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
ABOVE_THE_VERBS = FLOOR["verbs"]
ONLY = {
    "cli": {"core.interruption", "data.bundled", "shoal"},
    "data.bundled": {"core.errors"},
    **{room: {*RENDERING, "core.atomic_file", "core.errors"} for room in RENDERING},
    "testing": {"core", "models"},
    "web": {"data.bundled", "shoal"},
}
"""What these may import beside themselves; `shoal` stands for the package's own front."""

FORBIDDEN = {"utils", "util", "helpers", "misc", "base", "manager", "internals", "common"}


@cache
def parsed_text(text: str) -> ast.Module:
    return ast.parse(text)


def parsed(path: Path) -> ast.Module:
    return parsed_text(path.read_text(encoding="utf-8"))


# Imports


def modules(house: Path) -> dict[str, Path]:
    """Every module of the house by its dotted name without `shoal.`; the front is ''."""
    found = {}
    for path in house.rglob("*.py"):
        parts = path.relative_to(house).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(name: str, path: Path, known: set[str]) -> set[str]:
    """The modules of the house that a module imports, wherever in its text."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            dotted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                above = ["shoal", *package.split(".")] if package else ["shoal"]
                source = ".".join([*above[: len(above) - node.level + 1], *filter(None, [source])])
            dotted = [f"{source}.{alias.name}" for alias in node.names]
        else:
            continue
        for one in dotted:
            first, *rest = one.split(".")
            if first == "shoal":
                while rest and ".".join(rest) not in known:
                    rest.pop()  # the last word is a name inside the module
                found.add(".".join(rest))
    return found - {name}


def graph(house: Path) -> dict[str, set[str]]:
    found = modules(house)
    return {name: imported(name, path, set(found)) for name, path in found.items()}


def room_of(module: str) -> str:
    """The room that a module stands in: the longest that its name begins with."""
    parts = module.split(".")
    rooms = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((room for room in rooms if room in FLOOR or room in ONLY), parts[0])


def is_allowed(name: str, other: str) -> bool:
    room, target = room_of(name), room_of(other)
    if room == target:
        return True
    if room in ONLY:
        return (other or "shoal") in ONLY[room] or target in ONLY[room]
    if not other:  # the front of the package is for those above the verbs
        return FLOOR[room] > ABOVE_THE_VERBS
    return target in FLOOR and FLOOR[target] < FLOOR[room]


def broken(house: Path) -> list[str]:
    """Every import that reaches up or sideways, and every room that stands on no floor."""
    found = []
    for name, others in graph(house).items():
        room = room_of(name)
        if room and room not in FLOOR and room not in ONLY:
            found.append(f"{room} stands on no floor")
            continue
        found += [
            f"{name or 'shoal'} imports {other or 'shoal'}"
            for other in sorted(others)
            if name and not is_allowed(name, other)
        ]
    return found


def cycle(house: Path) -> list[str]:
    try:
        TopologicalSorter(graph(house)).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_a_room_imports_only_from_floors_below():
    assert broken(HOUSE) == []


def test_there_are_no_import_cycles():
    assert cycle(HOUSE) == []


BAD = {
    "up": ("models/a.py", "from shoal.engines.open_table import open", "models.a imports engines"),
    "sideways": ("models/a.py", "import shoal.methods", "models.a imports methods"),
    "relative": ("methods/a.py", "from ..models import registry", "methods.a imports models"),
    "relative package": ("dp/a.py", "from .. import measures", "dp.a imports measures"),
    "late": ("models/a.py", "def f():\n    from shoal import verbs", "models.a imports verbs"),
    "noun": ("core/a.py", "from shoal.models import rule", "core.a imports models"),
    "door": ("cli/a.py", "from shoal.verbs import audit", "cli.a imports verbs"),
    "front": ("measures/a.py", "from shoal import KAnonymity", "measures.a imports shoal"),
    "page": (
        "reports/pages/a.py",
        "from shoal.core.tally import Tally",
        "reports.pages.a imports core.tally",
    ),
    "no floor": ("extras/a.py", "import math", "extras stands on no floor"),
}


@pytest.mark.parametrize("case", BAD)
def test_the_check_can_fail(tmp_path, case):
    for room in ("core", "engines", "measures", "methods", "models", "verbs"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text("")
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "core" / "tally.py").write_text("")
    assert broken(tmp_path) == []
    file, text, expected = BAD[case]
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text)
    assert broken(tmp_path) == [expected]


def test_the_check_for_cycles_can_fail(tmp_path):
    (tmp_path / "axis.py").write_text("from shoal.tally import Tally")
    (tmp_path / "tally.py").write_text("")
    assert cycle(tmp_path) == []
    (tmp_path / "tally.py").write_text("def late():\n    from . import axis")
    assert set(cycle(tmp_path)) == {"axis", "tally"}


# Sizes, names, docstrings

SOURCES = sorted(HOUSE.rglob("*.py"))


def definitions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    tree = parsed(path)
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def public(tree: ast.Module | ast.ClassDef) -> list[ast.AST]:
    """Public functions and classes, and the public methods of those classes."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            found.append(node)
            found += public(node) if isinstance(node, ast.ClassDef) else []
    return found


MANY = {"attacks", "cli", "docs", "methods", "models", "verbs"}
"""Rooms of one file per member, which may have as many as there are."""


def test_no_folder_is_too_full_to_find_a_file_in():
    folders = {path.parent for path in SOURCES} - {HOUSE / room for room in MANY}
    full = {folder: len([*folder.glob("[!_]*.py")]) for folder in folders}
    own = HOUSE / "studies"  # a package of its own
    assert {f: n for f, n in full.items() if n > 20 and not f.is_relative_to(own)} == {}


def test_the_formatter_lays_out_every_line():
    # Written in pieces, so that this file is not its own finding.
    mark = "# fmt: " + "skip"
    others = [
        path for folder in ("tests", "bench", "docs") for path in (ROOT / folder).rglob("*.py")
    ]
    marked = [path for path in (*SOURCES, *others) if mark in path.read_text(encoding="utf-8")]
    assert marked == []


def test_no_module_has_a_name_that_says_nothing():
    names = {part.strip("_") for path in SOURCES for part in path.relative_to(HOUSE).parts}
    assert {name.removesuffix(".py") for name in names} & FORBIDDEN == set()


def test_modules_and_public_names_have_docstrings():
    missing = []
    for path in SOURCES:
        tree = parsed(path)
        bare = [node for node in public(tree) if not ast.get_docstring(node)]
        missing += [f"{path.relative_to(HOUSE)}: {node.name}" for node in bare]
        if not ast.get_docstring(tree):
            missing.append(str(path.relative_to(HOUSE)))
    assert missing == []


def test_the_public_names_are_sorted_and_importable():
    assert shoal.__all__ == sorted(set(shoal.__all__))
    assert [name for name in shoal.__all__ if getattr(shoal, name, None) is None] == []


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git repository")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_names_a_registry_or_a_machine():
    # Written in pieces, so that this file is not its own finding.
    hosts = "|".join(("pypi" + r"\.org", "python" + "hosted", "npm" + r"js\.", r"deb\.deb" + "ian"))
    paths = r"(?<![\w.])/(?:work|farm|root|home|Users)/" + r"\w"
    wanted = re.compile(f"{hosts}|{paths}", re.IGNORECASE)
    assert wanted.search("see https://" + "pypi" + ".org")
    found = []
    for path in tracked():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        lines = enumerate(text.splitlines(), 1)
        found += [f"{path.relative_to(ROOT)}:{n}" for n, line in lines if wanted.search(line)]
    assert found == []


# One file per extension

PARAMETERS = {
    "alpha": 0.5,
    "beta": 1,
    "c": 2,
    "delta": 1.5,
    "high": 0.6,
    "k": 4,
    "l": 2,
    "low": 0.1,
    "t": 0.25,
}
CROWD = rule("k-anonymity k=3 & distinct-diversity l=2")
SPECIAL = {
    "ck-safety": {"c": 0.8, "k": 1},
    "m-invariance": {"m": 2},
    "m-privacy": {"m": 1, "rule": CROWD},
}
"""Parameters that mean something else in one model than in the others."""
OWN_RULE: dict[str, dict[str, Any]] = {
    "invariant": {"model": rule("m-invariance m=2"), "hold_back": 10_000}
}
"""Methods that are made for one rule, and what they are checked with instead."""
ROOT_MEASURES = {"suppressed": 0.0}
"""What one class of everybody gives, where it is not 1."""
ROOMS = {"models": registry, "methods": load_methods, "attacks": load_attacks, "measures": measures}


def members() -> list[tuple[str, str]]:
    return [(room, name) for room, found in ROOMS.items() for name in sorted(found())]


def view(releases: int = 1, **changes: Any) -> View:
    """A small table, published so many times; its people are the targets."""
    tally, cut = testing.sample(1)
    quasi, sensitive = map(plainly, tally.quasi), plainly(tally.sensitive[0])
    entry = np.repeat(cut.entry, cut.count)
    class_, keys = np.repeat(cut.class_, cut.count), tally.keys[:, entry]
    values = tally.values[0][entry]
    assert tally.provider is not None
    assert tally.providers is not None
    who = tally.providers[entry]
    one = ReleaseView("table", cut.cells, class_, values, values[np.newaxis], class_, providers=who)
    people = Targets(keys, np.arange(1, len(entry) + 1), values)
    seen = View(tuple(quasi), (one,) * releases, sensitive, ("sensitive",), people, whole)
    return replace(seen, **{"providers": plainly(tally.provider), **changes})


def plainly(axis: Axis) -> Axis:
    """The axis with leaves that no sentence contains by accident."""
    leaves = tuple(f"{axis.name}-{leaf}" for leaf in axis.leaves)
    return replace(axis, leaves=leaves, levels=())


def whole(tally: Tally) -> Cut:
    """How the table was made: a class is cut no further."""
    entry = np.arange(tally.entries, dtype=np.int32)
    return Cut.of(tally, entry, np.zeros_like(entry))


def grown() -> View:
    """The same table, published before half of its people came, and after."""
    seen = view(2)
    one, later = seen.releases
    assert one.values is not None
    assert one.shared is not None
    early = replace(
        one,
        class_=one.class_[::2],
        values=one.values[::2],
        shared=one.shared[:, ::2],
        providers=None,
    )
    return replace(seen, releases=(early, later))


VIEWS = {
    "backward": (grown(), view(1)),
    "background": (view(), view(sensitive=None)),
    "coalition": (view(), view(providers=None)),
    "complementary": (view(2), view(1)),
    "cross": (view(2), view(1)),
    "forward": (view(2), view(1)),
    "homogeneity": (view(), view(sensitive=None)),
    "intersection": (view(2), view(1)),
    "linking": (view(), view(people=None)),
    "minimality": (view(), view(method=None)),
    "order": (view(2), view(1)),
    "skewness": (view(), view(sensitive=None)),
    "temporal": (view(2), view(1)),
    "worst-pair": (view(2), view(1)),
}
"""For each attack what it can see something in, and what it cannot run on."""


@pytest.mark.parametrize(("room", "name"), members())
def test_a_member_is_the_file_of_its_name_and_has_a_page(room, name):
    module = importlib.import_module(f"shoal.{room}.{name.replace('-', '_')}")
    assert ROOMS[room]()[name].__module__ == module.__name__
    page = THEORY / f"{name}.md"
    assert page.is_file(), f"docs/theory/{name}.md is missing"
    assert f"theory/{name}.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("room", ROOMS)
def test_every_file_of_a_room_is_a_member_or_shared(room):
    stems = {path.stem for path in (HOUSE / room).glob("*.py")}
    files = {stem for stem in stems if stem == "__init__" or not stem.startswith("_")}
    assert files - {"__init__"} == {name.replace("-", "_") for name in ROOMS[room]()}


def test_no_method_imports_a_method():
    own = {f"methods.{name.replace('-', '_')}" for name in load_methods()}
    found = graph(HOUSE)
    assert {name: found[name] & own for name in own if found[name] & own} == {}


def test_every_verifier_is_the_function_of_its_name():
    functions = {
        name.removeprefix("verify_").replace("_", "-"): member
        for name, member in vars(_verifiers).items()
        if name.startswith("verify_")
    }
    assert _verifiers.verifiers() == functions


@pytest.mark.parametrize("name", sorted(registry()))
def test_models_keep_their_contract(name):
    kind = registry()[name]
    needed = [field.name for field in fields(kind) if field.default is MISSING]
    chosen = PARAMETERS | SPECIAL.get(name, {})
    testing.check_model(kind(**{one: chosen[one] for one in needed}), seeds=range(2))


@pytest.mark.parametrize("name", sorted(load_methods()))
def test_methods_keep_their_contract(name):
    how: dict[str, Any] = {"seeds": range(2), "promises": guarantees_rule(name)}
    if name in OWN_RULE:
        testing.check_method(load_methods()[name], **how, **OWN_RULE[name])
        return
    testing.check_method(load_methods()[name], **how)
    testing.check_method(load_methods()[name], registry()["m-privacy"](1, CROWD), **how)


@pytest.mark.parametrize("name", sorted(measures()))
def test_measures_keep_their_contract(name):
    testing.check_measure(measures()[name], root=ROOT_MEASURES.get(name, 1.0), seeds=range(2))


@pytest.mark.parametrize("name", sorted(load_attacks()))
def test_attacks_keep_their_contract(name):
    testing.check_attack(load_attacks()[name], *VIEWS[name], ordered=name == "order")


@pytest.mark.parametrize("name", sorted(load_attacks()))
def test_attacks_say_what_they_need(name):
    """Where a need is stated, an attack without it raises; the flow asks for it beforehand."""
    wanted = get_attack_needs(name)
    assert 1 <= wanted.releases <= (wanted.max_releases or wanted.releases)
    lacking = [
        ("people", wanted.people),
        ("method", wanted.method),
        ("providers", wanted.provider),
    ]
    for part, needed in lacking:
        if needed:
            with pytest.raises(shoal.ShoalError):
                load_attacks()[name](view(wanted.releases, **{part: None}))
    if wanted.sensitive:
        with pytest.raises(shoal.ShoalError):
            load_attacks()[name](view(wanted.releases, sensitive=None))
    if wanted.releases > 1:
        with pytest.raises(shoal.ShoalError):
            load_attacks()[name](view(1))
