"""Publishing with a ledger: the release is judged with the earlier ones and recorded, then placed.

It is recorded before it is moved into place: what others may have is always in the ledger. Where
it cannot be moved, the ledger records that it was never out. A process that is killed in between
leaves an entry without a folder, which counts as a release until somebody withdraws it.

A table that is recorded already is out, as far as anybody knows: it is not recorded again, and not
withdrawn. It is refused where the recorded one would be now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from shoal.core.errors import UsageError
from shoal.core.release import Release
from shoal.engines.protocol import Frame
from shoal.releases.manifest import hash_file
from shoal.releases.options import Progress

if TYPE_CHECKING:
    from shoal.ledger.admission import Admission

NOT_MOVED = "It could not be moved into place."
ADMISSION_OPTIONS = ("about", "to", "on", "relation", "l", "limit", "accept_risk", "show")
"""The options of an admission that a request may state; the rest are the release's own."""


class Recordable(Protocol):
    """What a request says of a ledger, whatever the release is made by."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def out(self) -> Path | None:
        """The release's folder; None: nothing is written."""

    @property
    def ledger(self) -> Any:
        """The ledger, or where it is; None: there is none."""

    @property
    def admission(self) -> Mapping[str, Any]:
        """Options of the admission."""

    @property
    def progress(self) -> Progress:
        """Called with each step."""


RequestType = TypeVar("RequestType", bound=Recordable)


def check_recording(request: RequestType) -> None:
    """Refuse options that a ledger does not take, or could not judge, before anything is made."""
    if request.ledger is None:
        if request.admission:
            raise UsageError(
                "What a ledger is to be told is given, and no ledger.", "add --ledger PATH."
            )
        return
    if request.out is None:
        raise UsageError(
            "A dry run writes no table that a ledger could judge.",
            "leave the ledger out, or publish.",
        )
    _check_admission_options(request.admission)


@contextmanager
def open_ledger(request: RequestType) -> Iterator[RequestType]:
    """The request with its ledger open, if it has one; what was opened here is closed here."""
    check_recording(request)
    if request.ledger is None:
        yield request
        return
    from shoal.ledger.ledger import Ledger  # databases and cryptography, which few releases need

    own = not isinstance(request.ledger, Ledger)
    ledger = Ledger(request.ledger) if own else request.ledger
    try:
        _ = ledger.keys  # before anything is made: nothing can be recorded without
        yield replace(request, ledger=ledger)
    finally:
        if own:
            ledger.close()


def _check_admission_options(admission: Mapping[str, Any]) -> None:
    from shoal.ledger.admission_options import AdmissionOptions

    if wrong := [name for name in admission if name not in ADMISSION_OPTIONS]:
        raise UsageError(
            f"A ledger is not told {wrong[0]!r} by publishing.",
            f"one of: {', '.join(ADMISSION_OPTIONS)}.",
        )
    AdmissionOptions(
        **{name: admission[name] for name in ("relation", "l", "limit") if name in admission}
    )


@contextmanager
def admit_while_moving(
    request: Recordable, release: Release, people: Frame
) -> Iterator[dict[str, Any]]:
    """Judge and record what was written aside, while it is moved into place inside."""
    if request.ledger is None or request.out is None:
        yield {}
        return
    admission: Admission = request.ledger.admit(
        release,
        people=people,
        name=request.out.name,
        place=request.out,
        progress=request.progress,
        **request.admission,
    )
    if not admission.admitted:  # recorded already, and more speaks against it now
        from shoal.ledger.admission import Refused

        raise Refused(admission)
    try:
        yield {"admission": admission}
    except BaseException as error:
        if admission.entry is not None and not admission.already:
            _withdraw_unmoved(request, admission, admission.entry.number, release.path.name, error)
        raise


def _withdraw_unmoved(
    request: Recordable, admission: Admission, number: int, table: str, error: BaseException
) -> None:
    """Record that the release was never out; what stopped it is not hidden by that."""
    try:
        path = None if request.out is None else request.out / table
        if path is not None and not (path.is_file() and hash_file(path) == admission.table):
            request.ledger.withdraw(number, NOT_MOVED, never_out=True)
    except Exception as failed:
        error.add_note(
            f"Nor could the ledger be told ({failed}): if it is not out, say so with "
            f"shoal ledger withdraw {number} --never-out."
        )
