"""Randomised releases as an adversary reads them: answers, and by which chance each is true.

Answers of one person in two releases are two draws, so that no row is joined by them; and what a
class shows is nobody's value for sure. Attacks that take published values for people's are refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.errors import InputError
from shoal.core.theory.adversary_view import Needs
from shoal.releases.forms._noise.answers import Answers, compute_answer_chances
from shoal.releases.published_table import PublishedTable
from shoal.releases.row_listing import Listing, code_on_axis


def refuse_answers(releases: Sequence[PublishedTable], needs: Needs, on: str | None) -> None:
    """Refuse an attack that would take answers for values."""
    release = next((one for one in releases if one.answers), None)
    if release is None or needs.reads_answers or not (needs.sensitive or on in release.answers):
        return
    if needs.method:
        raise InputError(
            f"{release.name} is a partition that never looked at sensitive values: how it was made "
            "says nothing about them.",
            "ask what its answers say: homogeneity, or with another release intersection.",
        )
    if needs.provider:
        raise InputError(
            f"{release.name} has answers in place of values: its providers cannot find their own "
            "rows by them.",
            "ask what its answers say: homogeneity, or with another release intersection.",
        )
    raise InputError(
        f"{release.name} has answers in place of values: what a class shows is nobody's for sure.",
        "ask how far they are to be believed: homogeneity, or with another release intersection.",
    )


def list_as_answers(releases: Sequence[PublishedTable], name: str) -> list[Listing]:
    """A column of several releases: answers with all that may be, values as answers name them."""
    asked = _find_question(releases, name)
    return [
        one.answers[name].asked(one.listings[name])
        if name in one.answers
        else one.listings[name]
        if asked is None
        else asked.answered(one.listings[name])
        for one in releases
    ]


def name_as_answers(releases: Sequence[PublishedTable], name: str, listing: Listing) -> Listing:
    """People's true values as the releases' answers name them."""
    asked = _find_question(releases, name)
    return listing if asked is None else asked.answered(listing)


def _find_question(releases: Sequence[PublishedTable], name: str) -> Answers | None:
    """How a column was asked for, which must be alike where values are put into intervals."""
    found = [one.answers[name] for one in releases if name in one.answers]
    if any(one.bins.starts != found[0].bins.starts for one in found):
        raise InputError(
            f"The releases have answers of {name!r} in different intervals.",
            "attack releases that were made with the same bounds.",
        )
    return found[0] if found else None


def find_response(release: PublishedTable, axis: Axis | None) -> NDArray[np.float64] | None:
    """P(answer | true) on an axis of values; None where values are as they are."""
    asked = None if axis is None else release.answers.get(axis.name)
    if axis is None or asked is None:
        return None
    labels = tuple(label or None for label in asked.bins.labels)
    codes = code_on_axis(Listing(labels, np.arange(len(labels), dtype=np.int32)), axis)
    return compute_answer_chances(asked, codes, axis.size)


def sum_epsilon(release: PublishedTable) -> float | None:
    """What a person's answers spend in all columns of a release; None where there are none."""
    found = [float(one.epsilon) for one in release.answers.values()]
    return sum(found) if found else None
