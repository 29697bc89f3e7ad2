"""Audit a release: run what published it again, with one person and without, and look at its file.

The mechanism that the manifest states is run many times on two neighbouring tables, which bounds
the ε that it truly has from below (see `shoal.dp.audit`). The person is the one whom the marginals
leave most alone. The original is read by whoever publishes: nobody else could do this.

Of counts and made-up people it is the publishing path itself that is run, with all of its steps,
the choice of pairs among them. Only the domain is smaller, for time: of each column the person's
bin is kept, and the others are put together into two, of which as many are taken as is affordable.
Runs are a column of their own, the last one, so that one call draws for many of them. Not run is
what fits a model to noisy counts and draws people from it, for it is given nothing else. Of
randomised values the person's answers are drawn again, once from their values and once from others.

What was drawn for the published file is looked at too: what was added to true counts must look like
noise of the stated scale, and answers must be as common as true values and their chances foretell
(see `shoal.dp.residuals`); not where rows were suppressed, for nobody says whose answers are left.
Of made-up people no single draw is told apart from another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import InputError, UsageError
from shoal.core.release import Finding
from shoal.core.schema import Schema
from shoal.core.spend import Spend, format_budget
from shoal.dp.audit import CONFIDENCE, RUNS, EpsilonAudit, Mechanism, audit_epsilon
from shoal.dp.bins import Bins, build_all_bins
from shoal.dp.mechanisms import Noise, calibrate_noise, compute_noise_deviation
from shoal.dp.randomised_response import Response
from shoal.dp.residuals import (
    EXACT,
    FAR,
    MAX_FALSE_ALARM,
    NEAR,
    SHARED,
    Residuals,
    check_exchanged_counts,
    check_residuals,
)
from shoal.dp.selection import compute_selection_spend
from shoal.releases.companion import OTHER_ORIGINAL, find_companion, find_release, is_other_original
from shoal.releases.forms._noise.accounted_spend import CHOICE, SENSITIVITY, Step, read_steps
from shoal.releases.forms._noise.answers import count_answers, read_answers
from shoal.releases.forms._noise.manifest import read_marginals, read_spend
from shoal.releases.forms._noise.measured import MeasuredTable, Tables, tabulate_codes
from shoal.releases.forms._noise.plan import Columns, MarginalPlan
from shoal.releases.forms._noise.verification import check_releasable, read_published_counts
from shoal.releases.forms.counts import COUNT, Counts
from shoal.releases.forms.synthetic import BudgetThirds, Synthetic
from shoal.releases.manifest import publishes_answers, publishes_counts
from shoal.releases.options import Progress, ignore_progress
from shoal.releases.people import select_published_rows
from shoal.releases.reader import open_frame, open_labels, parse_released_schema

# The publishing path, run again.


MAX_BINS = 3
"""Bins of each column: the person's, and two for all others."""
MAX_CELLS = 60
"""So many cells are drawn for in one run, where fewer bins allow it."""
DRAWS_BETWEEN_PROGRESS, RUNS_BETWEEN_PROGRESS = 50_000, 50
"""So many draws, and so many runs one by one, between two words about progress."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rerun:
    """A mechanism to be run again, and what it is run on: two neighbouring tables."""

    mechanism: Mechanism
    before: Ints
    after: Ints
    at_once: int


@dataclass(frozen=True)
class KnownCounts:
    """True counts that are at hand by marginal."""

    plan: MarginalPlan
    known: Tables

    def marginal(self, columns: Columns) -> Ints:
        """The counts of a marginal."""
        return self.known[columns]

    def tables(self, marginals: Iterable[Columns]) -> Tables:
        """The counts of several marginals."""
        return {marginal: self.known[marginal] for marginal in marginals}


def rerun_counts(manifest: Mapping[str, Any], measured: MeasuredTable) -> Rerun:
    """The path of a release of counts or made-up people, for the person who is most alone."""
    plan = measured.plan
    named = plan.marginals(tuple(tuple(columns) for columns in manifest["marginals"]))
    steps = read_steps(manifest)
    has_choice = any(step.mechanism == CHOICE for step in steps)
    person = find_most_isolated(measured, named)
    single_columns = tuple((column,) for column in range(len(plan.bins)))
    # what may be chosen is looked at, and drawn for only where it is chosen
    inspected = (*single_columns, *combinations(range(len(plan.bins)), 2)) if has_choice else named
    n_bins = next(
        k for k in range(MAX_BINS, 0, -1) if k == 1 or _count_cells(plan, named, k) <= MAX_CELLS
    )
    small = MarginalPlan(plan.schema, tuple(_merge_bins(bins, n_bins) for bins in plan.bins))
    after = {
        marginal: _count_around(measured, marginal, person, small.shape(marginal))
        for marginal in inspected
    }
    layout = _Layout(small, {marginal: table.shape for marginal, table in after.items()})
    form = _rebuild_form(manifest, small, single_columns if has_choice else named, steps)
    run = _run_in_turn(form, layout) if has_choice else _run_together(form, layout)
    with_them = layout.flat(after)[0]
    own = layout.flat({marginal: _place_person(table.shape) for marginal, table in after.items()})[
        0
    ]
    at_once = (
        RUNS_BETWEEN_PROGRESS if has_choice else max(2, DRAWS_BETWEEN_PROGRESS // len(with_them))
    )
    return Rerun(run, with_them - own, with_them, at_once)


def find_most_isolated(measured: MeasuredTable, marginals: Sequence[Columns]) -> list[int]:
    """The bins of the person with the smallest counts around them."""
    codes = measured.code_counts.codes
    around = [
        np.log(measured.marginal(marginal)[tuple(codes[column] for column in marginal)])
        for marginal in marginals
    ]
    entry = int(np.sum(around, axis=0).argmin())
    return [int(column[entry]) for column in codes]


def _count_cells(plan: MarginalPlan, marginals: Sequence[Columns], n_bins: int) -> int:
    return sum(int(np.prod(np.minimum(plan.shape(marginal), n_bins))) for marginal in marginals)


def _merge_bins(bins: Bins, n_bins: int) -> Bins:
    return Bins(bins.name, "category", tuple(map(str, range(min(n_bins, bins.size)))))


def _count_around(
    measured: MeasuredTable, marginal: Columns, person: Sequence[int], shape: tuple[int, ...]
) -> Ints:
    near = [_merge_codes(measured.code_counts.codes[column], person[column]) for column in marginal]
    whole = tuple(min(MAX_BINS, size) for size in measured.plan.shape(marginal))
    table = tabulate_codes(near, whole, measured.code_counts.count)
    return table[tuple(slice(size) for size in shape)]


def _merge_codes(codes: NDArray[np.int32], own: int) -> NDArray[np.int32]:
    """A column with the person's bin first, and all others put together into two.

    >>> _merge_codes(np.array([4, 0, 1, 2, 3], np.int32), 1).tolist()
    [2, 1, 0, 2, 1]
    """
    place = codes - (codes > own)  # among the others
    return np.where(codes == own, 0, 1 + place % (MAX_BINS - 1)).astype(np.int32)


def _place_person(shape: tuple[int, ...]) -> Ints:
    table = np.zeros(shape, np.int64)
    table.flat[0] = 1
    return table


def _rebuild_form(
    manifest: Mapping[str, Any],
    plan: MarginalPlan,
    marginals: tuple[Columns, ...],
    steps: Sequence[Step],
) -> Counts | Synthetic:
    spend = Spend.from_json(manifest["spend"])
    noise = [
        Noise(s.mechanism, s.scale, s.times, spend, compute_noise_deviation(s.mechanism, s.scale))
        for s in steps
        if s.mechanism != CHOICE
    ]
    choices = [
        compute_selection_spend(s.scale, SENSITIVITY) for s in steps if s.mechanism == CHOICE
    ]
    if (len(noise), len(choices)) not in ((1, 0), (2, 1)):
        raise InputError(
            "The manifest tells of steps that no release of noise is made by.",
            "take it as it was published, or publish the release again.",
        )
    if publishes_counts(manifest):
        return Counts(plan, marginals, noise[0])
    chosen = BudgetThirds(noise[0], choices[0], noise[1]) if choices else None
    return Synthetic(plan, marginals, noise[0], chosen)


@dataclass(frozen=True)
class _Layout:
    """Where the cells of each marginal stand in a row of all cells."""

    plan: MarginalPlan
    shapes: Mapping[Columns, tuple[int, ...]]

    def flat(self, tables: Mapping[Columns, NDArray[Any]]) -> NDArray[Any]:
        """Rows of all cells, of tables whose first axis may be runs; NaN for what is not there."""
        parts = []
        for marginal, shape in self.shapes.items():
            size = int(np.prod(shape))
            cells = (
                tables[marginal].reshape(-1, size)
                if marginal in tables
                else np.full((1, size), np.nan)
            )
            parts.append(cells)
        return np.hstack(parts)

    def tables(self, rows: Ints) -> Tables:
        """The tables of rows of cells, with runs as their last axis."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()])[:-1]
        parts = zip(self.shapes.items(), np.split(rows, ends, axis=1), strict=True)
        return {marginal: part.T.reshape(*shape, len(rows)) for (marginal, shape), part in parts}


def _run_together(form: Counts | Synthetic, layout: _Layout) -> Mechanism:
    """Many runs in one call: each marginal has the run as one more column."""

    def run(rows: Ints, rng: np.random.Generator | None) -> NDArray[Any]:
        last = len(layout.plan.bins)
        runs = Bins("", "category", tuple(map(str, range(len(rows)))))
        plan = MarginalPlan(layout.plan.schema, (*layout.plan.bins, runs))
        wide = replace(
            form, plan=plan, marginals=tuple((*marginal, last) for marginal in form.marginals)
        )
        true = {(*marginal, last): table for marginal, table in layout.tables(rows).items()}
        published = _publish_again(wide, KnownCounts(plan, true), rng)
        return layout.flat(
            {marginal[:-1]: np.moveaxis(table, -1, 0) for marginal, table in published.items()}
        )

    return run


def _publish_again(
    form: Counts | Synthetic, true: KnownCounts, rng: np.random.Generator | None
) -> Tables:
    """What is published of true counts, or given to what fits a model."""
    if isinstance(form, Synthetic):
        return {
            marginal: table
            for part in form.measure(true, rng)
            for marginal, table in part.tables.items()
        }
    counts = form.draft(true, rng).table[COUNT].to_numpy()
    ends = np.cumsum([form.plan.cells([marginal]) for marginal in form.marginals])[:-1]
    parts = zip(form.marginals, np.split(counts, ends), strict=True)
    return {marginal: part.reshape(form.plan.shape(marginal)) for marginal, part in parts}


def _run_in_turn(form: Counts | Synthetic, layout: _Layout) -> Mechanism:
    """One run after the other, for each chooses pairs of its own; those not chosen are NaN."""

    def run(rows: Ints, rng: np.random.Generator | None) -> NDArray[Any]:
        published = []
        for row in rows:
            tables = layout.tables(row[np.newaxis])
            true = {marginal: table[..., 0] for marginal, table in tables.items()}
            published.append(layout.flat(_publish_again(form, KnownCounts(layout.plan, true), rng)))
        return np.vstack(published)

    return run


# The audit.


AUDITING = "auditing"
ANSWERS_AT_ONCE = 1024
"""So many answers are drawn at once."""
MIN_CHANCE = 1e-300
"""No smaller chance is told."""
KNOWN_BY_ADVERSARY = (
    "the adversary knows everybody else in the table, and everything of the person but"
)
ASSUMPTIONS = (
    "the mechanism runs as the manifest states it, with noise drawn anew, on a domain of a few "
    "bins around the person",
    "what fits a model and makes up people reads noisy counts alone, and is not run again",
)
NOT_COMPARED = (
    "the published answers are not compared with the true values, for the original has other rows "
    "than the release: some were held back, or it is another table"
)
_COUNTS_WRONG = {
    NEAR: "are nearer to the true ones than noise of the stated scale leaves them",
    EXACT: "are the true ones themselves in more cells than noise of the stated scale leaves so",
    SHARED: "are off by much the same in all cells, which noise of its own for each is not",
    FAR: "are further from the true ones than noise of the stated scale takes them, or the "
    "original is another table",
}


_ANSWERS_WRONG = {
    NEAR: "follow the true values more than the stated chance of a true answer lets them",
    FAR: "are more or less common than true values and the stated chances let them be, or the "
    "original is another table",
}


def audit_mechanism(
    release: Any,
    original: Any,
    *,
    runs: int = RUNS,
    confidence: float = CONFIDENCE,
    reading: Mapping[str, Any] | None = None,
    progress: Progress = ignore_progress,
) -> Finding:
    """A lower bound on the ε of a release's mechanism; exposed: the person, where it is too large.

    ``original`` is the table that the release was made of. With ``confidence`` the bound holds.
    The person counts as exposed, too, where published counts have less noise than is stated.
    """
    release_files = find_release(release)
    if release_files is None or "privacy" not in release_files[1]:
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
    path, manifest = release_files
    original = select_published_rows(release, original)
    check_releasable(manifest)
    claimed = _read_claim(manifest)
    progress("reading", 0, 1)
    rerun, residuals = _prepare_rerun(path, manifest, original, reading or {})
    is_about_answers = publishes_answers(manifest)
    audit = audit_epsilon(
        rerun.mechanism,
        rerun.before,
        rerun.after,
        claimed.epsilon,
        claimed.delta,
        rho=claimed.rho,
        runs=runs,
        at_once=rerun.at_once,
        confidence=confidence,
        progress=progress,
    )
    finding = _build_finding(path.resolve().parent.name, audit, residuals, is_about_answers)
    if is_about_answers and residuals is None:
        finding = replace(finding, assumptions=(*finding.assumptions, NOT_COMPARED))
    if not is_other_original(find_companion(release, path), original):
        return finding
    return replace(finding, assumptions=(*finding.assumptions, OTHER_ORIGINAL))


def _read_claim(manifest: Mapping[str, Any]) -> Spend:
    """What a release says that it spends; where there is a δ with the ρ that is accounted for."""
    spend = read_spend(manifest)
    return (
        Spend(spend.epsilon, spend.delta, calibrate_noise(spend, 1).rho) if spend.delta else spend
    )


def _prepare_rerun(
    table: Path, manifest: dict[str, Any], original: Any, reading: Mapping[str, Any]
) -> tuple[Rerun, Residuals | None]:
    answers = read_answers(manifest)
    answered_schema = Schema(tuple(column_answers.column for column_answers in answers.values()))
    schema = answered_schema if answers else parse_released_schema(manifest)
    with open_frame(original, kinds=schema.kinds, **reading) as frame:
        plan = MarginalPlan(schema, build_all_bins(schema))
        named = None if answers else read_marginals(manifest, plan)
        measured = MeasuredTable.of(frame, plan, named)
    if answers:
        rerun = _rerun_answers(
            measured, [column_answers.response for column_answers in answers.values()]
        )
        return rerun, _compare_answers(table, manifest, measured)
    rerun = rerun_counts(manifest, measured)
    return rerun, _compare_counts(table, manifest, measured) if publishes_counts(manifest) else None


def _compare_counts(table: Path, manifest: Mapping[str, Any], measured: MeasuredTable) -> Residuals:
    step = read_steps(manifest)[0]
    published_counts = read_published_counts(table, measured.plan, manifest)
    added = [
        (counts - measured.marginal(marginal)).ravel()
        for marginal, counts in published_counts.items()
    ]
    return check_residuals(step.mechanism, step.scale, np.concatenate(added))


def _compare_answers(
    table: Path, manifest: dict[str, Any], measured: MeasuredTable
) -> Residuals | None:
    """The published answers beside the true values; None where they are not of the same rows.

    Of several columns the one that is least likely is told of, for all of them.
    """
    answers, schema = read_answers(manifest), parse_released_schema(manifest)
    with open_labels(table, schema, exact=True) as frame:
        published_counts = count_answers(frame, answers)
    if any(
        counts.sum() != measured.code_counts.count.sum() for counts in published_counts.values()
    ):
        return None
    checks = [
        check_exchanged_counts(
            published_counts[name], measured.marginal((at,)), column_answers.response.matrix()
        )
        for at, (name, column_answers) in enumerate(answers.items())
    ]
    least_likely = min(checks, key=lambda check: check.chance)
    chance = min(1.0, len(checks) * least_likely.chance)
    return Residuals(
        least_likely.cells, least_likely.wrong if chance < MAX_FALSE_ALARM else "", chance
    )


def _rerun_answers(measured: MeasuredTable, responses: Sequence[Response]) -> Rerun:
    """The answers for the rarest values, and for others in their place."""
    entry = int(measured.code_counts.count.argmin())
    before = np.array([codes[entry] for codes in measured.code_counts.codes], np.int64)
    sizes = np.array([response.values for response in responses])

    def run(codes: Ints, rng: np.random.Generator | None) -> Ints:
        columns = zip(responses, codes.T, strict=True)
        return np.stack([response.answered(own, rng) for response, own in columns], axis=1).astype(
            np.int64
        )

    return Rerun(run, before, (before + 1) % sizes, ANSWERS_AT_ONCE)


# The finding.


def _build_finding(
    name: str, audit: EpsilonAudit, residuals: Residuals | None, is_about_answers: bool
) -> Finding:
    exposed = not audit.holds or (residuals is not None and residuals.exposes)
    rho = (
        {}
        if audit.rho_low is None
        else {"rho_low": audit.rho_low, "rho_claimed": _as_float(audit.claimed.rho)}
    )
    unknown = "their sensitive values" if is_about_answers else "whether they are in it"
    return Finding(
        attack=AUDITING,
        releases=(name,),
        people=1,
        exposed=int(exposed),
        sure=1 / (1 + math.exp(-audit.epsilon_low)),
        guessing=0.5,
        sentence=" ".join(
            [
                _describe_runs(name, audit, is_about_answers),
                *_describe_file(residuals, is_about_answers),
            ]
        ),
        defence=_choose_defence(exposed, residuals),
        assumptions=(f"{KNOWN_BY_ADVERSARY} {unknown}", *ASSUMPTIONS),
        details={
            "epsilon_low": audit.epsilon_low,
            "epsilon_claimed": float(audit.claimed.epsilon),
            "delta": float(audit.claimed.delta),
            **rho,
            "confidence": audit.confidence,
            "runs": audit.runs,
            "most": audit.most,
            "event": audit.event,
            "hits": audit.hits,
            **({} if residuals is None else {"file": residuals.to_json()}),
        },
    )


def _as_float(number: Any) -> float | None:
    return None if number is None else float(number)


def _describe_runs(name: str, audit: EpsilonAudit, is_about_answers: bool) -> str:
    """What the runs show, with and without a person, or with other values of theirs."""
    stated = format_budget(audit.claimed.epsilon)
    with_person, without_person = ("one person", "without")
    if is_about_answers:
        with_person, without_person = "a person's values", "with others in their place"
    ran = f"Run {audit.runs:,} times with {with_person} and {audit.runs:,} times {without_person}"
    low = f"the mechanism of {name} has an ε of at least {audit.epsilon_low:.3g}"
    sure = f"{100 * audit.confidence:g} % sure"
    if audit.epsilon_low > audit.claimed.epsilon:
        return f"{ran}, {low} ({sure}): more than the {stated} that it states."
    if not audit.holds:
        return (
            f"{ran}, the mechanism of {name} has a ρ of at least {audit.rho_low:.3g} ({sure}): "
            f"more than the {_as_float(audit.claimed.rho):.3g} by which its ε of {stated} is "
            "accounted for."
        )
    few = "" if audit.most > audit.claimed.epsilon else ", which is too few to contradict it"
    most = f"so many runs can show an ε of {audit.most:.3g} at most"
    if not audit.epsilon_low > 0:
        return f"{ran}, that could show nothing of {name}, which states {stated}; {most} ({sure})."
    rho = f" and a ρ of at least {audit.rho_low:.3g}" if audit.rho_low else ""
    return f"{ran}{few}, {low}{rho} ({sure}), within the {stated} that it states; {most}."


def _describe_file(residuals: Residuals | None, is_about_answers: bool) -> list[str]:
    if residuals is None:
        return []
    if is_about_answers and not residuals.wrong:
        return [f"Its {residuals.cells:,} answers are as common as the stated chances let them be."]
    if is_about_answers:
        deviation = _ANSWERS_WRONG[residuals.wrong]
        return [f"The answers of its file {deviation} (a chance below {residuals.chance:.1g})."]
    if not residuals.wrong:
        added = f"What was added to its {residuals.cells:,} counts"
        return [f"{added} looks like noise of the stated scale."]
    wrong, chance = _COUNTS_WRONG[residuals.wrong], _round_up(residuals.chance)
    return [f"The counts of its file {wrong} (a chance below {chance})."]


def _round_up(chance: float) -> str:
    """The next power of ten; what is too small for a float is not called impossible.

    >>> _round_up(0.0), _round_up(1.4e-5)
    ('1e-300', '1e-4')
    """
    return f"1e{math.ceil(math.log10(max(chance, MIN_CHANCE)))}"


def _choose_defence(exposed: bool, residuals: Residuals | None) -> str:
    if exposed:
        return "do not publish it: its noise is not what it says. Publish it again with more."
    if residuals is not None and residuals.wrong:
        return (
            "audit it with the table that it was made of, read as it was then (--original). If it "
            "is that one, do not publish it: its counts are not what it says. Publish it again."
        )
    return "nothing was shown against it; more runs ask harder (--runs 40000), but none proves it."
