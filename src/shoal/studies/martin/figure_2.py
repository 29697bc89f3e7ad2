"""Figure 2: the ten patients in two classes of five, and what bits of knowledge make of that.

Martin, Kifer, Machanavajjhala, Gehrke and Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007, figure 2 and the probabilities worked out on it: Ed's
lung cancer, for somebody who knows what he does not have; Charlie's flu, for somebody who knows
that Hannah would have given it to him. All of them are exact fractions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa

import shoal
from shoal import Schema
from shoal.studies.claims import AGREES, DIFFERS, FOUND, Claim, Row, Rows, compute_mean, select_rows
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.martin.ten_people import read_classes, read_patients
from shoal.studies.pages.bars import draw_bars
from shoal.studies.pages.grid import draw_grid

ED, CHARLIE = "Ed.Disease=Lung Cancer", "Charlie.Disease=Flu"
HANNAH = "Hannah.Disease=Flu -> Charlie.Disease=Flu"
WORDS = {ED: ("Ed", "has lung cancer"), CHARLIE: ("Charlie", "has the flu")}
FORMULAS = (
    (ED, "", "the table alone", "2/5"),
    (ED, "not Ed.Disease=Mumps", "that Ed has no mumps", "1/2"),
    (ED, "not Ed.Disease=Mumps; not Ed.Disease=Flu", "that Ed has neither mumps nor flu", "1"),
    (CHARLIE, "", "the table alone", None),
    (CHARLIE, HANNAH, "that Charlie has the flu if Hannah has it", "10/19"),
)
"""What is asked, what is known, the same in words, and the probability that is printed, if any."""


def _measure(lab: Lab) -> Sequence[Row]:
    cells = [{"about": about, "knowing": known} for about, known, *_ in FORMULAS]
    beliefs = lab.measure_cells(measure_belief, cells)
    belief_rows = [
        {**row, "said": words, "printed": printed}
        for row, (_, _, words, printed) in zip(beliefs, FORMULAS, strict=True)
    ]
    return [*lab.measure_cells(measure_published_k, [{}]), *belief_rows, *_published_rows()]


def measure_belief(about: str, knowing: str) -> Row:
    """How sure somebody is, exactly."""
    counts, where = read_classes()
    exact = shoal.belief(counts, where, knowing or (), about).exact
    if exact is None:
        raise shoal.ShoalError("A table of ten people was not counted exactly.")
    return {"part": "belief", "belief": float(exact), "exact": str(exact)}


def measure_published_k() -> Row:
    """The k of the published table: ZIP code and age lose their last digit."""
    schema = Schema.of(quasi=("Zip", "Age", "Sex"), sensitive="Disease")
    columns = [
        {name: row[name] for name in ("Zip", "Age", "Sex", "Disease")} for row in _published_rows()
    ]
    report = shoal.audit(pa.Table.from_pylist(columns), schema)
    return {"part": "table", "classes": report.classes, "k": int(report.reached("k-anonymity"))}


def _published_rows() -> list[Row]:
    return [
        {
            "part": "row",
            "Zip": f"{row['Zip'][:4]}*",
            "Age": f"{row['Age'][0]}*",
            "Sex": row["Sex"],
            "Disease": row["Disease"],
            "first": row["Sex"] == "M",
        }
        for row in read_patients("fig3")
    ]


def _claims(rows: Rows) -> Sequence[Claim]:
    k = compute_mean(rows, "k", said="k", part="table")
    published = Claim(f"The table of figure 2 is {k}-anonymous.", "", (k,), FOUND)
    return [*(_belief_claim(rows, row) for row in select_rows(rows, part="belief")), published]


def _belief_claim(rows: Rows, row: Mapping[str, Any]) -> Claim:
    """How likely somebody's disease is; found beside the paper where it prints nothing."""
    ours = compute_mean(
        rows,
        "belief",
        said=f"exactly {row['exact']}",
        part="belief",
        about=row["about"],
        knowing=row["knowing"],
    )
    likely = row["printed"] or row["exact"]
    name, disease = WORDS[row["about"]]
    subject = "he" if name in row["said"] else name
    says = f"Knowing {row['said']}, {subject} {disease} with probability {likely}."
    if row["printed"] is None:
        return Claim(says, "", (ours,), FOUND)
    same = Fraction(row["exact"]) == Fraction(row["printed"])
    return Claim(
        says,
        row["printed"],
        (ours,),
        AGREES if same else DIFFERS,
        "" if same else f"Over all worlds it is {row['exact']}.",
    )


def _charts(rows: Rows) -> Mapping[str, Spec]:
    beliefs = select_rows(rows, part="belief")
    bar = [
        {
            "said": f"{' '.join(WORDS[row['about']])}; known: {row['said']}",
            "belief": 100 * row["belief"],
        }
        for row in beliefs
    ]
    most = max(row["belief"] for row in bar)
    k = compute_mean(rows, "k", part="table").mean
    return {
        "table": draw_grid(
            select_rows(rows, part="row"),
            columns=("Zip", "Age", "Sex", "Disease"),
            marked="first",
            title=f"Two classes of {k:.0f} people",
            about="The published table, its rows in the order of figure 3; one class is set off.",
        ),
        "beliefs": draw_bars(
            bar,
            x="said",
            y="belief",
            by="",
            unit="%",
            title=f"From {min(row['belief'] for row in bar):.0f} % to {most:.0f} %, by what is "
            "known beside the table",
            about="How sure somebody is of one patient's disease, exactly.",
            labels={"said": "What is asked, and known", "belief": "Belief"},
        ),
    }


EXPERIMENT = Experiment(
    "Figure 2: ten patients in two classes, and the probabilities worked out on them",
    _measure,
    _claims,
    _charts,
    notes=(
        "Random worlds: in each class every way to deal its diseases to its people is equally "
        "likely, and the classes do not depend on each other.",
    ),
)
