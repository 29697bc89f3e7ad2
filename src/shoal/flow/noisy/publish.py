"""Publish by noise: from a table to counts or made-up people, whole or not at all.

Everything is checked before a row is read: the columns, their bins, the marginals and what they
spend are said by the schema and the request alone. A dry run stops there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.column import describe_marks
from shoal.errors import UsageError
from shoal.flow import folder
from shoal.flow.noisy.counts import Counts
from shoal.flow.noisy.drawn import Form
from shoal.flow.noisy.measured import Measured
from shoal.flow.noisy.placed import manifest, place
from shoal.flow.noisy.planned import Plan, settled
from shoal.flow.noisy.request import NoisyRequest
from shoal.flow.noisy.synthetic import Synthetic
from shoal.flow.noisy.told import cautions, explanation, notes, told_replaced
from shoal.flow.noisy.useful import bins_alone, original, utility
from shoal.flow.noisy.verified import judgement, verify_noisy
from shoal.flow.opening import opened
from shoal.flow.people import check_people, repeating
from shoal.flow.recorded import with_ledger
from shoal.flow.request import COUNTS
from shoal.noise.seeded import generator
from shoal.release import Release, Verdict

__all__ = ["publish_noisy", "verify_noisy"]


def publish_noisy(source: Any, request: NoisyRequest) -> Release:
    """Make a release of ``source`` by noise, verify its file, and move it into place.

    Without a folder to write to (a dry run) nothing is drawn and nothing is spent: what is told is
    what can be told without the rows.
    """
    request = replace(request, schema=settled(request.schema))
    if request.seed is not None and request.ledger is not None:
        raise UsageError(
            "Noise from a seed is not to be released, so no ledger records it.",
            "leave --seed out, or the ledger.",
        )
    if request.out is not None:
        companion = request.companion or folder.companion_of(request.out)
        folder.check_free(request.out, companion, request.replace)
    with with_ledger(request) as asked:
        return _released(source, asked)


def _released(source: Any, request: NoisyRequest) -> Release:
    """Plan by the schema, then read the table once, count, add noise, and publish."""
    request.progress("reading", 0, 1)
    reading = {**request.reading, "one_row": request.one_row}
    with opened(source, kinds=request.schema.kinds, **reading) as frame:
        frame.check_header()
        form = planned(Plan.of(request.schema, frame.fields), request)
        if request.out is None:
            return _promised(form, request)
        check_people(frame, request.schema)
        asked = repeating(frame, request.schema)
        measured = Measured.of(frame, form.plan, form.marginals)
        drawn = form.drawn(measured, generator(request.seed))
        request.progress("measuring utility", 0, 1)
        tally = original(frame, form.plan.schema, measured.names)
        useful = utility(tally, form.plan, drawn.estimates) | {"bins": bins_alone(tally, measured)}
        facts = {
            "utility": useful, "rows": measured.rows, **_said(form),
            "repeats": asked,
            "notes": [
                *asked,
                *notes(measured, request.spend, request.seed),
                *describe_marks(field for field in frame.fields if field.name in measured.names),
                *told_replaced(request.out, request.replace),
            ],
        }  # fmt: skip
        return place(frame, form, drawn, request, request.out, facts)


def planned(plan: Plan, request: NoisyRequest) -> Form:
    """The form that is asked for, with its noise."""
    if request.form == COUNTS:
        return Counts.of(plan, request.spend, request.marginals, request.progress)
    return Synthetic.of(plan, request.spend, request.marginals, request.progress)


def _promised(form: Form, request: NoisyRequest) -> Release:
    """The outcome of a dry run."""
    about = manifest(form, request, form.marginals)
    found, said = judgement(about), _said(form)
    rows = said["expected"]["cells"] if request.form == COUNTS else 0
    outcome = Verdict(found.holds, "by construction", rows, 0, (found,))
    return Release(about, outcome, private={**said, "notes": cautions(request.spend)})


def _said(form: Form) -> dict[str, Any]:
    """What the publisher is told before and after: how large the noise is, and why."""
    return {"expected": form.expected(), "explanation": explanation(form), "unjudged": []}
