"""From class numbers to published rows: labels in place of codes, private columns apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.axis import Axis
from shoal.cells import Cells
from shoal.frames.write import Writer, writer


class Recoded:
    """Turns batches of (class, carried columns) into the published and the private rows."""

    def __init__(
        self,
        axes: Sequence[Axis],
        cells: Cells,
        columns: Sequence[str],
        person: str | None,
        provider: str | None,
    ) -> None:
        self.columns = tuple(columns)
        self.private = {
            name: column
            for name, column in (("provider", provider), ("person", person and "person_"))
            if column
        }
        self.labels = {axis.name: _dictionary(cells.labels(axes, j)) for j, axis in enumerate(axes)}
        self._public: Writer | None = None
        self.defused = 0

    def published(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The published columns of a batch, in the table's order."""
        class_ = batch.column("class_").to_numpy(zero_copy_only=False)
        arrays = []
        for name in self.columns:
            if name in self.labels:
                index, words = self.labels[name]
                codes = index[class_]
                arrays.append(
                    pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), words)
                )
            else:
                arrays.append(batch.column(name))
        return pa.RecordBatch.from_arrays(arrays, names=list(self.columns))

    @contextmanager
    def writers(self, table: Path, companion: Path) -> Iterator[Callable[[pa.RecordBatch], None]]:
        """A function that writes one batch to the table and its private part to the companion."""
        with ExitStack() as stack:
            files: dict[str, Writer] = {}

            def write(batch: pa.RecordBatch) -> None:
                parts = {"public": (table, self.published(batch))}
                if self.private:
                    hidden = [batch.column(column) for column in self.private.values()]
                    rows = pa.RecordBatch.from_arrays(hidden, names=list(self.private))
                    parts["private"] = (companion / "rows.parquet", rows)
                for name, (path, rows) in parts.items():
                    if name not in files:
                        files[name] = stack.enter_context(writer(path, rows.schema))
                    files[name].write(rows)

            yield write
            self.defused = files["public"].defused if "public" in files else 0


def _dictionary(labels: Any) -> tuple[Any, pa.Array]:
    """Per class the index of its label (-1: null) and the distinct labels."""
    texts = np.asarray(labels, dtype=object)
    null = np.array([text is None for text in texts], dtype=bool)
    words, index = np.unique(texts[~null].astype(str), return_inverse=True)
    codes = np.full(len(texts), -1, dtype=np.int32)
    codes[~null] = index
    return codes, pa.array(words.tolist(), pa.string())
