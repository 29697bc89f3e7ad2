"""What cannot be asked of noisy counts and of made-up people, and what to ask instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.core.errors import UsageError
from shoal.releases.manifest import publishes_counts, publishes_synthetic


def refuse_noisy(manifest: Mapping[str, Any], why: str) -> None:
    """Refuse a release of noise where rows about people are needed.

    ``why`` completes "A release of counts ...": "cannot be attacked by its rows", for example.
    """
    if publishes_counts(manifest):
        raise UsageError(
            f"A release of counts {why}: its rows are cells of noisy tables, not people.",
            "shoal verify reads it again, and shoal attack auditing tests its noise.",
        )
    if publishes_synthetic(manifest):
        raise UsageError(
            f"A synthetic release {why}: its rows are made-up people, and nobody's.",
            "shoal verify reads it again, and shoal attack auditing tests its noise. Its table may "
            "be given by its own name with a schema (release/table.csv -s schema.toml): what is "
            "found of it is then about made-up people, and a match with somebody is a coincidence.",
        )
