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
    chosen,
    number,
)
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.ganta.pairs import ALL, OVERLAP, TWO_WAYS, both_ways, called, kept, pair, subsets
from shoal.studies.ganta.steps import BEYOND, from_to, steps, told_tables
from shoal.studies.laboratory import Lab
from shoal.studies.pages.charts import lines
from shoal.studies.tables import Sample

SETTINGS = {"k": (5, 10, 20, 50), "releases": (2, 3, 4), "same_size_k": (5, 10)}
EVEN, SAME = "even parts", "same size"
GIVEN, DROP = "pvp_100", "drop"
UNITS = {GIVEN: " %", DROP: " values"}
SAYS = {GIVEN: "people whose occupation is settled", DROP: "mean drop in possible values"}


def measure(lab: Lab) -> list[Row]:
    """Every number of releases at every k, in even parts and in parts of one size."""
    asked = [
        cell
        for name, sample in lab.samples.items()
        for rows in both_ways(sample)
        for cell in _cells(lab, name, sample, rows)
    ]
    found = lab.measured(pair, [{k: v for k, v in one.items() if k != "parts"} for one in asked])
    return [
        {**row, "parts": one["parts"], "table": called(lab.samples[row["data"]], row["rows_kept"])}
        for one, row in zip(asked, found, strict=True)
    ]


def _cells(lab: Lab, name: str, sample: Sample, rows: str) -> list[dict[str, Any]]:
    most = max(lab.settings["releases"])
    parts_of_most = subsets(kept(sample, rows).rows, releases=most, overlap=OVERLAP, size=0, seed=0)
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
    every = chosen(rows, rows_kept=ALL)[0]["table"]
    others = dict.fromkeys(row["table"] for row in rows if row["table"] != every)
    return [
        *(_rises(rows, every, of) for of in UNITS),
        *(_besides(rows, table, of) for table in others for of in UNITS),
        _at_large(rows, every),
    ]


def series(rows: Rows, table: str, of: str) -> dict[tuple[str, int], list[Number]]:
    """For either size and every k the number for 2, 3, … releases."""
    counts = sorted({row["releases"] for row in rows})
    return {
        (parts, k): [
            number(
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
        for k in sorted({row["k"] for row in chosen(rows, table=table, parts=parts)})
    }


def small(rows: Rows, table: str, of: str) -> dict[tuple[str, int], list[Number]]:
    """The same where k is small: as small as where both sizes were measured."""
    found = series(rows, table, of)
    ks = {k for parts, k in found if parts == SAME}
    return {key: numbers for key, numbers in found.items() if key[1] in ks}


def _rises(rows: Rows, table: str, of: str) -> Claim:
    found = small(rows, table, of)
    went = [one for numbers in found.values() for one in steps(numbers)]
    ups = went.count(1)
    verdict = AGREES if ups == len(went) else PARTLY if ups else DIFFERS
    ks = " and ".join(str(k) for k in dict.fromkeys(k for _, k in found))
    why = f"{_counted(found)} The reason was not found."
    return Claim(
        f"On IPUMS with all rows and small k ({ks}), the {SAYS[of]} rises from 2 to 3 and from 3 "
        "to 4 releases."
        if of == DROP
        else f"On IPUMS with all rows and small k ({ks}), 3 releases settle the occupation of more "
        "people than 2, and 4 of more than 3.",
        "rises for small k",
        tuple(one for numbers in found.values() for one in numbers),
        verdict,
        "" if verdict == AGREES else why,
    )


def _counted(found: dict[tuple[str, int], list[Number]]) -> str:
    """How many steps go up and down, and where not up, by size and k."""
    went = [one for numbers in found.values() for one in steps(numbers)]
    flat = "; ".join(
        f"{parts}, k = {k}: {', '.join(map(str, numbers))}"
        for (parts, k), numbers in found.items()
        if min(steps(numbers)) < 1
    )
    return (
        f"Of {len(went)} steps to one more release, up beyond the spread of the runs (our bound): "
        f"{went.count(1)}, down: {went.count(-1)}, neither: {went.count(0)}"
        f"{f' ({flat})' if flat else ''}."
    )


def _besides(rows: Rows, table: str, of: str) -> Claim:
    found = small(rows, table, of)
    return Claim(
        f"{table}, {SAYS[of]}: {_counted(found)[0].lower()}{_counted(found)[1:]}",
        "",
        tuple(one for numbers in found.values() for one in numbers),
        FOUND,
    )


def _at_large(rows: Rows, table: str) -> Claim:
    """What more releases do at the largest k."""
    found = series(rows, table, GIVEN)
    k = max(k for parts, k in found if parts == EVEN)
    few, *_, many = found[EVEN, k]
    way = {
        1: "give away more people",
        0: "change nothing beyond the spread of the runs",
        -1: "give away fewer people",
    }[steps((few, many))[0]]
    return Claim(
        f"{table}, k = {k}: {many.where['releases']} releases in place of "
        f"{few.where['releases']} {way}: {few} and {many}.",
        "",
        (few, many),
        FOUND,
    )


def charts(rows: Rows) -> dict[str, Spec]:
    """Given away and drop against k, a line for each number of releases."""
    even, same = chosen(rows, parts=EVEN), _same_size(rows)
    labels = {
        GIVEN: "people given away",
        DROP: "mean drop in values",
        "k": "k",
        "releases": "releases",
        "table": "table",
    }
    return {
        "given_away": lines(
            even,
            x="k",
            y=GIVEN,
            by="releases",
            panel="table",
            unit="%",
            labels=labels,
            title=_title(even, GIVEN, "given away"),
            about="People in all releases with one value left, against k, by the number of "
            f"releases. {told_tables(rows)}",
        ),
        "drop": lines(
            even,
            x="k",
            y=DROP,
            by="releases",
            panel="table",
            labels=labels,
            title=_title(even, DROP, "mean drop"),
            about="How many fewer values all releases leave than the best one alone. "
            f"{told_tables(rows)}",
        ),
        "same_size": lines(
            same,
            x="k",
            y=GIVEN,
            by="releases",
            panel="table",
            unit="%",
            labels=labels,
            title=_title(same, GIVEN, "given away by releases of one size"),
            about="People in all releases with one value left; every release has as many rows, "
            f"whatever their number. {told_tables(rows)}",
        ),
    }


def _title(rows: Rows, of: str, said: str) -> str:
    """From the fewest to the most releases at the least k, on every table."""
    k = min(row["k"] for row in rows)
    few, many = (one(row["releases"] for row in rows) for one in (min, max))
    ends = {}
    for table in dict.fromkeys(row["table"] for row in rows):
        first, last = (number(rows, of, table=table, k=k, releases=n) for n in (few, many))
        ends[table] = (first, last)
    return f"From {few} to {many} releases at k = {k}, {said}: {from_to(ends, UNITS[of])}"


def _same_size(rows: Rows) -> list[Row]:
    """Those of one size, and the most releases at the same k, whose even parts are of it."""
    same = chosen(rows, parts=SAME)
    ks, most = {row["k"] for row in same}, max(row["releases"] for row in rows)
    last = [row for row in chosen(rows, parts=EVEN, releases=most) if row["k"] in ks]
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
