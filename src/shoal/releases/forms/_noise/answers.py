"""What a randomised release says of its answers, read from its manifest and checked in its table.

The manifest has for each sensitive column the values that may be answered (its domain in the
schema), the chance that an answer is true, and the epsilon that this spends. Whether it does is
computed again by OpenDP; whether the answers were drawn so cannot be seen in a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
from shoal.releases.forms._noise.manifest import name_promise, read_spend
from shoal.releases.manifest import as_answer_column, publishes_answers
from shoal.releases.row_listing import Listing

ANSWERS = "answers"
"""The key of the manifest that says how each column's answers were drawn."""


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

    def answered(self, listing: Listing) -> Listing:
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

    def asked(self, listing: Listing) -> Listing:
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
        answers = {str(name): _read(stated) for name, stated in manifest[ANSWERS].items()}
        roles = {name for name, role in manifest["columns"].items() if role == "sensitive"}
        if not answers or set(answers) != roles:
            raise ValueError
    except (ShoalError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            "The manifest does not say how the answers of its sensitive columns were drawn.",
            "take it as it was published, or publish the release again.",
        ) from None
    return answers


def _read(stated: Mapping[str, Any]) -> Answers:
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


def check_answers(frame: Frame, answers: Mapping[str, Answers]) -> None:
    """Refuse a table with values that cannot be answers."""
    count_answers(frame, answers)


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
    check_answers(frame, answers)
    return add_promise(verdict, answers, _agreed(manifest, answers))


def _agreed(manifest: Mapping[str, Any], answers: Mapping[str, Answers]) -> Spend:
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


def compute_answer_chances(answers: Answers, codes: NDArray[Any], size: int) -> NDArray[np.float64]:
    """P(answer | true) on an axis of so many values, on which the answers have these codes."""
    matrix = np.zeros((size, size))
    matrix[np.ix_(codes, codes)] = answers.response.matrix()
    return matrix
