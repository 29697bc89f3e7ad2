"""Seeds of random cases: a few for every run of the suite, more for the long one."""

from __future__ import annotations

from typing import Any

import pytest


def seeds(few: int, many: int) -> list[Any]:
    """The seeds below ``many``; those from ``few`` on are marked ``long``."""
    long = [pytest.param(seed, marks=pytest.mark.long) for seed in range(few, many)]
    return [*range(few), *long]
