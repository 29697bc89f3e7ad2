"""Where a mutant stands: by the function's qualified name and the tokens of its line.

Neither module nor line number nor line breaks matter, so that a mutant keeps its place while code
is moved and formatted anew.
"""

from __future__ import annotations

import ast
import io
import tokenize
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
MUTANTS = Path(__file__).parent / "mutants.toml"
SILENT = {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT}
END = {tokenize.ENDMARKER}
Function = ast.FunctionDef | ast.AsyncFunctionDef


class CannotBePlacedError(Exception):
    """The line that a mutant changes stands nowhere, or more than once."""


@dataclass(frozen=True)
class Mutant:
    """One line of one function, changed."""

    area: str
    function: str
    before: str
    after: str
    breaks: str

    @property
    def name(self) -> str:
        return f"{self.function}: {self.after}"


@dataclass(frozen=True)
class Place:
    """Where a mutant stands: a part of a file's text, and the lines that it runs over."""

    path: Path
    start: int
    end: int
    lines: range

    def changed(self, after: str) -> str:
        text = self.path.read_text(encoding="utf-8")
        return text[: self.start] + after + text[self.end :]


def read_mutants(path: Path = MUTANTS) -> list[Mutant]:
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    return [
        Mutant(entry["area"], entry["in"], entry["before"], entry["after"], entry["breaks"])
        for entry in entries
    ]


def unplaced() -> list[str]:
    """The mutants that cannot be placed, and why."""
    source, wrong = Source(ROOT / "src" / "shoal"), []
    for mutant in read_mutants():
        try:
            source.place(mutant)
        except CannotBePlacedError as error:
            wrong.append(f"{mutant.name}\n    {error}")
    return wrong


class Source:
    """The modules of a source tree, and the functions in them."""

    def __init__(self, root: Path) -> None:
        self.files = [File(path) for path in sorted(root.rglob("*.py"))]

    def place(self, mutant: Mutant) -> Place:
        """The one place of a mutant."""
        definition = f"def {mutant.function.rpartition('.')[2]}("
        files = [
            file
            for file in self.files
            if definition in file.text and mutant.function in file.functions
        ]
        if not files:
            raise CannotBePlacedError(f"no function is called {mutant.function}")
        places = [
            place
            for file in files
            for function in file.functions[mutant.function]
            for place in file.find(mutant.before, function)
        ]
        if len(places) != 1:
            stands = "more than once" if places else "nowhere"
            raise CannotBePlacedError(f"the line before stands {stands} in {mutant.function}")
        place = places[0]
        try:
            ast.parse(place.changed(mutant.after))
        except SyntaxError:
            raise CannotBePlacedError("the line after is not Python there") from None
        return place


class File:
    """A module's text with its functions and tokens."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def functions(self) -> dict[str, list[Function]]:
        """Every function by its qualified name; a property and its setter share theirs."""
        found: dict[str, list[Function]] = {}
        for name, function in _functions(self.tree, ()):
            found.setdefault(name, []).append(function)
        return found

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for line in self.text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    @cached_property
    def _tokens(self) -> list[tokenize.TokenInfo]:
        return _tokens(self.text)

    def find(self, line: str, function: Function) -> Iterator[Place]:
        """Where in a function the tokens of a line stand as whole lines."""
        try:
            wanted = [token.string for token in _tokens(line)]
        except (tokenize.TokenError, IndentationError):
            raise CannotBePlacedError("the line before is not Python") from None
        assert function.end_lineno is not None
        own = [t for t in self._tokens if function.lineno <= t.start[0] <= function.end_lineno]
        texts = [token.string for token in own]
        for at in range(len(own) - len(wanted) + 1):
            if texts[at : at + len(wanted)] == wanted:
                first, last = own[at], own[at + len(wanted) - 1]
                yield Place(
                    self.path,
                    self._line_starts[first.start[0] - 1] + first.start[1],
                    self._line_starts[last.end[0] - 1] + last.end[1],
                    range(first.start[0], last.end[0] + 1),
                )


def _functions(node: ast.AST, outer: Sequence[str]) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef):
            inner = (*outer, child.name)
            if isinstance(child, Function):
                yield ".".join(inner), child
            yield from _functions(child, inner)
        else:
            yield from _functions(child, outer)


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    """The tokens that mean something."""
    every = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token for token in every if token.type not in SILENT | END]
