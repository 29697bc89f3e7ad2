"""What a manifest says of answers: all of it follows from how they were drawn, rule and method.

So whoever verifies a randomised release writes that once more and compares: a word that does not
follow is somebody else's, and a field that is not known might say what nobody may know. Rows and
classes are counted elsewhere; which method made the partition is the publisher's word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.core.errors import InputError
from shoal.core.spend import Spend
from shoal.releases.forms._noise.answers import ANSWERS, Answers, read_answers
from shoal.releases.forms._noise.manifest import (
    AGAIN,
    OF_THE_FILE,
    OF_THE_PEOPLE,
    check_people_stated,
    describe_privacy,
    find_differences,
    names_random_source,
    read_spend,
)

UNIT = "the sensitive values of one person, in one row"
NEIGHBOURS = "tables that differ in one person's sensitive values"
NOT_PROTECTED = (
    "quasi-identifiers: they are as safe as the rule of the partition says",
    "who is in the table, and how many",
    "kept columns, and a sensitive value that could be foretold from the rest of the row",
    "somebody who has several rows in the table: one row is one person here",
)
OF_THE_PARTITION = (
    "form",
    "classes",
    "columns",
    "schema",
    "rule",
    "method",
    "parameters",
    "row_order",
    "keep_accepted",
    "like",
)
"""What the manifest of any partition may have, beside what its file tells."""


def describe_answers(
    answers: Mapping[str, Answers], spend: Spend, method: str, rule: str, *, seeded: bool
) -> dict[str, Any]:
    """What the manifest of a randomised release has besides that of a partition."""
    shared = "; ".join(f"{name}: ε {column.epsilon}" for name, column in answers.items())
    section = describe_privacy(
        spend,
        unit=UNIT,
        neighbours=NEIGHBOURS,
        mechanism="randomised response",
        scale=None,
        sensitivity="one answer in each sensitive column",
        composition=f"basic: the epsilons of the columns add up ({shared})",
        seed=0 if seeded else None,
        not_protected=NOT_PROTECTED,
        keep={name: column.keep for name, column in answers.items()},
        partition=f"made by {method}, so that {rule} holds; it never looked at the sensitive "
        "values",
    )
    return {
        ANSWERS: {name: column.to_json() for name, column in answers.items()},
        "spend": spend.to_json(),
        "privacy": section,
        "releasable": not seeded,
    }


def check_answers_description(manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest of answers that says anything but what follows from how they were drawn."""
    answers, releasable = read_answers(manifest), manifest.get("releasable")
    if not answers:
        return
    randomness = manifest["privacy"].get("randomness")
    if not names_random_source(randomness, releasable):
        raise InputError(
            "The manifest does not say where its answers come from, or says two things.", AGAIN
        )
    spend = Spend(read_spend(manifest).epsilon)
    words = str(manifest.get("method")), str(manifest.get("rule"))
    right = describe_answers(answers, spend, *words, seeded=not releasable)
    right["privacy"]["randomness"] = randomness  # of whichever version
    check_people_stated(manifest)
    if more := sorted({*manifest} - {*right, *OF_THE_PARTITION, *OF_THE_FILE, *OF_THE_PEOPLE}):
        raise InputError(
            f"The manifest has fields that no release of this form has: {', '.join(more)}.", AGAIN
        )
    if wrong := find_differences(manifest, right):
        raise InputError(
            f"The manifest does not say what follows from its answers: {', '.join(wrong)}.", AGAIN
        )
