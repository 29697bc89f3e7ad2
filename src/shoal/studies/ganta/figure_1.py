"""Figure 1: people whose value two releases give away for certain, against k.

Ganta et al. 2008, Figure 1 (a: Adult, b: IPUMS). Two releases of overlapping people, 5,000 of them
in both, each k-anonymous with the same k: both by Mondrian, both by microaggregation, and one by
each. PVP_100 is the percentage of the people in both of whom one value is left.

Its text gives about 12 % for Adult and 60 % for IPUMS at k = 5. Which of the three pairs of methods
these are of is not known here, so that each is judged.

PVP_100 counts also those of whom one release alone leaves one value, who lose nothing by the
second: how many they are is drawn beside it, for Mondrian, whose cells do not overlap.

Not as in the paper: the sizes of the subsets are ours, IPUMS is studied also without the people
who have no occupation, and classes of microaggregation with the same cells are one class, as in
any published table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.studies.claims import AGREES, FOUND, Claim, Number, Row, Rows, compute_mean, select_rows
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.ganta.pairs import (
    ABOUT,
    ALL,
    APPLICABLE,
    HEADED,
    MADE,
    POINTS,
    SUBSETS,
    TWO_WAYS,
    WORDS,
    find_panels,
    judge_figure,
    judge_readings,
    list_readings,
    measure_pairs,
)
from shoal.studies.laboratory import Lab
from shoal.studies.pages.lines import draw_lines

BOTH_MONDRIAN, BOTH_MICRO, MIXED = MADE.values()
ADULT, IPUMS = "adult-train", "ipums-1970"
PRINTED = {ADULT: 12, IPUMS: 60}
"""PVP_100 at k = 5, "about", in percent."""
LABELS = {
    "k": "k of both releases",
    "pvp_100": "People with one value left",
    "made": "Releases made",
    "pvp_100_honest": "People with one value left, honest location",
    "table": "Table",
    "share": "People with one value left",
    "seen": "Seen",
}
SEEN = {"pvp_100": "both releases", "alone_100": "the better of the two alone"}


def measure(lab: Lab) -> list[Row]:
    """Every pair of methods for every k."""
    return measure_pairs(lab, tuple(MADE))


def claims(rows: Rows) -> Sequence[Claim]:
    """The two headlines, 12 % of Adult's people and 60 % of IPUMS's; and who needs no second."""
    ways = ((ADULT, ALL), (IPUMS, ALL), (IPUMS, APPLICABLE))
    return [
        *(_headline_claim(rows, data) for data in PRINTED),
        *(_single_release_claim(rows, *way) for way in ways),
    ]


def _headline_claim(rows: Rows, data: str) -> Claim:
    """Every pair of methods is a reading."""
    theirs, readings = PRINTED[data], _collect_readings(rows, data, ALL)
    close = [reading.said for reading in readings if judge_figure(reading, theirs) == AGREES]
    why = (
        "Which pair of methods the figure is of is not known here; within "
        f"{POINTS[0]} points of it are {len(close)} of {len(readings)} "
        f"({', '.join(close) or 'none'}). "
        "ganta-headline tries what else may count."
    )
    work: tuple[Number, ...] = ()
    if select_rows(rows, data=data, rows_kept=APPLICABLE):
        work = _collect_readings(rows, data, APPLICABLE)
        why += f" Without the people who have no occupation: {list_readings(work)}."
    return Claim(
        f"Two 5-anonymous releases of {WORDS[data]} settle the occupation of about {theirs} % of "
        "the people in both.",
        f"about {theirs} %",
        readings,
        judge_readings(readings, theirs),
        why,
        work,
    )


def _collect_readings(rows: Rows, data: str, rows_kept: str) -> tuple[Number, ...]:
    return tuple(
        compute_mean(
            rows,
            "pvp_100",
            said=methods,
            unit=" %",
            data=data,
            k=5,
            made=methods,
            rows_kept=rows_kept,
        )
        for methods in MADE.values()
    )


def _single_release_claim(rows: Rows, data: str, rows_kept: str) -> Claim:
    """How many of those that two releases give away one gave away already."""
    where = {"data": data, "k": 5, "made": BOTH_MONDRIAN, "rows_kept": rows_kept}
    both, single = (
        compute_mean(rows, of, said=words, unit=" %", **where) for of, words in SEEN.items()
    )
    share = single.mean / both.mean if both.mean else 0.0
    return Claim(
        f"Two 5-anonymous releases by Mondrian settle the occupation of {both} of the people in "
        f"both ({select_rows(rows, **where)[0]['table']}); for {single}, which is "
        f"{100 * share:.0f} % "
        "of them, one release was enough.",
        "",
        (both, single),
        FOUND,
    )


def charts(rows: Rows) -> Mapping[str, Spec]:
    """By the paper's assumption about who is where, by what the tables alone tell, and how many
    need no second release.
    """
    return {
        "assumed": draw_lines(
            rows,
            x="k",
            y="pvp_100",
            by="made",
            panel="table",
            unit="%",
            labels=LABELS,
            theirs=_list_printed(rows),
            title=_title(rows),
            about="Percent of the people in both releases of whom one sensitive value is left, "
            f"where the class that holds each is known. {HEADED}",
        ),
        "honest": draw_lines(
            rows,
            x="k",
            y="pvp_100_honest",
            by="made",
            panel="table",
            unit="%",
            labels=LABELS,
            title=_honest_title(rows),
            about="The same where everybody may be in any class whose cells fit: all that the "
            f"published tables tell. Mondrian's cells do not overlap: nothing changes. {HEADED}",
        ),
        **({"alone": _single_release_chart(rows)} if _knows_single_release(rows) else {}),
    }


def _knows_single_release(rows: Rows) -> bool:
    """Whether the attack could tell; not where cells overlap, as they may in a user's own table."""
    return all(row["alone_100"] is not None for row in select_rows(rows, made=BOTH_MONDRIAN))


def _single_release_chart(rows: Rows) -> Spec:
    long = [
        {"k": row["k"], "table": row["table"], "seen": words, "share": row[of]}
        for row in select_rows(rows, made=BOTH_MONDRIAN)
        for of, words in SEEN.items()
    ]
    return draw_lines(
        long,
        x="k",
        y="share",
        by="seen",
        panel="table",
        unit="%",
        labels=LABELS,
        title=_single_release_title(rows),
        about="Percent of the people in two releases by Mondrian of whom one sensitive value is "
        f"left, by both and by the better of the two alone. {HEADED}",
    )


def _single_release_title(rows: Rows) -> str:
    k = min(row["k"] for row in rows)
    parts = []
    for table in dict.fromkeys(row["table"] for row in rows):
        both, single = (
            compute_mean(rows, of, k=k, table=table, made=BOTH_MONDRIAN).mean for of in SEEN
        )
        parts.append(f"{single:.0f} of {both:.0f} % ({table})")
    return f"At k = {k} one release alone had settled {', '.join(parts)}"


def _title(rows: Rows) -> str:
    k = min(row["k"] for row in rows)
    means = {
        row["table"]: compute_mean(
            rows, "pvp_100", k=k, table=row["table"], made=BOTH_MONDRIAN
        ).mean
        for row in rows
    }
    parts = ", ".join(f"{value:.0f} % ({name})" for name, value in means.items())
    return f"At k = {k} two releases by Mondrian settle the value of {parts}"


def _honest_title(rows: Rows) -> str:
    """What overlapping cells hide, at the smallest k."""
    k = min(row["k"] for row in rows)
    parts = []
    for table in dict.fromkeys(row["table"] for row in rows):
        honest, known = (
            compute_mean(rows, of, k=k, table=table, made=BOTH_MICRO).mean
            for of in ("pvp_100_honest", "pvp_100")
        )
        parts.append(f"{honest:.0f} % in place of {known:.0f} % ({table})")
    return f"From the tables alone, microaggregation at k = {k} settles {', '.join(parts)}"


def _list_printed(rows: Rows) -> list[Row]:
    """The paper's figures, of no line, in the panels with the rows that it kept."""
    tables = find_panels(rows)
    return [
        {"k": 5, "pvp_100": value, "table": tables[data], "said": f"paper: about {value} %"}
        for data, value in PRINTED.items()
        if data in tables
    ]


EXPERIMENT = Experiment(
    shows="Figure 1: people whose value two releases give away, against k",
    measure=measure,
    claims=claims,
    charts=charts,
    data=(ADULT, IPUMS),
    settings={"k": [5, 10, 20, 30, 40, 50]},
    seeds=5,
    own=True,
    notes=(
        SUBSETS,
        TWO_WAYS,
        ABOUT,
        "Microaggregation (MDAV) in blocks of 20,000 people. Which of several people alike go to "
        "which of its classes is drawn afresh in every run, which moves its figures by some tenths "
        "of a percent.",
    ),
)
