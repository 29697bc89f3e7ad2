"""What a release of noise promises and what that means, for its report: all of it public.

The meaning is that of `shoal.dp.semantics`, for the people whom the release is about by its own
account (its published rows, or noisy counts), or as many as the steward writes; the beliefs are
those somebody may have before, written by the steward, or a few examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.core.spend import Spend, format_budget, to_exact
from shoal.dp.beliefs import CHANGE, PRESENCE, Prior, compute_belief_curves
from shoal.dp.semantics import semantic_privacy
from shoal.releases.forms._noise.answer_estimates import estimates
from shoal.releases.forms._noise.answers import read_answers
from shoal.releases.forms._noise.notes import list_cautions
from shoal.releases.options import RANDOMISED
from shoal.reports.document import Section
from shoal.reports.sections.differential_privacy import render_promise as drawn

EXAMPLES = (0.01, 0.1, 0.5)
"""What somebody may believe before, where nobody says."""
SHOWN = 0.1
"""The one of these that is drawn."""


def explain_noise_promise(
    manifest: Mapping[str, Any], prior: Prior | None = None, people: int | None = None
) -> dict[str, Any] | None:
    """What is promised, in plain values that the page is drawn from; None: no noise, no promise.

    Of answers it is said besides, by `estimate_answers`, what can be learnt from them.
    """
    privacy = manifest.get("privacy")
    if privacy is None:
        return None
    spend = Spend.from_json(privacy)
    kind = CHANGE if manifest["form"] == RANDOMISED else PRESENCE
    priors, shown = (EXAMPLES, SHOWN) if prior is None else ((prior,), prior)
    said = semantic_privacy(spend.epsilon, spend.delta, people, shown, kind)
    beliefs = [
        belief.to_json()
        for one in priors
        for belief in semantic_privacy(spend.epsilon, spend.delta, people, one, kind).beliefs
    ]
    return {
        "privacy": dict(privacy),
        "words": {name: format_budget(to_exact(one)) for name, one in spend.to_json().items()},
        "releasable": manifest.get("releasable", True) is True,
        "meaning": said.to_json(),
        "curves": compute_belief_curves(float(spend.epsilon), said.even.exponent),
        "beliefs": beliefs,
        "cautions": list_cautions(spend, people),
        "examples": prior is None,
    }


def estimate_answers(release: Any, manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How many people have each value, by the answers of a randomised release."""
    return [estimates(release, name).to_json() for name in read_answers(manifest)]


def build_promise_section(told: Mapping[str, Any] | None) -> list[Section]:
    """The section of the page, where there is a promise."""
    return [] if told is None else [drawn(told)]
