"""One file per verifier: a function ``verify_…(model, class_, m)``, named like its file.

All answer the same question about one class: is there a coalition of at most m of its providers
that breaks the rule for the others? They differ in how many coalitions they look at. ``exact`` is
what Shoal itself uses; the others are the m-privacy paper's, kept to compare with.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from shoal.models._verifiers.lattice import VerifierResult

SHARED = frozenset({"lattice"})
"""Files of this room that are not verifiers themselves."""


def verifiers() -> dict[str, Callable[..., VerifierResult]]:
    """Every verifier by its name on the command line.

    >>> list(verifiers())
    ['adaptive', 'binary', 'bottom-up', 'direct', 'exact', 'top-down']
    """
    files = sorted(module.name for module in iter_modules(__path__) if module.name not in SHARED)
    return {
        name.replace("_", "-"): getattr(import_module(f"{__name__}.{name}"), f"verify_{name}")
        for name in files
    }
