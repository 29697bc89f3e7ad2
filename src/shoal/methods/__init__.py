"""One file per anonymiser: a function (tally, model, ...) -> cut, named like its file."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from shoal.tally import Cut

SHARED = frozenset({"segments", "topdown"})
"""Files of this room that are not methods themselves."""


def methods() -> dict[str, Callable[..., Cut]]:
    """Every method by its name on the command line."""
    found = sorted(module.name for module in iter_modules(__path__) if module.name not in SHARED)
    return {
        name.replace("_", "-"): getattr(import_module(f"{__name__}.{name}"), name) for name in found
    }


def apart(name: str) -> bool:
    """Whether a method cuts each class by its own people alone."""
    return bool(getattr(import_module(f"{__name__}.{name.replace('-', '_')}"), "APART", False))
