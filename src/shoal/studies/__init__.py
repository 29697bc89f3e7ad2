"""The papers' tables and figures, made again: a room for each paper, a file for each study.

``ganta/figure_1.py`` is the study ``ganta-figure-1``; its ``EXPERIMENT`` says what is measured,
claimed and drawn (`shoal.studies.experiment`). A room's ``__init__`` names its ``PAPER``.
``laboratory`` measures, ``stored_measurements`` remembers what was measured and ``keys`` on what
it depends, ``running`` runs one study or all of them, ``summary`` puts the claims of all studies in
a folder on one page, and ``datasets`` knows where the papers' data sets are.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from shoal.studies.experiment import Experiment, Paper

PAPERS = ("sweeney", "martin", "ganta", "m_privacy", "sattar")
"""The rooms, in the order in which the papers appeared."""
KINDS = ("table", "figure", "example")


@cache
def experiments() -> dict[str, tuple[Paper, Experiment]]:
    """List every study by its name.

    Returns
    -------
    dict
        For each name the paper that it is about, and what the study does.

    Examples
    --------
    >>> "martin-figure-5" in experiments()
    True
    """
    studies = {}
    for room in PAPERS:
        package = import_module(f"{__name__}.{room}")
        for name in sorted((module.name for module in iter_modules(package.__path__)), key=_order):
            declared = import_module(f"{package.__name__}.{name}")
            if hasattr(declared, "EXPERIMENT"):
                study = f"{room}-{name}".replace("_", "-")
                studies[study] = (package.PAPER, declared.EXPERIMENT)
    return studies


def _order(name: str) -> tuple[int, str]:
    """Tables before figures, and what is neither last."""
    kind = name.partition("_")[0]
    return (KINDS.index(kind) if kind in KINDS else len(KINDS), name)
