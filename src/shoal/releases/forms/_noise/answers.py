"""Answers in place of sensitive values: how they are drawn, counted, estimated from and stated.

The manifest has for each sensitive column the values that may be answered (its domain in the
schema), the chance that an answer is true, and the epsilon that this spends. Whether it does is
computed again by OpenDP; whether the answers were drawn so cannot be seen in a table. All else that
a manifest says of answers follows from these, from the rule and from the method: whoever verifies
the release writes it once more and compares (`check_answers_description`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.errors import InputError, ShoalError, UsageError
from shoal.core.labels import format_value, restore_cell
from shoal.core.model import Model, unwrap_rule
from shoal.core.release import Judgement, Verdict
from shoal.core.schema import Column, Schema
from shoal.core.spend import Spend, to_exact
from shoal.dp.bins import Bins, build_bins
from shoal.dp.randomised_response import Response, compute_response_spend
from shoal.engines.protocol import Frame
from shoal.kernels.grouping import number_combinations
from shoal.releases.forms._noise.manifest import (
    AGAIN,
    OF_THE_FILE,
    OF_THE_PEOPLE,
    check_people_stated,
    describe_privacy,
    find_differences,
    name_promise,
    names_random_source,
    read_spend,
)
from shoal.releases.manifest import as_answer_column, publishes_answers
from shoal.releases.row_listing import Listing

ANSWERS = "answers"
"""The key of the manifest that says how each column's answers were drawn."""
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

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Answers:
    """One column: what it may be by its publisher's schema, and how answers to it are drawn."""

    column: Column
    keep: float
    epsilon: Fraction

    @cached_property
    def bins(self) -> Bins:
        """The values that may be answered."""
        return build_bins(self.column)

    @property
    def response(self) -> Response:
        """How an answer is drawn."""
        return Response(self.bins.size, self.keep, Spend(self.epsilon))

    @property
    def published(self) -> Column:
        """The column as the table has it: words, of these values."""
        return as_answer_column(self.column)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; the column as it stands in a schema, with its domain or bounds."""
        stated = Schema((self.column,)).to_toml()
        values, epsilon = self.bins.size, str(self.epsilon)
        return {"keep": self.keep, "values": values, "epsilon": epsilon, "asked": stated}

    def estimate(self, counts: Floats) -> tuple[Floats, Floats]:
        """How many people have each value, from (…, values) of answers, and the standard errors."""
        estimated = self.response.estimated(counts)
        total = counts.sum(axis=-1, keepdims=True)
        return estimated, self.response.deviation(np.clip(estimated, 0, total))

    def as_answers(self, listing: Listing) -> Listing:
        """Values, of a table that has them as they are, as answers would name them.

        What the column may not be stays what it is.
        """
        words = [self._word(value) for value in listing.values]
        there = sorted({word for word in words if word is not None})
        place = {word: i for i, word in enumerate([*there, *([None] if None in words else [])])}
        codes = np.array([place[word] for word in words], np.int32)
        return Listing(tuple(place), codes[listing.codes])

    def _word(self, value: Any) -> str | None:
        try:
            return self.bins.labels[int(self.bins.codes([value])[0])] or None
        except InputError:
            return None if value is None else format_value(value)

    def with_unanswered(self, listing: Listing) -> Listing:
        """The answers of a table, and besides them the values that nobody answered."""
        words = [None if word is None else restore_cell(word) for word in listing.words()]
        every = dict.fromkeys(
            [*(w for w in words if w is not None), *filter(None, self.bins.labels)]
        )
        values = [*every, *([None] if None in words or self.bins.null else [])]
        place = {word: i for i, word in enumerate(values)}
        codes = np.array([place[word] for word in words], np.int32)
        return Listing(tuple(values), codes[listing.codes])


def read_answers(manifest: Mapping[str, Any]) -> dict[str, Answers]:
    """How each column of a randomised release was answered; none for other releases."""
    if not publishes_answers(manifest):
        return {}
    try:
        answers = {str(name): _parse_answers(stated) for name, stated in manifest[ANSWERS].items()}
        roles = {name for name, role in manifest["columns"].items() if role == "sensitive"}
        if not answers or set(answers) != roles:
            raise ValueError
    except (ShoalError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            "The manifest does not say how the answers of its sensitive columns were drawn.",
            "take it as it was published, or publish the release again.",
        ) from None
    return answers


def _parse_answers(stated: Mapping[str, Any]) -> Answers:
    column = Schema.parse(stated["asked"]).columns[0]
    answers = Answers(column, float(stated["keep"]), to_exact(stated["epsilon"]))
    if stated["values"] != answers.bins.size or not 1 / answers.bins.size < answers.keep < 1:
        raise ValueError
    return answers


def with_answer_columns(schema: Schema | None, manifest: Mapping[str, Any]) -> Schema | None:
    """A given schema with the columns of a release's answers as its own manifest states them."""
    answers = read_answers(manifest)
    if schema is None or not answers:
        return schema
    columns = (
        answers[c.name].published if c.name in answers and c.role == "sensitive" else c
        for c in schema.columns
    )
    return Schema(tuple(columns))


def hide_sensitive_columns(schema: Schema) -> Schema:
    """The schema that the partition is made by: sensitive columns are carried, never tallied."""
    columns = (replace(c, role="keep") if c.role == "sensitive" else c for c in schema.columns)
    return Schema(tuple(columns))


def check_answer_rule(rule: Model) -> None:
    """Refuse a rule that judges values, or who brought them: answers are nobody's values."""
    asked = [str(part) for part in unwrap_rule(rule) if part.needs & {"sensitive", "provider"}]
    if asked:
        raise UsageError(
            f"{', '.join(dict.fromkeys(asked))} judges sensitive values, and a randomised release "
            "has answers in their place; a partition that met it would have looked at them.",
            'use a rule about rows alone, such as "k-anonymity k=5"; epsilon protects the values.',
        )


def count_answers(frame: Frame, answers: Mapping[str, Answers]) -> dict[str, NDArray[np.int64]]:
    """How often each value of a column was answered; what cannot be an answer is refused."""
    counts = {}
    for name, distinct in frame.values(list(answers)).items():
        own = answers[name].bins
        codes = own.read([restore_cell(format_value(value)) for value in distinct.values])
        odd = int(distinct.counts[codes < 0].sum()) + distinct.nulls * (not own.null)
        if odd:
            raise InputError(
                f"Column {name!r} has {odd:,} rows with values that could not be answered.",
                "take the table and its manifest as they were published.",
            )
        counts[name] = np.bincount(codes, distinct.counts, own.size).astype(np.int64)
        counts[name][-1] += distinct.nulls  # null, where a column may be, is its last value
    return counts


def add_promise(verdict: Verdict, answers: Mapping[str, Answers], stated: Spend) -> Verdict:
    """The verdict with what the answers spend, computed again from how they were drawn."""
    spent = [
        compute_response_spend(column.bins.size, column.keep).epsilon for column in answers.values()
    ]
    reached = sum(spent, Fraction(0))
    parts = zip(spent, answers.values(), strict=True)
    holds = reached <= stated.epsilon and all(own <= column.epsilon for own, column in parts)
    judgement = Judgement(name_promise(stated), holds, float(reached))
    how = verdict.how if verdict.how == "by construction" else "counted, and by construction"
    return replace(
        verdict, holds=verdict.holds and holds, how=how, judgements=(*verdict.judgements, judgement)
    )


def add_answer_judgement(verdict: Verdict, frame: Frame, manifest: Mapping[str, Any]) -> Verdict:
    """The verdict on a table with that on its answers, where the release is a randomised one."""
    answers = read_answers(manifest)
    if not answers:
        return verdict
    count_answers(frame, answers)  # refuses what cannot be an answer
    return add_promise(verdict, answers, _read_agreed_spend(manifest, answers))


def _read_agreed_spend(manifest: Mapping[str, Any], answers: Mapping[str, Answers]) -> Spend:
    """What is spent, which every part of a manifest must say alike."""
    section, stated = manifest.get("privacy"), read_spend(manifest)
    privacy = section if isinstance(section, Mapping) else {}
    parts = Spend(sum((column.epsilon for column in answers.values()), Fraction(0)))
    keep = {name: column.keep for name, column in answers.items()}
    same = all(privacy.get(name) == value for name, value in stated.to_json().items())
    if stated != parts or not same or privacy.get("keep") != keep:
        raise InputError(
            "The manifest does not say alike what is spent, and how answers were drawn.",
            "take it as it was published, or publish the release again.",
        )
    return stated


def compute_answer_chances(answers: Answers, codes: NDArray[Any], size: int) -> Floats:
    """P(answer | true) on an axis of so many values, on which the answers have these codes."""
    matrix = np.zeros((size, size))
    matrix[np.ix_(codes, codes)] = answers.response.matrix()
    return matrix


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


@dataclass
class AnswerCounts:
    """Answers counted as they are drawn: how many rows of a class have which answers."""

    sizes: Sequence[int]
    _lots: list[tuple[NDArray[Any], NDArray[np.int64]]] = field(default_factory=list)

    def add(self, class_: NDArray[Any], codes: Sequence[NDArray[Any]]) -> None:
        """Count more rows: their classes, and their answers in every column."""
        columns = [class_, *codes]
        number, first = number_combinations(columns, [int(class_.max(initial=0)) + 1, *self.sizes])
        self._lots.append((np.stack([column[first] for column in columns]), np.bincount(number)))

    @property
    def rows(self) -> int:
        """How many rows were counted."""
        return int(sum(count.sum() for _, count in self._lots))

    def table(self, columns: Sequence[int], classes: int | None = None) -> Floats:
        """The counts of some columns together, after those of each class where asked."""
        shape = [*([] if classes is None else [classes]), *(self.sizes[i] for i in columns)]
        picked = [*([] if classes is None else [0]), *(1 + i for i in columns)]
        total = np.zeros(int(np.prod(shape)))
        for codes, count in self._lots:
            place = np.ravel_multi_index(tuple(codes[i] for i in picked), shape)
            total += np.bincount(place, weights=count, minlength=len(total))
        return total.reshape(shape)


def estimate_everybody(answers: Answers, counts: Floats) -> list[dict[str, Any]]:
    """The estimates of everybody, value by value."""
    estimated, error = answers.estimate(counts)
    return [
        {"value": label, "answers": int(n), "estimate": float(e), "standard_error": float(s)}
        for label, n, e, s in zip(answers.bins.labels, counts, estimated, error, strict=True)
    ]
