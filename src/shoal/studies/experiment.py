"""What a study is: the declaration in a file of a paper's room.

A file ``figure_1.py`` in the room ``ganta`` is the study ``ganta-figure-1``. It holds one
`Experiment` named ``EXPERIMENT``: what is measured, what the paper claims of it beside what came
out (`shoal.studies.claims`), and how it is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.studies.claims import Claim, Row, Rows
from shoal.studies.laboratory import Lab

Spec = dict[str, Any]


@dataclass(frozen=True)
class Paper:
    """Where a room's studies come from."""

    short: str
    """As in a sentence: "Ganta et al. 2008"."""
    cited: str
    """The whole citation."""


@dataclass(frozen=True)
class Experiment:
    """What one table or figure of a paper needs to be made again."""

    shows: str
    """What it is: "Figure 1: people whose value two releases give away, against k"."""
    measure: Callable[[Lab], Sequence[Row]]
    claims: Callable[[Rows], Sequence[Claim]]
    charts: Callable[[Rows], Mapping[str, Spec]]
    """Of each chart its name (that of the file) and its Vega-Lite specification."""
    data: tuple[str, ...] = ()
    """The tables by their names in `shoal.studies.tables`; none where the paper prints them."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 1
    """How often everything that is drawn is drawn, unless told; 1 where nothing is."""
    own: bool = False
    """Whether it also runs on a table of the user's own."""
    notes: tuple[str, ...] = ()
    """What is assumed, and what is not as in the paper."""
