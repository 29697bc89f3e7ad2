"""Examples 1 to 7: linking by a quasi-identifier, k-anonymous tables, and three attacks on them.

Sweeney: k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002, her numbered examples.

1, 2  medical data linked with a list of voters by ZIP code, birth date and sex (made-up people:
      the lists of the paper are not public)
3, 4  which rows of figure 2 are alike, and how often each value occurs in it
5     unsorted matching of figure 3's releases
6     complementary releases: figure 4's two, linked
7     temporal: two people come, and the table is released again

What is not as printed is counted by hand as well (`printed_tables.count_alike`, `_count_plainly`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import shoal
from shoal import Schema
from shoal.data import bundled
from shoal.studies.claims import (
    AGREES,
    CORRECTED,
    DIFFERS,
    FOUND,
    Claim,
    Row,
    Rows,
    compute_mean,
    select_rows,
)
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.pages.bars import draw_bars
from shoal.studies.pages.grid import draw_grid
from shoal.studies.sweeney.printed_tables import (
    FIGURE_2,
    judge_count,
    link_releases,
    match_unsorted,
    read_printed_rows,
)

KNOWN = ("birth_date", "sex", "zip")
"""What a list of voters and a table of patients have in common."""
ALIKE = {("t7", "t8"): None, ("t8", "t9"): None, ("t9", "t10"): 1, ("t10", "t11"): None}
"""Neighbours in figure 2; 1: the paper's example says of them that they are alike."""
OCCURS = {
    "Race": {"Black": 6, "White": 5},
    "Birth": {"1964": 5, "1965": 4, "1967": 2},
    "Gender": {"m": 6, "f": 5},
    "ZIP": {"0213*": 9, "0214*": 2},
}
"""How often each value of figure 2 is printed to occur."""
HAVE = {"Race": "are", "Birth": "are of", "Gender": "are", "ZIP": "have the ZIP code"}
WORDS = {2: "two", 4: "four", 5: "five", 6: "six", 9: "nine"}
"""The same in a sentence."""
COMPLEMENTARY, TEMPORAL = "complementary", "temporal"
ANEW, GROWN, BASED = "GT3", "GT3 and two more", "GT1 and two more"
LINKS = ((COMPLEMENTARY, ANEW, 2), (TEMPORAL, GROWN, 2), (TEMPORAL, BASED, None))
"""What follows GT1, how it is linked, and how many rows the paper calls unique then."""


def _measure(lab: Lab) -> Sequence[Row]:
    known = [{"known": ", ".join(KNOWN[: i + 1])} for i in range(len(KNOWN))]
    order = lab.measure_cells(match_unsorted, [{"order": "printed"}])
    cells = [{"attack": attack, "second": second} for attack, second, _ in LINKS]
    links = zip(LINKS, lab.measure_cells(link_releases, cells), strict=True)
    return [
        *lab.measure_cells(measure_linked_patients, [{}]),
        *lab.measure_cells(measure_unique_voters, known),
        *lab.measure_cells(compare_neighbours, [{}]),
        *lab.measure_cells(count_occurrences, [{}]),
        _make_attack_row(5, "rows alone after unsorted matching", order[0], None),
        *(
            _make_attack_row(
                6 if attack == COMPLEMENTARY else 7, _describe_after(second), row, printed
            )
            for (attack, second, printed), row in links
        ),
    ]


def _describe_after(second: str) -> str:
    return f"rows alone after GT1, then {second}"


def _make_attack_row(example: int, what: str, row: Row, printed: int | None) -> Row:
    return {**_make_row(example, what, row["exposed"], printed), "alone_in": row["alone_in"]}


def _make_row(example: int, what: str, value: float, printed: float | None) -> Row:
    return {"example": example, "what": what, "found": value, "printed": printed}


def measure_linked_patients() -> Row:
    """Patients without names, linked with voters who have them."""
    others = ["ethnicity", "visit_date", "procedure", "medication", "total_charge"]
    schema = Schema.of(quasi=KNOWN, sensitive="diagnosis", identifier=others)
    finding = shoal.attack(
        "linking", [bundled.path("medical.csv")], targets=bundled.path("voters.csv"), schema=schema
    )
    with bundled.path("medical.csv").open(encoding="utf-8") as file:
        patients = sum(1 for _ in file) - 1
    share = 100 * finding.details["certain"] / patients
    return _make_row(1, "% of made-up patients who get one name", share, None)


def measure_unique_voters(known: str) -> Row:
    """How many voters are alone in what is known of them."""
    quasi = known.split(", ")
    with bundled.path("voters.csv").open(encoding="utf-8") as file:
        header = file.readline().strip().split(",")
    others = [name for name in header if name not in quasi]
    schema = Schema.of(quasi=quasi, identifier=others)
    report = shoal.audit(bundled.path("voters.csv"), schema)
    share = 100 * report.risk.uniques / report.rows
    return _make_row(2, f"% of made-up voters alone by {known.replace('_', ' ')}", share, None)


def compare_neighbours() -> list[Row]:
    """Which of figure 2's rows have the same quasi-identifiers."""
    rows = {row["id"]: tuple(row[name] for name in FIGURE_2) for row in read_printed_rows("fig2")}
    return [
        _make_row(3, f"{first} and {other} alike", int(rows[first] == rows[other]), printed)
        for (first, other), printed in ALIKE.items()
    ]


def count_occurrences() -> list[Row]:
    """How often each value of figure 2's quasi-identifiers occurs, as the engine counts it."""
    frame = shoal.open(bundled.path("sweeney_fig2.csv"), kinds=dict.fromkeys(FIGURE_2, "category"))
    try:
        values = frame.values(list(FIGURE_2))
    finally:
        frame.close()
    counts = {
        name: dict(zip(values[name].values, values[name].counts.tolist(), strict=True))
        for name in FIGURE_2
    }
    return [
        _make_row(4, f"rows with {name} {value}", counts[name].get(value, 0), printed)
        for name, printed_counts in OCCURS.items()
        for value, printed in printed_counts.items()
    ]


def _count_plainly(column: str, value: str) -> int:
    return Counter(row[column] for row in read_printed_rows("fig2"))[value]


# What the paper says, beside


def _claims(rows: Rows) -> Sequence[Claim]:
    return [
        _pairs_claim(rows),
        *_count_claims(rows),
        *_temporal_claims(rows),
        *_linking_claims(rows),
    ]


def _pairs_claim(rows: Rows) -> Claim:
    lines = {row["id"]: row for row in read_printed_rows("fig2")}
    ((first, other), printed), *_ = [pair for pair in ALIKE.items() if pair[1]]
    differ = [name for name in FIGURE_2 if lines[first][name] != lines[other][name]]
    ours = [
        compute_mean(rows, "found", said=what, example=3, what=what)
        for what in (f"{a} and {b} alike" for a, b in ALIKE)
    ]
    at = list(ALIKE).index((first, other))
    decision = judge_count(ours[at].mean, float(printed or 0), float(not differ))
    return Claim(
        f"The rows {first} and {other} of figure 2 are alike in race, birth, gender and ZIP code.",
        f"{first} = {other}",
        (ours[at],),
        decision,
        "" if decision == AGREES else f"1 is alike, 0 not: the two differ in {', '.join(differ)}.",
        tuple(ours[:at] + ours[at + 1 :]),
    )


def _count_claims(rows: Rows) -> list[Claim]:
    claims = []
    for name, printed_counts in OCCURS.items():
        ours = tuple(
            compute_mean(rows, "found", said=value, example=4, what=f"rows with {name} {value}")
            for value in printed_counts
        )
        verdicts = [
            judge_count(count.mean, printed_counts[count.said], _count_plainly(name, count.said))
            for count in ours
        ]
        worst = next((kind for kind in (DIFFERS, CORRECTED) if kind in verdicts), AGREES)
        plainly = ", ".join(f"{value} {_count_plainly(name, value)}" for value in printed_counts)
        claims.append(
            Claim(
                f"In figure 2 {_describe_counts(name, printed_counts)}.",
                ", ".join(f"{value} {count}" for value, count in printed_counts.items()),
                ours,
                worst,
                "" if worst == AGREES else f"Counted in the printed table: {plainly}.",
            )
        )
    return claims


def _describe_counts(column: str, counts: Mapping[str, int]) -> str:
    """How often values occur, in words: "six rows are m and five f"."""
    first, *rest = counts
    again = "of " if column == "Birth" else ""
    parts = [
        f"{WORDS[counts[first]]} rows {HAVE[column]} {first}",
        *(f"{WORDS[counts[value]]} {again}{value}" for value in rest),
    ]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _temporal_claims(rows: Rows) -> list[Claim]:
    """Example 7; what examples 5 and 6 claim is claimed with figures 3 and 5."""
    grown, based = (
        compute_mean(rows, "found", said=what, what=what)
        for what in map(_describe_after, (GROWN, BASED))
    )
    first, then = (
        select_rows(rows, what=_describe_after(release))[0]["alone_in"] for release in (ANEW, GROWN)
    )
    why = f"The attack leaves {grown} rows alone" + ("" if first == then else ", and other ones")
    same, none = grown.mean == 2 and first == then, based.mean == 0
    return [
        Claim(
            "Made anew after two people came, the table linked with its first release leaves 2 "
            "rows alone, the same as before.",
            "2 rows",
            (grown,),
            AGREES if same else DIFFERS,
            "" if same else f"{why}.",
        ),
        Claim(
            "Based on the first release after two people came, the table linked with it leaves "
            "0 rows alone.",
            "",
            (based,),
            AGREES if none else DIFFERS,
            "" if none else f"The attack leaves {based} rows alone.",
        ),
    ]


def _linking_claims(rows: Rows) -> list[Claim]:
    """Examples 1 and 2, on made-up people: how it is done, and not for how many it works."""
    match = compute_mean(rows, "found", said="patients with one name", unit=" %", example=1)
    shares = [
        compute_mean(
            rows,
            "found",
            said=row["what"].partition(" by ")[2],
            unit=" %",
            what=row["what"],
            example=2,
        )
        for row in select_rows(rows, example=2)
    ]
    described = "; ".join(f"{share} by {share.said.replace('zip', 'ZIP code')}" for share in shares)
    return [
        Claim(
            f"A list of voters gives {match} of made-up patients one name, by ZIP code, birth "
            "date and sex.",
            "",
            (match,),
            FOUND,
        ),
        Claim(f"So many of the made-up voters are alone: {described}.", "", tuple(shares), FOUND),
    ]


def _charts(rows: Rows) -> Mapping[str, Spec]:
    shown = [
        {
            **row,
            "other": row["printed"] is not None and row["found"] != row["printed"],
            "found": f"{row['found']:.1f}" if row["example"] < 3 else row["found"],
        }
        for row in rows
    ]
    voters = [
        {"known": row["what"].partition(" by ")[2], "share": row["found"]}
        for row in select_rows(rows, example=2)
    ]
    wrong = sum(row["other"] for row in shown)
    return {
        "examples": draw_grid(
            shown,
            columns={"example": "Example", "what": "What", "printed": "Printed", "found": "Found"},
            marked="other",
            title=f"{wrong} of the printed numbers are not those of the printed tables",
            about="What the seven examples say, and what is found; set off where they differ.",
        ),
        "voters": draw_bars(
            voters,
            x="known",
            y="share",
            by="",
            unit="%",
            title=f"By all three, {voters[-1]['share']:.0f} % of made-up voters are alone",
            about="Of 2,500 made-up voters, those whom no other is like in what is known.",
            labels={"known": "What is known", "share": "Voters who are alone"},
        ),
    }


EXPERIMENT = Experiment(
    "Examples 1 to 7: linking, k-anonymous tables, and three attacks on them",
    _measure,
    _claims,
    _charts,
    notes=(
        "Examples 1 and 2 are shown on a made-up town that is bundled with Shoal; the paper's own "
        "lists are not public: they show how it is done, and are no claims. The other examples "
        "are the printed tables.",
        "What examples 5 and 6 claim is claimed with figures 3 and 5, which print it.",
    ),
)
