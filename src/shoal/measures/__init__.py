"""How much of a table is lost when it is published: one file per measure.

Each file holds a function of its own name, ``measure(tally, cut) -> float``: 0 where the table is
untouched, 1 where nothing is left. Suppressed rows are lost whole. ``raw(tally, cut)`` in the same
file gives the value as the measure's papers state it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from shoal.core.tally import Cut, Tally

Measure = Callable[[Tally, Cut], float]

__all__ = ["Measure", "measures"]


def measures() -> dict[str, Measure]:
    """Every measure by its name: that of its file, with dashes.

    >>> "average-class" in measures()
    True
    """
    names = sorted(
        module.name
        for module in iter_modules(__path__)
        if module.name[0] != "_" and not module.ispkg
    )
    return {n.replace("_", "-"): getattr(import_module(f"{__name__}.{n}"), n) for n in names}
