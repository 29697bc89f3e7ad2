"""What attacks find where values may have been exchanged for others: beliefs, and a bound.

A randomised release shows answers, no values: one that all rows of a class show may be nobody's.
So no value that the column may have is excluded, whatever is joined, and what is left to say is
how strongly the likeliest is believed (``shoal.attacks._shared.beliefs``), of how many people an
adversary is sure, how often guesses are right where the tester knows, and how far a person's own
answers can move a belief beyond what the answers of others say.

Two adversaries guess: to one everybody is alike, the other foretells from the other answers of a
class. Told of is the one who is sure of more people (and right, where that is known), then the one
who believes more; and of guesses that are right, the larger share.

It does not see what other columns of the release foretell, nor what somebody knows besides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks._shared.beliefs import (
    CONFIDENT,
    Beliefs,
    Channel,
    bound_belief,
    compute_beliefs,
    estimate_prior,
    find_max_foretold,
    predict_by_class,
    predict_by_everybody,
)
from shoal.attacks._shared.location import (
    Located,
    check_location,
    group_by_key,
    locate,
    resolve_location,
)
from shoal.core.errors import InputError
from shoal.core.release import Finding
from shoal.core.theory.adversary_view import UNKNOWN, WORST_LISTED, NobodyFoundError, Targets, View

SHARES = (1.0, CONFIDENT, 0.5, 1 / 3, 0.25, 0.2, 0.1)
"""The beliefs by which people are counted: those of PVP in an intersection, and a sure one."""
ADVERSARIES = {
    "everybody": (predict_by_everybody, "all answers as one"),
    "class": (predict_by_class, "the answers of a class's others"),
}
"""What is foretold, and by what, as a sentence says it."""
DEFENCE = "spend a smaller epsilon, or publish fewer randomised releases of the same people."
ANSWERS = (
    "published values are answers, each exchanged by the chance that its release states, "
    "independently of all others",
    "before looking at a person's own answers the adversary believes what the answers of others "
    "make likeliest: of everybody, or of the others in the class",
    f"a value that is believed at {CONFIDENT:.0%} or more counts as exposed, right or wrong",
)
LIMITS = (
    "the bound is on what a person's own answers add: what the answers of others say of people "
    "like them is not bounded, and known without them too"
)
OTHERS = "what the answers to other sensitive columns foretell is not looked at"

Keys = NDArray[np.integer[Any]]


def shows_answers(view: View) -> bool:
    """Whether a release shows answers in place of values."""
    return any(release.response is not None for release in view.releases)


def _list_limits(view: View) -> tuple[str, ...]:
    """What is not seen; more of it where a release has answers to several columns."""
    assert view.sensitive is not None
    several = any(Channel.of(release, view.sensitive).several for release in view.releases)
    return (LIMITS, OTHERS) if several else (LIMITS,)


@dataclass(frozen=True)
class _AdversaryBeliefs:
    """What an adversary believed before, what after, and what answers spend."""

    adversary: str
    prior: NDArray[np.float64]
    beliefs: Beliefs
    others: NDArray[np.float64]
    """By key: the most that the answers of others foretell, by either adversary."""
    epsilon: float

    @classmethod
    def each(cls, view: View, places: list[Located]) -> list[_AdversaryBeliefs]:
        """Of both adversaries."""
        assert view.sensitive is not None
        channels = [Channel.of(release, view.sensitive) for release in view.releases]
        prior, epsilon = estimate_prior(channels), sum(one.epsilon for one in channels)
        said = {
            name: [say(one, prior) for one in channels] for name, (say, _) in ADVERSARIES.items()
        }
        found = {name: compute_beliefs(one, places, prior) for name, one in said.items()}
        others = np.max([one.foretold for one in found.values()], axis=0)
        return [cls(name, prior, one, others, epsilon) for name, one in found.items()]

    def numbers(self, keys: Keys) -> dict[str, Any]:
        """What is said of the people with these keys."""
        stated = self.beliefs.stated[keys]
        guess, foretold = float(self.prior.max()), float(self.others[keys].max())
        return {
            "adversary": self.adversary,
            "sure": CONFIDENT,
            "largest_belief": float(stated.max()),
            "mean_belief": float(stated.mean()),
            "largest_prior": guess,
            "foretold": foretold,
            "epsilon": self.epsilon if np.isfinite(self.epsilon) else None,
            "bound": bound_belief(self.epsilon, foretold),
        }


def _describe_beliefs(found: dict[str, Any]) -> str:
    """How far anybody is believed, to end a sentence with."""
    by = ADVERSARIES[found["adversary"]][1]
    said = (
        f"the largest belief in a value is {found['largest_belief']:.1%}, by {by} "
        f"({found['largest_prior']:.1%} before)"
    )
    if found["epsilon"] is None:
        return said
    return (
        f"{said}; by a person's own answers, beyond what the answers of others say, odds move by "
        f"at most e^{found['epsilon']:.4g}: from {found['foretold']:.1%}, the most that these "
        f"foretell, to {found['bound']:.1%}"
    )


def intersect_answers(view: View, location: str) -> Finding:
    """The intersection of releases of which one or more show answers."""
    assert view.people is not None
    people = view.people
    each, key = group_by_key(people, view.axes, check_location(location))
    places = [locate(release, view.axes, each, location) for release in view.releases]
    both = _AdversaryBeliefs.each(view, places)
    left = both[0].beliefs.left[key]
    outside = np.zeros(len(people), np.bool_) if people.present is None else ~people.present
    left[outside] = 0
    found = np.flatnonzero(left)
    if not len(found):
        raise NobodyFoundError(
            "No person can be found in all of the releases.",
            "check that the releases and the targets share people, columns and values.",
        )
    learnt = max(both, key=lambda one: _rate_success(people, one, key, found))
    stated = learnt.beliefs.stated[key]
    order = found[np.lexsort((people.rows[found], -stated[found]))][:WORST_LISTED]
    sure = found[stated[found] >= CONFIDENT]
    details = {
        **_summarise_candidates(learnt.beliefs.each[:, key], left, outside),
        "location": resolve_location(view.releases, location)[0],
        **learnt.numbers(key[found]),
        "exposed_before": int(
            (learnt.beliefs.single[:, key[found]].max(axis=0) >= CONFIDENT).sum()
        ),
        "beliefs": _count_by_belief(stated[found]),
        **_count_right(people, learnt, key, found),
        **_summarise_guesses(people, both, key, found),
    }
    return Finding(
        attack="intersection",
        people=len(found),
        exposed=len(sure),
        sure=details["largest_belief"],
        guessing=details["largest_prior"],
        sentence=_sentence(view, len(sure), details),
        defence=DEFENCE,
        example=_example(view, people, stated, left, int(order[0]), details["largest_prior"]),
        assumptions=(
            "the adversary knows each person's quasi-identifiers",
            "the person is in every release with the same sensitive value",
            *resolve_location(view.releases, location)[1],
            *ANSWERS,
            *_list_limits(view),
        ),
        worst=tuple(people.rows[order].tolist()),
        witness={
            "row": int(people.rows[order[0]]),
            "left": int(left[order[0]]),
            "belief": float(stated[order[0]]),
        },
        details=details,
    )


def _rate_success(
    people: Targets, learnt: _AdversaryBeliefs, key: Keys, found: Keys
) -> tuple[float, float]:
    """How an adversary fares: sure of how many (and right, where that is known); how sure."""
    stated = learnt.beliefs.stated[key[found]]
    right = _count_right(people, learnt, key, found).get("right", int((stated >= CONFIDENT).sum()))
    return right, float(stated.max())


def _take_known(people: Targets, found: Keys) -> Keys:
    """The people whose true values are known."""
    return found[:0] if people.values is None else found[people.values[found] != UNKNOWN]


def _summarise_candidates(
    each: NDArray[np.int32], left: NDArray[np.int32], outside: NDArray[np.bool_]
) -> dict[str, Any]:
    """Effective anonymity before and after, as an intersection of values tells it."""
    found, missing = left > 0, each == 0
    before, after = each[:, found].min(axis=0), left[found]
    return {
        "candidates_before": _count_by_number(before),
        "candidates_after": _count_by_number(after),
        "prior": [float(one[found].mean()) for one in each],
        "posterior": float(after.mean()),
        "mean_drop": float((before - after).mean()),
        "vulnerable": int((before > after).sum()),
        "asked": len(left),
        "absent": int((~found).sum()),
        "absent_by_release": missing.sum(axis=1).tolist(),
        "known_absent": int(outside.sum()),
        "no_value_left": int((~found & ~missing.any(axis=0) & ~outside).sum()),
    }


def _count_by_number(numbers: NDArray[Any]) -> dict[int, int]:
    there, count = np.unique(numbers, return_counts=True)
    return dict(zip(there.tolist(), count.tolist(), strict=True))


def _count_by_belief(stated: NDArray[np.float64]) -> list[dict[str, float | int]]:
    """How many people a value is believed of by at least so much."""
    people = [int((stated >= share - 1e-12).sum()) for share in SHARES]
    return [
        {"confidence": share, "people": n, "percent": 100 * n / len(stated)}
        for share, n in zip(SHARES, people, strict=True)
    ]


def _count_right(
    people: Targets, learnt: _AdversaryBeliefs, key: Keys, found: Keys
) -> dict[str, int]:
    """Of those whom the adversary is sure of and whose values are known, how many are right."""
    if people.values is None:
        return {}
    sure = _take_known(people, found[learnt.beliefs.stated[key[found]] >= CONFIDENT])
    right = learnt.beliefs.best[key[sure]] == people.values[sure]
    return {"right": int(right.sum()), "exposed_known": len(sure)}


def _summarise_guesses(
    people: Targets, both: list[_AdversaryBeliefs], key: Keys, found: Keys
) -> dict[str, Any]:
    """The share of guesses that are right, of the people whose values are known: the better's."""
    known = _take_known(people, found)
    if people.values is None or not len(known):
        return {}
    truth = people.values[known]
    return {
        "judged_on": len(known),
        "guessed_right": max(float((one.beliefs.best[key[known]] == truth).mean()) for one in both),
        "right_guessing": float((truth == both[0].prior.argmax()).mean()),
    }


def _sentence(view: View, exposed: int, details: dict[str, Any]) -> str:
    assert view.sensitive is not None
    after = details["candidates_after"]
    single = after.get(1, 0)
    said = (
        f"{exposed:,} of {sum(after.values()):,} people have a value of {view.sensitive.name} "
        f"that is believed at {CONFIDENT:.0%} or more when the {len(view.releases)} releases are "
        "joined"
    )
    said += f" ({details['exposed_before']:,} by a single release)" if exposed else ""
    said += f"; {single:,} have one possible value left" if single else ""
    said += "" if single else ", though answers exclude no value"
    if "guessed_right" in details:
        said += (
            f"; the likeliest value is right for {details['guessed_right']:.1%} of "
            f"{details['judged_on']:,} ({details['right_guessing']:.1%} by the most common one)"
        )
    absent = details["absent"]
    lost = (
        f"; {absent:,} of the {details['asked']:,} people asked for were not found in all of them"
    )
    return f"{said}; {_describe_beliefs(details)}{lost if absent else ''}."


def _example(
    view: View,
    people: Targets,
    stated: NDArray[np.float64],
    left: NDArray[np.int32],
    who: int,
    before: float,
) -> str:
    assert view.sensitive is not None
    return (
        f"Row {int(people.rows[who]):,} of the targets: {int(left[who]):,} values are possible; "
        f"what the releases show makes one of them {stated[who]:.1%} likely, where the most common "
        f"one was {before:.1%} before."
    )


def find_uniform_answers(view: View) -> Finding:
    """What one release that shows answers lets believe of the people of each class."""
    assert view.sensitive is not None
    release = view.releases[0]
    learnt = _find_surest_adversary(view)
    rows, stated = release.rows, learnt.beliefs.stated
    sure = stated >= CONFIDENT
    exposed = int(rows[sure].sum())
    order = np.lexsort((np.arange(len(release.class_)), -stated[release.class_]))
    first = int(release.class_[order[0]])
    details = {
        "classes": len(rows),
        "classes_exposed": int(sure.sum()),
        "largest_class_exposed": int(rows[sure].max(initial=0)),
        **learnt.numbers(release.class_),
    }
    return Finding(
        attack="homogeneity",
        people=len(release.class_),
        exposed=exposed,
        sure=details["largest_belief"],
        guessing=details["largest_prior"],
        sentence=f"{exposed:,} of {len(release.class_):,} people are in a class that lets one "
        f"{view.sensitive.name} be believed at {CONFIDENT:.0%} or more, though answers exclude no "
        f"value; {_describe_beliefs(details)}.",
        defence=DEFENCE,
        example=f"A class of {int(rows[first]):,} rows makes one {view.sensitive.name} "
        f"{stated[first]:.1%} likely for each of its people.",
        assumptions=(
            "the adversary knows that the person is in the release, and the quasi-identifiers",
            *ANSWERS,
            *_list_limits(view),
        ),
        worst=tuple((order[:WORST_LISTED] + 1).tolist()),
        table="release 1",
        witness={"class": first, "rows": int(rows[first]), "belief": float(stated[first])},
        details=details,
    )


def _find_surest_adversary(view: View) -> _AdversaryBeliefs:
    """What the adversary who is sure of more people makes of each class of a single release."""
    rows = view.releases[0].rows
    classes = np.arange(len(rows) + 1, dtype=np.int64)
    both = _AdversaryBeliefs.each(view, [(classes, classes[:-1])])

    def success(one: _AdversaryBeliefs) -> tuple[int, float]:
        stated = one.beliefs.stated
        return int(rows[stated >= CONFIDENT].sum()), float(stated.max())

    return max(both, key=success)


def bound_pair_of_answers(view: View, l: int) -> Finding:
    """The worst pair of classes where answers exclude no value: none leaves fewer than before.

    That is so as long as what one release shows as it is, the other may answer. Exposed are rows
    of the second release whose class alone, if it shows answers, makes an adversary sure; how sure
    two classes together can make one is told as a bound, by what both spend.
    """
    assert view.sensitive is not None
    one, other = view.releases
    channels = [Channel.of(release, view.sensitive) for release in view.releases]
    _check_domains(view, channels)
    alone = _find_surest_adversary(replace(view, releases=(other,))).beliefs.stated
    sure = (alone >= CONFIDENT) & (other.response is not None)
    exposed = int(other.rows[sure].sum())
    prior, epsilon = estimate_prior(channels), sum(each.epsilon for each in channels)
    foretold = find_max_foretold([predict_by_class(each, prior) for each in channels])
    return Finding(
        attack="worst-pair",
        people=len(other.class_),
        exposed=exposed,
        sure=bound_belief(epsilon, foretold),
        guessing=float(prior.max()),
        sentence=f"0 of {len(other.class_):,} rows of {other.name} are of people whom {one.name} "
        f"leaves fewer values of {view.sensitive.name}, for answers exclude none; of {exposed:,} "
        f"the class alone lets one value be believed at {CONFIDENT:.0%} or more.",
        defence=DEFENCE,
        assumptions=(*ANSWERS, *_list_limits(view)),
        table="release 2",
        details={
            "l": l,
            "adversary": "class",
            "sure": CONFIDENT,
            "pairs_exposing": 0,
            "values_left": {},
            "classes_exposed": int(sure.sum()),
            "foretold": foretold,
            "epsilon": epsilon if np.isfinite(epsilon) else None,
        },
    )


def _check_domains(view: View, channels: list[Channel]) -> None:
    """Refuse releases of which one has values that the other says nobody has."""
    exact = [release.response is None for release in view.releases]
    shown = [np.asarray(each.counts.sum(axis=0)).ravel() > 0 for each in channels]
    may = [each.chance.any(axis=1) for each in channels]
    one, other = (shown[j] if exact[j] else may[j] for j in (0, 1))
    beyond = (one & ~may[1]) | (other & ~may[0])
    if beyond.any():
        raise InputError(
            f"{int(beyond.sum()):,} values of {view.sensitive and view.sensitive.name} may be in "
            "one of the releases and not in the other.",
            "give the intersection the people (--targets), which weighs that.",
        )
