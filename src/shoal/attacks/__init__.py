"""One file per attack: a function (view, *, rng, **options) -> finding, named like its file.

A view is what the adversary has and no more. An attack that cannot run raises; it never reports
that nothing was found. Each file states as ``NEEDS`` what the attack needs.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from shoal.core.release import Finding
from shoal.core.theory.adversary_view import Needs


def load_attacks() -> dict[str, Callable[..., Finding]]:
    """Every attack by its name on the command line."""
    names = sorted(module.name for module in iter_modules(__path__) if not module.ispkg)
    return {
        name.replace("_", "-"): getattr(import_module(f"{__name__}.{name}"), name) for name in names
    }


def get_attack_needs(name: str) -> Needs:
    """What an attack needs before it can run."""
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    stated: Needs = module.NEEDS
    return stated
