"""What a publisher is told of a release of noise, beside what everybody is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from shoal.core.errors import InputError
from shoal.core.labels import format_count
from shoal.core.spend import Spend, format_budget
from shoal.releases.companion import find_release
from shoal.releases.forms._noise.accounted_spend import CHOICE
from shoal.releases.forms._noise.measured import MeasuredTable, NoiseForm

LARGE = 10
"""An ε above this is worth a warning."""
REPLACED = (
    "The release that was there is gone, but whoever has it has both: what it spent stays spent, "
    "beside what this one spends. A ledger that it was recorded in keeps counting it."
)
SEEDED = "The noise is drawn from a seed: the release is marked as not to be released."


def explain_noise(form: NoiseForm) -> str:
    """How large the noise is, which follows from the schema and the budget alone."""
    expected = form.expected_noise()
    lines = [
        f"{format_count(expected['cells'], 'cell')} in "
        f"{format_count(len(form.marginals), 'marginal')}, each count "
        f"with noise of a standard deviation of {expected['deviation']:.3g}."
    ]
    if "deviation_of_pairs" in expected:
        lines.append(f"Chosen pairs: {expected['deviation_of_pairs']:.3g}.")
    for step in form.steps:
        noun = "choice" if step.mechanism == CHOICE else "marginal"
        lines.append(
            f"  {step.what}: {step.mechanism}, scale {step.scale:.4g}, "
            f"{format_count(step.times, noun)}"
        )
    return "\n".join(lines)


def list_cautions(spend: Spend, people: int | None = None, seed: int | None = None) -> list[str]:
    """What is weak in a promise; how many people there are is known after reading alone.

    >>> list_cautions(Spend(12))
    ['ε 12 is little protection: the odds about anybody may move by e^ε = 163,000.']
    """
    warnings = []
    if spend.epsilon > LARGE:
        factor = f"{float(f'{math.exp(min(float(spend.epsilon), 700)):.3g}'):,.6g}"
        warnings.append(
            f"ε {format_budget(spend.epsilon)} is little protection: the odds about anybody may "
            "move "
            f"by e^ε = {factor}."
        )
    if people is not None and spend.delta * people >= 1:
        warnings.append(
            f"δ {format_budget(spend.delta)} is not below one over the number of people: it "
            "would allow "
            "publishing somebody's row. Choose one far below."
        )
    return warnings + ([] if seed is None else [SEEDED])


def note_replaced_release(out: Path | None, replace: bool) -> list[str]:
    """What taking the place of a release of noise does not undo; nothing where none is there."""
    if out is None or not replace or not out.exists():
        return []
    try:
        release = find_release(out)
    except InputError:  # whatever it was, it is to be replaced
        return []
    return [] if release is None or "privacy" not in release[1] else [REPLACED]


def note_rows_beyond_bounds(beyond: Mapping[str, int], done: str = "counted") -> list[str]:
    """What became of rows beyond the bounds of a column, so many in each."""
    return [
        f"Column {name!r}: {format_count(rows, 'row')} beyond its bounds, {done} as the nearest "
        "bound."
        for name, rows in beyond.items()
    ]


def list_noise_notes(measured: MeasuredTable, spend: Spend, seed: int | None) -> list[str]:
    """What the publisher should look at; counts of rows, never values."""
    return note_rows_beyond_bounds(measured.beyond_bounds) + list_cautions(
        spend, measured.rows, seed
    )
