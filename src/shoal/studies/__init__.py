"""One file per paper: its experiments, run again on the public API, with seeds.

A study is a function ``(out, **asked) -> Study`` named like its file. It writes ``results.json``
and its charts into the folder ``out``, where one is named.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from shoal import UsageError
from shoal.studies.outcome import Study

SHARED = frozenset({"outcome", "splits", "tables"})
"""Files of this room that are not studies themselves."""


def studies() -> dict[str, Callable[..., Study]]:
    """Every study by its name on the command line."""
    found = sorted(module.name for module in iter_modules(__path__) if module.name not in SHARED)
    return {
        name.replace("_", "-"): getattr(import_module(f"{__name__}.{name}"), name) for name in found
    }


def study(name: str, out: Any = None, **asked: Any) -> Study:
    """Run a paper's experiments again; ``asked`` are the study's own parameters."""
    known = studies()
    if name not in known:
        raise UsageError(f"There is no study {name!r}.", f"the studies are: {', '.join(known)}.")
    return known[name](out, **asked)
