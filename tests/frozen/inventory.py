"""Everything that Shoal has by name, collected from the running program.

``inventory.toml`` is what it had when it was frozen: a section a kind, a name a line. Where a name
went, its line says: ``now = "NAME"`` names what is in its place in the same section,
``now = "SECTION: NAME"`` elsewhere. ``python -m tests.frozen.inventory`` adds names that are new.
"""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import click
from tests.frozen.program import ROOT, command_tree

import shoal

FILE = Path(__file__).parent / "inventory.toml"
KEYS = Path(__file__).parent / "recordings" / "keys.json"
NOTHING = "nothing-of-that-name"

Inventory = dict[str, list[str]]


def collect() -> Inventory:
    """Every name by its kind, sorted."""
    commands = dict(_commands(command_tree(), "shoal", None))
    found: dict[str, Any] = {
        "verbs": commands,
        "options": [name for one in commands for name in _options(commands[one], one)],
        "public names": shoal.__all__,
        "members of public classes": _members(),
        "parameters of public functions": _parameters(),
        "exit codes": _exit_codes(),
        "models": _known(lambda: shoal.rule(f"{NOTHING} x=1")),
        "parameters of models": _model_parameters(),
        "methods": _known(_publish(method=NOTHING)),
        "measures to minimise": _known(_publish(method="full-domain", measure=NOTHING)),
        "forms": _known(_publish(form=NOTHING)),
        "attacks": _known(lambda: shoal.attack(NOTHING, [_table()], schema=_schema())),
        "verifiers": _verifiers(),
        "studies": shoal.experiments(),
        "bundled tables": shoal.bundled.names(),
        "data sets": [str(one["name"]) for one in shoal.datasets()],
        "theory pages": _pages("theory"),
        "how-to pages": _pages("how-to"),
        "documents": _keys(),
        "JSON keys": {path.split(".")[-1] for paths in _keys().values() for path in paths} - {"*"},
    }
    return {kind: sorted({*map(str, names)}) for kind, names in found.items()}


def _commands(
    command: click.Command, path: str, parent: click.Context | None
) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(command, info_name=path.rpartition(" ")[2], parent=parent)
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from _commands(below, f"{path} {name}", context)


def _options(command: click.Command, path: str) -> Iterator[str]:
    """Every spelling of an option, its choices, and the arguments."""
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            yield f"{path} {parameter.make_metavar(click.Context(command))}"
            continue
        for spelling in (*parameter.opts, *parameter.secondary_opts):
            yield f"{path} {spelling}"
            if isinstance(parameter.type, click.Choice) and spelling.startswith("--"):
                yield from (f"{path} {spelling} {choice}" for choice in parameter.type.choices)


def _public(kind: Callable[[Any], bool]) -> dict[str, Any]:
    things = {name: getattr(shoal, name) for name in shoal.__all__}
    return {name: thing for name, thing in things.items() if kind(thing)}


def _members() -> Iterator[str]:
    for name, thing in _public(inspect.isclass).items():
        own = {key for key in vars(thing) if not key.startswith("_")}
        if is_dataclass(thing):
            own |= {field.name for field in fields(thing) if not field.name.startswith("_")}
        yield from (f"{name}.{member}" for member in own)


def _parameters() -> Iterator[str]:
    for name, function in _public(inspect.isfunction).items():
        yield from (f"{name}({given})" for given in inspect.signature(function).parameters)


def _model_parameters() -> Iterator[str]:
    for thing in _public(inspect.isclass).values():
        if issubclass(thing, shoal.Rule) and thing is not shoal.Rule:
            yield from (f"{thing.name()} {field.name}" for field in fields(thing))


def _exit_codes() -> Iterator[str]:
    """Those of errors, and those that the help explains."""
    for name, thing in _public(inspect.isclass).items():
        if issubclass(thing, shoal.ShoalError):
            yield f"{name} {thing.exit_code}"
    told = (command_tree().epilog or "").partition("Exit codes:")[2]
    yield from re.findall(r"\d+ [a-zA-Z -]+", " ".join(told.split()))


def _known(call: Callable[[], Any]) -> list[str]:
    """The names that an error lists."""
    try:
        call()
    except shoal.UsageError as error:
        return re.findall(r"[a-z][a-z-]*", error.hint.partition(": ")[2])
    raise AssertionError(f"{NOTHING} was taken")


def _publish(**settings: str) -> Callable[[], Any]:
    return lambda: shoal.publish(_table(), _schema(), "k-anonymity k=2", dry_run=True, **settings)


def _verifiers() -> list[str]:
    table = shoal.bundled.path("mprivacy_table1_ta.csv")
    schema = shoal.Schema.of(
        provider="Provider", identifier=["Name"], quasi=["Age", "Zip"], sensitive="Disease"
    )
    return _known(lambda: shoal.m_privacy(table, schema, "k-anonymity k=2", 1, verifier=NOTHING))


def _table() -> Path:
    return shoal.bundled.path("st_anna.csv")


def _schema() -> shoal.Schema:
    return shoal.Schema.of(
        identifier=["patient", "name", "admitted"],
        quasi=["age", "sex", "zip"],
        sensitive="diagnosis",
    )


def _pages(folder: str) -> list[str]:
    return [page.stem for page in (ROOT / "docs" / folder).glob("*.md")]


def _keys() -> dict[str, list[str]]:
    """The keys of the documents that were recorded."""
    kept: dict[str, list[str]] = json.loads(KEYS.read_text(encoding="utf-8"))
    return {kind: [path.removesuffix("[]") for path in paths] for kind, paths in kept.items()}


# The file


def read() -> dict[str, dict[str, dict[str, str]]]:
    """The frozen inventory: sections of names, each with where it went."""
    if not FILE.is_file():
        return {}
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def compare(frozen: dict[str, dict[str, dict[str, str]]], collected: Inventory) -> list[str]:
    """What the file and the program do not agree on, a line each."""
    found = {kind: set(names) for kind, names in collected.items()}
    covered: dict[str, set[str]] = {kind: set() for kind in found}
    lines = []
    for kind, entries in frozen.items():
        for name, entry in entries.items():
            now = entry.get("now", name)
            place, _, rest = now.rpartition(": ")
            where, what = (place, rest) if place in found else (kind, now)
            if what in found.get(where, ()):
                covered[where].add(what)
            else:
                lines.append(f"{kind}: {name} is gone" + (f", nor is there {now}" * (now != name)))
    for kind, names in found.items():
        lines += [f"{kind}: {name} is new" for name in sorted(names - covered[kind])]
    return lines


def write(collected: Inventory) -> None:
    """Add what is new to the file: no name ever leaves it."""
    frozen = read()
    lines = [
        '# Everything by name. Where a name went, its line says: { now = "NAME" }, or',
        '# { now = "SECTION: NAME" }. New names are added by: python -m tests.frozen.inventory',
    ]
    for kind, names in collected.items():
        kept = frozen.get(kind, {})
        places = {entry.get("now") for entry in kept.values()}
        lines += ["", f"[{_quoted(kind)}]"]
        for name in sorted({*kept, *(name for name in names if name not in places)}):
            now = kept.get(name, {}).get("now")
            lines.append(f"{_quoted(name)} = {f'{{ now = {_quoted(now)} }}' if now else '{}'}")
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


if __name__ == "__main__":
    present = collect()
    print(*compare(read(), present), sep="\n")
    write(present)
