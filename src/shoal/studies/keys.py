"""What a measurement depends on, as a key: parameters, data, and the code that it runs on.

The code is of two kinds. `hash_code` is of the house below the studies, with its bundled tables:
whatever changes there, everything is measured again. Of the studies themselves only the file that
measures counts, and what it imports from its room and from others beside it (`find_sources`):
whoever changes what one study claims need not measure another again.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

import shoal
from shoal import ShoalError
from shoal.studies.claims import Row

HOUSE = Path(shoal.__file__).parent
STUDIES = HOUSE / "studies"
INSIDE = "shoal.studies"
ASIDE = (
    "cli",
    "data/download.py",
    "reports/charts",
    "reports/document.py",
    "reports/format.py",
    "reports/pages",
    "web",
)
"""What no measurement depends on; the data that was fetched has a hash of its own."""
ALWAYS = ("tables.py",)
"""Of the studies' own files what every measurement may use, whether it imports it or not."""
SEAM = frozenset(
    {
        "claims",
        "experiment",
        "keys",
        "laboratory",
        "outcome",
        "running",
        "stored_measurements",
        "summary",
    }
)
"""Files that carry measurements about, and do not change them."""


def make_key(what: Callable[..., Any], cell: Mapping[str, Any], data: str) -> str:
    """What a measurement is found again by; ``data`` is the hash of its table.

    A cell that says a parameter and one that leaves it as the function has it are the same.
    """
    parameters = inspect.signature(what).parameters.items()
    usual = {
        name: parameter.default
        for name, parameter in parameters
        if parameter.default is not parameter.empty
    }
    cell_values = to_plain({**usual, **cell}, f"A cell of {what.__name__}")
    parts = [what.__module__, what.__qualname__, cell_values, data, hash_code(), _source(what)]
    return _hash([json.dumps(parts, sort_keys=True).encode()])


def to_plain(row: Mapping[str, Any], of: str) -> Row:
    """As JSON holds it, so that what was kept is what was measured: lists, Python's numbers.

    >>> to_plain({"k": (5, 10), "part": float("nan")}, "A row")
    Traceback (most recent call last):
    shoal.core.errors.ShoalError: A row has no plain value in 'part'.
    Hint: return numbers that are finite, text, lists of these, or None.
    """
    try:
        return _as_json(row)
    except (TypeError, ValueError):
        amiss = next(name for name, value in row.items() if not _is_plain({name: value}))
        raise ShoalError(
            f"{of} has no plain value in {amiss!r}.",
            "return numbers that are finite, text, lists of these, or None.",
        ) from None


def _as_json(row: Mapping[str, Any]) -> Row:
    plain_row: Row = json.loads(json.dumps(dict(row), allow_nan=False, default=_python))
    return plain_row


def _is_plain(row: Mapping[str, Any]) -> bool:
    try:
        _as_json(row)
    except (TypeError, ValueError):
        return False
    return True


def _python(value: Any) -> Any:
    """What numpy holds, as Python does."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(type(value).__name__)


# Code


@cache
def hash_code() -> str:
    """A hash of all that measurements run on, but for the studies' own files."""
    files = sorted(file for kind in ("*.py", "*.csv") for file in HOUSE.rglob(kind))
    return _hash(
        _read_files(
            file for file in files if affects_measurements(file.relative_to(HOUSE).as_posix())
        )
    )


def affects_measurements(file: str) -> bool:
    """Whether measurements may depend on a file of the house, but for what studies import.

    >>> files = ("methods/mondrian.py", "data/bundled/voters.csv", "cli/a.py")
    >>> [affects_measurements(file) for file in files]
    [True, True, False]
    """
    room, _, name = file.partition("/")
    if room == STUDIES.name:
        return name in ALWAYS
    return not any(file == path or file.startswith(f"{path}/") for path in ASIDE)


@cache
def _source(what: Callable[..., Any]) -> str:
    return _hash(_read_files(find_sources(Path(inspect.getfile(what)))))


def find_sources(file: Path, studies: Path = STUDIES) -> list[Path]:
    """A file and all that it imports from the studies, and what these import, but for the seam."""
    files, waiting = {file}, [file]
    while waiting:
        imported = set(_imported(waiting.pop(), studies)) - files
        files |= imported
        waiting += imported
    return sorted(files)


def _imported(file: Path, studies: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(node, file, studies)
            names = [f"{source}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from filter(None, (_place(name, studies) for name in names))


def _absolute(node: ast.ImportFrom, file: Path, studies: Path) -> str:
    if not node.level or not file.is_relative_to(studies):
        return node.module or ""
    package = ".".join((INSIDE, *file.relative_to(studies).parent.parts))
    return resolve_name("." * node.level + (node.module or ""), package)


def _place(name: str, studies: Path) -> Path | None:
    """The file of the studies that a dotted name is, or is in; none of the seam's."""
    if not name.startswith(f"{INSIDE}."):
        return None
    parts = name.split(".")[2:]
    while parts:
        place = studies.joinpath(*parts)
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                return None if len(parts) == 1 and parts[0] in SEAM else file
        parts.pop()  # the last word is a name inside the module
    return None


def _read_files(files: Iterable[Path]) -> Iterator[bytes]:
    for file in files:
        yield file.name.encode()
        yield file.read_bytes()


def _hash(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())  # so that no end of one is another's beginning
    return digest.hexdigest()
