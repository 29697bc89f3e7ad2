"""What is remembered of a ledger outside of it: heads, and what was spent up to them.

    beside the key, KEY.heads       the head after the publisher's last entry, and what its releases
                                    spend
    in a release's manifest         ``ledgers``: each ledger's identity, and the head at admission

An older copy of a ledger is a whole chain: nothing in it is wrong. Whoever puts one back has the
budget again, and earlier releases are forgotten. So a ledger that does not have a head that is
remembered is refused, until somebody says that it is known (``shoal ledger acknowledge``); what the
key's folder remembers of the lost entries stays counted.

It does not notice a ledger that was put back together with the key's folder and all manifests that
lie beside a new release.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from shoal.core.atomic_file import write_file
from shoal.core.errors import OutputError, UsageError
from shoal.core.release import MANIFEST_NAME
from shoal.ledger.chain.signed_entry import ChainHead, Entry
from shoal.ledger.recorded_releases import RESTORED

EDITION = 1
LEDGERS_KEY = "ledgers"
"""Where a manifest says at which head of which ledgers its release was admitted."""
MAX_FOLDERS = 1000
"""So many folders beside a release are looked at."""


@dataclass(frozen=True)
class RememberedLedger:
    """What the key's folder remembers of one ledger."""

    head: ChainHead
    spends: tuple[Mapping[str, Any], ...] = ()
    """Of each release that spends something: its entry, table, people, form and spend."""

    def after(self, entry: Entry) -> RememberedLedger:
        """The same after an entry of the publisher's own."""
        body = entry.body
        facts = {name: body[name] for name in ("table", "about", "form", "spend") if name in body}
        more = ({"entry": entry.number, **facts},) if body.get("spend") else ()
        # another process of the same publisher may have been faster
        newer = entry.number >= self.head.number or entry.kind == RESTORED
        return RememberedLedger(entry.head if newer else self.head, (*self.spends, *more))


def locate_heads_file(key: Path) -> Path:
    """Where the heads of ledgers are, beside a key."""
    return key.with_name(f"{key.name}.heads")


def recall_ledger(key: Path, ledger: str) -> RememberedLedger | None:
    """What is remembered of a ledger; None where nothing is, or it cannot be read."""
    stored = _read_heads(locate_heads_file(key)).get(ledger)
    if stored is None:
        return None
    try:
        head, spends = ChainHead.parse(str(stored["head"])), tuple(map(dict, stored["spends"]))
        return RememberedLedger(head, spends)
    except (UsageError, KeyError, TypeError, ValueError):
        return None


def remember_ledger(key: Path, ledger: str, remembered: RememberedLedger) -> None:
    """Write down a ledger's head; where the folder cannot be written, manifests alone have it."""
    path = locate_heads_file(key)
    ledgers = _read_heads(path) | {
        ledger: {"head": str(remembered.head), "spends": [*remembered.spends]}
    }
    with suppress(OutputError):
        write_file(path, json.dumps({"edition": EDITION, "ledgers": ledgers}), mode=0o600)


def _read_heads(path: Path) -> dict[str, Any]:
    try:
        ledgers = json.loads(path.read_text(encoding="utf-8"))["ledgers"]
        return dict(ledgers)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


# Manifests


def read_admission_note(manifest: Mapping[str, Any] | None, ledger: str) -> ChainHead | None:
    """The head at which a release was admitted to a ledger, by its manifest."""
    notes = (manifest or {}).get(LEDGERS_KEY)
    for note in notes if isinstance(notes, list) else ():
        if isinstance(note, Mapping) and note.get("identity") == ledger:
            with suppress(UsageError):
                return ChainHead.parse(str(note.get("head")))
    return None


def find_nearby_notes(place: Path, ledger: str) -> Iterator[tuple[str, ChainHead]]:
    """The heads in the manifests of releases that lie beside a place, by the folders' names."""
    with suppress(OSError):
        for number, path in enumerate(sorted(place.absolute().parent.glob(f"*/{MANIFEST_NAME}"))):
            if number >= MAX_FOLDERS:
                return
            head = read_admission_note(load_manifest_json(path.parent), ledger)
            if head is not None:
                yield path.parent.name, head


def load_manifest_json(folder: Path) -> dict[str, Any] | None:
    """The manifest of a folder as it stands; None where there is none to read."""
    try:
        manifest = json.loads((folder / MANIFEST_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return manifest if isinstance(manifest, dict) else None


def write_admission_note(folder: Path, ledger: str, head: ChainHead) -> None:
    """Let a release's manifest say at which head it was admitted, as far as it can be written."""
    manifest = load_manifest_json(folder)
    if manifest is None:
        return
    others = manifest.get(LEDGERS_KEY) if isinstance(manifest.get(LEDGERS_KEY), list) else []
    notes = [
        note for note in others or () if read_admission_note({LEDGERS_KEY: [note]}, ledger) is None
    ]
    notes.append({"identity": ledger, "head": str(head)})
    new = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}.manifest")
    with suppress(OSError):
        try:
            new.write_bytes(_encode_manifest({**manifest, LEDGERS_KEY: notes}))
            new.chmod((folder / MANIFEST_NAME).stat().st_mode & 0o777)
            os.replace(new, folder / MANIFEST_NAME)
        finally:
            new.unlink(missing_ok=True)


def hash_manifest(folder: Path) -> str:
    """The hash of a release's manifest as it was published: without what its admission added."""
    content, manifest = (folder / MANIFEST_NAME).read_bytes(), load_manifest_json(folder)
    if manifest is not None and LEDGERS_KEY in manifest:
        content = _encode_manifest(
            {name: value for name, value in manifest.items() if name != LEDGERS_KEY}
        )
    return sha256(content).hexdigest()


def _encode_manifest(manifest: Mapping[str, Any]) -> bytes:
    """A manifest as ``create_json_file`` writes it."""
    return f"{json.dumps(manifest, indent=2, ensure_ascii=False)}\n".encode()


# Places


def find_release_place(places: Iterable[Path], table: str) -> Path | None:
    """Where a release with such a table lies: in its place or in a folder beside it."""
    for place in places:
        if _holds(place, table):
            return place
        for folder in _list_neighbours(place):
            if (load_manifest_json(folder) or {}).get("sha256") == table and _holds(folder, table):
                return folder
    return None


def _list_neighbours(place: Path) -> list[Path]:
    try:
        return sorted(p.parent for p in place.parent.glob(f"*/{MANIFEST_NAME}"))[:MAX_FOLDERS]
    except OSError:
        return []


def _holds(path: Path, table: str) -> bool:
    try:
        files = [path] if path.is_file() else [*path.glob("table.*")]
        return any(sha256(file.read_bytes()).hexdigest() == table for file in files)
    except OSError:
        return False
