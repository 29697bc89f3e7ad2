"""From class numbers to labels: the rows of a table as the engine streams them, with classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.axis import Axis
from shoal.cells import Cells
from shoal.flow.encode import Encoded
from shoal.flow.record import published
from shoal.flow.request import PARTITION
from shoal.frames.frame import Frame, Pieces
from shoal.schema import Schema
from shoal.tally import Cut

Labels = tuple[NDArray[np.int32], pa.Array]
"""Per class the number of its label, and the labels (null: null)."""


def recoded(
    frame: Frame, encoded: Encoded, cut: Cut, schema: Schema, key: bytes, form: str = PARTITION
) -> Iterator[pa.RecordBatch]:
    """The rows of a frame with their classes, as the engine streams them.

    All columns that the form publishes as they are come with them, in the form's order.
    """
    carry = [c.name for c in published(schema, form).columns if c.role != "quasi"]
    carry += [schema.provider.name] if schema.provider else []
    person = schema.person.name if schema.person else None
    # The pieces are not kept here: the engine frees them as soon as it has them.
    return frame.recode(encoded.codings, _pieces(encoded, cut), carry, person, key)


def _pieces(encoded: Encoded, cut: Cut) -> Pieces:
    codes = tuple(np.ascontiguousarray(column[cut.entry]) for column in encoded.codes())
    return Pieces(codes, cut.class_, cut.count)


def labels_of(axes: Sequence[Axis], cells: Cells) -> dict[str, Labels]:
    """The published labels of every class, by column."""
    found = {}
    for j, axis in enumerate(axes):
        number, texts = cells.labels(axes, j)
        found[axis.name] = number, pa.array(texts.tolist(), pa.string())
    return found
