"""The in-process engine: a table that DuckDB can read, tallied and recoded inside DuckDB.

A table arrives as a SELECT with typed columns. Values become codes by joining one small table per
column; the codes of a row are packed into one integer (mixed radix), so that a tally is one
group-by on one key and a recoding is one join on it: the engine groups and joins on one 64-bit key
many times faster than on a dozen columns. Inside, columns are called by position
(``c0``, ``c1``, …): their names are the publisher's, may hold anything, and never reach SQL.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import count
from math import log2, prod
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.core import interruption, temporary_files
from shoal.core.column import list_columns
from shoal.core.errors import InputError, UsageError
from shoal.core.schema import Field, Profile
from shoal.engines.protocol import CodeCounts, Codes, Coding, Distinct, Pieces
from shoal.engines.readers.header import refuse_headless
from shoal.engines.source import SourceFile
from shoal.engines.type_inference.column_records import Select
from shoal.engines.type_inference.text_census import (
    MAX_LOT_BYTES,
    MAX_LOT_CELLS,
    MAX_LOT_COLUMNS,
    MAX_LOT_ROWS,
)

# Keys: the codes of a row packed into one integer, and the table key → class that a recoding joins

_LIMIT = 2**63
_MANY = 2**24

Keys = list[NDArray[np.uint64]]
ClassDealer = Callable[[pa.RecordBatch], pa.RecordBatch]


def plan_packing(sizes: Sequence[int]) -> list[list[int]]:
    """Which columns share a key: in order, as many as have a product of sizes below 2**63.

    >>> plan_packing([2**40, 2**20, 2**10, 7])
    [[0, 1], [2, 3]]
    """
    plan: list[list[int]] = [[]]
    for i, size in enumerate(sizes):
        if prod(sizes[j] for j in plan[-1]) * size >= _LIMIT:
            plan.append([])
        plan[-1].append(i)
    return plan


def code_type(size: int) -> type[np.uint8] | type[np.uint16] | type[np.int32]:
    """The smallest type that holds codes 0..size-1."""
    return np.uint8 if size <= 2**8 else np.uint16 if size <= 2**16 else np.int32


def pack_sql(codes: Sequence[str], sizes: Sequence[int]) -> str:
    """The key as an expression: mixed radix, first column highest.

    >>> pack_sql(["a", "b"], [3, 7])
    '(a * 7::UBIGINT + b)'
    """
    key = codes[0] if codes else "0::UBIGINT"
    for code, size in zip(codes[1:], sizes[1:], strict=True):
        key = f"({key} * {size}::UBIGINT + {code})"
    return key


def pack_codes(codes: Sequence[Codes], sizes: Sequence[int], rows: int) -> NDArray[np.uint64]:
    """The same on arrays: one key for each of the ``rows`` entries."""
    key = np.zeros(rows, np.uint64)
    for column, size in zip(codes, sizes, strict=True):
        key *= np.uint64(size)
        # In place, a block at a time; signed codes would else be added as doubles, exact to 2**53.
        np.add(key, column, out=key, dtype=np.uint64, casting="unsafe")
    return key


def unpack_codes(key: NDArray[np.uint64], sizes: Sequence[int]) -> list[Codes]:
    """The codes in the keys, each column in the smallest type that holds it.

    >>> [codes.tolist() for codes in unpack_codes(np.array([20], np.uint64), [3, 7])]
    [[2], [6]]
    """
    codes: list[Codes] = []
    for size in reversed(sizes):
        rest = key // np.uint64(size)
        codes.append((key - rest * np.uint64(size)).astype(code_type(size)))
        key = rest
    return codes[::-1]


def assign_classes(
    plan: Sequence[Sequence[int]], by: Sequence[Coding], pieces: Pieces
) -> tuple[pa.Table, ClassDealer]:
    """The table key → class to join, and what replaces divided entries' numbers by classes.

    An undivided entry has its class; one that is suppressed is absent, and so are its rows.
    Divided entry d stands in the table as -1 - d: its classes, each as often as its count says,
    wait in random order and are dealt to the entry's rows as these come by. So the counts are
    exact, and each row of the entry is as likely as any other to be in a given piece.
    """
    keys = [
        pack_codes(
            [pieces.codes[i] for i in column], [by[i].size for i in column], len(pieces.class_)
        )
        for column in plan
    ]
    joined = pieces.class_ >= 0
    parts, entry = _find_divided_entries(keys)
    if not len(parts):
        if not joined.all():
            return _table([key[joined] for key in keys], pieces.class_[joined]), _keep_batch
        return _table(keys, pieces.class_), _keep_batch
    joined[parts] = False
    first = parts[np.flatnonzero(np.diff(entry, prepend=-1))]
    table = _table(
        [np.concatenate([key[joined], key[first]]) for key in keys],
        np.concatenate([pieces.class_[joined], -1 - np.arange(len(first), dtype=np.int32)]),
    )
    return table, _make_dealer(entry, pieces.class_[parts], pieces.count[parts])


def _keep_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def _table(keys: Keys, classes: NDArray[np.int32]) -> pa.Table:
    columns: dict[str, NDArray[Any]] = {f"k{j}": key for j, key in enumerate(keys)}
    return pa.table({**columns, "class_": classes.astype(np.int32, copy=False)})


def _find_divided_entries(keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pieces that share their key with another, entry by entry, and the number of the entry."""
    if len(keys) == 1 and not _has_duplicates(keys[0]):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order = np.argsort(keys[0]) if len(keys) == 1 else np.lexsort(keys)
    same_as_next = np.ones(max(len(order) - 1, 0), bool)
    for key in keys:
        same_as_next &= key[order[1:]] == key[order[:-1]]
    as_before = np.concatenate([[False], same_as_next])
    shared = as_before | np.concatenate([same_as_next, [False]])
    return order[shared[: len(order)]], np.cumsum(~as_before[shared]) - 1


def _has_duplicates(key: NDArray[np.uint64]) -> bool:
    """Whether a key repeats: sorting is far cheaper than ordering, and nearly always enough."""
    lots = 8 if len(key) > _MANY else 1  # an eighth at a time: a copy of all keys is too much
    low = key.astype(np.uint8) % lots
    for lot in range(lots):
        ranked = np.sort(key[low == lot])
        if np.any(ranked[1:] == ranked[:-1]):
            return True
    return False


def _make_dealer(
    entry: NDArray[np.int64], classes: NDArray[np.int32], count: NDArray[np.int64]
) -> ClassDealer:
    """Deals the classes of each divided entry, in an order drawn from the operating system."""
    owner, hand = np.repeat(entry, count), np.repeat(classes, count)
    rng = np.random.Generator(np.random.PCG64DXSM(secrets.randbits(256)))
    hand = hand[np.lexsort([rng.random(len(hand)), owner])]
    sizes = np.bincount(owner, minlength=int(entry[-1]) + 1)
    end = np.cumsum(sizes)
    following = end - sizes

    def deal(batch: pa.RecordBatch) -> pa.RecordBatch:
        class_ = batch.column(0).to_numpy().copy()
        waiting = np.flatnonzero(class_ < 0)
        waiting = waiting[np.argsort(class_[waiting], kind="stable")]
        entries_of_rows = -1 - class_[waiting]
        _, start, times = np.unique(class_[waiting], return_index=True, return_counts=True)
        present = entries_of_rows[start]
        if np.any(following[present] + times > end[present]):
            raise InputError(
                "The table has more rows than when it was counted.",
                "Publish from a copy that nobody writes to.",
            )
        class_[waiting] = hand[
            following[entries_of_rows] + np.arange(len(entries_of_rows)) - np.repeat(start, times)
        ]
        following[present] += times
        columns = [pa.array(class_), *batch.columns[1:]]
        return pa.RecordBatch.from_arrays(columns, batch.schema.names).filter(pa.array(class_ >= 0))

    return deal


# The engine itself: private, in memory, offline, and careful with what its errors say

MEMORY_LIMIT = "1500MB"
"""What the engine may hold before it spills to disk; the tally itself lives outside it."""

_NO_DISK = re.compile(r"max_temp_directory_size|disk space|no space left|offload", re.IGNORECASE)
"""How the engine says that it could not spill."""
_ENCRYPTED = {"temp_file_encryption": "true", "force_mbedtls_unsafe": "true"}
"""The engine's own encryption of what it spills, with a key that it has in memory only.

It draws the key from a generator that is not made for keys, and takes three times as long: it is
for systems where files cannot lose their names.
"""


def connect(memory: str | None = None) -> duckdb.DuckDBPyConnection:
    """A private engine: in memory, offline; what it spills nobody can read after this process."""
    folder = temporary_files.make_folder()
    try:
        secret = {} if temporary_files.hide_names(folder) else _ENCRYPTED
        connection = duckdb.connect(
            ":memory:",
            config={
                "memory_limit": memory or MEMORY_LIMIT,
                "temp_directory": str(folder),
                "preserve_insertion_order": "false",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                **secret,
            },
        )
        weakref.finalize(connection, temporary_files.remove_folder, folder)
    except BaseException:  # Ctrl-C while it starts: nobody else would remove the folder
        temporary_files.remove_folder(folder)
        raise
    interruption.running_engines.add(connection)
    return connection


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn the engine's errors into ours: theirs quote cell values, ours must not."""
    try:
        yield
    except duckdb.ResourceInUseException:
        raise UsageError(
            "The table is still being read.", "Finish or close the earlier stream of rows first."
        ) from None
    except RuntimeError as error:
        if "interrupted" not in str(error).lower():
            raise
        raise KeyboardInterrupt from None  # how the engine reports Ctrl-C
    except duckdb.OutOfMemoryException as error:
        raise _out_of_space_error(str(error)) from None
    except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException):
        raise  # ours: a query that was written wrongly
    except (duckdb.Error, pa.ArrowException, OverflowError, UnicodeError) as error:
        line = re.search(r"\bLine: (\d+)", str(error))
        where = f" at line {line[1]}" if line else ""
        raise InputError(
            f"The table cannot be read{where} ({type(error).__name__}).",
            "Check that every value of a column is of the column's kind.",
        ) from None


def _out_of_space_error(message: str) -> InputError:
    if _NO_DISK.search(message):
        return InputError(
            "The table needs more temporary disk space than there is.",
            "Free space in the temporary folder, or set TMPDIR to a folder with more.",
        )
    return InputError(
        f"The table needs more memory than the {MEMORY_LIMIT} that one step may use.",
        "Use fewer columns: give those that are not needed the role drop.",
    )


# The table

_BATCH = 122_880  # DuckDB's own row group: batches are handed over without being cut
_SMALL_BATCH = 2_048  # the engine's own vector
_PARTS = count()  # numbers the parts of tables
_JOINS = 32  # codings that one query joins: each holds memory until all its rows are read
_SETS = 32  # grouping() returns a 64-bit mask; fewer sets at once also bound memory
_EXACT = 2**53  # integers below this are exact, and alone, as float
_KEYED_HASH = "substr(sha256($key::BLOB || encode(coalesce('=' || who, 'null'))), 1, 32)"
_POSITION = re.compile(r"\bc(\d+)\b")
_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}


class DuckFrame:
    """A table as a SELECT in DuckDB; ``fields`` name its columns in the SELECT's order.

    Numbers are BIGINT, DOUBLE or DECIMAL, dates DATE, everything else VARCHAR. NaN is null and
    -0.0 is 0. ``close`` is called once when the frame is closed; ``source`` is the file that was
    opened, where there is one; ``longest`` holds the bytes of each column's longest text, where
    they are known.

    >>> from shoal.engines.duckdb import connect
    >>> fields = (Field("sex", "category"), Field("age", "number"))
    >>> frame = DuckFrame(connect(), "SELECT 'f' AS sex, 41 AS age", fields)
    >>> frame.values(["age"])["age"].values
    [41.0]
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        query: str | Select,
        fields: tuple[Field, ...],
        close: Callable[[], object] | None = None,
        source: SourceFile | None = None,
        longest: Mapping[str, int] | None = None,
    ) -> None:
        self.source = source
        self._longest = longest or {}
        self._connection = connection
        self._fields = fields
        self._close = close
        self._query = query
        with translate_errors():
            described = connection.execute(f"DESCRIBE {query}").fetchall()
        types = [row[1] for row in described]
        if len(types) != len(fields):
            raise UsageError(f"The query has {len(types)} columns, but {len(fields)} are named.")
        self._types = tuple(str(t) for t in types)
        self._position = {field.name: i for i, field in enumerate(fields)}
        self._rows: int | None = None
        self._profiles: dict[str, Profile] = {}

    def check_header(self) -> None:
        """Raise where the names of the columns seem to be the first row's values."""
        if self.source is not None and self.source.has_header:
            refuse_headless(self._fields)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns, in order."""
        return self._fields

    def close(self) -> None:
        """Release what the frame was opened on; calling it again does nothing."""
        close, self._close = self._close, None
        if close is not None:
            close()

    def profile(self, columns: Sequence[str] | None = None) -> dict[str, Profile]:
        """For each column, its counts; null is a value in the entropy (bits), not in the others."""
        names = [field.name for field in self._fields] if columns is None else columns
        wanted = [name for name in names if name not in self._profiles]
        for lot in self._plan_lots_in_memory(wanted):
            self._profiles.update(self._profile_in_memory(lot))
        for lot in _split_by_grouping_sets([name for name in wanted if name not in self._profiles]):
            self._profiles.update(self._profile_in_engine(lot))
        return {name: self._profiles[name] for name in names}

    def _plan_lots_in_memory(self, names: Sequence[str]) -> list[Sequence[str]]:
        """The columns by lots whose cells fit into memory, without those of long texts.

        Planning a query takes the engine longer than counting a few thousand rows of a column.
        """
        rows = self.count_rows()
        names = [n for n in names if rows * self._longest.get(n, 0) <= MAX_LOT_BYTES // 4]
        if len(names) < 2 or rows > MAX_LOT_ROWS:
            return []
        max_columns = min(MAX_LOT_COLUMNS, MAX_LOT_CELLS // max(1, rows))
        return [names[at : at + max_columns] for at in range(0, len(names), max_columns)]

    def _profile_in_memory(self, names: Sequence[str]) -> dict[str, Profile]:
        """The profiles of columns that are counted outside the engine; none if they swell."""
        picked = ", ".join(
            f"{self._value_sql(name, floats=False)}::VARCHAR AS v{i}"
            for i, name in enumerate(names)
        )
        batches, size = [], 0
        query = f"SELECT {picked} FROM {self._table_sql(picked)}"
        for batch in self._stream(query, rows=_SMALL_BATCH):
            batches.append(batch)
            size += batch.nbytes
            if size > MAX_LOT_BYTES:
                return {}
        if not batches:
            return {}
        cells = pa.Table.from_batches(batches)
        self._rows = cells.num_rows
        return {
            name: _profile_texts(column) for name, column in zip(names, cells.columns, strict=True)
        }

    def _profile_in_engine(self, names: Sequence[str]) -> dict[str, Profile]:
        text = ", ".join(f"v{i}::VARCHAR" for i in range(len(names)))
        rows = self._fetch(
            "SELECT g, sum(n)::BIGINT, coalesce(sum(n) FILTER (WHERE size IS NULL), 0)::BIGINT,"
            " count(size), count(*) FILTER (WHERE n = 1 AND size IS NOT NULL), sum(n * log2(n)),"
            " coalesce(min(size), 0), coalesce(max(size), 0)"
            f" FROM (SELECT g, n, length(coalesce({text}, NULL)) AS size"
            f" FROM ({self._value_counts_sql(names, floats=False)})) GROUP BY g"
        )
        profiles = {name: Profile(0, 0, 0, 0, 0.0, 0, 0) for name in names}
        for mask, total, nulls, distinct, once, spread, shortest, longest in rows:
            entropy = max(log2(total) - spread / total, 0.0)
            self._rows = total
            profiles[names[_grouping_set(mask, len(names))]] = Profile(
                total, nulls, distinct, once, entropy, shortest, longest
            )
        return profiles

    def values(self, columns: Sequence[str]) -> dict[str, Distinct]:
        """The distinct values of each column, in the engine's order, with their counts."""
        distinct: dict[str, Distinct] = {}
        for lot in _split_by_grouping_sets(columns):
            with translate_errors():
                groups = self._connection.sql(
                    self._value_counts_sql(lot, floats=True)
                ).to_arrow_table()
            masks = groups["g"].to_numpy()
            for i, name in enumerate(lot):
                groups_of_column = groups.filter(pa.array(masks == _grouping_mask(i, len(lot))))
                distinct[name] = self._distinct(
                    name, groups_of_column[f"v{i}"], groups_of_column["n"].to_numpy()
                )
        return distinct

    def _distinct(self, name: str, column: pa.ChunkedArray, counts: NDArray[np.int64]) -> Distinct:
        self._rows = int(counts.sum())
        null = column.is_null().to_numpy()
        present = column.drop_null()
        if self._kind(name) == "number":
            present = present.cast(pa.float64(), safe=False)
        return Distinct(present.to_pylist(), counts[~null], int(counts[null].sum()))

    def _value_counts_sql(self, names: Sequence[str], floats: bool) -> str:
        """One scan that counts the values of each column apart: (g, v0, v1, …, n)."""
        value_names = [f"v{i}" for i in range(len(names))]
        picked = ", ".join(
            f"{self._value_sql(name, floats)} AS {v}"
            for name, v in zip(names, value_names, strict=True)
        )
        listed, sets = ", ".join(value_names), ", ".join(f"({v})" for v in value_names)
        return (
            f"SELECT grouping({listed}) AS g, {listed}, count(*) AS n"
            f" FROM (SELECT {picked} FROM {self._table_sql(picked)})"
            f" GROUP BY GROUPING SETS ({sets})"
        )

    def only(self, column: str, values: Sequence[Any], null: bool = False) -> DuckFrame:
        """The rows whose column holds one of the values (or null): a frame on the same engine."""
        name = f"shoal_only_{next(_PARTS)}"
        wanted = pa.table({"v": _arrow(self._kind(column), values)})
        with translate_errors():
            self._connection.register("shoal_values", wanted)
            self._connection.execute(
                f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT v FROM shoal_values"
            )
            self._connection.unregister("shoal_values")
        value = self._value_sql(column, floats=True)
        condition = f"{value} IN (SELECT v FROM {name})" + (f" OR {value} IS NULL" if null else "")
        columns = ", ".join(f"c{i}" for i in range(len(self._fields)))
        query = f"SELECT {columns} FROM {self._table_sql(columns)} WHERE {condition}"
        return DuckFrame(
            self._connection, query, self._fields, source=self.source, longest=self._longest
        )

    def tally(self, by: Sequence[Coding]) -> CodeCounts:
        """One group-by on the packed codes; a value without a code is an error, never dropped."""
        plan = plan_packing([coding.size for coding in by])
        keys = ", ".join(f"k{j}" for j in range(len(plan)))
        lots: list[list[Codes]] = [[] for _ in by]
        counts: list[NDArray[Any]] = []
        uncoded = False
        with self._keyed_rows(by, plan, ()) as rows:
            for batch in self._stream(f"SELECT {keys}, count(*) AS n FROM {rows} GROUP BY {keys}"):
                packed = batch.columns[:-1]
                uncoded = uncoded or any(key.null_count for key in packed)
                if uncoded:
                    continue
                for column, key in zip(plan, packed, strict=True):
                    sizes = [by[i].size for i in column]
                    for i, codes in zip(column, unpack_codes(key.to_numpy(), sizes), strict=True):
                        lots[i].append(codes)
                count = batch.column(len(plan)).to_numpy()
                counts.append(count.astype(np.min_scalar_type(count.max(initial=0))))
        if uncoded:
            self._raise_uncoded(by)
        return self._assemble_counts(by, lots, counts)

    def _assemble_counts(
        self, by: Sequence[Coding], lots: list[list[Codes]], counts: list[NDArray[Any]]
    ) -> CodeCounts:
        codes: list[Codes] = []
        for coding, lot in zip(by, lots, strict=True):
            codes.append(np.concatenate([np.empty(0, code_type(coding.size)), *lot]))
            lot.clear()  # one column at a time: the peak is the tally plus one column
        count = np.concatenate([np.empty(0, np.int64), *counts], dtype=np.int64)
        rows = int(count.sum())
        if self._rows is not None and rows != self._rows:
            raise InputError(
                f"The table had {self._rows} rows and now has {rows}.",
                "Publish from a copy that nobody writes to.",
            )
        self._rows = rows
        return CodeCounts(tuple(codes), count)

    def count_rows(self) -> int:
        """How many rows there are."""
        return int(self._fetch(f"SELECT count(*) FROM {self._table_sql()}")[0][0])

    def rows(self, by: Sequence[Coding]) -> tuple[Codes, ...]:
        """The codes of every row in the table's order; a value without a code is an error.

        Column by column where the table is long: memory holds the values of a lot of cells, and
        all codes.
        """
        with self._in_order():
            max_columns = max(1, min(MAX_LOT_COLUMNS, MAX_LOT_CELLS // max(1, self.count_rows())))
            lots = [by[at : at + max_columns] for at in range(0, len(by), max_columns)]
            columns = [codes for lot in lots for codes in self._row_codes(lot)]
        if any((codes < 0).any() for codes in columns):
            self._raise_uncoded(by)
        return tuple(
            codes.astype(code_type(coding.size)) for codes, coding in zip(columns, by, strict=True)
        )

    def _row_codes(self, by: Sequence[Coding]) -> list[NDArray[np.int32]]:
        """The codes of some columns in each row; -1 for a value that has none."""
        values = [self._value_sql(coding.column, floats=True) for coding in by]
        picked = ", ".join(f"{value} AS v{i}" for i, value in enumerate(values))
        with translate_errors():
            query = f"SELECT {picked} FROM {self._table_sql(picked)}"
            table = self._connection.sql(query).to_arrow_table()
        return [
            self._encode_column(coding, cells)
            for coding, cells in zip(by, table.columns, strict=True)
        ]

    def _encode_column(self, coding: Coding, cells: pa.ChunkedArray) -> NDArray[np.int32]:
        values = _arrow(self._kind(coding.column), coding.values)
        at = pc.index_in(cells.cast(values.type), value_set=values).fill_null(len(values))
        codes_by_place = np.append(np.asarray(coding.codes, np.int32), np.int32(-1))
        codes: NDArray[np.int32] = codes_by_place[at.to_numpy()]
        if coding.null_code is not None and cells.null_count:
            codes[cells.is_null().to_numpy()] = coding.null_code
        return codes

    def column(self, name: str) -> pa.Array:
        """A column's values in the table's order."""
        value = self._value_sql(name, floats=False)
        query = f"SELECT {value} AS v FROM {self._table_sql(value)}"
        with self._in_order(), translate_errors():
            return self._connection.sql(query).to_arrow_table()["v"].combine_chunks()

    @contextmanager
    def _in_order(self) -> Iterator[None]:
        """Rows come as the table has them; elsewhere the engine may hand them over as it likes."""
        with translate_errors():
            self._connection.execute("SET preserve_insertion_order = true")
        try:
            yield
        finally:
            with translate_errors():
                self._connection.execute("SET preserve_insertion_order = false")

    def recode(
        self,
        by: Sequence[Coding],
        pieces: Pieces,
        carry: Sequence[str],
        person: str | None = None,
        key: bytes = b"",
    ) -> Iterator[pa.RecordBatch]:
        """Stream (``class_``, the carried columns, ``person_``) of every row not suppressed.

        Which rows of a divided entry go to which piece is drawn from the operating system.
        ``person_`` is half of SHA-256 over SHA-256(``key``) and the person, in hexadecimal: cut in
        half it cannot be extended, and one short block makes it four times as fast as HMAC.
        """
        plan = plan_packing([coding.size for coding in by])
        expected, published = int(pieces.count[pieces.class_ >= 0].sum()), 0
        table, deal = assign_classes(plan, by, pieces)
        del pieces  # unless the caller keeps them, their memory is the join's
        person_sql = [] if person is None else [f"c{self._position_of(person)}::VARCHAR AS who"]
        columns = [f"c{self._position_of(name)}" for name in carry]
        picked = ", ".join(["class_", *columns, *[_KEYED_HASH for _ in person_sql]])
        names = ["class_", *carry, *["person_" for _ in person_sql]]
        on = " AND ".join(f"r.k{j} = p.k{j}" for j in range(len(plan)))
        self._connection.register("shoal_pieces", table)
        try:
            secret = {"key": hashlib.sha256(key).digest()} if person_sql else None
            with (
                self._keyed_rows(by, plan, [*columns, *person_sql]) as rows,
                closing(
                    self._stream(
                        f"SELECT {picked} FROM {rows} AS r JOIN shoal_pieces AS p ON {on}", secret
                    )
                ) as batches,
            ):
                for batch in batches:
                    recoded = deal(pa.RecordBatch.from_arrays(batch.columns, names))
                    published += recoded.num_rows
                    yield recoded
        finally:
            self._connection.unregister("shoal_pieces")
        if published != expected:
            raise InputError(
                f"{expected} rows were to be published, but {published} were found.",
                "Publish from a copy that nobody writes to.",
            )

    @contextmanager
    def _keyed_rows(
        self, by: Sequence[Coding], plan: Sequence[Sequence[int]], extra: Sequence[str]
    ) -> Iterator[str]:
        """A subquery of the rows with their packed keys k0, k1, … and further expressions.

        Where there are many codings, a table for each lot of keys holds the keys before it and the
        columns that are still needed: one query that joins hundreds would not fit into memory.
        """
        *first, last = _plan_key_lots(plan)
        stages: list[str] = []
        try:
            for lot in first:
                stages.append(self._store_keys(by, plan, lot, extra, stages))
            keys, joins = self._keys_sql(by, plan, last)
            picked = ", ".join([*(f"k{j}" for j in range(last[0])), *keys, *extra])
            yield f"(SELECT {picked} FROM {self._latest_rows_sql(stages, picked, joins)} {joins})"
        finally:
            for stage in stages:
                self._fetch(f"DROP TABLE IF EXISTS {stage}")

    def _store_keys(
        self,
        by: Sequence[Coding],
        plan: Sequence[Sequence[int]],
        lot: Sequence[int],
        extra: Sequence[str],
        stages: Sequence[str],
    ) -> str:
        keys, joins = self._keys_sql(by, plan, lot)
        later = [
            f"c{self._position_of(by[i].column)}" for column in plan[lot[-1] + 1 :] for i in column
        ]
        also = [f"c{at}" for sql in extra for at in _POSITION.findall(sql)]
        before = [f"k{j}" for j in range(lot[0])]
        picked = ", ".join([*before, *keys, *dict.fromkeys([*later, *also])])
        name = f"shoal_keys_{next(_PARTS)}"
        self._fetch(
            f"CREATE TEMP TABLE {name} AS"
            f" SELECT {picked} FROM {self._latest_rows_sql(stages, picked, joins)} {joins}"
        )
        for stage in stages[-1:]:
            self._fetch(f"DROP TABLE IF EXISTS {stage}")
        return name

    def _latest_rows_sql(self, stages: Sequence[str], *expressions: str) -> str:
        """The last stage as ``t``, or the table itself where there is none yet."""
        return f"{stages[-1]} AS t" if stages else self._table_sql(*expressions)

    def _keys_sql(
        self, by: Sequence[Coding], plan: Sequence[Sequence[int]], lot: Sequence[int]
    ) -> tuple[list[str], str]:
        """The packed keys of a lot, as expressions under their names, and the joins they need."""
        codes, joins = self._codes_sql(by, [i for j in lot for i in plan[j]])
        keys = [
            f"{pack_sql([codes[i] for i in plan[j]], [by[i].size for i in plan[j]])} AS k{j}"
            for j in lot
        ]
        return keys, joins

    def _codes_sql(self, by: Sequence[Coding], which: Sequence[int]) -> tuple[dict[int, str], str]:
        """For some codings an expression of the row's code (NULL: none), and the joins for them."""
        codes, joins = {}, []
        for i in which:
            value = self._store_coding(i, by[i])
            joins.append(f"LEFT JOIN shoal_map_{i} AS m{i} ON {value} = m{i}.v")
            null = f"CASE WHEN {value} IS NULL THEN {by[i].null_code}::UBIGINT END"
            code = f"m{i}.code"
            codes[i] = code if by[i].null_code is None else f"coalesce({code}, {null})"
        return codes, " ".join(joins)

    def _store_coding(self, i: int, coding: Coding) -> str:
        """Store the coding as table ``shoal_map_{i}``; returns the expression to join it on."""
        column = _arrow(self._kind(coding.column), coding.values)
        if len(column.unique()) != len(column):
            raise UsageError(f"The coding of column {coding.column!r} lists a value twice.")
        # Integers join by a dense table, which costs a fraction of hashing doubles.
        exact = pa.types.is_floating(column.type) and np.all(np.abs(column.to_numpy()) < _EXACT)
        dense = bool(exact) and self._types[self._position_of(coding.column)] in _INTEGERS
        picked = "v::BIGINT AS v, code FROM shoal_mapping WHERE v = trunc(v)"
        table = pa.table({"v": column, "code": np.asarray(coding.codes).astype(np.uint64)})
        with translate_errors():
            self._connection.register("shoal_mapping", table)
            self._connection.execute(
                f"CREATE OR REPLACE TEMP TABLE shoal_map_{i} AS"
                f" SELECT {picked if dense else '* FROM shoal_mapping'}"
            )
            self._connection.unregister("shoal_mapping")
        return self._value_sql(coding.column, floats=not dense)

    def _raise_uncoded(self, by: Sequence[Coding]) -> None:
        counts: list[int] = []
        for at in range(0, len(by), _JOINS):
            lot = range(at, min(at + _JOINS, len(by)))
            codes, joins = self._codes_sql(by, lot)
            wanted = ", ".join(f"count(*) FILTER (WHERE ({codes[i]}) IS NULL)" for i in lot)
            query = f"SELECT {wanted} FROM {self._table_sql(wanted, joins)} {joins}"
            counts += self._fetch(query)[0]
        columns = "; ".join(
            f"column {coding.column!r} in {count} rows"
            for coding, count in zip(by, counts, strict=True)
            if count
        )
        raise InputError(
            f"Values that the hierarchy does not cover: {columns}.",
            "Add them to the hierarchy, or let Shoal build it from the table.",
        )

    def _position_of(self, name: str) -> int:
        if name not in self._position:
            raise UsageError(f"There is no column {name!r}.", list_columns(self._fields))
        return self._position[name]

    def _kind(self, name: str) -> str:
        return self._fields[self._position_of(name)].kind

    def _table_sql(self, *expressions: str) -> str:
        """The table as ``t``, with no more columns than the expressions need.

        Whatever the engine has to plan of a wide table costs more than to read it.
        """
        if isinstance(self._query, str):
            names = ", ".join(f"c{i}" for i in range(len(self._fields)))
            return f"(SELECT * FROM ({self._query}) AS raw({names})) AS t"
        needed = sorted({int(i) for sql in expressions for i in _POSITION.findall(sql)})
        columns = self._query.columns
        picked = ", ".join(f"{columns[i][1]} AS c{i}" for i in needed) or "1 AS one"
        return f"(SELECT {picked} FROM ({self._query.query})) AS t"

    def _value_sql(self, name: str, floats: bool) -> str:
        at = self._position_of(name)
        if self._kind(name) == "date":
            return f"c{at}::DATE"
        if self._kind(name) != "number":
            return f"c{at}::VARCHAR"
        if floats or self._types[at] not in _INTEGERS:
            return f"(nullif(c{at}::DOUBLE, 'nan'::DOUBLE) + 0.0)"
        return f"c{at}"

    def _fetch(self, sql: str) -> list[tuple[Any, ...]]:
        with translate_errors():
            return self._connection.execute(sql).fetchall()

    def _stream(
        self, sql: str, parameters: object = None, rows: int = _BATCH
    ) -> Generator[pa.RecordBatch]:
        """The result batch by batch; leaving the loop early frees the connection."""
        with translate_errors():
            reader = self._connection.sql(sql, params=parameters).to_arrow_reader(rows)
        try:
            while True:
                with translate_errors():
                    batch = next(reader, None)
                if batch is None:
                    return
                yield batch
        finally:
            reader.close()


def _arrow(kind: str, values: Sequence[Any]) -> pa.Array:
    if kind == "number":
        return pa.array(np.asarray(values, np.float64) + 0.0)
    return pa.array(values, pa.date32() if kind == "date" else pa.string())


def _profile_texts(column: pa.ChunkedArray) -> Profile:
    value_counts = column.value_counts()
    texts, counts = value_counts.field(0), value_counts.field(1).to_numpy()
    sizes = pc.utf8_length(texts)
    present = sizes.is_valid().to_numpy(zero_copy_only=False)
    present_counts = counts[present]
    total = int(counts.sum())
    entropy = max(log2(total) - float((counts * np.log2(counts)).sum()) / total, 0.0)
    lengths = sizes.to_numpy(zero_copy_only=False)[present]
    return Profile(
        total,
        total - int(present_counts.sum()),
        len(present_counts),
        int((present_counts == 1).sum()),
        entropy,
        int(lengths.min(initial=np.iinfo(np.int32).max)) if len(present_counts) else 0,
        int(lengths.max(initial=0)),
    )


def _split_by_grouping_sets(names: Sequence[str]) -> list[Sequence[str]]:
    return [names[i : i + _SETS] for i in range(0, len(names), _SETS)]


def _plan_key_lots(plan: Sequence[Sequence[int]]) -> list[list[int]]:
    """The keys by lots of few codings, or of one key that has many; at least one lot.

    >>> _plan_key_lots([range(20), range(20, 30), range(30, 50), range(50, 99)])
    [[0, 1], [2], [3]]
    """
    lots: list[list[int]] = [[]]
    for j, column in enumerate(plan):
        if lots[-1] and sum(len(plan[i]) for i in lots[-1]) + len(column) > _JOINS:
            lots.append([])
        lots[-1].append(j)
    return lots


def _grouping_mask(i: int, n: int) -> int:
    """What ``grouping(v0, …)`` returns for the set (v_i): a bit, first column highest, is 0."""
    return ((1 << n) - 1) ^ (1 << (n - 1 - i))


def _grouping_set(mask: int, n: int) -> int:
    return n - (((1 << n) - 1) ^ mask).bit_length()
