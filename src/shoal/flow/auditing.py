"""Audit a release: run what published it again, with one person and without, and look at its file.

The mechanism that the manifest states is run many times on two neighbouring tables, which bounds
the ε that it truly has from below (see `shoal.noise.auditing`). Of counts and made-up people it is
the publishing path itself that is run (`shoal.flow.noisy.rerun`); of randomised values the person's
answers are drawn again, once from their values and once from others. The person is the one whom the
marginals leave most alone. The original is read by whoever publishes: nobody else could do this.

What was drawn for the published file is looked at too: what was added to true counts must look like
noise of the stated scale, and answers must be as common as true values and their chances foretell
(see `shoal.noise.residuals`); not where rows were held back, for nobody says whose answers are
left. Of made-up people no single draw is told apart from another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import UsageError
from shoal.flow.companion import ANOTHER, companion_at_hand, is_another, released
from shoal.flow.noisy.accounted import read_steps
from shoal.flow.noisy.answers import answer_counts, answers_of
from shoal.flow.noisy.measured import Measured
from shoal.flow.noisy.planned import Plan
from shoal.flow.noisy.rerun import Again, Ints, counted_again
from shoal.flow.noisy.stated import stated_marginals, stated_spend
from shoal.flow.noisy.verified import check_releasable, published_counts
from shoal.flow.opening import opened, opened_labels, released_schema
from shoal.flow.people import as_published
from shoal.flow.record import in_counts, in_randomised
from shoal.flow.request import Progress, quiet
from shoal.noise.auditing import CONFIDENCE, RUNS, EpsilonAudit, audit_epsilon
from shoal.noise.bins import all_bins
from shoal.noise.mechanism import noise
from shoal.noise.residuals import (
    DOUBT,
    EXACT,
    FAR,
    NEAR,
    SHARED,
    Residuals,
    exchanged,
    residuals,
)
from shoal.noise.response import Response
from shoal.release import Finding
from shoal.schema import Schema
from shoal.spend import Spend, in_words

AUDITING = "auditing"
AT_ONCE = 1024
"""So many answers are drawn at once."""
LEAST = 1e-300
"""No smaller chance is told."""
KNOWN = "the adversary knows everybody else in the table, and everything of the person but"
ASSUMPTIONS = (
    "the mechanism runs as the manifest states it, with noise drawn anew, on a domain of a few "
    "bins around the person",
    "what fits a model and makes up people reads noisy counts alone, and is not run again",
)
UNSEEN = (
    "the published answers are not compared with the true values, for the original has other rows "
    "than the release: some were held back, or it is another table"
)
_ADDED = {
    NEAR: "are nearer to the true ones than noise of the stated scale leaves them",
    EXACT: "are the true ones themselves in more cells than noise of the stated scale leaves so",
    SHARED: "are off by much the same in all cells, which noise of its own for each is not",
    FAR: "are further from the true ones than noise of the stated scale takes them, or the "
    "original is another table",
}


_EXCHANGED = {
    NEAR: "follow the true values more than the stated chance of a true answer lets them",
    FAR: "are more or less common than true values and the stated chances let them be, or the "
    "original is another table",
}


def auditing(
    release: Any, original: Any, *, runs: int = RUNS, confidence: float = CONFIDENCE,
    reading: Mapping[str, Any] | None = None, progress: Progress = quiet,
) -> Finding:  # fmt: skip
    """A lower bound on the ε of a release's mechanism; exposed: the person, where it is too large.

    ``original`` is the table that the release was made of. With ``confidence`` the bound holds.
    The person counts as exposed, too, where published counts have less noise than is stated.
    """
    told = released(release)
    if told is None or "privacy" not in told[1]:
        raise UsageError(
            "Auditing runs the noise of a release again, and this has none.",
            "give the folder of a release of counts, of made-up people or of randomised values.",
        )
    if original is None:
        raise UsageError(
            "Auditing adds and removes a person of the original table, and nobody says which it "
            "is.",
            "add --original FILE: the table that the release was made of.",
        )
    path, manifest = told
    original = as_published(release, original)
    check_releasable(manifest)
    claimed = _claimed(manifest)
    progress("reading", 0, 1)
    again, file = _again(path, manifest, original, reading or {})
    changed = in_randomised(manifest)
    found = audit_epsilon(
        again.mechanism, again.before, again.after, claimed.epsilon, claimed.delta,
        rho=claimed.rho, runs=runs, at_once=again.at_once, confidence=confidence,
        progress=progress,
    )  # fmt: skip
    told_apart = _finding(path.resolve().parent.name, found, file, changed)
    if changed and file is None:
        told_apart = replace(told_apart, assumptions=(*told_apart.assumptions, UNSEEN))
    if not is_another(companion_at_hand(release, path), original):
        return told_apart
    return replace(told_apart, assumptions=(*told_apart.assumptions, ANOTHER))


def _claimed(manifest: Mapping[str, Any]) -> Spend:
    """What a release says that it spends; where there is a δ with the ρ that is accounted for."""
    spend = stated_spend(manifest)
    return Spend(spend.epsilon, spend.delta, noise(spend, 1).rho) if spend.delta else spend


def _again(
    table: Path, manifest: dict[str, Any], original: Any, reading: Mapping[str, Any]
) -> tuple[Again, Residuals | None]:
    """What is to be run again, and what the published file says of its noise."""
    answers = answers_of(manifest)
    asked = Schema(tuple(one.column for one in answers.values()))
    schema = asked if answers else released_schema(manifest)
    with opened(original, kinds=schema.kinds, **reading) as frame:
        plan = Plan(schema, all_bins(schema))
        named = None if answers else stated_marginals(manifest, plan)
        measured = Measured.of(frame, plan, named)
    if answers:
        again = _answered(measured, [one.response for one in answers.values()])
        return again, _exchanged(table, manifest, measured)
    again = counted_again(manifest, measured)
    return again, _residuals(table, manifest, measured) if in_counts(manifest) else None


def _residuals(table: Path, manifest: Mapping[str, Any], measured: Measured) -> Residuals:
    """What was added to the true counts, beside the noise that is stated."""
    step = read_steps(manifest)[0]
    drawn = published_counts(table, measured.plan, manifest)
    added = [(counts - measured.marginal(one)).ravel() for one, counts in drawn.items()]
    return residuals(step.mechanism, step.scale, np.concatenate(added))


def _exchanged(table: Path, manifest: dict[str, Any], measured: Measured) -> Residuals | None:
    """The published answers beside the true values; None where they are not of the same rows.

    Of several columns the one that is least likely is told of, for all of them.
    """
    answers, schema = answers_of(manifest), released_schema(manifest)
    with opened_labels(table, schema, exact=True) as frame:
        drawn = answer_counts(frame, answers)
    if any(one.sum() != measured.counted.count.sum() for one in drawn.values()):
        return None
    found = [
        exchanged(drawn[name], measured.marginal((at,)), one.response.matrix())
        for at, (name, one) in enumerate(answers.items())
    ]
    least = min(found, key=lambda one: one.chance)
    chance = min(1.0, len(found) * least.chance)
    return Residuals(least.cells, least.wrong if chance < DOUBT else "", chance)


def _answered(measured: Measured, responses: Sequence[Response]) -> Again:
    """The answers for the rarest values, and for others in their place."""
    entry = int(measured.counted.count.argmin())
    before = np.array([codes[entry] for codes in measured.counted.codes], np.int64)
    sizes = np.array([one.values for one in responses])

    def run(codes: Ints, rng: np.random.Generator | None) -> Ints:
        columns = zip(responses, codes.T, strict=True)
        return np.stack([one.answered(own, rng) for one, own in columns], axis=1).astype(np.int64)

    return Again(run, before, (before + 1) % sizes, AT_ONCE)


# What is told


def _finding(name: str, found: EpsilonAudit, file: Residuals | None, changed: bool) -> Finding:
    exposed = not found.holds or (file is not None and file.exposes)
    rho = {} if found.rho_low is None else {"rho_low": found.rho_low,
                                            "rho_claimed": _float(found.claimed.rho)}  # fmt: skip
    return Finding(
        attack=AUDITING,
        releases=(name,),
        people=1,
        exposed=int(exposed),
        sure=1 / (1 + math.exp(-found.epsilon_low)),
        guessing=0.5,
        sentence=" ".join([_sentence(name, found, changed), *_of_the_file(file, changed)]),
        defence=_defence(exposed, file),
        assumptions=(
            f"{KNOWN} {'their sensitive values' if changed else 'whether they are in it'}",
            *ASSUMPTIONS,
        ),
        details={
            "epsilon_low": found.epsilon_low, "epsilon_claimed": float(found.claimed.epsilon),
            "delta": float(found.claimed.delta), **rho, "confidence": found.confidence,
            "runs": found.runs, "most": found.most, "event": found.event, "hits": found.hits,
            **({} if file is None else {"file": file.to_json()}),
        },
    )  # fmt: skip


def _float(number: Any) -> float | None:
    return None if number is None else float(number)


def _sentence(name: str, found: EpsilonAudit, changed: bool) -> str:
    """What the runs show; neighbours differ by a person, or by a person's values (``changed``)."""
    stated = in_words(found.claimed.epsilon)
    one, other = ("one person", "without")
    if changed:
        one, other = "a person's values", "with others in their place"
    ran = f"Run {found.runs:,} times with {one} and {found.runs:,} times {other}"
    low = f"the mechanism of {name} has an ε of at least {found.epsilon_low:.3g}"
    sure = f"{100 * found.confidence:g} % sure"
    if found.epsilon_low > found.claimed.epsilon:
        return f"{ran}, {low} ({sure}): more than the {stated} that it states."
    if not found.holds:
        return (
            f"{ran}, the mechanism of {name} has a ρ of at least {found.rho_low:.3g} ({sure}): "
            f"more than the {_float(found.claimed.rho):.3g} by which its ε of {stated} is "
            "accounted for."
        )
    few = "" if found.most > found.claimed.epsilon else ", which is too few to contradict it"
    most = f"so many runs can show an ε of {found.most:.3g} at most"
    if not found.epsilon_low > 0:
        return f"{ran}, that could show nothing of {name}, which states {stated}; {most} ({sure})."
    rho = f" and a ρ of at least {found.rho_low:.3g}" if found.rho_low else ""
    return f"{ran}{few}, {low}{rho} ({sure}), within the {stated} that it states; {most}."


def _of_the_file(file: Residuals | None, changed: bool) -> list[str]:
    """What the published counts or answers say, in a sentence of its own."""
    if file is None:
        return []
    if changed and not file.wrong:
        return [f"Its {file.cells:,} answers are as common as the stated chances let them be."]
    if changed:
        said = _EXCHANGED[file.wrong]
        return [f"The answers of its file {said} (a chance below {file.chance:.1g})."]
    if not file.wrong:
        return [
            f"What was added to its {file.cells:,} counts looks like noise of the stated scale."
        ]
    return [f"The counts of its file {_ADDED[file.wrong]} (a chance below {_above(file.chance)})."]


def _above(chance: float) -> str:
    """The next power of ten; what is too small for a float is not called impossible.

    >>> _above(0.0), _above(1.4e-5)
    ('1e-300', '1e-4')
    """
    return f"1e{math.ceil(math.log10(max(chance, LEAST)))}"


def _defence(exposed: bool, file: Residuals | None) -> str:
    if exposed:
        return "do not publish it: its noise is not what it says. Publish it again with more."
    if file is not None and file.wrong:
        return (
            "audit it with the table that it was made of, read as it was then (--original). If it "
            "is that one, do not publish it: its counts are not what it says. Publish it again."
        )
    return "nothing was shown against it; more runs ask harder (--runs 40000), but none proves it."
