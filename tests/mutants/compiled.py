"""What numba compiles, which coverage cannot see: who calls it, and what its cache keeps of it.

A line of a compiled function counts as run by the tests that run a line of Python in which the
function, or a compiled function that calls it, is named.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.mutants.placing import File, Function, Source


class Named(NamedTuple):
    """A function of a module."""

    file: File
    name: str
    node: Function

    @property
    def is_compiled(self) -> bool:
        return any("jit" in ast.unparse(one) for one in self.node.decorator_list)


def enclosing(source: Source, path: Path, line: int) -> Named:
    """The innermost function in which a line stands."""
    file = next(file for file in source.files if file.path == path)
    around = [
        Named(file, name, node)
        for name, nodes in file.functions.items()
        for node in nodes
        if node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda one: one.node.lineno)


def compiled_callers(source: Source, function: Named) -> list[Named]:
    """A compiled function, and all compiled functions that call it in one or more steps."""
    found = [function]
    for one in found:
        found += [
            caller
            for caller, _ in _callers(source, one)
            if caller.is_compiled and caller not in found
        ]
    return found


def calling_lines(source: Source, function: Named) -> list[tuple[Path, int]]:
    """The lines of Python that name a compiled function or one that calls it."""
    return [
        (caller.file.path, line)
        for one in compiled_callers(source, function)
        for caller, line in _callers(source, one)
        if not caller.is_compiled
    ]


def remove_compiled(source: Source, function: Named) -> None:
    """Remove what numba keeps of a function's callers: it looks at their own modules alone."""
    for one in compiled_callers(source, function):
        folder = one.file.path.parent / "__pycache__"
        for kept in folder.glob(f"{one.file.path.stem}.{one.name}-*.nb[ic]"):
            kept.unlink()


def _callers(source: Source, called: Named) -> Iterator[tuple[Named, int]]:
    """Functions in which another is named, each with the line: of its module or importing it."""
    for file in source.files:
        if called.name not in file.text:
            continue
        if file is not called.file and not _imports(file, called):
            continue
        for name, nodes in file.functions.items():
            for node in nodes:
                for part in ast.walk(node):
                    if _name(part) == called.name and part is not called.node:
                        yield Named(file, name, node), part.lineno


def _name(part: ast.AST) -> str:
    if isinstance(part, ast.Name):
        return part.id
    return part.attr if isinstance(part, ast.Attribute) else ""


def _imports(file: File, called: Named) -> bool:
    """Whether a module imports a function by its name, or the module in which it stands."""
    module, room = called.file.path.stem, called.file.path.parent.name
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import) and any(
            module in one.name.split(".") for one in node.names
        ):
            return True
        if isinstance(node, ast.ImportFrom):
            names, origin = {one.name for one in node.names}, (node.module or "").split(".")[-1]
            if module in names or (called.name in names and origin in (module, room, "")):
                return True
    return False
