"""Randomised: generalised cells, beside sensitive values that may have been exchanged for others.

The partition is made as always, by quasi-identifiers and a rule about rows: it never looks at the
sensitive columns. Each sensitive value is then answered for by randomised response (Warner 1965;
Kairouz, Oh, Viswanath 2016): of n values the true one with chance e^ε / (e^ε + n − 1), else any
other alike. Of several sensitive columns each spends an even part of ε, and together they spend
all of it. Ganta, Kasiviswanathan, Smith (KDD 2008) show why: exact values of two releases can be
intersected, answers cannot; what they say together is bounded by the sum of their epsilons.

What it gives: whatever else is known, nobody's sensitive value is much likelier by their row being
there with it than with any other (ε-differential privacy of that value). Counts are estimated from
the answers without bias, for everybody or any set of classes.

What it does not protect: the quasi-identifiers, which are as safe as the rule says, and who is in
the table; kept columns; a value that could be foretold from the rest of the row. It holds because
the partition never saw the values: a rule or a method that looks at them is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.core.errors import UsageError
from shoal.core.release import Verdict
from shoal.core.schema import Schema
from shoal.core.spend import Spend
from shoal.dp.bins import build_all_bins
from shoal.dp.randomised_response import calibrate_response
from shoal.dp.seeded_draws import create_seeded_generator
from shoal.engines.protocol import Frame
from shoal.releases.draft import TableDraft, make_cut
from shoal.releases.forms._noise.answers import (
    AnswerCounts,
    Answers,
    add_promise,
    check_answer_rule,
    describe_answers,
    estimate_everybody,
)
from shoal.releases.forms._noise.distance_from_original import measure_answer_utility
from shoal.releases.forms._noise.measured import code_bins, count_beyond_bounds
from shoal.releases.manifest import published_schema
from shoal.releases.options import RANDOMISED, STARRED, Request, missing_budget_error
from shoal.releases.successors.m_invariance import METHOD as INVARIANT
from shoal.releases.tallying import Survey

STEP, BEYOND = "drawing answers", "beyond_bounds"


def check_randomised_request(request: Request, after: Sequence[Any]) -> None:
    """Refuse, before anything is read, what could look at the values or cannot be answered for."""
    if not request.schema.sensitive:
        raise UsageError(
            "Sensitive values are randomised, and no column is sensitive.",
            "name one: --sensitive COLUMN.",
        )
    check_answer_rule(request.rule)
    if request.method == INVARIANT:
        raise UsageError(
            f"The method {request.method} looks at sensitive values, which answers do not survive.",
            "use one that looks at quasi-identifiers alone, such as mondrian.",
        )
    if request.spend is None:
        raise missing_budget_error(request.form)
    if request.spend.delta:
        raise UsageError(
            "Randomised response spends no delta.", "leave --delta out: epsilon says it all."
        )
    if request.based_on is not None or after:
        raise UsageError(
            "A randomised release does not follow others: what two of them say together is "
            "bounded by the sum of their epsilons.",
            "leave --based-on and --after out, and keep a ledger of what is spent (--ledger).",
        )
    if request.held_back_as == STARRED:
        raise UsageError(
            "Rows held back are not starred in a randomised release.",
            "leave them out instead: --held-back-as absent.",
        )


def plan_answers(schema: Schema, spend: Spend) -> dict[str, Answers]:
    """How each sensitive column is answered for: an even part of epsilon each, exactly."""
    each = Spend(spend.epsilon / len(schema.sensitive))
    pairs = zip(schema.sensitive, build_all_bins(Schema(schema.sensitive)), strict=True)
    return {
        column.name: Answers(column, calibrate_response(each, bins.size).keep, each.epsilon)
        for column, bins in pairs
    }


def check_answerable_values(frame: Frame, answers: Mapping[str, Answers]) -> dict[str, int]:
    """Refuse, before classes are made, values that the schema says there are not.

    Returns how many rows of each column lie beyond its bounds, where any do.
    """
    distinct = frame.values(list(answers))
    code_bins([answer.bins for answer in answers.values()], distinct)
    outside = {
        name: count_beyond_bounds(answer.bins, distinct[name]) for name, answer in answers.items()
    }
    return {name: rows for name, rows in outside.items() if rows}


class RandomisedDraft(TableDraft):
    """The classes of a table whose sensitive values are answered for as the rows are streamed."""

    @classmethod
    def of(cls, frame: Frame, plan: Survey, request: Request) -> RandomisedDraft:
        """The classes that the method makes; ``plan`` never saw the sensitive columns."""
        assert request.spend is not None
        outside = check_answerable_values(frame, plan_answers(request.schema, request.spend))
        encoded = plan.encode(frame)
        draft = cls(frame, encoded, encoded.tally, make_cut(encoded.tally, request), request)
        draft._facts |= {BEYOND: outside} if outside else {}
        return draft

    @cached_property
    def answers(self) -> dict[str, Answers]:
        """How each sensitive column is answered for."""
        assert self._request.spend is not None
        return plan_answers(self._request.schema, self._request.spend)

    @cached_property
    def _answer_counts(self) -> AnswerCounts:
        return AnswerCounts([answer.bins.size for answer in self.answers.values()])

    @cached_property
    def _rng(self) -> np.random.Generator | None:
        return create_seeded_generator(self._request.seed)

    def judge(self) -> Verdict:
        """The verdict on the classes and on the answers, by construction."""
        assert self._request.spend is not None
        return add_promise(super().judge(), self.answers, self._request.spend)

    def rows(self, key: bytes) -> Iterator[pa.RecordBatch]:
        """Every published row with the number of its class, and answers in place of values."""
        schema = self._request.schema
        carried = [
            c.name for c in published_schema(schema, RANDOMISED).columns if c.role != "quasi"
        ]
        place = {name: 1 + carried.index(name) for name in self.answers}
        for batch in super().rows(key):
            class_ = batch.column(0).to_numpy(zero_copy_only=False)
            columns, names = list(batch.columns), batch.schema.names
            answered = [self._draw_answers(name, columns[at]) for name, at in place.items()]
            self._answer_counts.add(class_, answered)
            for (name, at), codes in zip(place.items(), answered, strict=True):
                labels = [label or None for label in self.answers[name].bins.labels]
                columns[at] = pa.array(labels, pa.string()).take(pa.array(codes))
            yield pa.RecordBatch.from_arrays(columns, names)

    def _draw_answers(self, name: str, column: pa.Array) -> NDArray[np.int32]:
        answers = self.answers[name]
        words = column.dictionary_encode(null_encoding="encode")
        code = answers.bins.codes(words.dictionary.to_pylist())
        true = code[words.indices.to_numpy(zero_copy_only=False)]
        before, total = self._answer_counts.rows, int(self._groups.rows.sum())
        return answers.response.answered(
            true, self._rng, lambda done, _: self._request.progress(STEP, before + done, total)
        )

    def describe_answers(self) -> dict[str, Any]:
        """What the manifest says of the answers."""
        request, spend = self._request, self._request.spend
        assert spend is not None
        return describe_answers(
            self.answers, spend, request.method, str(request.rule), seeded=request.seed is not None
        )

    def facts(self) -> dict[str, Any]:
        """What the publisher may know besides: estimates, and how far they are from the truth."""
        true = {"true_answers": {name: answer.keep for name, answer in self.answers.items()}}
        if not self._answer_counts.rows:  # a dry run answers for nobody
            return {**self._facts, **true}
        return {**self._facts, **true, **self._estimated_facts}

    @cached_property
    def _estimated_facts(self) -> dict[str, Any]:
        pairs = enumerate(self.answers.items())
        estimated = {
            name: estimate_everybody(answer, self._answer_counts.table([i]))
            for i, (name, answer) in pairs
        }
        lost = measure_answer_utility(
            self._frame, self._request.schema, self._cut, self.answers, self._answer_counts
        )
        return {"estimates": estimated, "utility": lost}
