"""Figure 8: two, three and four releases of the same people.

Ganta et al. 2008, figure 8 (a, b): on IPUMS with 5,000 people in all releases, the percent whose
value is given away for certain (a), and the mean drop in values (b), against k, for 2, 3 and 4
releases. The claim: both rise with the number of releases where k is small.

The paper says neither how large its releases are nor which k is small. More releases of an even
part each are also smaller releases; so a second series gives all of them the size that the parts of
the most releases have. Both sizes, at k = 5 and at k = 10, are readings of the claim, and all are
judged. Also without the people who have no occupation, which is no claim of the paper's.
"""

from __future__ import annotations

from typing import Any

from shoal.studies.claims import (
    AGREES,
    DIFFERS,
    FOUND,
    PARTLY,
    Claim,
    Number,
    Row,
    Rows,
    compute_mean,
    select_rows,
)
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.ganta.pairs import (
    ALL,
    OVERLAP,
    TWO_WAYS,
    draw_subsets,
    keep_rows,
    list_rows_kept,
    measure_pair,
    name_table,
)
from shoal.studies.ganta.steps import BEYOND, describe_ends, describe_tables, list_steps
from shoal.studies.laboratory import Lab
from shoal.studies.pages.lines import draw_lines
from shoal.studies.tables import Sample

SETTINGS = {"k": (5, 10, 20, 50), "releases": (2, 3, 4), "same_size_k": (5, 10)}
EVEN, SAME = "even parts", "same size"
GIVEN, DROP = "pvp_100", "drop"
UNITS = {GIVEN: " %", DROP: " values"}
SAYS = {GIVEN: "people whose occupation is settled", DROP: "mean drop in possible values"}


def measure(lab: Lab) -> list[Row]:
    """Every number of releases at every k, in even parts and in parts of one size."""
    cells = [
        cell
        for name, sample in lab.samples.items()
        for rows in list_rows_kept(sample)
        for cell in _list_cells(lab, name, sample, rows)
    ]
    rows = lab.measure_cells(
        measure_pair, [{k: v for k, v in cell.items() if k != "parts"} for cell in cells]
    )
    return [
        {
            **row,
            "parts": cell["parts"],
            "table": name_table(lab.samples[row["data"]], row["rows_kept"]),
        }
        for cell, row in zip(cells, rows, strict=True)
    ]


def _list_cells(lab: Lab, name: str, sample: Sample, rows: str) -> list[dict[str, Any]]:
    most = max(lab.settings["releases"])
    parts_of_most = draw_subsets(
        keep_rows(sample, rows).rows, releases=most, overlap=OVERLAP, size=0, seed=0
    )
    cells = []
    for releases in lab.settings["releases"]:
        for parts, ks in ((EVEN, lab.settings["k"]), (SAME, lab.settings["same_size_k"])):
            if parts == SAME and releases == most:
                continue  # the even parts are of that size
            cells += [
                {
                    "data": name,
                    "k": k,
                    "rows_kept": rows,
                    "releases": releases,
                    "seed": seed,
                    "size": 0 if parts == EVEN else len(parts_of_most[0]),
                    "parts": parts,
                }
                for k in ks
                for seed in lab.seeds
            ]
    return cells


def claims(rows: Rows) -> list[Claim]:
    """Figures 8a and 8b on all rows, judged; the same where people have an occupation."""
    every = select_rows(rows, rows_kept=ALL)[0]["table"]
    others = dict.fromkeys(row["table"] for row in rows if row["table"] != every)
    return [
        *(_rise_claim(rows, every, of) for of in UNITS),
        *(_applicable_claim(rows, table, of) for table in others for of in UNITS),
        _large_k_claim(rows, every),
    ]


def collect_release_series(rows: Rows, table: str, of: str) -> dict[tuple[str, int], list[Number]]:
    """For either size and every k the number for 2, 3, … releases."""
    counts = sorted({row["releases"] for row in rows})
    return {
        (parts, k): [
            compute_mean(
                rows,
                of,
                said=f"{n} releases, {parts}, k = {k}",
                unit=UNITS[of],
                table=table,
                k=k,
                releases=n,
                parts=EVEN if n == counts[-1] else parts,
            )
            for n in counts
        ]
        for parts in (EVEN, SAME)
        for k in sorted({row["k"] for row in select_rows(rows, table=table, parts=parts)})
    }


def select_small_k(rows: Rows, table: str, of: str) -> dict[tuple[str, int], list[Number]]:
    """The same where k is small: as small as where both sizes were measured."""
    numbers_by_k = collect_release_series(rows, table, of)
    ks = {k for parts, k in numbers_by_k if parts == SAME}
    return {key: numbers for key, numbers in numbers_by_k.items() if key[1] in ks}


def _rise_claim(rows: Rows, table: str, of: str) -> Claim:
    numbers_by_k = select_small_k(rows, table, of)
    directions = [
        direction for numbers in numbers_by_k.values() for direction in list_steps(numbers)
    ]
    ups = directions.count(1)
    verdict = AGREES if ups == len(directions) else PARTLY if ups else DIFFERS
    ks = " and ".join(str(k) for k in dict.fromkeys(k for _, k in numbers_by_k))
    why = f"{_count_steps(numbers_by_k)} The reason was not found."
    return Claim(
        f"On IPUMS with all rows and small k ({ks}), the {SAYS[of]} rises from 2 to 3 and from 3 "
        "to 4 releases."
        if of == DROP
        else f"On IPUMS with all rows and small k ({ks}), 3 releases settle the occupation of more "
        "people than 2, and 4 of more than 3.",
        "rises for small k",
        tuple(number for numbers in numbers_by_k.values() for number in numbers),
        verdict,
        "" if verdict == AGREES else why,
    )


def _count_steps(numbers_by_k: dict[tuple[str, int], list[Number]]) -> str:
    directions = [
        direction for numbers in numbers_by_k.values() for direction in list_steps(numbers)
    ]
    flat = "; ".join(
        f"{parts}, k = {k}: {', '.join(map(str, numbers))}"
        for (parts, k), numbers in numbers_by_k.items()
        if min(list_steps(numbers)) < 1
    )
    return (
        f"Of {len(directions)} steps to one more release, up beyond the spread of the runs (our "
        "bound): "
        f"{directions.count(1)}, down: {directions.count(-1)}, neither: {directions.count(0)}"
        f"{f' ({flat})' if flat else ''}."
    )


def _applicable_claim(rows: Rows, table: str, of: str) -> Claim:
    numbers_by_k = select_small_k(rows, table, of)
    return Claim(
        f"{table}, {SAYS[of]}: "
        f"{_count_steps(numbers_by_k)[0].lower()}{_count_steps(numbers_by_k)[1:]}",
        "",
        tuple(number for numbers in numbers_by_k.values() for number in numbers),
        FOUND,
    )


def _large_k_claim(rows: Rows, table: str) -> Claim:
    numbers_by_k = collect_release_series(rows, table, GIVEN)
    k = max(k for parts, k in numbers_by_k if parts == EVEN)
    few, *_, many = numbers_by_k[EVEN, k]
    way = {
        1: "give away more people",
        0: "change nothing beyond the spread of the runs",
        -1: "give away fewer people",
    }[list_steps((few, many))[0]]
    return Claim(
        f"{table}, k = {k}: {many.where['releases']} releases in place of "
        f"{few.where['releases']} {way}: {few} and {many}.",
        "",
        (few, many),
        FOUND,
    )


def charts(rows: Rows) -> dict[str, Spec]:
    """Given away and drop against k, a line for each number of releases."""
    even, same = select_rows(rows, parts=EVEN), _select_same_size(rows)
    labels = {
        GIVEN: "people given away",
        DROP: "mean drop in values",
        "k": "k",
        "releases": "releases",
        "table": "table",
    }
    return {
        "given_away": draw_lines(
            even,
            x="k",
            y=GIVEN,
            by="releases",
            panel="table",
            unit="%",
            labels=labels,
            title=_title(even, GIVEN, "given away"),
            about="People in all releases with one value left, against k, by the number of "
            f"releases. {describe_tables(rows)}",
        ),
        "drop": draw_lines(
            even,
            x="k",
            y=DROP,
            by="releases",
            panel="table",
            labels=labels,
            title=_title(even, DROP, "mean drop"),
            about="How many fewer values all releases leave than the best one alone. "
            f"{describe_tables(rows)}",
        ),
        "same_size": draw_lines(
            same,
            x="k",
            y=GIVEN,
            by="releases",
            panel="table",
            unit="%",
            labels=labels,
            title=_title(same, GIVEN, "given away by releases of one size"),
            about="People in all releases with one value left; every release has as many rows, "
            f"whatever their number. {describe_tables(rows)}",
        ),
    }


def _title(rows: Rows, of: str, words: str) -> str:
    k = min(row["k"] for row in rows)
    few, many = (end(row["releases"] for row in rows) for end in (min, max))
    ends = {}
    for table in dict.fromkeys(row["table"] for row in rows):
        first, last = (compute_mean(rows, of, table=table, k=k, releases=n) for n in (few, many))
        ends[table] = (first, last)
    return f"From {few} to {many} releases at k = {k}, {words}: {describe_ends(ends, UNITS[of])}"


def _select_same_size(rows: Rows) -> list[Row]:
    """Those of one size, and the most releases at the same k, whose even parts are of it."""
    same = select_rows(rows, parts=SAME)
    ks, most = {row["k"] for row in same}, max(row["releases"] for row in rows)
    last = [row for row in select_rows(rows, parts=EVEN, releases=most) if row["k"] in ks]
    return [dict(row) for row in (*same, *last)]


EXPERIMENT = Experiment(
    shows="Figure 8: two, three and four releases of the same people",
    measure=measure,
    claims=claims,
    charts=charts,
    data=("ipums-1970",),
    settings=SETTINGS,
    seeds=3,
    own=True,
    notes=(
        "The paper says neither how large its releases are nor which k is small. Releases have "
        "5,000 people in common and even parts of the rest, or all the size of the parts of four; "
        "both are judged, at k = 5 and at k = 10.",
        TWO_WAYS,
        BEYOND,
    ),
)
