"""A release of noise, written aside, verified, recorded and moved into place: whole or not at all.

What is drawn is drawn once. A release that fails after that has spent nothing that anybody saw:
what was written aside is gone.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.flow import folder, record
from shoal.flow.noisy.accounted import total
from shoal.flow.noisy.drawn import Drawn, Form
from shoal.flow.noisy.planned import Columns
from shoal.flow.noisy.request import NoisyRequest
from shoal.flow.noisy.stated import described
from shoal.flow.noisy.verified import recounted
from shoal.flow.recorded import recorded
from shoal.flow.sketch import companion_sketch
from shoal.flow.writing import write_whole
from shoal.frames.frame import Frame
from shoal.release import EDITION, MANIFEST, Release, Verdict
from shoal.spend import Spend


def manifest(
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


def place(frame: Frame, form: Form, drawn: Drawn, request: NoisyRequest, out: Path,
          facts: dict[str, Any]) -> Release:  # fmt: skip
    """Write, verify and move: either the whole release is there afterwards, or nothing is."""
    final, key = request.companion or folder.companion_of(out), secrets.token_bytes(32)
    about = manifest(form, request, drawn.marginals, drawn.table.num_rows)
    with folder.aside(out, final) as parts:
        public, private = folder.inside(*parts)
        table = public / f"table.{request.format}"
        request.progress("writing", 0, 1)
        defused = write_whole(table, drawn.table)
        about |= {"defused_cells": defused, **record.hashes(table, None)}
        request.progress("verifying", 0, 1)
        found = recounted(table, about)
        record.write_json(public / MANIFEST, about)
        told = _companion(form, request, found, about, facts)
        told |= {"key": key.hex(), "input": folder.fingerprint(frame, key)}
        told |= companion_sketch(frame, request.schema)
        record.write_json(private / folder.COMPANION, told, 0o600)
        with recorded(request, Release(about, found, public, private), frame) as admitted:
            request.progress("moving into place", 0, 1)
            folder.move((private, final), (public, out), replace=request.replace)
    return Release(about, found, out, final, facts | admitted)


def _companion(
    form: Form, request: NoisyRequest, verdict: Verdict, about: dict[str, Any],
    facts: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """The private record: what the manifest promised, and what only the publisher may know."""
    repeated = (
        "edition", "form", "rule", "method", "parameters", "marginals", "spend", "privacy",
        "releasable",
    )  # fmt: skip
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
