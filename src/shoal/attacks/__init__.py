"""One file per attack: a function (view) -> finding, named like its file.

A view is what the adversary has and no more. An attack that cannot run raises; it never reports
that nothing was found.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from shoal.release import Finding

SHARED = frozenset({"view"})
"""Files of this room that are not attacks themselves."""


def attacks() -> dict[str, Callable[..., Finding]]:
    """Every attack by its name on the command line."""
    found = sorted(module.name for module in iter_modules(__path__) if module.name not in SHARED)
    return {
        name.replace("_", "-"): getattr(import_module(f"{__name__}.{name}"), name) for name in found
    }
