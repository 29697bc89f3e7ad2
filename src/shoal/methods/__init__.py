"""One file per anonymiser: a function (tally, model, ...) -> cut, named like its file.

What several of them share lies in the folders beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from shoal.core.tally import Cut


def list_method_names() -> list[str]:
    """What methods are called on the command line: their files' names, with dashes."""
    files = (module.name for module in iter_modules(__path__) if not module.ispkg)
    return sorted(name.replace("_", "-") for name in files)


def find_method(name: str) -> Callable[..., Cut]:
    """The method of a name."""
    method: Callable[..., Cut] = getattr(_load_module(name), name.replace("-", "_"))
    return method


def load_methods() -> dict[str, Callable[..., Cut]]:
    """Every method by its name."""
    return {name: find_method(name) for name in list_method_names()}


def splits_locally(name: str) -> bool:
    """Whether a method cuts each class by its own people alone."""
    return _read_trait(name, "SPLITS_LOCALLY", False)


def publishes_levels(name: str) -> bool:
    """Whether a method publishes nodes of hierarchies only, so that columns need levels."""
    return _read_trait(name, "PUBLISHES_LEVELS", False)


def guarantees_rule(name: str) -> bool:
    """Whether what a method makes meets the rule it was given; else that is found out after."""
    return _read_trait(name, "GUARANTEES_RULE", True)


def find_kernels(name: str) -> tuple[ModuleType, ...]:
    """The files of kernels that a method compiles when it first runs on a machine."""
    modules: tuple[ModuleType, ...] = _load_module(name).KERNELS
    return modules


def _read_trait(name: str, trait: str, default: bool) -> bool:
    return bool(getattr(_load_module(name), trait, default))


def _load_module(name: str) -> ModuleType:
    return import_module(f"{__name__}.{name.replace('-', '_')}")
