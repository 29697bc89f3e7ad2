"""What comes out: a release, the verdict on it, what an attack found. Frozen; JSON and back.

The manifest is public and holds nothing that the published table does not. What else there is
to know (how many rows were suppressed, the loss, keys) belongs to the private companion. How many
rows were suppressed is not thereby a secret: whoever knows how many rows the table had takes the
published ones off.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from html import escape
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal

from shoal.core.errors import InputError
from shoal.core.labels import format_people
from shoal.core.spend import Spend

EDITION = 1
MANIFEST_NAME = "manifest.json"
DP_PROMISE = "differential-privacy"
"""How the judgement on what noise promises begins."""

VerdictBasis = Literal[
    "counted",
    "counted with the private companion",
    "by construction",
    "counted, and by construction",
]


@dataclass(frozen=True)
class Judgement:
    """One model's verdict: whether it holds, what all classes reach, and the worst class."""

    model: str
    holds: bool
    reached: float
    failing_classes: int = 0
    failing_rows: int = 0
    worst: Mapping[str, Any] = field(default_factory=dict)
    """The witness: the worst class's rows and value, and its labels where they were asked for."""
    reason: str = ""
    """Why it was not evaluated; empty where it was. What is not evaluated does not hold."""


@dataclass(frozen=True)
class Verdict:
    """Whether a table meets a rule, and on what basis that was judged."""

    holds: bool
    how: VerdictBasis
    rows: int
    classes: int
    judgements: tuple[Judgement, ...]
    kept_columns_k: int | None = None
    """The smallest class over quasi-identifiers and kept columns together, where there are any."""
    missing: Mapping[str, int] = field(default_factory=dict)
    """By sensitive column how many rows have a value that nobody knows: judged as the worst."""
    people: int | None = None
    """How many people the rows are about, where something says so: classes are then counted by
    distinct persons. None: each row is taken for a person."""
    people_not_evaluated: str = ""
    """Why people could not be counted, where the table had a column that told them apart."""
    changed: str = ""
    """That the files are not those that were published, where they are not."""
    unjudged: tuple[str, ...] = ()
    """The sensitive columns that no requirement is about."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; infinity is written as text."""
        optional = ("missing", "changed", "unjudged")
        entries = {k: v for k, v in asdict(self).items() if v or k not in optional}
        return {"edition": EDITION, **to_json_value(entries)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """The verdict that ``to_json`` wrote."""
        parts = tuple(
            Judgement(**{**part, "reached": float(part["reached"])}) for part in data["judgements"]
        )
        rest = {k: v for k, v in data.items() if k not in ("edition", "judgements", "unjudged")}
        return cls(**rest, judgements=parts, unjudged=tuple(data.get("unjudged", ())))

    def __str__(self) -> str:
        lines = [f"{_rows(self.rows, self.classes, self.people)}, {self.how}"]
        if self.changed:
            lines.append(f"  CHANGED: {self.changed}")
        if self.unjudged:
            lines.append(f"  NOT JUDGED: {', '.join(self.unjudged)}, which no requirement is about")
        if self.people_not_evaluated:
            lines.append(f"  people: NOT EVALUATED, {self.people_not_evaluated}")
        for part in self.judgements:
            if part.reason:
                lines.append(f"  NOT EVALUATED {part.model}: {part.reason}")
                continue
            mark = "meets" if part.holds else "DOES NOT MEET"
            line = f"  {mark} {part.model} (reaches {format_reached(part.reached)})"
            if not part.holds:
                line += f": {_classes(part.failing_classes)}, {part.failing_rows:,} rows fail"
            lines.append(line)
        if self.kept_columns_k is not None:
            lines.append(f"  k over quasi-identifiers and kept columns: {self.kept_columns_k}")
        for name, rows in self.missing.items():
            lines.append(f"  {rows:,} rows have no {name}: judged as the worst value for the rule")
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What an attack learned: about how many people, and its confidence against a baseline."""

    attack: str
    releases: tuple[str, ...] = ()
    """The names of the releases that were attacked."""
    people: int
    """How many people (or rows) were attacked."""
    exposed: int
    """How many of them the attack succeeded on."""
    sure: float
    """The adversary's confidence about the worst-hit person."""
    guessing: float
    """The baseline: the confidence of somebody who only knows the published totals."""
    sentence: str
    """What was found, for a data steward."""
    defence: str
    """What to do about it."""
    example: str = ""
    """One worst-hit person, step by step; without values unless they were asked for."""
    assumptions: tuple[str, ...] = ()
    worst: tuple[int, ...] = ()
    """The worst-hit people: row numbers in ``table``, the first row of data being 1."""
    table: str = "targets"
    """Whose rows ``worst`` counts: ``targets``, or ``release 1``, ``release 2``, ..."""
    witness: Mapping[str, Any] = field(default_factory=dict)
    """What proves it: classes, rows and counts; values only where they were asked for."""
    details: Mapping[str, Any] = field(default_factory=dict)
    control: float | None = None
    """The rate among people who are in no release, where such a group was given: of all of them,
    and where their true values are known, of those about whom the attack is right."""
    interval: tuple[float, float] | None = None
    """Where people were sampled: 95 % confidence interval of the rate."""
    on: str = ""
    """The sensitive column whose values it is about; empty where it learns none."""
    by_column: tuple[Finding, ...] = ()
    """Where several columns are sensitive: what was found of each, in their order. The finding
    that holds them is the worst of them."""
    not_evaluated: tuple[tuple[str, str], ...] = ()
    """Sensitive columns that the attack could not be run on, each with the reason."""

    @property
    def rate(self) -> float:
        """The share of the attacked people who are exposed."""
        return self.exposed / self.people if self.people else 0.0

    @property
    def per_column(self) -> tuple[Finding, ...]:
        """The findings column by column; of a single column, the finding itself."""
        return self.by_column or (self,)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; those of each column where several are sensitive."""
        entries = {field.name: getattr(self, field.name) for field in fields(self)}
        entries["by_column"] = [finding.to_json() for finding in self.by_column]
        entries["not_evaluated"] = [
            {"on": column, "reason": reason} for column, reason in self.not_evaluated
        ]
        return {"edition": EDITION, **to_json_value(entries), "rate": self.rate}

    def __str__(self) -> str:
        return f"{self.attack}: {self.sentence}"


@dataclass(frozen=True)
class Release:
    """A published table: its folder, public manifest and verdict, and private facts about it."""

    manifest: Mapping[str, Any]
    verdict: Verdict
    folder: Path | None = None
    companion: Path | None = None
    private: Mapping[str, Any] = field(default_factory=dict)
    """Loss, suppressed rows and the like: for the publisher, not in the folder."""

    @property
    def path(self) -> Path:
        """The published table's file."""
        if self.folder is None:
            raise InputError("A dry run has no file.", "publish without --dry-run.")
        return self.folder / str(self.manifest["file"])

    def to_json(self) -> dict[str, Any]:
        """Manifest, verdict and the publisher's facts."""
        return {
            "edition": EDITION,
            "folder": str(self.folder) if self.folder else None,
            "companion": str(self.companion) if self.companion else None,
            "manifest": to_json_value(self.manifest),
            "verdict": self.verdict.to_json(),
            **to_json_value(self.private),
        }

    def __str__(self) -> str:
        promise = [str(Spend.from_json(self.manifest["spend"]))] if self.is_noisy else []
        reached = [
            f"{_name(part.model)} {format_reached(part.reached)}"
            for part in self.verdict.judgements
            if not (promise and part.model.startswith(DP_PROMISE))
        ]
        facts = [self._published(), *reached, *promise]
        if self.verdict.kept_columns_k is not None:
            facts.append(f"k {self.verdict.kept_columns_k:,} with the kept columns")
        if "loss" in self.private:
            of = " of the quasi-identifiers" if self.is_noisy else ""
            facts.append(f"loss{of} {self.private['loss']:.3f}")
        if "held_back" in self.private:
            facts.append(f"{self.private['held_back']:,} rows held back")
        return " · ".join(facts)

    @property
    def is_noisy(self) -> bool:
        """Whether it promises differential privacy."""
        return "privacy" in self.manifest

    def _published(self) -> str:
        """What there is of it: rows in classes, cells, or made-up people."""
        rows, form = self.verdict.rows, self.manifest.get("form")
        if form == "counts":
            return f"{rows:,} cell{'' if rows == 1 else 's'}"
        if form == "synthetic":  # before noise is drawn nobody knows how many
            return f"{rows:,} made-up people" if rows else "made-up people"
        return _rows(rows, self.verdict.classes, self.verdict.people)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{'✓' if part.holds else '✗'}</td><td>{escape(part.model)}</td>"
            f"<td>{format_reached(part.reached)}</td></tr>"
            for part in self.verdict.judgements
        )
        return (
            f"<p>{escape(str(self))}</p><table><thead><tr><th></th><th>requirement</th><th>reached</th></tr>"
            f"</thead><tbody>{rows}</tbody></table>"
        )


def _name(model: str) -> str:
    """A model's name without its parameters, as Shoal writes them or as Python does.

    >>> _name("k-anonymity k=5"), _name("m-privacy m=2 (k-anonymity k=5)"), _name("Mine(share=0.4)")
    ('k-anonymity', 'm-privacy', 'Mine')
    """
    return model.partition("(")[0].split()[0]


def _rows(rows: int, classes: int, people: int | None = None) -> str:
    """Rows in their classes; noisy counts and made-up people have none."""
    whose = "" if people is None or people == rows else f" of {format_people(people)}"
    return f"{rows:,} rows{whose}" + (f" in {_classes(classes)}" if classes else "")


def _classes(count: int) -> str:
    return f"{count:,} class{'' if count == 1 else 'es'}"


MANIFEST_FIELDS: dict[str, type] = {
    "form": str,
    "schema": str,
    "rule": str,
    "method": str,
    "row_order": str,
    "sha256": str,
    "values_sha256": str,
    "based_on": str,
    "like": str,
    "rows": int,
    "classes": int,
    "defused_cells": int,
    "keep_accepted": bool,
    "releasable": bool,
    "privacy": dict,
    "answers": dict,
    "spend": dict,
    "csv": dict,
    "exact": list,
    "marginals": list,
}
"""What a manifest may say besides its edition, file and columns, and the type of each."""


def _fits(value: Any, kind: type) -> bool:
    """Whether a value is of a type: a count is not negative, and no truth value."""
    if kind is int:
        return type(value) is int and 0 <= value < 2**63
    return isinstance(value, kind)


def read_manifest(text: str) -> dict[str, Any]:
    """A manifest from its JSON text; editions newer than this program are refused."""
    try:
        manifest = json.loads(text)
        edition = manifest["edition"]
        whole = type(edition) is int and edition >= 1 and isinstance(manifest["columns"], dict)
        if not whole or not re.fullmatch(r"table\.[a-z.]+", manifest["file"]):
            raise ValueError
        if "values" in manifest and not re.fullmatch(r"values\.[a-z.]+", manifest["values"]):
            raise ValueError
        if not all(isinstance(role, str) for role in manifest["columns"].values()):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            "The manifest is damaged.", "publish the release again, or audit its table file alone."
        ) from error
    if edition > EDITION:
        raise InputError(
            f"The manifest is of edition {edition}; this program reads up to {EDITION}.",
            "update Shoal.",
        )
    present = {name: kind for name, kind in MANIFEST_FIELDS.items() if name in manifest}
    if wrong := [name for name, kind in present.items() if not _fits(manifest[name], kind)]:
        raise InputError(
            f"The manifest is damaged: {', '.join(wrong)} cannot be what it says.",
            "publish the release again, or audit its table file alone.",
        )
    return manifest  # type: ignore[no-any-return]


def wilson_interval(successes: float, trials: float, doubt: float = 0.05) -> tuple[float, float]:
    """The confidence interval of a share, which misses it with a chance of ``doubt``.

    Wilson: Probable inference, the law of succession, and statistical inference, 1927.

    >>> [round(end, 3) for end in wilson_interval(1, 10)]
    [0.018, 0.404]
    """
    share, slack = successes / trials, NormalDist().inv_cdf(1 - doubt / 2) ** 2 / trials
    middle = (share + slack / 2) / (1 + slack)
    reach = math.sqrt(share * (1 - share) * slack + slack**2 / 4) / (1 + slack)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def format_reached(value: float) -> str:
    """A number as a person writes it: whole where whole, else four digits."""
    if math.isfinite(value) and value == int(value):
        return f"{int(value):,}"
    return f"{value:.4g}"


def to_json_object(value: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping as JSON can hold it."""
    return {str(key): to_json_value(item) for key, item in value.items()}


def to_json_value(value: Any) -> Any:
    """Mappings, sequences and numbers that JSON can hold; infinities and not-a-number as text."""
    if isinstance(value, Mapping):
        return to_json_object(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json_value(item) for item in value]
    if isinstance(value, bool) or value is None or isinstance(value, (int, str)):
        return value
    if hasattr(value, "to_json"):
        return to_json_value(value.to_json())
    if hasattr(value, "item"):
        return to_json_value(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)
