"""What a publisher asks for, and how the progress of the work is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import UsageError
from shoal.model import Model
from shoal.schema import Schema

Progress = Callable[[str, int, int], None]
"""Called with a step's name, how much is done and how much there is."""

PARTITION, BUCKETS, CENTROIDS = "partition", "buckets", "centroids"
FORMS = (PARTITION, BUCKETS, CENTROIDS)
"""The forms of a release: generalised cells, or exact ones beside values permuted per class, or one
made-up person for each class."""

ABSENT, STARRED = "absent", "starred"
"""What becomes of rows held back: they are left out, or printed as a class of ``*``."""


def quiet(step: str, done: int, total: int) -> None:
    """Show nothing."""


def unstated() -> UsageError:
    """Nothing says what the columns are, or what is to hold."""
    return UsageError(
        "publish needs a schema and a rule.",
        'shoal.publish(table, shoal.Schema.of(quasi=["age"]), "k-anonymity k=5")',
    )


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to publish, and how."""

    schema: Schema
    rule: Model
    method: str = "mondrian"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    out: Path | None = None
    """The release's folder; None: nothing is written."""
    companion: Path | None = None
    """The private companion's folder; None: beside the release's."""
    form: str = PARTITION
    two_tables: bool = False
    """Buckets only: the people in one file and the counts of the values in another."""
    format: str = "csv"
    replace: bool = False
    hold_back: float = 0.0
    """The share of rows that may be held back."""
    held_back_as: str = ABSENT
    accept_keep: bool = False
    population: Any = None
    based_on: Any = None
    """An earlier release of the table, than whose cells none becomes finer; None: there is none."""
    like: Any = None
    """The recoding of a release (`flow.recoding.Recoding`) that is applied; None: one is made."""
    auto_hierarchies: bool = False
    """Whether columns without levels get some, where the method works by levels."""
    ledger: Any = None
    """The ledger that the release is judged by and recorded in; None: there is none."""
    admission: Mapping[str, Any] = field(default_factory=dict)
    """What the ledger is told: to whom, about whom, which limit (see ``shoal.Ledger.admit``)."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """How the table is read, where that is not to be recognised: options of ``shoal.open``."""
    progress: Progress = quiet

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Schema) or not isinstance(self.rule, Model):
            raise unstated()
        if isinstance(self.hold_back, bool) or not isinstance(self.hold_back, (int, float)):
            raise UsageError("hold_back is a number.", "write for example 0.05.")
        if not 0 <= self.hold_back <= 1:
            raise UsageError("hold_back is a share between 0 and 1.", "write for example 0.05.")
        if self.form not in FORMS:
            raise UsageError(
                f"There is no form {self.form!r}.", f"the forms are: {', '.join(FORMS)}."
            )
        if self.two_tables and self.form != BUCKETS:
            raise UsageError("Only buckets come in two tables.", f"add --form {BUCKETS}.")
        if self.held_back_as not in (ABSENT, STARRED):
            raise UsageError(
                "Rows held back are absent or starred.", f"write --held-back-as {STARRED}."
            )
