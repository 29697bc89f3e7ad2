"""The closed form: people's chances of being exposed, from local distributions and the overlap.

For person i of class E with M people, the other release is taken to hold i in a class of M people
as well, whose values are drawn from theta_i (`shoal.forecasts.local_distribution`). Given that i is
in both, its own value is common for sure; each other value s of E appears there with p_s = 1 - (1 -
theta_i(s))^(M-1), and i is exposed with

    v_i = P(fewer than l - 1 of the other values of E appear), a Poisson binomial;

the class with 1 - prod_i (1 - rho v_i), rho the share of our people who are in the other release.
With J others i is in all of them with the chance kappa rho of whoever is in every one, else in j of
them with a binomial chance; a value is common to all j with p_s^j.

So far everybody is alone in the other release, which errs towards more risk. People who are
together here tend to be together there; with a chance q, say. Then

  * of the M - 1 people beside i there, q times the overlap's share of that release are people of E,
    who bring values of E: theta_i becomes (1 - c) theta_i + c h_i, with c = q · shared / rows, and
    h_i the shares of the values in E without i;
  * people who are together in both have the same values left, so that m of them are exposed not m
    times independently, but as 1 + (m - 1)(1 - q) would be. Over binomial m that is
    P(nobody) + prod_i (1 - v_i)^(q/M) (prod_i (1 - rho + rho (1 - v_i)^(1-q)) - P(nobody)).

With q = 0 this is the formula above. With J others, two people who are elsewhere may be in
different releases: the second q is less by the chance of that.

It corrects Sattar and Helal, Privacy risk against composition attack, 2018, in what their model
leaves out: the overlap, and that values depend on who people are.

Does not know the other's method: only that its classes are about as large as ours, and q.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.forecasts.estimate import ExposureEstimate
from shoal.forecasts.local_distribution import LocalDistribution
from shoal.forecasts.our_table import OurTable, OverlapScenario
from shoal.kernels.combinatorics import compute_chance_of_fewer

TOGETHER = 0.7
"""q, unless given: chosen on Adult over the settings of `shoal.forecasts.validation`. Of tenths
.8 has the least error there (by .05 points), and on IPUMS, which had no part in the choice, .9 with
everybody and .7 among those with an occupation; .7 errs towards more risk on all of them. (Of
pairs in one class of Mondrian on Adult .76 to .97 are together in another sample's: large
classes have most of the pairs.)"""
PAIRS = 4_000_000
"""So many pairs of a person and a value are worked on at once."""


def estimate_by_closed_form(
    ours: OurTable, local: LocalDistribution, scenario: OverlapScenario, together: float = TOGETHER
) -> ExposureEstimate:
    """The estimate from everybody's local distribution; nothing is drawn.

    ``together``: how likely two people of a class of ours, both elsewhere, are in one class there.
    """
    if not 0 <= together <= 1:
        raise UsageError("together is a share between 0 and 1.", f"write for example {TOGETHER}.")
    membership = _compute_membership(scenario)
    somewhere = float(membership.sum())
    given_somewhere = membership / somewhere if somewhere else membership
    exposed = _compute_exposure(ours, local, scenario, together, given_somewhere)
    meeting = _compute_meeting_chance(scenario, somewhere)
    classes = 1 - _compute_safety(ours, exposed, somewhere, together * meeting)
    details = {**local.description, "together": together}
    assumptions = (
        *list_closed_form_assumptions(ours, together),
        *scenario.coincidence,
        *ours.blank_assumption,
    )
    return ExposureEstimate(
        "closed form", float(classes.mean()), classes, None, assumptions, details
    )


def list_closed_form_assumptions(ours: OurTable, together: float = TOGETHER) -> tuple[str, ...]:
    """What the closed form takes to be so."""
    population_known = ours.population_values is not None
    elsewhere = ", and where these are few, as the population does" if population_known else ""
    return (
        "the other release holds each of our people in a class as large as ours",
        f"people elsewhere who are alike have values as our people do who are alike{elsewhere}",
        "whether a value appears there does not depend on which others do",
        "two of our people in one class and elsewhere are together there with a chance of "
        f"{together:g}",
    )


def _compute_membership(scenario: OverlapScenario) -> NDArray[np.float64]:
    """The chances that a person is in exactly 1, 2, … J of the others."""
    counts, (in_all, rho) = np.ones(1), _split_membership(scenario)
    for _ in range(scenario.others):
        counts = np.append(counts * (1 - rho), 0.0) + np.append(0.0, counts * rho)
    counts *= 1 - in_all
    counts[-1] += in_all
    return counts[1:]


def _split_membership(scenario: OverlapScenario) -> tuple[float, float]:
    """The chance of being in every other release, and of anybody else to be in a given one."""
    in_all = scenario.same_people * scenario.overlap if scenario.others > 1 else 0.0
    return in_all, (scenario.overlap - in_all) / (1 - in_all) if in_all < 1 else 0.0


def _compute_meeting_chance(scenario: OverlapScenario, somewhere: float) -> float:
    """How likely two people who are both elsewhere are in one and the same release there."""
    in_all, rho = _split_membership(scenario)
    meeting = 1 - (1 - rho**2) ** scenario.others  # of two who are not in all of them
    elsewhere = 1 - (1 - rho) ** scenario.others
    not_in_all = 1 - in_all
    both = in_all**2 + 2 * in_all * not_in_all * elsewhere + not_in_all**2 * meeting
    return both / somewhere**2 if somewhere else 1.0


def _compute_exposure(
    ours: OurTable,
    local: LocalDistribution,
    scenario: OverlapScenario,
    together: float,
    membership: NDArray[np.float64],
) -> NDArray[np.float64]:
    """v_i: of each of our people the chance of being exposed, given they are in another release."""
    company = together * scenario.shared(ours.people) / scenario.rows
    exposed_chance = np.zeros(ours.people)
    for people in _split_people(ours.nonblank_histogram.distinct[ours.class_]):
        start, own, appears = compute_appearance_chances(ours, local, people, company)
        for j, chance in enumerate(membership, start=1):
            few = compute_chance_of_fewer(start, appears**j, own, scenario.l - 1)
            if (own < 0).any():  # of a person without a value, none of the class's is sure to be
                fewer_of_some = compute_chance_of_fewer(
                    start, appears**j, own, scenario.l
                ) - compute_chance_of_fewer(start, appears**j, own, 1)
                few = np.where(own < 0, fewer_of_some, few)
            exposed_chance[people] += chance * few
    return exposed_chance


def _split_people(pairs: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """People in turn, as many at once as have about ``PAIRS`` pairs; at least one.

    >>> [len(part) for part in _split_people(np.full(5, PAIRS // 2))]
    [2, 2, 1]
    """
    upto = np.cumsum(pairs)
    part = (upto - pairs) // PAIRS
    return np.split(np.arange(len(pairs)), np.flatnonzero(np.diff(part)) + 1)


def compute_appearance_chances(
    ours: OurTable, local: LocalDistribution, people: NDArray[np.int64], company: float = 0.0
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """p_s for some people and each known value of their class: start, where the own is (−1: it is
    missing), the chances.

    ``company``: the share c of people beside a person there who are of the person's class here.
    """
    histogram, class_ = ours.nonblank_histogram, ours.class_[people]
    rows = ours.histogram.rows
    number = histogram.distinct[class_]
    start = np.concatenate([[0], np.cumsum(number)])
    of = np.repeat(np.arange(len(people)), number)
    pair = np.arange(len(of)) + (histogram.start[class_] - start[:-1])[of]
    person, value, rest = people[of], histogram.value[pair], (rows[class_] - 1)[of]
    own = value == ours.values[person]
    among_others = (histogram.count[pair] - own) / np.maximum(rest, 1)
    theta = (1 - company) * local.theta(person, value) + company * among_others
    with np.errstate(divide="ignore", invalid="ignore"):  # what everybody has appears for sure
        appears = -np.expm1(rest * np.log1p(-np.minimum(theta, 1.0)))
    appears[rest == 0] = 0.0
    at = np.full(len(people), -1)
    at[of[own]] = np.flatnonzero(own)
    return start, at, appears


def _compute_safety(
    ours: OurTable, exposed: NDArray[np.float64], somewhere: float, together: float
) -> NDArray[np.float64]:
    """Per class the chance that nobody in it is exposed."""
    stays = np.maximum(1 - exposed, 1e-300)  # a logarithm is taken
    nobody = (1 - somewhere) ** ours.histogram.rows
    independent = _multiply_by_class(ours, 1 - somewhere + somewhere * stays ** (1 - together))
    shared = _multiply_by_class(ours, stays ** (together / ours.histogram.rows[ours.class_]))
    safe: NDArray[np.float64] = np.clip(nobody + shared * (independent - nobody), 0.0, 1.0)
    return safe


def _multiply_by_class(ours: OurTable, chance: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        logarithm = np.log(chance)
    product: NDArray[np.float64] = np.exp(np.bincount(ours.class_, logarithm, ours.classes))
    return product
