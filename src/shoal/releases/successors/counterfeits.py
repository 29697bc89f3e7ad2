"""Counterfeits: published rows about nobody, so that a class keeps values that people took away.

They are rows of the table like all others. How many each class has is public, as in the auxiliary
relation of X. Xiao and Y. Tao, m-invariance, SIGMOD 2007: who counts people takes them off, and so
does every judgement here but that of m-invariance. Which values are counterfeit the number does not
tell, unless newcomers filled gaps. The file ``counterfeits.csv`` beside the table lists the classes
that have any, by their labels; the manifest has its hash and the totals, and so has the private
companion, which marks the rows. What it does not protect: the number of people in a class is
public; who knows the values of some of them learns from it whether others' are the same.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.core.errors import InputError, UsageError
from shoal.core.model import Model, split_rule
from shoal.core.release import Verdict, VerdictBasis
from shoal.core.tally import Cut, Groups
from shoal.methods._invariance.requirement import FILL, is_invariance
from shoal.releases import draft
from shoal.releases.companion import hash_counterfeit_person
from shoal.releases.folder import COUNTERFEITS
from shoal.releases.judgement import Labels, judge_models
from shoal.releases.manifest import hash_file
from shoal.releases.reader import open_frame
from shoal.releases.recount import Recount, list_labels
from shoal.releases.row_listing import read_columns
from shoal.releases.writer import write_whole_table

FILE, COLUMN = COUNTERFEITS, "counterfeits"
LEAK = (
    "Newcomers fill gaps (newcomers=fill): a counterfeit then tells that no newcomer with its "
    "value was left over, and from that people's values can be worked out (the minimality attack, "
    "Wong et al., VLDB 2007)."
)


def append_counterfeits(
    stream: Iterator[pa.RecordBatch], class_: NDArray[Any], values: list[Any], key: bytes
) -> Iterator[pa.RecordBatch]:
    """Streamed rows (class, sensitive value, person) and after them the counterfeit ones."""
    schema = None
    for batch in stream:
        schema = batch.schema
        yield batch
    if schema is not None and len(class_):
        columns = class_.astype(np.int32), values, [hash_counterfeit_person(key)] * len(class_)
        fields = zip(columns, schema, strict=True)
        arrays = [pa.array(column).cast(field.type) for column, field in fields]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def write_counterfeits(
    folder: Path, labels: Mapping[str, draft.Labels], count: NDArray[np.int64]
) -> dict[str, Any]:
    """Write how many counterfeits each class has, in the order of the labels; what to tell of it.

    ``count`` is per class. Where there is none, no file is written.
    """
    at = np.flatnonzero(count)
    totals = {"rows": int(count.sum()), "classes": len(at)}
    if not len(at):
        return {COLUMN: totals}
    words = [texts.take(pa.array(number[at])) for number, texts in labels.values()]
    names = [*labels, COLUMN]
    table = pa.Table.from_arrays([*words, pa.array(count[at])], names=names)
    order = sorted(range(len(at)), key=lambda i: [str(word[i]) for word in words])
    write_whole_table(folder / FILE, table.take(order))
    return {COLUMN: {**totals, "sha256": hash_file(folder / FILE)}}


@dataclass(frozen=True)
class Counterfeits:
    """How many rows of some classes are about nobody, by the labels of the classes."""

    columns: tuple[str, ...]
    count: Mapping[tuple[str | None, ...], int]

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(self.count.values())

    def per_class(self, count: Recount) -> NDArray[np.int64]:
        """The same per class of the table, which has these classes, and people in each of them."""
        axes = {axis.name: j for j, axis in enumerate(count.tally.quasi)}
        if axes.keys() != set(self.columns):
            raise UsageError(
                f"The release has counterfeits, and {FILE} counts them for its own classes alone.",
                "judge it by its own quasi-identifiers.",
            )
        columns = []
        for name in self.columns:
            axis, low = count.tally.quasi[axes[name]], count.cut.cells.low[:, axes[name]]
            words = list_labels(axis)
            columns.append([words[code] for code in low.tolist()])
        rows = np.bincount(count.cut.class_, count.cut.count, count.cut.classes).astype(np.int64)
        counterfeits = np.array(
            [self.count.get(labels, 0) for labels in zip(*columns, strict=True)], np.int64
        )
        if int((counterfeits > 0).sum()) != len(self.count) or (counterfeits >= rows).any():
            raise InputError(
                f"{FILE} lists classes that the table does not have, or has nobody else in.",
                "take the whole release folder as it was published.",
            )
        return counterfeits

    def people(self, count: Recount, counterfeits: NDArray[np.int64]) -> Groups:
        """The classes without counterfeits: rows and cells, for their values are not known."""
        cut, classes = count.cut, np.arange(count.cut.classes, dtype=np.int32)
        rows = np.bincount(cut.class_, cut.count, cut.classes).astype(np.int64) - counterfeits
        first = cut.entry[np.unique(cut.class_, return_index=True)[1]]
        bare = replace(count.tally, sensitive=(), values=count.tally.values[:0])
        return Groups.of(bare, Cut(first, classes, rows, cut.cells))


def judge_with_counterfeits(
    rule: Model,
    groups: Groups,
    people: Groups,
    counterfeits: int,
    how: VerdictBasis,
    labels: Labels | None = None,
) -> Verdict:
    """The verdict on classes with counterfeits: m-invariance by all rows, all else by people."""
    refuse_value_models(rule, counterfeits)
    judgements = tuple(
        judge_models(part, groups if is_invariance(part) else people, labels)[0]
        for part in split_rule(rule)
    )
    holds = len(groups) > 0 and all(part.holds for part in judgements)
    return Verdict(holds, how, int(groups.rows.sum()), len(groups), judgements)


def refuse_value_models(rule: Model, counterfeits: int) -> None:
    """Refuse to judge values besides m-invariance where some are counterfeit: which is secret."""
    asked = [
        part
        for part in split_rule(rule)
        if not is_invariance(part) and {"sensitive", "total"} & part.needs
    ]
    if counterfeits and asked:
        raise UsageError(
            f"{asked[0]} judges values, and of {counterfeits:,} counterfeits nobody is to know the "
            "values.",
            "leave that requirement out: m-invariance keeps m values or more in every class, all "
            "equally frequent.",
        )


def read_counterfeits(table: Path, manifest: Mapping[str, Any]) -> Counterfeits | None:
    """How many counterfeits a release says it has, by the file that was published; None: none."""
    stated, path = manifest.get(COLUMN) or {}, table.with_name(FILE)
    if not stated.get("rows") and not path.is_file():
        return None
    if not path.is_file() or hash_file(path) != stated.get("sha256"):
        raise _changed_error()
    counterfeits = _read(path)
    if (counterfeits.rows, len(counterfeits.count)) != (stated["rows"], stated["classes"]):
        raise _changed_error()
    return counterfeits


def _read(path: Path) -> Counterfeits:
    """The file, with labels as they were before formulas were defused."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        names = next(csv.reader(file))
    with open_frame(path, kinds=dict.fromkeys(names, "label"), nulls=()) as frame:
        listings = read_columns(frame, names)
    words = [
        [listing.words()[code] for code in listing.codes.tolist()] for listing in listings.values()
    ]
    numbers = [int(word) if word and word.isdecimal() else 0 for word in words.pop()]
    if 0 in numbers:
        raise _changed_error()
    return Counterfeits(
        tuple(names[:-1]), dict(zip(zip(*words, strict=True), numbers, strict=True))
    )


def _changed_error() -> InputError:
    return InputError(
        f"{FILE} is missing, or was changed after it was published.",
        "take the whole release folder as it was published.",
    )


def select_counterfeit_promise(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What the private companion says of counterfeits too, so that the manifest cannot drop it."""
    return {COLUMN: manifest[COLUMN]} if COLUMN in manifest else {}


def describe_counterfeits(facts: Mapping[str, Any]) -> list[str]:
    """What the publisher is told of the counterfeits of a release that keeps signatures."""
    if COLUMN not in facts:
        return []
    counterfeits, rows = facts[COLUMN], facts["rows_signature_kept"] + facts["rows_new"]
    notes = [
        f"{facts['rows_signature_kept']:,} rows keep the values of their class, "
        f"{facts['rows_new']:,} are new, {facts['rows_gone']:,} are gone; {counterfeits:,} "
        f"counterfeits ({counterfeits / max(counterfeits + rows, 1):.2%} of the rows) in "
        f"{facts['counterfeit_classes']:,} classes stand for values that nobody has there any more"
        + (f" ({FILE})." if counterfeits else ".")
        + " Base the next release on this one."
    ]
    if facts["rows_waiting"]:
        notes.append(
            f"{facts['rows_waiting']:,} new rows are held back, and new in the next release."
        )
    return notes + [LEAK] * (facts["newcomers"] == FILL)
