"""How tables write that a value is missing, or that a cell says nothing."""

from __future__ import annotations

NULL_MARKS = ("?", "N/A", "n/a", "null", "NULL", "Null", "<NA>", "#N/A")
"""Read as null in every column, unless other marks are named; the empty cell is always."""
DOUBTFUL_MARKS = ("NA", "NaN", "nan")
"""Null among numbers and dates. Elsewhere a value that may mean missing, or Namibia."""
_SUPPRESSED = ("suppressed", "withheld", "not released")
_MISSING = ("", "?", "-", "--", ".", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "none")
_ANYTHING = ("any", "all", "anything", "everything", "person", "human")
EMPTY_LABELS = frozenset(
    (*_MISSING, "unknown", "missing", "not available", *_ANYTHING, *_SUPPRESSED)
)
"""How others write that a cell says nothing, in any case: sdcMicro suppresses with ``NA``."""


def is_empty_label(label: str) -> bool:
    """Whether a label says no more than ``*``, unless it is a value.

    >>> is_empty_label("NA "), is_empty_label("Unknown"), is_empty_label("other")
    (True, True, False)
    """
    return label.strip().casefold() in EMPTY_LABELS


def is_suppressed_value(value: str) -> bool:
    """Whether a value that is published as it is stands for any: stars, or a word that says so.

    >>> [is_suppressed_value(value) for value in ("*", "Suppressed", "none", "")]
    [True, True, False, False]
    """
    value = value.strip().casefold()
    stars = value != "" and value.strip("*") == ""
    return stars or value in _SUPPRESSED
