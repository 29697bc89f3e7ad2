"""The verbs of a pool: agree, add rows, ask who is awaited, publish."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.core.errors import InputError, OutputError
from shoal.core.model import Model
from shoal.core.release import Release
from shoal.core.schema import Schema
from shoal.pool.agreement import (
    Agreement,
    check_agreement_hash,
    check_provider_name,
    make_agreement,
)
from shoal.pool.partner_certificate import (
    check_partners_folder,
    collect_partner_facts,
    locate_partners_folder,
    write_partner_files,
)
from shoal.pool.pool_folder import PoolFolder, create_pool, load_pool, lock_pool
from shoal.pool.provider_rows import (
    check_people_have_one_provider,
    check_rows_are_new,
    hash_rows,
    read_provider_rows,
    select_stored_columns,
)
from shoal.pool.release_record import (
    PoolRelease,
    check_no_earlier_release,
    finish_killed_run,
    mark_work_begun,
    read_pool_releases,
    record_pool_release,
)
from shoal.pool.results import Added, Agreed, Pooled, Status
from shoal.releases import folder
from shoal.releases.options import Progress, ignore_progress
from shoal.releases.people import parse_one_row
from shoal.releases.reader import open_frame
from shoal.verbs.publish import publish

METHOD = "provider-aware"


def pool_init(
    pool: str | Path,
    schema: Schema,
    rule: Model | str,
    *,
    method: str = METHOD,
    providers: Sequence[str] = (),
    hold_back: float = 0.0,
    **parameters: Any,
) -> Agreed:
    """Make the folder of a new pool; its ``agreement`` is what every provider should compare.

    Parameters
    ----------
    pool
        The folder to make.
    schema
        The agreed schema, with the kind of every column.
    rule
        The promise, which must hold against the providers themselves: ``m-privacy m=1 (…)``, with
        everything inside that can be judged so.
    method, hold_back, **parameters
        How the release will be made, as in ``shoal.publish``.
    providers
        Who takes part: the pool is complete when all of them have added their rows. Without them,
        whoever adds rows takes part.

    Returns
    -------
    Agreed
        The folder and the hash of its agreement.

    Raises
    ------
    UsageError
        The rule promises nothing against providers, or the schema leaves something open.
    """
    agreement = make_agreement(
        schema,
        rule,
        method=method,
        providers=providers,
        hold_back=hold_back,
        parameters=parameters,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    created = create_pool(_resolve_folder(pool), agreement)
    return Agreed(
        created.folder,
        created.hash,
        str(agreement.rule),
        agreement.providers,
        tuple(agreement.unjudged),
        tuple(map(str, agreement.outside)),
    )


def pool_add(
    pool: str | Path,
    provider: str,
    source: Any,
    *,
    agreement: str | None = None,
    replace: bool = False,
    one_row: str | None = None,
    **reading: Any,
) -> Added:
    """Hand in one provider's rows: checked against the agreed schema, and kept private.

    Identifiers are not stored; who a row is about (role person) is, as it stands, so that nobody
    is published twice.

    Parameters
    ----------
    pool
        The pool's folder.
    provider
        Whose rows they are.
    source
        The table, as ``shoal.open`` takes it.
    agreement
        The hash that the provider agreed on; its first digits are enough.
    replace
        Put the rows in place of those that the provider handed in before.
    one_row
        Which row stands for a person who has several, as in ``shoal.publish``.
    **reading
        How the file is written, as in ``shoal.open``.

    Returns
    -------
    Added
        How many rows were added, and who is still awaited.

    Raises
    ------
    InputError
        The rows do not fit the schema, or were handed in already.
    UsageError
        The agreement is another one, or too few digits of its hash are given.
    """
    name = check_provider_name(provider)
    with _locked_pool(_resolve_folder(pool)) as state:
        check_agreement_hash(state.hash, agreement)
        state.agreement.check_name(name, (*state.names, *state.agreement.providers))
        if name in state.names and not replace:
            raise InputError(
                f"{name!r} has added its rows already.", "put others in their place with --replace."
            )
        which_row = parse_one_row(one_row, state.agreement.schema)
        rows = read_provider_rows(source, state.agreement, name, {**reading, "one_row": which_row})
        content = hash_rows(rows, state.agreement.column.name)
        check_rows_are_new(state, name, rows, content)
        changed = state.with_rows(name, rows, content, "" if which_row is None else str(which_row))
    stored = next(partner for partner in changed.partners if partner.provider == name)
    return Added(name, stored.rows, changed.hash, stored.sha256, changed.awaited)


def pool_status(pool: str | Path) -> Status:
    """Tell who has added rows to a pool and who is awaited, and what was agreed on.

    Parameters
    ----------
    pool
        The pool's folder.

    Returns
    -------
    Status
        The folder, the agreement's hash, its rule, and the providers: all, and those awaited.

    Raises
    ------
    InputError
        There is no pool in the folder, or its agreement is damaged.
    """
    home = _resolve_folder(pool)
    load_pool(home)
    with suppress(InputError, OutputError), _locked_pool(home):
        pass  # what a killed run left is removed, where that may be done now
    state = load_pool(home)
    names = tuple(sorted(state.names))
    return Status(state.folder, state.hash, str(state.agreement.rule), names, state.awaited)


def pool_publish(
    pool: str | Path,
    out: str | Path,
    *,
    agreement: str | None = None,
    replace: bool = False,
    again: bool = False,
    format: str = "csv",
    progress: Progress = ignore_progress,
) -> Pooled:
    """One release of everybody's rows, verified; a joint certificate; a page for each provider.

    Beside the release and its private companion a folder ``OUT.partners`` is written, with the
    certificate and the pages; where anything fails, nothing is. Nobody else can add to the pool
    meanwhile. It remembers its releases: whoever has two tables can compare them.

    Parameters
    ----------
    pool
        The pool's folder.
    out
        The release's folder.
    agreement
        The hash that was agreed on; its first digits are enough.
    replace
        Put the release in place of the last one, in the same folder.
    again
        Publish one more; certificate and pages then say how many came before.
    format
        Of the table, as in ``shoal.publish``.
    progress
        Called with a step's name, what is done of it, and its total.

    Returns
    -------
    Pooled
        The release, its certificate, and the partners' pages.

    Raises
    ------
    InputError
        Somebody has added no rows, rows were changed, or people have rows of several providers.
    UsageError
        The pool was published before, and neither ``replace`` nor ``again`` is asked for.
    NotMetError
        The rule cannot be met.
    """
    place, home = _resolve_folder(out), _resolve_folder(pool)
    companion, partners_folder = folder.default_companion(place), locate_partners_folder(place)
    with _locked_pool(home) as state:
        check_agreement_hash(state.hash, agreement)
        _check_complete(state)
        earlier = read_pool_releases(home)
        check_no_earlier_release(earlier, place, replace=replace, again=again)
        finals = companion, partners_folder, place
        # from here on something is written beside the release, be it an empty file
        with mark_work_begun(home, finals, len(earlier)):
            folder.check_output_free(place, companion, replace)
            check_partners_folder(partners_folder, replace)
            rows = state.rows()
            check_people_have_one_provider(state, rows)
            with folder.make_aside(place) as (root,):
                release = _publish_rows(state.agreement, rows, root / place.name, format, progress)
                progress("looking from every side", 0, 1)
                facts = collect_partner_facts(state, release, date.today(), len(earlier))
                signature, pages = write_partner_files(root / partners_folder.name, facts)
                new, hidden = root / place.name, folder.default_companion(root / place.name)
                pairs = (
                    (hidden, companion),
                    (root / partners_folder.name, partners_folder),
                    (new, place),
                )
                about = facts.certificate
                record = PoolRelease(about["date"], about["release_sha256"], signature, place.name)
                with record_pool_release(home, earlier, record, place):
                    folder.move_into_place(*pairs, replace=replace)
    release = dataclasses.replace(release, folder=place, companion=companion)
    return Pooled(release, facts.certificate, signature, partners_folder, pages, facts.counts)


@contextmanager
def _locked_pool(home: Path) -> Iterator[PoolFolder]:
    with lock_pool(home) as pool:
        finish_killed_run(home)
        yield pool


def _check_complete(pool: PoolFolder) -> None:
    if pool.awaited:
        have = "has" if len(pool.awaited) == 1 else "have"
        raise InputError(
            f"{len(pool.awaited):,} of {len(pool.agreement.providers):,} providers {have} added no "
            f"rows: {', '.join(pool.awaited)}.",
            pool.adding(pool.awaited[0]),
        )
    if not pool.partners:
        raise InputError("Nobody has added rows to the pool.", pool.adding("NAME"))
    pool.agreement.check_names(pool.names)


def _publish_rows(
    agreement: Agreement, rows: pa.Table, out: Path, format: str, progress: Progress
) -> Release:
    schema = select_stored_columns(agreement.schema)
    with open_frame(rows, kinds=schema.kinds, nulls=()) as frame:  # nulls are nulls by now
        return publish(
            frame,
            schema,
            agreement.rule,
            method=agreement.method,
            out=out,
            format=format,
            hold_back=agreement.hold_back,
            progress=progress,
            **agreement.parameters,
        )


def _resolve_folder(folder: str | Path) -> Path:
    """The folder by a path that ends in its name, which ``.`` and ``..`` do not."""
    path = Path(folder)
    return path if path.name not in ("", "..") else Path(os.path.abspath(path))
