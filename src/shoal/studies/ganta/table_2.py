"""Table 2: the columns of Adult and how many values each has.

Ganta et al. 2008, Table 2, for the complete rows of UCI Adult. Shown for both readings of "complete
rows": the training rows alone (30,162) and training and test rows together (45,222). The paper
names the first and prints the ages of the second.

Nothing is drawn and nothing assumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.studies.claims import AGREES, CORRECTED, DIFFERS, Claim, Row, Rows, compute_mean
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.pages.grid import draw_grid
from shoal.studies.tables import Sample

TRAIN, WHOLE = "adult-train", "adult"
ROWS, AGES = 30_162, 74
"""As printed."""
ABOUT = "How many different values each column has, quasi-identifiers first."


def measure_domains(sample: Sample) -> list[Row]:
    """Of every column its role and number of values."""
    columns = [
        *((name, "quasi-identifier") for name in sample.quasi),
        *((name, "sensitive") for name in (sample.sensitive, *sample.others)),
    ]
    return [
        {
            "column": name,
            "role": role,
            "values": len(sample.table[name].unique()),
            "rows": sample.rows,
        }
        for name, role in columns
    ]


def measure(lab: Lab) -> list[Row]:
    """Both readings of the table."""
    return lab.measure_cells(measure_domains, [{"data": data} for data in lab.samples])


def claims(rows: Rows) -> Sequence[Claim]:
    """How many rows, and how many ages."""
    return [_rows_claim(rows), _ages_claim(rows)]


def _rows_claim(rows: Rows) -> Claim:
    ours = compute_mean(rows, "rows", said="complete training rows", data=TRAIN, column="age")
    same = ours.mean == ROWS
    return Claim(
        "Adult has 30,162 complete rows.",
        f"{ROWS:,}",
        (ours,),
        AGREES if same else DIFFERS,
        "" if same else f"The training rows are {ours}.",
    )


def _ages_claim(rows: Rows) -> Claim:
    """Corrected where the other file has as many as printed, and this one has not."""
    ours = compute_mean(rows, "values", said=f"ages in {ROWS:,} rows", data=TRAIN, column="age")
    both_files = compute_mean(
        rows, "values", said="ages with the test rows", data=WHOLE, column="age"
    )
    size = compute_mean(rows, "rows", said="rows with the test rows", data=WHOLE, column="age")
    verdict = AGREES if ours.mean == AGES else CORRECTED if both_files.mean == AGES else DIFFERS
    why = f"The {ROWS:,} rows have {ours} ages; the {size} rows of both files have {both_files}."
    return Claim(
        "The 30,162 complete training rows of Adult have 74 different ages.",
        str(AGES),
        (ours,),
        verdict,
        "" if verdict == AGREES else why,
        (both_files, size),
    )


def charts(rows: Rows) -> Mapping[str, Spec]:
    """A printed table: a row for each column."""
    tables = list(dict.fromkeys(row["data"] for row in rows))
    size = {row["data"]: row["rows"] for row in rows}
    columns: dict[str, Row] = {}
    for row in rows:
        columns.setdefault(row["column"], {"column": row["column"], "role": row["role"]})
        columns[row["column"]][row["data"]] = row["values"]
    for column in columns.values():
        column["differs"] = len({column.get(data) for data in tables}) > 1
    headings = {data: f"Values in {size[data]:,} rows" for data in tables}
    unlike = sum(column["differs"] for column in columns.values())
    return {
        "domains": draw_grid(
            list(columns.values()),
            columns={"column": "Column", "role": "Role", **headings},
            title=f"Columns with more values with the test rows: {unlike} of {len(columns)}",
            about=ABOUT,
            marked="differs",
        )
    }


EXPERIMENT = Experiment(
    shows="Table 2: the columns of Adult and how many values each has",
    measure=measure,
    claims=claims,
    charts=charts,
    data=(TRAIN, WHOLE),
    notes=("Complete rows are those without a missing value in the eight columns.",),
)
