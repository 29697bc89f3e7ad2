"""Table 2: the columns of Adult and how many values each has.

Ganta et al. 2008, Table 2, for the complete rows of UCI Adult. Shown for both readings of "complete
rows": the training rows alone (30,162) and training and test rows together (45,222). The paper
names the first and prints the ages of the second.

Nothing is drawn and nothing assumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.studies.claims import AGREES, CORRECTED, DIFFERS, Claim, Row, Rows, number
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.pages.charts import grid
from shoal.studies.tables import Sample

TRAIN, WHOLE = "adult-train", "adult"
ROWS, AGES = 30_162, 74
"""As printed."""
ABOUT = "How many different values each column has, quasi-identifiers first."


def domains(sample: Sample) -> list[Row]:
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
    return lab.measured(domains, [{"data": data} for data in lab.samples])


def claims(rows: Rows) -> Sequence[Claim]:
    """How many rows, and how many ages."""
    return [_rows(rows), _ages(rows)]


def _rows(rows: Rows) -> Claim:
    ours = number(rows, "rows", said="complete training rows", data=TRAIN, column="age")
    same = ours.mean == ROWS
    return Claim(
        "Adult has 30,162 complete rows.",
        f"{ROWS:,}",
        (ours,),
        AGREES if same else DIFFERS,
        "" if same else f"The training rows are {ours}.",
    )


def _ages(rows: Rows) -> Claim:
    """Corrected where the other file has as many as printed, and this one has not."""
    ours = number(rows, "values", said=f"ages in {ROWS:,} rows", data=TRAIN, column="age")
    whole = number(rows, "values", said="ages with the test rows", data=WHOLE, column="age")
    size = number(rows, "rows", said="rows with the test rows", data=WHOLE, column="age")
    verdict = AGREES if ours.mean == AGES else CORRECTED if whole.mean == AGES else DIFFERS
    why = f"The {ROWS:,} rows have {ours} ages; the {size} rows of both files have {whole}."
    return Claim(
        "The 30,162 complete training rows of Adult have 74 different ages.",
        str(AGES),
        (ours,),
        verdict,
        "" if verdict == AGREES else why,
        (whole, size),
    )


def charts(rows: Rows) -> Mapping[str, Spec]:
    """A printed table: a row for each column."""
    tables = list(dict.fromkeys(row["data"] for row in rows))
    size = {row["data"]: row["rows"] for row in rows}
    found: dict[str, Row] = {}
    for row in rows:
        found.setdefault(row["column"], {"column": row["column"], "role": row["role"]})
        found[row["column"]][row["data"]] = row["values"]
    for one in found.values():
        one["differs"] = len({one.get(data) for data in tables}) > 1
    headings = {data: f"Values in {size[data]:,} rows" for data in tables}
    unlike = sum(one["differs"] for one in found.values())
    return {
        "domains": grid(
            list(found.values()),
            columns={"column": "Column", "role": "Role", **headings},
            title=f"Columns with more values with the test rows: {unlike} of {len(found)}",
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
