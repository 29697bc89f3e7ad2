"""What a release of noise spends, step by step: every look at the rows, and the total of all.

A step either adds noise to so many marginals, of each of which a person is in one cell, or chooses
so many times one of several marginals. Its loss is what OpenDP's map says of its scale, so that
whoever reads a manifest can account for it again. Steps add up: ε where there is no δ (Dwork,
Roth 2014, theorem 3.16), ρ of zero-concentrated privacy where there is one (Bun, Steinke 2016).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal.core.errors import InputError
from shoal.core.spend import Spend
from shoal.dp.accounting import compose_spends
from shoal.dp.mechanisms import GAUSSIAN, LAPLACE, Noise, compute_noise_spend
from shoal.dp.selection import compute_selection_spend

CHOICE = "permute-and-flip"
"""The mechanism that chooses one of several."""
EVERY = "every marginal"
ALONE, CHOOSING, PAIRS = "every column alone", "which pairs", "the chosen pairs"
"""What the rows are looked at for: in one step, or in three."""
SENSITIVITY = 1.0
"""How much one person changes the score of what is chosen from."""


@dataclass(frozen=True)
class Step:
    """One use of the rows: what for, by which mechanism, of what scale, how many times."""

    what: str
    mechanism: str
    scale: float
    times: int
    """So many marginals that noise is added to, or so many choices."""

    @classmethod
    def of(cls, what: str, noise: Noise, times: int | None = None) -> Step:
        """The step that adds noise to marginals: to as many as it was made for, or to fewer."""
        return cls(what, noise.name, noise.scale, times or noise.contributions)

    def spend(self, delta: Fraction) -> Spend:
        """What the step spends, by OpenDP's map."""
        if self.mechanism == CHOICE:
            return Spend(self.times * compute_selection_spend(self.scale, SENSITIVITY))
        return compute_noise_spend(self.mechanism, self.scale, self.times, delta)

    def parts(self, delta: Fraction) -> list[Spend]:
        """The same apart for each choice: their ρ is less than that of all at once."""
        if self.mechanism == CHOICE:
            return [Spend(compute_selection_spend(self.scale, SENSITIVITY))] * self.times
        return [self.spend(delta)]

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "what": self.what,
            "mechanism": self.mechanism,
            "scale": self.scale,
            "times": self.times,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Step:
        """The step that ``to_json`` wrote."""
        known = record["mechanism"] in (LAPLACE, GAUSSIAN, CHOICE)
        scale, times = float(record["scale"]), int(record["times"])
        if not known or not 0 < scale < float("inf") or times < 1:
            raise ValueError
        return cls(str(record["what"]), str(record["mechanism"]), scale, times)


def total_spend(steps: Sequence[Step], delta: Fraction) -> Spend:
    """What all the steps spend together, at this δ.

    >>> alone, pairs = Step("columns", LAPLACE, 6.0, 3), Step("pairs", LAPLACE, 4.0, 2)
    >>> print(total_spend([alone, pairs], Fraction(0)))
    ε 1
    """
    if len(steps) == 1:
        return steps[0].spend(delta)
    spends = [spend for step in steps for spend in step.parts(delta)]
    return compose_spends("zcdp" if delta else "basic", spends, delta)


def describe_composition(steps: Sequence[Step]) -> str:
    """How the steps add up, in words.

    >>> describe_composition([Step(EVERY, LAPLACE, 3.0, 3)])
    'all 3 marginals at once: one person changes 3 counts by 1'
    """
    if len(steps) == 1:
        number = steps[0].times
        return f"all {number:,} marginals at once: one person changes {number:,} counts by 1"
    concentrated = any(step.mechanism == GAUSSIAN for step in steps)
    unit = "rho (zero-concentrated)" if concentrated else "epsilon"
    return f"three steps, each a third: their {unit} adds up"


def read_steps(manifest: Mapping[str, Any]) -> list[Step]:
    """The steps that a manifest tells of."""
    try:
        return [Step.from_json(record) for record in manifest["privacy"]["steps"]]
    except (KeyError, TypeError, ValueError):
        raise InputError(
            "The manifest does not say what the noise was.", "publish the release again."
        ) from None
