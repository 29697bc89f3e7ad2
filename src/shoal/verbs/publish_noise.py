"""Publish by noise: from a table to counts or made-up people, whole or not at all.

Everything is checked before a row is read: the columns, their bins, the marginals and what they
spend are said by the schema and the request alone. A dry run stops there.

A release of noise, written aside, verified, recorded and moved into place: whole or not at all.

What is drawn is drawn once. A release that fails after that has spent nothing that anybody saw:
what was written aside is gone.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.core.column import describe_marks
from shoal.core.errors import UsageError
from shoal.core.release import EDITION, MANIFEST_NAME, Release, Verdict
from shoal.core.spend import Spend
from shoal.dp.seeded_draws import generator
from shoal.engines.protocol import Frame
from shoal.ledger.publish_hook import admit_while_moving, open_ledger
from shoal.releases import folder
from shoal.releases import manifest as record
from shoal.releases.forms._noise.draft import Drawn, Form
from shoal.releases.forms._noise.manifest import described
from shoal.releases.forms._noise.measured import Measured
from shoal.releases.forms._noise.notes import cautions, explanation, notes, told_replaced
from shoal.releases.forms._noise.options import NoisyRequest
from shoal.releases.forms._noise.plan import Columns, Plan, settled
from shoal.releases.forms._noise.spending import total
from shoal.releases.forms._noise.utility import bins_alone, original, utility
from shoal.releases.forms._noise.verification import judgement, recounted, verify_noisy
from shoal.releases.forms.counts import Counts
from shoal.releases.forms.synthetic import Synthetic
from shoal.releases.options import COUNTS
from shoal.releases.people import check_people, repeating
from shoal.releases.people_sketch import companion_sketch
from shoal.releases.reader import opened
from shoal.releases.writer import write_whole

# A release of noise, written aside, verified, recorded and moved into place: whole or not at all.


def build_noise_manifest(
    form: Form, request: NoisyRequest, marginals: Sequence[Columns], rows: int | None = None
) -> dict[str, Any]:
    """The public manifest, without what only the written file can tell."""
    return {
        "edition": EDITION,
        "file": f"table.{request.format}",
        **({} if rows is None else {"rows": rows}),
        **described(
            request.form, form.plan, marginals, form.steps, _stated(form, request), request.seed
        ),
        **record.of_people(request.schema, request.one_row),
    }


def _stated(form: Form, request: NoisyRequest) -> Spend:
    """What was asked for is what is stated: the noise spends no more than that."""
    epsilon, delta = request.spend.epsilon, request.spend.delta
    return Spend(epsilon, delta, total(form.steps, delta).rho if delta else None)


def place_noise_release(
    frame: Frame, form: Form, drawn: Drawn, request: NoisyRequest, out: Path, facts: dict[str, Any]
) -> Release:
    """Write, verify and move: either the whole release is there afterwards, or nothing is."""
    final, key = request.companion or folder.companion_of(out), secrets.token_bytes(32)
    about = build_noise_manifest(form, request, drawn.marginals, drawn.table.num_rows)
    with folder.aside(out, final) as parts:
        public, private = folder.inside(*parts)
        table = public / f"table.{request.format}"
        request.progress("writing", 0, 1)
        defused = write_whole(table, drawn.table)
        about |= {"defused_cells": defused, **record.hashes(table, None)}
        request.progress("verifying", 0, 1)
        found = recounted(table, about)
        record.write_json(public / MANIFEST_NAME, about)
        told = _companion(form, request, found, about, facts)
        told |= {"key": key.hex(), "input": folder.fingerprint(frame, key)}
        told |= companion_sketch(frame, request.schema)
        record.write_json(private / folder.COMPANION, told, 0o600)
        with admit_while_moving(request, Release(about, found, public, private), frame) as admitted:
            request.progress("moving into place", 0, 1)
            folder.move((private, final), (public, out), replace=request.replace)
    return Release(about, found, out, final, facts | admitted)


def _companion(
    form: Form,
    request: NoisyRequest,
    verdict: Verdict,
    about: dict[str, Any],
    facts: dict[str, Any],
) -> dict[str, Any]:
    """The private record: what the manifest promised, and what only the publisher may know."""
    repeated = (
        "edition",
        "form",
        "rule",
        "method",
        "parameters",
        "marginals",
        "spend",
        "privacy",
        "releasable",
    )
    return {
        **{name: about[name] for name in repeated},
        **record.of_people(request.schema, request.one_row),
        **record.drawn(request.one_row),
        "seed": request.seed,
        "schema": record.whole(form.plan.schema).to_toml(),
        "verdict": verdict.to_json(),
        "table_sha256": about["sha256"],
        **facts,
    }


# Publish by noise: from a table to counts or made-up people, whole or not at all.


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
    with open_ledger(request) as asked:
        return _released(source, asked)


def _released(source: Any, request: NoisyRequest) -> Release:
    """Plan by the schema, then read the table once, count, add noise, and publish."""
    request.progress("reading", 0, 1)
    reading = {**request.reading, "one_row": request.one_row}
    with opened(source, kinds=request.schema.kinds, **reading) as frame:
        frame.check_header()
        form = choose_noise_form(Plan.of(request.schema, frame.fields), request)
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
            "utility": useful,
            "rows": measured.rows,
            **_said(form),
            "repeats": asked,
            "notes": [
                *asked,
                *notes(measured, request.spend, request.seed),
                *describe_marks(field for field in frame.fields if field.name in measured.names),
                *told_replaced(request.out, request.replace),
            ],
        }
        return place_noise_release(frame, form, drawn, request, request.out, facts)


def choose_noise_form(plan: Plan, request: NoisyRequest) -> Form:
    """The form that is asked for, with its noise."""
    if request.form == COUNTS:
        return Counts.of(plan, request.spend, request.marginals, request.progress)
    return Synthetic.of(plan, request.spend, request.marginals, request.progress)


def _promised(form: Form, request: NoisyRequest) -> Release:
    """The outcome of a dry run."""
    about = build_noise_manifest(form, request, form.marginals)
    found, said = judgement(about), _said(form)
    rows = said["expected"]["cells"] if request.form == COUNTS else 0
    outcome = Verdict(found.holds, "by construction", rows, 0, (found,))
    return Release(about, outcome, private={**said, "notes": cautions(request.spend)})


def _said(form: Form) -> dict[str, Any]:
    """What the publisher is told before and after: how large the noise is, and why."""
    return {"expected": form.expected(), "explanation": explanation(form), "unjudged": []}
