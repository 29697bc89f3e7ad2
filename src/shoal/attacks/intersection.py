"""Intersection: what two releases about the same person allow is less than what each allows.

For every person the values possible in each release, those of all the classes that the person
could be in, are intersected. Where one value is left, it is the person's, whatever k was.

Ganta, Kasiviswanathan, Smith: Composition attacks and auxiliary information in data privacy,
KDD 2008, sections 2 and 3. With s_ij the set of values that release j leaves person i:

    prior effective anonymity        |s_ij|
    posterior effective anonymity    |s_i1 ∩ ... ∩ s_in|
    drop                             min_j |s_ij| - posterior; vulnerable where it is positive
    PVP_C                            percent of the people with 1 / posterior >= C

People with one value in a single release have no drop, yet count in PVP at 100 %.

Where cells overlap, the classes that a person could be in (honest location) leave more values than
the class that truly holds them (assumed location, the paper's): one wide class that fits everybody
hides what the narrow ones give away. Where the private companions tell who is where, both are told.

It takes for granted that the person is in every release with the same value. People who are not,
as far as the releases show it (no class, or no value left) or the tester knows it, are counted
apart. Where nobody knows, it does not see who is in a class by chance, an outsider whose cells
fit: give a control group to learn how often.

Where people have several rows, in a release or in the table of people, rows of two releases need
not be the same row. If nobody has two different values, all rows of a person have the same one, and
whatever any of the known rows leaves possible in any release is intersected. Else only people of
whom a single row is known, and who have no other in any release, are intersected; of the others
each release leaves all values of all their classes, and the release that leaves the fewest counts.

A row without a value may have any. It adds none to the values left, so that blanks never make more
look possible; but whoever may be such a row is excluded by nothing there. A release that leaves no
known value says nothing of a person; nor, where the known values of all have none in common, does
one in which the person's may be missing. Of whom no release says anything is counted apart.

Where values may have been exchanged for others (randomised response) no value is excluded: what is
told is how strongly each is believed, by Bayes' rule, and the bound
(``shoal.attacks._shared.randomised_answers``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks._shared.candidate_classes import (
    MEANS,
    check_location,
    group_by_key,
    locate,
    looks_like_means,
    resolve_location,
)
from shoal.attacks._shared.people_with_several_rows import RemainingValues
from shoal.attacks._shared.randomised_answers import intersect_answers, shows_answers
from shoal.attacks._shared.value_evidence import (
    ValueEvidence,
    calibrate,
    count_absent,
    summarise_drop,
)
from shoal.core.errors import InputError, UsageError
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import (
    UNKNOWN,
    WORST_LISTED,
    Needs,
    NobodyFoundError,
    Targets,
    View,
    count_missing_values,
    refuse_repeated_people,
    state_no_value_added,
)

NEEDS = Needs(releases=2, people=True, reads_answers=True, counts_people=True)
OPTIONS = {"location": check_location, "weigh": bool}

PVP_CANDIDATES = (1, 2, 3, 4, 5, 10)
"""PVP at confidence 1 / n counts people with at most n values left: exact, without a fraction."""
OTHER_LOCATION = {
    "assumed": "if the class that holds each is known (assumed location)",
    "honest": "if every class whose cells contain them is possible (honest location)",
}
MAX_WORK = 5_000_000_000
"""So many words of sets of values may be compared to look at every combination of releases."""
MAX_NAMED = 10
"""How many values or classes an example or a witness lists."""


def intersection(
    view: View,
    *,
    rng: np.random.Generator | None = None,
    location: str = "honest",
    weigh: bool = True,
) -> Finding:
    """Intersect the values that each release leaves possible for each person.

    Parameters
    ----------
    view
        What the adversary has: two or more releases with a sensitive column in common, and people.
    rng
        Draws the halves of the people that beliefs are calibrated and judged on.
    location
        Which classes a person could be in: ``honest``, ``assumed`` or ``centroid``.
    weigh
        Whether the values left are weighed, which takes most of the time; False: only counted.

    Returns
    -------
    Finding
        How many people have one value left; where a release shows answers, which exclude none, of
        how many one value is believed.

    Raises
    ------
    NobodyFoundError
        Nobody can be found in all of the releases.
    InputError, UsageError
        A release, the people or a column to learn is missing.
    """
    _check_view(view)
    if shows_answers(view):
        refuse_repeated_people(view, "values that may have been exchanged are weighed by rows")
        return intersect_answers(view, location)
    assert view.people is not None
    several = view.people.person is not None
    if several or any(release.person is not None for release in view.releases):
        return _intersect_by_people(view, location)
    people, evidence = _collect_known_evidence(view, location)
    prior, posterior = evidence.count_values_left()
    outside = np.zeros(len(people), np.bool_) if people.present is None else ~people.present
    posterior[outside] = 0
    people_found, means = np.flatnonzero(posterior), _looks_like_means(view, location, prior == 0)
    if not len(people_found):
        _refuse_nothing_known(evidence.nothing_known)
        check = "check that the releases and the targets share people, columns and values"
        raise NobodyFoundError(
            "No person can be found in all of the releases.", f"{MEANS if means else check}."
        )
    rng = np.random.default_rng(0) if rng is None else rng
    details = {
        **_summarise_candidates(prior, posterior, outside, evidence.nothing_known),
        **count_missing_values(view),
        "location": resolve_location(view.releases, location)[0],
        "means": means,
        "weighted": calibrate(evidence, people_found, people.keys, rng)
        if weigh
        else {"calibrated": False, "reason": "only how many values are left was asked"},
        **_compare_other_location(view, evidence, location, outside),
    }
    if people.values is not None:
        details |= _count_right(evidence, np.flatnonzero(posterior == 1))
    worst = _order_worst_first(
        people.rows[people_found], prior.min(axis=0)[people_found], posterior[people_found]
    )
    example, witness = _build_example(view, people, evidence, int(people_found[worst[0]]))
    return _build_finding(
        view,
        evidence,
        details,
        worst=tuple(people.rows[people_found[worst]].tolist()),
        example=example,
        witness=witness,
    )


def _intersect_by_people(view: View, location: str) -> Finding:
    """The same by people with several rows: what their known rows leave of their values."""
    people, evidence = _collect_evidence(view, location)
    left = RemainingValues.of(view, evidence, people)
    outside = np.zeros(len(people), np.bool_)
    if people.present is not None:
        outside = ~left.any_row(people.present)
    prior, posterior = left.prior, np.where(outside, 0, left.posterior)
    people_found = np.flatnonzero(posterior)
    if not len(people_found):
        _refuse_nothing_known(left.nothing_known)
        raise NobodyFoundError(
            "No person can be found in all of the releases.",
            "check that the releases and the targets share people, columns and values.",
        )
    details = {
        **_summarise_candidates(prior, posterior, outside, left.nothing_known),
        **count_missing_values(view),
        "location": resolve_location(view.releases, location)[0],
        "means": False,
        "counted": {"people": len(people), "rows": people.table_rows},
        "is_constant": left.is_constant,
        "weighted": {"calibrated": False, "reason": "people have several rows"},
    }
    rows = people.rows[left.first]
    worst = _order_worst_first(
        rows[people_found], prior.min(axis=0)[people_found], posterior[people_found]
    )
    person = int(people_found[worst[0]])
    example = (
        f"Row {rows[person]:,} of the targets: {_describe_values_left(int(posterior[person]))}, "
        f"{', '.join(f'{n:,}' for n in prior[:, person])} by each release alone."
    )
    finding = _build_finding(
        view,
        evidence,
        details,
        worst=tuple(rows[people_found[worst]].tolist()),
        example=example,
        witness={"row": int(rows[person]), "left": int(posterior[person])},
    )
    return replace(finding, assumptions=(*finding.assumptions, left.assumption))


def _describe_values_left(number: int) -> str:
    return "1 value is left" if number == 1 else f"{number:,} values are left"


def find_fewest_candidates(
    view: View, l: int, location: str, *, everywhere: bool
) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """The fewest values that any of the releases leave everybody together with the last.

    0 where no combination leaves fewer than ``l`` of which none of its releases does alone; and who
    is found in the last. ``everywhere``: it is known who is in which, so that what counts are all
    that hold the person. Else a value that may be left is held against every release that has it:
    no combination that leaves it leaves fewer. None where that is more work than ``MAX_WORK``.
    """
    _check_view(view)
    refuse_repeated_people(view, "what any combination of releases leaves is worked out by rows")
    people, plain = _collect_evidence(view, location)
    evidence = plain.without_blanks
    possible = [evidence.possible_values(j) for j in range(len(view.releases))]
    for release, possible_there in zip(view.releases, possible, strict=True):
        if release.true_class is not None:
            possible_there[release.true_class < 0] = 0
    *earlier, last = possible
    number = [np.bitwise_count(bits).sum(axis=1).astype(np.int64) for bits in possible]
    if everywhere:
        few_alone = np.any([(n_values > 0) & (n_values < l) for n_values in number], axis=0)
        left = last.copy()
        for possible_there, n_values in zip(earlier, number, strict=False):
            left[n_values > 0] &= possible_there[n_values > 0]
        at_odds = ~left.any(axis=1) & ~plain.may_lack_value(
            len(earlier)
        )  # a value is missing somewhere
        left[at_odds] = last[at_odds]
        for j, (possible_there, n_values) in enumerate(zip(earlier, number, strict=False)):
            narrowed = at_odds & (n_values > 0) & ~plain.may_lack_value(j)
            left[narrowed] &= possible_there[narrowed]
        fewest = np.bitwise_count(left).sum(axis=1).astype(np.int64)
        return np.where((fewest < l) & ~few_alone, fewest, 0), number[-1] > 0
    values = np.flatnonzero(evidence.histograms[-1].total)
    if len(values) * len(possible) * last.size > MAX_WORK:
        return None
    fewest = np.full(len(people), l, np.int64)
    for value in values:
        word, bit = value >> 6, np.uint64(1) << np.uint64(value & 63)
        may_have = np.flatnonzero(((last[:, word] & bit) != 0) & (number[-1] >= l))
        left = last[may_have]
        for possible_there, n_values in zip(earlier, number, strict=False):
            has_too = ((possible_there[may_have, word] & bit) != 0) & (n_values[may_have] >= l)
            left[has_too] &= possible_there[may_have][has_too]
        fewest[may_have] = np.minimum(fewest[may_have], np.bitwise_count(left).sum(axis=1))
    return np.where(fewest < l, fewest, 0), number[-1] > 0


def _check_view(view: View) -> None:
    if len(view.releases) < 2:
        raise InputError("An intersection needs two releases.", "give a second release.")
    if view.people is None:
        raise UsageError(
            "An intersection needs people to look for.", "give a table of them with --targets."
        )
    if view.sensitive is None or any(release.values is None for release in view.releases):
        raise InputError(
            "An intersection needs a sensitive column that all releases publish.",
            "name one with --on.",
        )


def _collect_evidence(view: View, location: str) -> tuple[Targets, ValueEvidence]:
    assert view.people is not None
    assert view.sensitive is not None
    people, truth = view.people, view.people.values
    distinct_people, key = group_by_key(people, view.axes, check_location(location))
    places = [locate(release, view.axes, distinct_people, location) for release in view.releases]
    histograms = [release.row_histogram(view.sensitive) for release in view.releases]
    unknown = np.full(people.table_rows, UNKNOWN, dtype=np.int32)
    return people, ValueEvidence(places, histograms, unknown if truth is None else truth, key)


def _collect_known_evidence(view: View, location: str) -> tuple[Targets, ValueEvidence]:
    """The same by known values alone."""
    people, plain = _collect_evidence(view, location)
    return people, ValueEvidence.of_known(plain)


def _refuse_nothing_known(nothing_known: NDArray[np.bool_] | None) -> None:
    if nothing_known is not None and nothing_known.any():
        raise NobodyFoundError(
            f"Nothing is known of {int(nothing_known.sum()):,} people: their values may be missing "
            "in all of the releases.",
            'if a missing value means something, say so in the schema: missing = "value".',
        )


def _looks_like_means(view: View, location: str, missing: NDArray[np.bool_]) -> bool:
    """Whether people are in no class of a release (releases, people) because it gives means."""
    assert view.people is not None
    return location == "honest" and any(
        not release.centroids and looks_like_means(release, view.axes, view.people.keys, not_found)
        for release, not_found in zip(view.releases, missing, strict=True)
    )


def _summarise_candidates(
    prior: NDArray[np.int32],
    posterior: NDArray[np.int32],
    outside: NDArray[np.bool_],
    nothing_known: NDArray[np.bool_] | None,
) -> dict[str, Any]:
    after = posterior[posterior > 0]
    within = [int((after <= n).sum()) for n in PVP_CANDIDATES]
    return {
        **summarise_drop(prior, posterior),
        "pvp": [
            {"confidence": 1 / n, "people": number, "percent": 100 * number / len(after)}
            for n, number in zip(PVP_CANDIDATES, within, strict=True)
        ],
        **count_absent(prior, posterior, outside, nothing_known),
        "exposed_before": int((prior[:, posterior > 0].min(axis=0) == 1).sum()),
    }


def _compare_other_location(
    view: View, evidence: ValueEvidence, location: str, outside: NDArray[np.bool_]
) -> dict[str, Any]:
    """What the other location finds, where somebody fits several classes: assumed beside honest, if
    the companions tell who is where; honest beside assumed. Centroids have neither.
    """
    other = {"honest": "assumed", "assumed": "honest"}.get(location)
    if other is None or any(
        release.true_class is None or release.centroids for release in view.releases
    ):
        return {}
    if location == "honest" and not _has_overlaps(evidence):
        return {}
    alternative = _collect_known_evidence(view, other)[1]
    prior, posterior = alternative.count_values_left()
    posterior[outside] = 0
    if not posterior.any() or (other == "honest" and not _has_overlaps(alternative)):
        return {}
    numbers = _summarise_candidates(prior, posterior, outside, alternative.nothing_known)
    summary = {
        key: numbers[key] for key in ("prior", "posterior", "mean_drop", "vulnerable", "pvp")
    }
    after = posterior[posterior > 0]
    return {other: {"people": len(after), "exposed": int((after == 1).sum()), **summary}}


def _has_overlaps(honest: ValueEvidence) -> bool:
    return any(bool((np.diff(start) > 1).any()) for start, _ in honest.located)


def _count_right(evidence: ValueEvidence, exposed: NDArray[np.int64]) -> dict[str, int]:
    known = exposed[evidence.truth[exposed] != UNKNOWN]
    right = evidence.weigh(known).likeliest == evidence.truth[known]
    return {"right": int(right.sum()), "exposed_known": len(known)}


def _build_finding(
    view: View, evidence: ValueEvidence, details: dict[str, Any], **worst: Any
) -> Finding:
    assert view.sensitive is not None
    after = details["candidates_after"]
    people, exposed, before = sum(after.values()), after.get(1, 0), details["exposed_before"]
    return Finding(
        attack="intersection",
        people=people,
        exposed=exposed,
        sure=1 / min(after),
        guessing=float(evidence.total.max() / evidence.total.sum()),
        sentence=f"{exposed:,} of {people:,} people have one possible {view.sensitive.name} "
        f"left when the {len(view.releases)} releases are joined; {before:,} had one in a single "
        f"release{_describe_other_location(details)}{_describe_absent(details)}.",
        defence="publish one table together with the other publishers; else ask for larger and "
        "more varied classes, which makes it rarer, or use differential privacy, which bounds it.",
        assumptions=(
            "the adversary knows each person's quasi-identifiers",
            "the person is in every release with the same sensitive value",
            *resolve_location(view.releases, details["location"])[1],
            *state_no_value_added(view),
        ),
        details=details,
        **worst,
    )


def _describe_other_location(details: dict[str, Any]) -> str:
    for other, words in OTHER_LOCATION.items():
        if other in details:
            summary = details[other]
            return f"; {summary['exposed']:,} of {summary['people']:,} {words}"
    return ""


def _describe_absent(details: dict[str, Any]) -> str:
    absent, left_none = details["absent"], details["no_value_left"]
    unknown = details.get("nothing_known", 0)
    text = f"; of {unknown:,} nothing is known, for values are missing" if unknown else ""
    if not absent:
        return text
    text += (
        f"; {absent:,} of the {details['asked']:,} people asked for were not found in all of them"
    )
    if left_none:
        text += f", {left_none:,} because no value is in all"
    return f"{text} ({MEANS})" if details["means"] else text


def _order_worst_first(
    rows: NDArray[np.int64], before: NDArray[np.int32], after: NDArray[np.int32]
) -> NDArray[np.int64]:
    """The worst-hit: fewest values left, then the largest drop, then the row's number."""
    rank = after.astype(np.int64) * (int(before.max()) + 1) - before
    last = min(WORST_LISTED, len(rank)) - 1
    near = np.flatnonzero(rank <= np.partition(rank, last)[last])
    order = np.lexsort((rows[near], rank[near]))
    return near[order[:WORST_LISTED]]


def _build_example(
    view: View, people: Targets, evidence: ValueEvidence, person: int
) -> tuple[str, dict[str, Any]]:
    """One person step by step: as a sentence, and as classes, rows and counts."""
    steps = [_build_step(view, evidence, j, person) for j in range(len(view.releases))]
    values = set.intersection(*(set(codes) for _, codes in steps))
    parts = [
        f"release {j + 1} leaves {step['values']:,}{' values possible' if j == 0 else ''} "
        f"({step['rows']:,} rows)"
        for j, (step, _) in enumerate(steps)
    ]
    row, number = int(people.rows[person]), len(values)
    joined = "both" if len(steps) == 2 else f"all {len(steps)}"
    example = (
        f"Row {row:,} of the targets: {', '.join(parts)}; "
        f"{number:,} {'is' if number == 1 else 'are'} in {joined}"
    )
    witness = {"row": row, "releases": [step for step, _ in steps], "left": number}
    if view.show:
        named = _name_values(view, sorted(values))
        witness["left_named"] = named
        example += f": {', '.join(named)}" + (", ..." if number > MAX_NAMED else "")
    return example + ".", witness


def _build_step(
    view: View, evidence: ValueEvidence, j: int, person: int
) -> tuple[dict[str, Any], list[int]]:
    release, classes = view.releases[j], evidence.classes_fitting(j, person)
    histogram = evidence.histograms[j].take(evidence.classes(j, person))
    values = np.unique(histogram.value).tolist()
    step: dict[str, Any] = {
        "release": release.name,
        "classes": classes[:MAX_NAMED].tolist(),
        "rows": int(release.rows[classes].sum()),
        "values": len(values),
    }
    if view.show:
        step["named"] = _name_values(view, values)
        if release.labels is not None:
            step["labels"] = [dict(release.labels(int(c))) for c in classes[:MAX_NAMED]]
    return step, values


def _name_values(view: View, codes: Sequence[int]) -> list[str]:
    return [view.format_sensitive(code) for code in codes[:MAX_NAMED]]
