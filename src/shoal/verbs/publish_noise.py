"""Publish by noise: from a table to counts or made-up people, whole or not at all.

Everything is checked before a row is read: the schema and the request alone say which columns are
counted in which bins, and what they spend. A dry run stops there. Noise is drawn once, and a
release that fails after that has spent nothing that anybody saw: what was written aside is gone.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.core.atomic_file import create_json_file
from shoal.core.column import describe_marks
from shoal.core.errors import UsageError
from shoal.core.release import EDITION, MANIFEST_NAME, Release, Verdict
from shoal.core.spend import Spend
from shoal.dp.seeded_draws import create_seeded_generator
from shoal.engines.protocol import Frame
from shoal.ledger.publish_hook import admit_while_moving, open_ledger
from shoal.releases import folder
from shoal.releases import manifest as record
from shoal.releases.forms._noise.accounted_spend import total_spend
from shoal.releases.forms._noise.distance_from_original import (
    measure_bin_loss,
    measure_noise_utility,
    tally_original,
)
from shoal.releases.forms._noise.manifest import describe_noise_release
from shoal.releases.forms._noise.measured import MeasuredTable, NoiseDraft, NoiseForm
from shoal.releases.forms._noise.notes import (
    explain_noise,
    list_cautions,
    list_noise_notes,
    note_replaced_release,
)
from shoal.releases.forms._noise.options import NoisyRequest
from shoal.releases.forms._noise.plan import Columns, MarginalPlan, settle_kinds
from shoal.releases.forms._noise.verification import judge_spend, recount_noise
from shoal.releases.forms.counts import Counts
from shoal.releases.forms.synthetic import Synthetic
from shoal.releases.options import COUNTS
from shoal.releases.people import ask_about_repeats, check_one_row_each
from shoal.releases.people_sketch import sketch_for_companion
from shoal.releases.reader import open_frame
from shoal.releases.writer import write_whole_table


def build_noise_manifest(
    form: NoiseForm, request: NoisyRequest, marginals: Sequence[Columns], rows: int | None = None
) -> dict[str, Any]:
    """The public manifest, without what only the written file can tell."""
    return {
        "edition": EDITION,
        "file": f"table.{request.format}",
        **({} if rows is None else {"rows": rows}),
        **describe_noise_release(
            request.form,
            form.plan,
            marginals,
            form.steps,
            _stated_spend(form, request),
            request.seed,
        ),
        **record.describe_people(request.schema, request.one_row),
    }


def _stated_spend(form: NoiseForm, request: NoisyRequest) -> Spend:
    """The requested budget is what is stated: the noise spends no more than that."""
    epsilon, delta = request.spend.epsilon, request.spend.delta
    return Spend(epsilon, delta, total_spend(form.steps, delta).rho if delta else None)


def place_noise_release(
    frame: Frame,
    form: NoiseForm,
    draft: NoiseDraft,
    request: NoisyRequest,
    out: Path,
    facts: dict[str, Any],
) -> Release:
    """Write, verify and move: either the whole release is there afterwards, or nothing is."""
    final, key = request.companion or folder.default_companion(out), secrets.token_bytes(32)
    manifest = build_noise_manifest(form, request, draft.marginals, draft.table.num_rows)
    with folder.make_aside(out, final) as parts:
        public, private = folder.make_public_and_private(*parts)
        table = public / f"table.{request.format}"
        request.progress("writing", 0, 1)
        defused = write_whole_table(table, draft.table)
        manifest |= {"defused_cells": defused, **record.hash_files(table, None)}
        request.progress("verifying", 0, 1)
        verdict = recount_noise(table, manifest)
        create_json_file(public / MANIFEST_NAME, manifest)
        companion = _build_companion(form, request, verdict, manifest, facts)
        companion |= {"key": key.hex(), "input": folder.fingerprint_source(frame, key)}
        companion |= sketch_for_companion(frame, request.schema)
        create_json_file(private / folder.COMPANION, companion, 0o600)
        with admit_while_moving(
            request, Release(manifest, verdict, public, private), frame
        ) as admitted:
            request.progress("moving into place", 0, 1)
            folder.move_into_place((private, final), (public, out), replace=request.replace)
    return Release(manifest, verdict, out, final, facts | admitted)


def _build_companion(
    form: NoiseForm,
    request: NoisyRequest,
    verdict: Verdict,
    manifest: dict[str, Any],
    facts: dict[str, Any],
) -> dict[str, Any]:
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
        **{name: manifest[name] for name in repeated},
        **record.describe_people(request.schema, request.one_row),
        **record.describe_row_draw(request.one_row),
        "seed": request.seed,
        "schema": record.inline_taxonomies(form.plan.schema).to_toml(),
        "verdict": verdict.to_json(),
        "table_sha256": manifest["sha256"],
        **facts,
    }


def publish_noisy(source: Any, request: NoisyRequest) -> Release:
    """Make a release of ``source`` by noise, verify its file, and move it into place.

    Without a folder to write to (a dry run) nothing is drawn and nothing is spent: the outcome is
    what the schema and the request say.
    """
    request = replace(request, schema=settle_kinds(request.schema))
    if request.seed is not None and request.ledger is not None:
        raise UsageError(
            "Noise from a seed is not to be released, so no ledger records it.",
            "leave --seed out, or the ledger.",
        )
    if request.out is not None:
        companion = request.companion or folder.default_companion(request.out)
        folder.check_output_free(request.out, companion, request.replace)
    with open_ledger(request) as recordable:
        return _read_and_publish(source, recordable)


def _read_and_publish(source: Any, request: NoisyRequest) -> Release:
    """Plan by the schema, then read the table once, count, add noise, and publish."""
    request.progress("reading", 0, 1)
    reading = {**request.reading, "one_row": request.one_row}
    with open_frame(source, kinds=request.schema.kinds, **reading) as frame:
        frame.check_header()
        form = choose_noise_form(MarginalPlan.of(request.schema, frame.fields), request)
        if request.out is None:
            return _describe_dry_run(form, request)
        check_one_row_each(frame, request.schema)
        repeats = ask_about_repeats(frame, request.schema)
        measured = MeasuredTable.of(frame, form.plan, form.marginals)
        draft = form.draft(measured, create_seeded_generator(request.seed))
        request.progress("measuring utility", 0, 1)
        tally = tally_original(frame, form.plan.schema, measured.names)
        utility = measure_noise_utility(tally, form.plan, draft.estimates) | {
            "bins": measure_bin_loss(tally, measured)
        }
        facts = {
            "utility": utility,
            "rows": measured.rows,
            **_explain_noise(form),
            "repeats": repeats,
            "notes": [
                *repeats,
                *list_noise_notes(measured, request.spend, request.seed),
                *describe_marks(field for field in frame.fields if field.name in measured.names),
                *note_replaced_release(request.out, request.replace),
            ],
        }
        return place_noise_release(frame, form, draft, request, request.out, facts)


def choose_noise_form(plan: MarginalPlan, request: NoisyRequest) -> NoiseForm:
    """The requested form, with its noise."""
    if request.form == COUNTS:
        return Counts.of(plan, request.spend, request.marginals, request.progress)
    return Synthetic.of(plan, request.spend, request.marginals, request.progress)


def _describe_dry_run(form: NoiseForm, request: NoisyRequest) -> Release:
    manifest = build_noise_manifest(form, request, form.marginals)
    verdict, facts = judge_spend(manifest), _explain_noise(form)
    rows = facts["expected"]["cells"] if request.form == COUNTS else 0
    outcome = Verdict(verdict.holds, "by construction", rows, 0, (verdict,))
    return Release(manifest, outcome, private={**facts, "notes": list_cautions(request.spend)})


def _explain_noise(form: NoiseForm) -> dict[str, Any]:
    """How large the noise is, and why: for the publisher, before and after."""
    return {"expected": form.expected_noise(), "explanation": explain_noise(form), "unjudged": []}
