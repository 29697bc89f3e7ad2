"""What the paper's experiments use where nothing else is varied (its Table II), and what ours do.

Goryczka et al. 2014, Table II: verification on one class, anonymisation of the whole table. Both
studies take their settings from here, so that Table II can be checked against what is really run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

VERIFICATION: Mapping[str, Any] = {
    "alpha": 0.3,
    "m": 5,
    "n": 15,
    "class_rows": (150, 750),
    "k": 50,
    "l": 4,
}
"""The paper's, for the verifiers (Figure 6)."""
ANONYMISATION: Mapping[str, Any] = {"alpha": 0.8, "m": 3, "n": 10, "rows": 45_222, "k": 30, "l": 4}
"""The paper's, for whole tables."""
OCCUPATIONS = 14
"""The values of the paper's sensitive column among complete rows."""
SCORES = {150: 0.867, 750: 2.307}
"""The mean score of a provider that the paper prints for its two classes (section V.B)."""


def write_rule(k: int, l: int) -> str:
    """The rule that has to survive coalitions, as Shoal writes it.

    >>> write_rule(30, 4)
    'k-anonymity k=30 & distinct-diversity l=4'
    """
    return f"k-anonymity k={k} & distinct-diversity l={l}"
