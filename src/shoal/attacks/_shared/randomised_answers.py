"""What attacks find where values may have been exchanged for others: beliefs, and a bound.

A randomised release shows answers, no values: one that all rows of a class show may be nobody's.
So no value that the column may have is excluded, whatever is joined, and what is left to say is
how strongly the likeliest is believed (``shoal.attacks._shared.answer_beliefs``), of how many
people an adversary is sure, how often guesses are right where the tester knows, and how far a
person's own answers can move a belief beyond what the answers of others say.

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

from shoal.attacks._shared.answer_beliefs import (
    CONFIDENT,
    Beliefs,
    Channel,
    bound_belief,
    compute_beliefs,
    estimate_prior,
    find_max_predicted,
    predict_by_class,
    predict_by_everybody,
)
from shoal.attacks._shared.candidate_classes import (
    Located,
    check_location,
    group_by_key,
    locate,
    resolve_location,
)
from shoal.attacks._shared.value_evidence import count_absent, summarise_drop
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
    several = any(
        Channel.of(release, view.sensitive).answers_other_columns for release in view.releases
    )
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
    def of_each(cls, view: View, places: list[Located]) -> list[_AdversaryBeliefs]:
        assert view.sensitive is not None
        channels = [Channel.of(release, view.sensitive) for release in view.releases]
        prior, epsilon = estimate_prior(channels), sum(channel.epsilon for channel in channels)
        evidence = {
            name: [predict(channel, prior) for channel in channels]
            for name, (predict, _) in ADVERSARIES.items()
        }
        beliefs = {
            name: compute_beliefs(by_release, places, prior)
            for name, by_release in evidence.items()
        }
        others = np.max([own_beliefs.predicted for own_beliefs in beliefs.values()], axis=0)
        return [
            cls(name, prior, own_beliefs, others, epsilon) for name, own_beliefs in beliefs.items()
        ]

    def summarise(self, keys: Keys) -> dict[str, Any]:
        stated = self.beliefs.stated[keys]
        largest_prior, predicted = float(self.prior.max()), float(self.others[keys].max())
        return {
            "adversary": self.adversary,
            "sure": CONFIDENT,
            "largest_belief": float(stated.max()),
            "mean_belief": float(stated.mean()),
            "largest_prior": largest_prior,
            "foretold": predicted,
            "epsilon": self.epsilon if np.isfinite(self.epsilon) else None,
            "bound": bound_belief(self.epsilon, predicted),
        }


def _describe_beliefs(numbers: dict[str, Any]) -> str:
    by = ADVERSARIES[numbers["adversary"]][1]
    text = (
        f"the largest belief in a value is {numbers['largest_belief']:.1%}, by {by} "
        f"({numbers['largest_prior']:.1%} before)"
    )
    if numbers["epsilon"] is None:
        return text
    return (
        f"{text}; by a person's own answers, beyond what the answers of others say, odds move by "
        f"at most e^{numbers['epsilon']:.4g}: from {numbers['foretold']:.1%}, the most that these "
        f"foretell, to {numbers['bound']:.1%}"
    )


def intersect_answers(view: View, location: str) -> Finding:
    """The intersection of releases of which one or more show answers."""
    assert view.people is not None
    people = view.people
    distinct_people, key = group_by_key(people, view.axes, check_location(location))
    places = [locate(release, view.axes, distinct_people, location) for release in view.releases]
    adversaries = _AdversaryBeliefs.of_each(view, places)
    values_left = adversaries[0].beliefs.values_left[key]
    outside = np.zeros(len(people), np.bool_) if people.present is None else ~people.present
    values_left[outside] = 0
    people_found = np.flatnonzero(values_left)
    if not len(people_found):
        raise NobodyFoundError(
            "No person can be found in all of the releases.",
            "check that the releases and the targets share people, columns and values.",
        )
    strongest = max(
        adversaries, key=lambda adversary: _rate_success(people, adversary, key, people_found)
    )
    stated = strongest.beliefs.stated[key]
    order = people_found[np.lexsort((people.rows[people_found], -stated[people_found]))][
        :WORST_LISTED
    ]
    believed = people_found[stated[people_found] >= CONFIDENT]
    prior = strongest.beliefs.values_left_by_release[:, key]
    details = {
        **summarise_drop(prior, values_left),
        **count_absent(prior, values_left, outside),
        "location": resolve_location(view.releases, location)[0],
        **strongest.summarise(key[people_found]),
        "exposed_before": int(
            (
                strongest.beliefs.belief_by_release[:, key[people_found]].max(axis=0) >= CONFIDENT
            ).sum()
        ),
        "beliefs": _count_by_belief(stated[people_found]),
        **_count_right(people, strongest, key, people_found),
        **_summarise_guesses(people, adversaries, key, people_found),
    }
    return Finding(
        attack="intersection",
        people=len(people_found),
        exposed=len(believed),
        sure=details["largest_belief"],
        guessing=details["largest_prior"],
        sentence=_describe(view, len(believed), details),
        defence=DEFENCE,
        example=_describe_example(
            view, people, stated, values_left, int(order[0]), details["largest_prior"]
        ),
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
            "left": int(values_left[order[0]]),
            "belief": float(stated[order[0]]),
        },
        details=details,
    )


def _rate_success(
    people: Targets, adversary: _AdversaryBeliefs, key: Keys, people_found: Keys
) -> tuple[float, float]:
    """How an adversary fares: sure of how many (and right, where that is known); how sure."""
    stated = adversary.beliefs.stated[key[people_found]]
    right = _count_right(people, adversary, key, people_found).get(
        "right", int((stated >= CONFIDENT).sum())
    )
    return right, float(stated.max())


def _take_known(people: Targets, people_found: Keys) -> Keys:
    return (
        people_found[:0]
        if people.values is None
        else people_found[people.values[people_found] != UNKNOWN]
    )


def _count_by_belief(stated: NDArray[np.float64]) -> list[dict[str, float | int]]:
    people = [int((stated >= share - 1e-12).sum()) for share in SHARES]
    return [
        {"confidence": share, "people": n, "percent": 100 * n / len(stated)}
        for share, n in zip(SHARES, people, strict=True)
    ]


def _count_right(
    people: Targets, adversary: _AdversaryBeliefs, key: Keys, people_found: Keys
) -> dict[str, int]:
    if people.values is None:
        return {}
    believed = _take_known(
        people, people_found[adversary.beliefs.stated[key[people_found]] >= CONFIDENT]
    )
    right = adversary.beliefs.likeliest[key[believed]] == people.values[believed]
    return {"right": int(right.sum()), "exposed_known": len(believed)}


def _summarise_guesses(
    people: Targets, adversaries: list[_AdversaryBeliefs], key: Keys, people_found: Keys
) -> dict[str, Any]:
    """The share of guesses that are right, of the people whose values are known: the better's."""
    known = _take_known(people, people_found)
    if people.values is None or not len(known):
        return {}
    truth = people.values[known]
    return {
        "judged_on": len(known),
        "guessed_right": max(
            float((adversary.beliefs.likeliest[key[known]] == truth).mean())
            for adversary in adversaries
        ),
        "right_guessing": float((truth == adversaries[0].prior.argmax()).mean()),
    }


def _describe(view: View, exposed: int, details: dict[str, Any]) -> str:
    assert view.sensitive is not None
    after = details["candidates_after"]
    single = after.get(1, 0)
    text = (
        f"{exposed:,} of {sum(after.values()):,} people have a value of {view.sensitive.name} "
        f"that is believed at {CONFIDENT:.0%} or more when the {len(view.releases)} releases are "
        "joined"
    )
    text += f" ({details['exposed_before']:,} by a single release)" if exposed else ""
    text += f"; {single:,} have one possible value left" if single else ""
    text += "" if single else ", though answers exclude no value"
    if "guessed_right" in details:
        text += (
            f"; the likeliest value is right for {details['guessed_right']:.1%} of "
            f"{details['judged_on']:,} ({details['right_guessing']:.1%} by the most common one)"
        )
    absent = details["absent"]
    lost = (
        f"; {absent:,} of the {details['asked']:,} people asked for were not found in all of them"
    )
    return f"{text}; {_describe_beliefs(details)}{lost if absent else ''}."


def _describe_example(
    view: View,
    people: Targets,
    stated: NDArray[np.float64],
    values_left: NDArray[np.int32],
    person: int,
    before: float,
) -> str:
    assert view.sensitive is not None
    return (
        f"Row {int(people.rows[person]):,} of the targets: {int(values_left[person]):,} values are "
        "possible; "
        f"what the releases show makes one of them {stated[person]:.1%} likely, where the most "
        "common "
        f"one was {before:.1%} before."
    )


def find_uniform_answers(view: View) -> Finding:
    """What one release that shows answers lets believe of the people of each class."""
    assert view.sensitive is not None
    release = view.releases[0]
    strongest = _find_surest_adversary(view)
    rows, stated = release.rows, strongest.beliefs.stated
    is_believed = stated >= CONFIDENT
    exposed = int(rows[is_believed].sum())
    order = np.lexsort((np.arange(len(release.class_)), -stated[release.class_]))
    first = int(release.class_[order[0]])
    details = {
        "classes": len(rows),
        "classes_exposed": int(is_believed.sum()),
        "largest_class_exposed": int(rows[is_believed].max(initial=0)),
        **strongest.summarise(release.class_),
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
    adversaries = _AdversaryBeliefs.of_each(view, [(classes, classes[:-1])])

    def success(adversary: _AdversaryBeliefs) -> tuple[int, float]:
        stated = adversary.beliefs.stated
        return int(rows[stated >= CONFIDENT].sum()), float(stated.max())

    return max(adversaries, key=success)


def bound_pair_of_answers(view: View, l: int) -> Finding:
    """The worst pair of classes where answers exclude no value: none leaves fewer than before.

    That is so as long as what one release shows as it is, the other may answer. Exposed are rows
    of the second release whose class alone, if it shows answers, makes an adversary sure; how sure
    two classes together can make one is told as a bound, by what both spend.
    """
    assert view.sensitive is not None
    first, second = view.releases
    channels = [Channel.of(release, view.sensitive) for release in view.releases]
    _check_domains(view, channels)
    confidence = _find_surest_adversary(replace(view, releases=(second,))).beliefs.stated
    is_believed = (confidence >= CONFIDENT) & (second.response is not None)
    exposed = int(second.rows[is_believed].sum())
    prior, epsilon = estimate_prior(channels), sum(channel.epsilon for channel in channels)
    predicted = find_max_predicted([predict_by_class(channel, prior) for channel in channels])
    return Finding(
        attack="worst-pair",
        people=len(second.class_),
        exposed=exposed,
        sure=bound_belief(epsilon, predicted),
        guessing=float(prior.max()),
        sentence=f"0 of {len(second.class_):,} rows of {second.name} are of people whom "
        f"{first.name} "
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
            "classes_exposed": int(is_believed.sum()),
            "foretold": predicted,
            "epsilon": epsilon if np.isfinite(epsilon) else None,
        },
    )


def _check_domains(view: View, channels: list[Channel]) -> None:
    is_exact = [release.response is None for release in view.releases]
    shown = [np.asarray(channel.counts.sum(axis=0)).ravel() > 0 for channel in channels]
    possible = [channel.chance.any(axis=1) for channel in channels]
    first, second = (shown[j] if is_exact[j] else possible[j] for j in (0, 1))
    beyond = (first & ~possible[1]) | (second & ~possible[0])
    if beyond.any():
        raise InputError(
            f"{int(beyond.sum()):,} values of {view.sensitive and view.sensitive.name} may be in "
            "one of the releases and not in the other.",
            "give the intersection the people (--targets), which weighs that.",
        )
