"""Writes docs/reference/: public names with their docstrings, every verb's --help, and the formats.

The pages of the schema and of the JSON formats are made by the files beside this one.
"""

import inspect
from pathlib import Path

import click
import reference_formats
import reference_schema

import shoal
from shoal.cli.main import main as command_line

OUT = Path(__file__).parent / "reference"
FENCE = "```"
WIDTH = 100


def fenced(text: str, language: str = "text") -> str:
    """The text as a code block."""
    return f"{FENCE}{language}\n{text.strip()}\n{FENCE}\n"


class Bare(str):
    """An annotation kept as text, shown without quotes."""

    __repr__ = str.__str__


def bare(annotation: object) -> object:
    """The annotation as its author wrote it."""
    return Bare(annotation) if isinstance(annotation, str) else annotation


def signature(name: str, thing: object) -> str:
    """How the name is called; the bare name where it is not."""
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return name
    try:
        found = inspect.signature(thing)
    except ValueError:  # a class made in C, whose parameters Python cannot see
        return name
    shown = [p.replace(annotation=bare(p.annotation)) for p in found.parameters.values()]
    return (
        f"{name}{found.replace(parameters=shown, return_annotation=bare(found.return_annotation))}"
    )


def members(name: str, thing: object) -> str:
    """The public methods and properties that a class itself defines."""
    if not inspect.isclass(thing):
        return ""
    own = ((key, value) for key, value in vars(thing).items() if not key.startswith("_"))
    wanted = (classmethod, staticmethod, property)
    shown = [
        (key, getattr(thing, key))
        for key, value in own
        if inspect.isfunction(value) or isinstance(value, wanted)
    ]
    return "\n".join(
        fenced(f"{signature(f'{name}.{key}', value)}\n\n{inspect.getdoc(value) or ''}")
        for key, value in shown
    )


def entry(name: str) -> str:
    """One public name: its signature, its docstring, its members."""
    thing = getattr(shoal, name)
    described = inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing)
    document = (inspect.getdoc(thing) if described else repr(thing)) or ""
    called = signature(f"shoal.{name}", thing)
    return f"## {name}\n\n{fenced(called, 'py')}\n{fenced(document)}\n{members(name, thing)}"


def python_page() -> str:
    """Every name in `shoal.__all__`, in its order."""
    return "# Python\n\n" + "\n".join(entry(name) for name in shoal.__all__)


def help_of(command: click.Command, path: str, parent: click.Context | None = None) -> str:
    """The --help of a command and of the commands below it."""
    name = path.rpartition(" ")[2]
    context = click.Context(
        command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH
    )
    text = f"## {path}\n\n{fenced(command.get_help(context))}\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                text += help_of(below, f"{path} {name}", context)
    return text


def command_line_page() -> str:
    """Every verb's --help."""
    return "# Command line\n\n" + help_of(command_line, "shoal")


PAGES = {
    "python": python_page,
    "command-line": command_line_page,
    "schema": reference_schema.page,
    "formats": reference_formats.page,
}


def main(out: Path = OUT) -> None:
    """Write every page."""
    out.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (out / f"{name}.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
