"""Dankar's rule: which estimate of population uniqueness to believe.

Compared on clinical data sets over sampling fractions, Pitman's model was the most accurate up to
a fraction of 0.1, and above it the smaller of the slide negative binomial and Zayatz's estimate.
Where the chosen model has no estimate, Zayatz's stands in.

F. Dankar, K. El Emam, A. Neisa, T. Roffey, Estimating the re-identification risk of clinical data
sets, BMC Medical Informatics and Decision Making 12:66 (2012).
"""

from __future__ import annotations

from dataclasses import replace

from shoal.measures.risk.pitman import pitman
from shoal.measures.risk.sizes import ClassSizes, UniquenessEstimate
from shoal.measures.risk.snb import snb
from shoal.measures.risk.zayatz import zayatz

THRESHOLD = 0.1
"""The sampling fraction up to which Pitman's model is believed."""


def dankar(sizes: ClassSizes, fraction: float) -> UniquenessEstimate:
    """The estimate to believe; its ``estimator`` names where it comes from: ``dankar: pitman``."""
    return choose_estimate(
        pitman(sizes, fraction), zayatz(sizes, fraction), snb(sizes, fraction), fraction
    )


def choose_estimate(
    of_pitman: UniquenessEstimate,
    of_zayatz: UniquenessEstimate,
    of_snb: UniquenessEstimate,
    fraction: float,
) -> UniquenessEstimate:
    """Apply the rule to estimates that are made already."""
    wanted = of_pitman if fraction <= THRESHOLD else of_snb
    if not wanted.is_available:
        reason = f"{wanted.estimator} has no estimate ({wanted.reason})"
        return _label_as_dankar(replace(of_zayatz, reason=reason))
    if wanted is of_snb and of_zayatz.uniques < wanted.uniques:
        return _label_as_dankar(of_zayatz)
    return _label_as_dankar(wanted)


def _label_as_dankar(estimate: UniquenessEstimate) -> UniquenessEstimate:
    return replace(estimate, estimator=f"dankar: {estimate.estimator}")
