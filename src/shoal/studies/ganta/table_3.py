"""Table 3: the columns of IPUMS and how many values each has.

Ganta et al. 2008, Table 3, for the Los Angeles file of 70,187 rows with seven quasi-identifiers and
three columns that are taken as the sensitive one in turn. Where the sizes are those printed, this
is the file that the paper had.

Nothing is drawn. The paper calls it the census of 1997. The archive (UCI, IPUMS Census Database)
describes samples of one person in a hundred of Los Angeles and Long Beach in 1970, 1980 and 1990:
which of them this is can be told by how many people the rows stand for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.studies.claims import AGREES, CORRECTED, DIFFERS, Claim, Row, Rows, compute_mean
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.ganta.pairs import WORDS
from shoal.studies.ganta.table_2 import ABOUT, measure_domains
from shoal.studies.laboratory import Lab
from shoal.studies.pages.grid import draw_grid

IPUMS = "ipums-1970"
PRINTED = {"bplg": 113, "occ1950": 247, "ind1950": 145, "inctot": 471}
YEAR, THEIR_YEAR = 1970, 1997
SAMPLED = 100
"""Of so many people one is in the file, by the archive's description."""
PEOPLE = {1970: 7.04, 1980: 7.48, 1997: 9.15}
"""Millions in Los Angeles County: the censuses of 1970 and 1980 (the county's figures in the Los
Angeles Times of 18 February 1986) and California's estimate for 1997 (Los Angeles Almanac)."""


def measure(lab: Lab) -> list[Row]:
    """The columns of the table."""
    return lab.measure_cells(measure_domains, [{"data": data} for data in lab.samples])


def claims(rows: Rows) -> Sequence[Claim]:
    """The four columns that tell the files apart, and the year."""
    return [_sizes_claim(rows), _year_claim(rows)]


def _sizes_claim(rows: Rows) -> Claim:
    ours = tuple(
        compute_mean(rows, "values", said=WORDS[name], data=IPUMS, column=name) for name in PRINTED
    )
    unlike = [
        f"{number.said} {number}"
        for number, size in zip(ours, PRINTED.values(), strict=True)
        if number.mean != size
    ]
    return Claim(
        "IPUMS has 113 birth places, 247 occupations, 145 industries and 471 incomes.",
        ", ".join(map(str, PRINTED.values())),
        ours,
        DIFFERS if unlike else AGREES,
        f"Other numbers of values: {', '.join(unlike)}." if unlike else "",
    )


def _year_claim(rows: Rows) -> Claim:
    """The year whose number of people the sample comes nearest to."""
    ours = compute_mean(rows, "rows", said="rows, one person in 100", data=IPUMS, column="age")
    million = ours.mean * SAMPLED / 1e6
    year = min(PEOPLE, key=lambda year: abs(PEOPLE[year] - million))
    populations = ", ".join(f"{people:.2f} million in {year}" for year, people in PEOPLE.items())
    why = (
        f"A sample of one person in {SAMPLED} that has {ours} rows stands for {million:.2f} "
        f"million people. Los Angeles County had {populations}: it is nearest to {year}."
    )
    verdict = {THEIR_YEAR: AGREES, YEAR: CORRECTED}.get(year, DIFFERS)
    return Claim(
        f"The people of IPUMS are of the census of {THEIR_YEAR}.",
        str(THEIR_YEAR),
        (ours,),
        verdict,
        "" if verdict == AGREES else why,
    )


def charts(rows: Rows) -> Mapping[str, Spec]:
    """A printed table: a row for each column, with the paper's number where it is known."""
    shown = [
        {
            **row,
            "theirs": PRINTED.get(row["column"], ""),
            "same": PRINTED.get(row["column"]) == row["values"],
        }
        for row in rows
    ]
    same = sum(row["same"] for row in shown)
    headings = {
        "column": "Column",
        "role": "Role",
        "values": f"Values in {rows[0]['rows']:,} rows",
        "theirs": "Paper",
    }
    return {
        "domains": draw_grid(
            shown,
            columns=headings,
            marked="same",
            about=f"{ABOUT} Set off: as the paper has it.",
            title=f"{same} of the {len(PRINTED)} sizes that tell the files apart are the paper's",
        )
    }


EXPERIMENT = Experiment(
    shows="Table 3: the columns of IPUMS and how many values each has",
    measure=measure,
    claims=claims,
    charts=charts,
    data=(IPUMS,),
    notes=(
        "The archive's file is named ipums.la.97 and described as one person in a hundred of Los "
        "Angeles and Long Beach. Numbers of people: censuses of 1970 and 1980 (Los Angeles Times, "
        "18 February 1986), California's estimate for 1997 (Los Angeles Almanac).",
    ),
)
