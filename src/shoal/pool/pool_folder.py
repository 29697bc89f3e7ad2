"""The folder of a pool: the agreement, and the rows that each provider handed in, kept private.

    POOL/pool.json              the agreement: for all partners
    POOL/private/partners.json  who handed in what: for the trusted third party alone
    POOL/private/published.json which releases were made of it: likewise
    POOL/private/working.json   where a release is being made, while one is
    POOL/private/lock           held by whoever changes the pool; the system lets go of it
    POOL/private/*.parquet      the rows of one provider each, without their identifiers; a column
                                that says who a row is about (person) is there as it was handed in

Whoever can read ``private`` sees everybody's rows: files there are for their owner alone (0600),
but nothing is encrypted. A file counts once ``partners.json`` names it, with its hash; what a run
left that was interrupted or killed is removed by the next command. Whoever can write there can
change all files in accord: that is found only by the hash of the agreement that each provider wrote
down.
"""

from __future__ import annotations

import json
import re
import secrets
import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.core.atomic_file import create_file, create_json_file, replace_json
from shoal.core.errors import InputError, OutputError, UsageError
from shoal.pool.agreement import EDITION, Agreement
from shoal.releases import folder, manifest
from shoal.releases.folder import AGREEMENT, PRIVATE, FolderBusyError, lock_folder

PARTNERS, LOCK = "partners.json", "lock"
OURS = r"[0-9a-f]{16}\.parquet"
"""The names of the files of rows."""


@dataclass(frozen=True)
class Partner:
    """One who handed in rows."""

    provider: str
    file: str
    rows: int
    sha256: str
    agreement: str
    """The hash of the agreement under which they were handed in."""
    content: str = ""
    """A hash of the rows in any order and whoever's they are: by it the same rows are found."""
    one_row: str = ""
    """Which row stands for a person, where some had several; empty: nobody had."""


@dataclass(frozen=True)
class PoolFolder:
    """A pool as it stands on disk, its agreement found unchanged."""

    folder: Path
    agreement: Agreement
    hash: str
    """The SHA-256 of the agreement's file."""
    partners: tuple[Partner, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Who handed in rows."""
        return tuple(partner.provider for partner in self.partners)

    @property
    def awaited(self) -> tuple[str, ...]:
        """Those of the agreement who have not handed in rows yet."""
        return tuple(name for name in self.agreement.providers if name not in self.names)

    def others(self, provider: str) -> tuple[Partner, ...]:
        """The partners but one."""
        return tuple(partner for partner in self.partners if partner.provider != provider)

    def adding(self, provider: str, *options: str) -> str:
        """The line by which a provider adds its rows."""
        words = ("shoal", "pool", "add", str(self.folder), "--provider", provider)
        return " ".join((*map(shlex.quote, words), "FILE", *options))

    def with_rows(
        self, provider: str, rows: pa.Table, content: str, one_row: str = ""
    ) -> PoolFolder:
        """The pool with one provider's rows, in place of any that were there."""
        file, packed = f"{secrets.token_hex(8)}.parquet", _write_parquet(rows)
        signature = sha256(packed).hexdigest()
        partner = Partner(provider, file, rows.num_rows, signature, self.hash, content, one_row)
        changed = replace(self, partners=(*self.others(provider), partner))
        try:
            create_file(self.folder / PRIVATE / file, packed, 0o600)
            write_partners(self.folder, self.hash, changed.partners)
        finally:
            # By the list on disk: an interrupt may come after it was replaced.
            load_pool(self.folder).sweep()
        return changed

    def rows(self) -> pa.Table:
        """Everybody's rows, each file the one that was handed in."""
        return pa.concat_tables(self._rows(partner) for partner in self.partners)

    def _rows(self, partner: Partner) -> pa.Table:
        if partner.agreement != self.hash:
            raise self._changed_rows_error(partner, "were added under another agreement")
        rows = self.stored(partner)
        if rows is None or not self._are_of_partner(partner, rows):
            raise self._changed_rows_error(partner, "were changed after they were added")
        return rows

    def stored(self, partner: Partner) -> pa.Table | None:
        """The rows of the file that a partner handed in; None where it is not that file."""
        if not re.fullmatch(OURS, partner.file):
            return None
        try:
            content = (self.folder / PRIVATE / partner.file).read_bytes()
            same = sha256(content).hexdigest() == partner.sha256
            return pq.read_table(pa.BufferReader(content)) if same else None
        except (OSError, pa.ArrowException):
            return None

    def _are_of_partner(self, partner: Partner, rows: pa.Table) -> bool:
        column = self.agreement.column.name
        providers = set(rows[column].unique().to_pylist()) if column in rows.column_names else set()
        return rows.num_rows == partner.rows and providers == {partner.provider}

    def _changed_rows_error(self, partner: Partner, how: str) -> InputError:
        return InputError(
            f"The rows of {partner.provider!r} {how}.",
            f"add them again: {self.adding(partner.provider, '--replace')}",
        )

    def sweep(self) -> None:
        """Remove what an interrupted run left: rows that no partner has, lists half written."""
        partners_files, private = {partner.file for partner in self.partners}, self.folder / PRIVATE
        for path in (*private.glob("*.parquet"), *private.glob(".*.part")):
            if path.name not in partners_files:
                path.unlink(missing_ok=True)


def create_pool(place: Path, agreement: Agreement) -> PoolFolder:
    """A new pool; the whole folder or none."""
    if place.exists() or place.is_symlink():
        raise UsageError(f"{place.name!r} exists already.", "choose another folder for the pool.")
    folder.check_outside(place)
    with folder.make_aside(place) as (root,):
        new = root / place.name
        (new / PRIVATE).mkdir(mode=0o700, parents=True)
        create_json_file(new / AGREEMENT, agreement.to_json())
        signature = manifest.hash_file(new / AGREEMENT)
        write_partners(new, signature, ())
        folder.move_into_place((new, place), replace=False)
    return PoolFolder(place, agreement, signature)


def load_pool(place: Path) -> PoolFolder:
    """The pool in a folder; refuses an agreement that is not the one that was signed."""
    try:
        content = (place / AGREEMENT).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{place.name!r} is not a pool.", "make one: shoal pool init POOL -s schema.toml -m …"
        ) from None
    except OSError:
        raise _unreadable_error(AGREEMENT) from None
    signed, partners = _read_partners(place / PRIVATE / PARTNERS)
    signature = sha256(content).hexdigest()
    if signature != signed:
        raise InputError(
            f"{AGREEMENT} was changed after it was signed.",
            "put the agreed file back, or make a new pool and let everybody agree again.",
        )
    return PoolFolder(place, Agreement.parse(content.decode("utf-8")), signature, partners)


def _read_partners(path: Path) -> tuple[str, tuple[Partner, ...]]:
    hint = "put back a copy of it, or make a new pool and let everybody add their rows again."
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return str(stored["agreement"]), tuple(Partner(**partner) for partner in stored["partners"])
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{PRIVATE}/{PARTNERS} of the pool is gone.", hint) from None
    except OSError:
        raise _unreadable_error(f"{PRIVATE}/{PARTNERS}") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{PRIVATE}/{PARTNERS} of the pool is damaged.", hint) from None


def _unreadable_error(file: str) -> InputError:
    return InputError(f"{file} of the pool cannot be read.", "check who may read it.")


@contextmanager
def lock_pool(place: Path) -> Iterator[PoolFolder]:
    """The pool, while nobody else changes it; what a killed run left in it is removed first."""
    load_pool(place)
    with ExitStack() as stack:
        try:
            stack.enter_context(lock_folder(place / PRIVATE, LOCK, wait=False))
        except FolderBusyError:
            raise InputError(
                f"Somebody else is at work in the pool {place.name!r}.",
                "wait until that is done, and try again.",
            ) from None
        except OutputError as error:
            raise OutputError(
                f"The pool {place.name!r} cannot be written.", "check who may write there."
            ) from error
        pool = load_pool(place)
        pool.sweep()
        yield pool


def write_partners(place: Path, signature: str, partners: Sequence[Partner]) -> None:
    """Write down who handed in what: the old list stands until the new one is whole."""
    listing = [asdict(partner) for partner in partners]
    replace_json(
        place / PRIVATE / PARTNERS,
        {"edition": EDITION, "agreement": signature, "partners": listing},
    )


def _write_parquet(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    return bytes(sink.getvalue())
