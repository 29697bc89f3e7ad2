"""``python -m bench.by_sql IN ENTRIES CLASSES OUT``: the same file by hand-written SQL.

Roll the rows up, join each to its class, write the labels. Which class an entry belongs to is
read from files made beforehand, so that no algorithm is in it; nor is the order of the rows made
random, nor the result verified.
"""

import sys

import duckdb

from bench.data import COLUMNS, QUASI, SENSITIVE


def main(table: str, entries: str, classes: str, out: str) -> None:
    """Two statements in one connection."""
    key = ", ".join(COLUMNS)
    labels = ", ".join(f"label.{name}" for name in QUASI)
    database = duckdb.connect()
    database.execute(
        f"CREATE TEMP TABLE tally AS SELECT {key}, count(*) AS rows "
        f"FROM read_parquet('{table}') GROUP BY ALL"
    )
    database.execute(
        f"COPY (SELECT {labels}, row.{SENSITIVE} FROM read_parquet('{table}') AS row "
        f"JOIN read_parquet('{entries}') AS entry USING ({key}) "
        f"JOIN read_parquet('{classes}') AS label USING (class)) "
        f"TO '{out}' (FORMAT parquet)"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
