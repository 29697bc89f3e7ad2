"""Figure 6: how varied the least varied class is, and the most that k pieces of knowledge tell.

Martin, Kifer, Machanavajjhala, Gehrke and Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007, figure 6. All 72 tables of the lattice over Adult's
45,222 complete rows: age exact, in intervals of 5, 10, 20 or 40 years or not told; marital status
at three levels; race and sex told or not. Occupation is sensitive. For each table the entropy of
its least varied class, and the largest disclosure for k = 1, 3, 5, 7, 9, 11.

Not as in the paper, or not known of it: intervals of age begin at 0; the middle level of marital
status is whether a spouse is present; entropy is in bits; every table is a dot. ``others`` are
further readings of the paper: intervals from 17, the least age, and a middle level ``ever`` that
tells married, never married and the rest. All of them are judged. That less is told where the
least varied class varies more is found beside the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from statistics import fmean
from typing import Any

from shoal.studies.claims import FOUND, Claim, Number, Row, Rows, compute_mean, select_rows
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.martin.ages import (
    ALL,
    IMPLICATIONS,
    NEGATIONS,
    compute_disclosures,
    find_least_entropy,
    list_disclosures,
    make_histograms,
)
from shoal.studies.martin.closeness import BOUNDS, NOTE, judge_closeness, measure_distance
from shoal.studies.pages.dots import draw_dots
from shoal.studies.tables import Sample


def _measure(lab: Lab) -> Sequence[Row]:
    settings = lab.settings
    readings = [(settings["origin"], settings["middle"]), *map(tuple, settings["others"])]
    cells = [
        {
            "data": name,
            "width": width,
            "origin": origin,
            "middle": middle,
            "pieces": list(settings["pieces"]),
        }
        for name in lab.samples
        for origin, middle in readings
        for width in settings["widths"]
    ]
    tables = lab.measure_cells(measure_lattice, cells)
    return [*tables, *_combine_tables(tables)]


def measure_lattice(
    sample: Sample, width: int | str, origin: int, middle: str, pieces: list[int]
) -> list[Row]:
    """The twelve tables that tell age in intervals of one width."""
    rows = []
    for marital, race, sex in product(range(3), range(2), range(2)):
        classes = make_histograms(
            sample, width, origin, marital=marital, race=race, sex=sex, middle=middle
        )
        disclosures = compute_disclosures(classes, max(pieces))
        of = {
            "part": "table",
            "marital": marital,
            "race": race,
            "sex": sex,
            "table": f"{width}, {marital}, {race}, {sex}",
            "classes": len(classes),
            "smallest": min(map(sum, classes)),
            "fewest": min(map(len, classes)),
            "entropy": find_least_entropy(classes),
        }
        rows += [_mark_varied(row) for row in list_disclosures(disclosures, pieces, **of)]
    return rows


def _mark_varied(row: Row) -> Row:
    """With whether the least varied class varies, and whether few values alone are certainty.

    In a table that does not vary everything is told without any knowledge.
    """
    few = row["fewest"] <= row["k"] + 1
    return {**row, "varied": row["entropy"] > 0, "unlike": int(row["certain"] != few)}


def _combine_tables(tables: Sequence[Row]) -> list[Row]:
    """What all varied tables of one reading say together, for each kind of knowledge and k."""
    rows: list[Row] = []
    for reading, kind in product(_list_readings(tables), (IMPLICATIONS, NEGATIONS)):
        here = select_rows(tables, **reading, knowledge=kind)
        for k in dict.fromkeys(row["k"] for row in here):
            tables_of_k = select_rows(here, k=k)
            varied = select_rows(tables_of_k, varied=True)
            rows.append(
                {
                    "part": "together",
                    **reading,
                    "knowledge": kind,
                    "k": k,
                    "tables": len(tables_of_k),
                    "tables_varied": len(varied),
                    "tables_certain": sum(row["certain"] for row in varied),
                    **_count_ordered_pairs(varied),
                }
            )
    return rows


def _count_ordered_pairs(tables: Rows) -> Row:
    """Of the pairs that differ in both, those (in %) whose more varied table tells less."""
    differ = [
        (a["entropy"] - b["entropy"]) * (a["disclosure"] - b["disclosure"])
        for a, b in combinations(tables, 2)
    ]
    decided = [change < 0 for change in differ if change]
    return {
        "pairs": len(differ),
        "pairs_differ": len(decided),
        "pairs_tied": len(differ) - len(decided),
        "in_order_100": 100 * fmean(decided) if decided else None,
    }


def _list_readings(rows: Rows) -> list[dict[str, Any]]:
    """Whose data, where intervals begin and what the middle level tells; the study's own first."""
    names = ("data", "origin", "middle")
    readings = dict.fromkeys(tuple(row[name] for name in names) for row in rows)
    return [dict(zip(names, reading, strict=True)) for reading in readings]


def _describe_reading(reading: Mapping[str, Any]) -> str:
    return f"origin {reading['origin']}, {reading['middle']}"


def _claims(rows: Rows) -> Sequence[Claim]:
    further_means: dict[str, dict[str, Any]] = {
        "mean over varied tables": {"varied": True},
        "mean over all tables": {},
    }
    distances = [
        measure_distance(
            rows, _describe_reading(reading), {"part": "table", **reading}, further_means
        )
        for reading in _list_readings(rows)
    ]
    tables = len({row["table"] for row in select_rows(rows, part="table")})
    says = (
        f"In the {tables} tables of the lattice over Adult, what k implications tell {BOUNDS} "
        "what k negations tell."
    )
    return [judge_closeness(says, distances), _falling_claim(rows), _certainty_claim(rows)]


def _falling_claim(rows: Rows) -> Claim:
    """Less is told where the least varied class varies more: how often."""
    own, *others = [
        _collect_shares(rows, reading, IMPLICATIONS) for reading in _list_readings(rows)
    ]
    every = [share for shares in (own, *others) for share in shares]
    least, most = (pick(every, key=lambda share: share.mean) for pick in (min, max))
    (worst,) = select_rows(rows, **least.where)
    counts = [
        compute_mean(
            rows, of, said=f"{words}, k = {worst['k']}; {_describe_reading(worst)}", **least.where
        )
        for of, words in (
            ("tables_varied", "varied tables"),
            ("pairs_differ", "pairs that differ"),
            ("pairs_tied", "pairs that are tied"),
        )
    ]
    varied, differ, tied = counts
    return Claim(
        "Of two varied tables that differ in entropy and in what k implications tell, the more "
        f"varied one tells less in {least.mean:.1f} to {most.mean:.1f} % of the pairs.",
        "",
        own,
        FOUND,
        f"Least for k = {worst['k']} ({_describe_reading(worst)}): of the {differ} pairs of the "
        f"{varied} "
        f"varied tables that differ in both, {least}; {tied} more are tied.",
        (*counts, *(share for shares in others for share in shares)),
    )


def _collect_shares(rows: Rows, reading: Mapping[str, Any], kind: str) -> tuple[Number, ...]:
    """For each k the pairs of tables in order, in %."""
    where = {"part": "together", **reading, "knowledge": kind}
    return tuple(
        compute_mean(
            rows,
            "in_order_100",
            said=f"pairs in order, k = {row['k']}; {_describe_reading(reading)}",
            unit=" %",
            **where,
            k=row["k"],
        )
        for row in select_rows(rows, **where)
        if row["in_order_100"] is not None
    )


def _certainty_claim(rows: Rows) -> Claim:
    """Whether the tables that tell all are those in which a class has few occupations."""
    unlike = compute_mean(
        rows, "unlike", said="share of tables and k where one is without the other", part="table"
    )
    extent = "exactly" if unlike.most == 0 else "not exactly"
    return Claim(
        f"With k pieces of either knowledge somebody's occupation is certain in {extent} those "
        "tables that have a class of at most k + 1 occupations.",
        "",
        (unlike,),
        FOUND,
    )


def _charts(rows: Rows) -> Mapping[str, Spec]:
    own = _list_readings(rows)[0]
    shown = [{**row, "by": f"k = {row['k']}"} for row in select_rows(rows, part="table", **own)]
    apart = max(float(row["beyond"]) for row in select_rows(shown, knowledge=IMPLICATIONS))
    together = select_rows(rows, part="together", **own)[0]
    flat = int(together["tables"]) - int(together["tables_varied"])
    names = {
        "entropy": "Entropy of the least varied class (bits)",
        "by": "Pieces of knowledge",
        "disclosure": "Largest belief",
        IMPLICATIONS: "Implications",
        NEGATIONS: "Negations",
    }
    charts: dict[str, Any] = {
        kind: draw_dots(
            select_rows(shown, knowledge=kind),
            x="entropy",
            y="disclosure",
            by="by",
            labels=names,
            title=_make_title(_collect_shares(rows, own, kind), kind),
            about=f"A dot a table and number of pieces; pairs of varied tables that differ in "
            f"both. {flat} of {together['tables']} tables have a class with one occupation alone, "
            "at 0 bits.",
        )
        for kind in (IMPLICATIONS, NEGATIONS)
    }
    charts["closeness"] = draw_dots(
        _pair_rows(shown),
        x=NEGATIONS,
        y=IMPLICATIONS,
        by="by",
        labels=names,
        diagonal=True,
        title=f"Implications tell at most {apart:.1f} points more than negations",
        about="A dot a table and number of pieces: the largest belief from either knowledge, with "
        f"{_describe_reading(own)}.",
    )
    return charts


def _make_title(shares: Sequence[Number], kind: str) -> str:
    if not shares:
        return f"{kind.capitalize()}: entropy and what is told"
    low, high = (pick(share.mean for share in shares) for pick in (min, max))
    extent = f"{low:.0f} to {high:.0f} % of pairs"
    return f"{kind.capitalize()}: the more varied table tells less in {extent}"


def _pair_rows(tables: Rows) -> list[Row]:
    """Each table and k once, with what both kinds of knowledge tell."""
    below = {
        (row["table"], row["k"]): row["disclosure"]
        for row in tables
        if row["knowledge"] == NEGATIONS
    }
    return [
        {"by": row["by"], IMPLICATIONS: row["disclosure"], NEGATIONS: below[row["table"], row["k"]]}
        for row in tables
        if row["knowledge"] == IMPLICATIONS
    ]


EXPERIMENT = Experiment(
    "Figure 6: the entropy of the least varied class, and the most that k pieces tell",
    _measure,
    _claims,
    _charts,
    data=("adult",),
    settings={
        "widths": (1, 5, 10, 20, 40, ALL),
        "origin": 0,
        "middle": "spouse",
        "others": ((0, "ever"), (17, "spouse")),
        "pieces": (1, 3, 5, 7, 9, 11),
    },
    notes=(
        "Marital status has three levels in the paper; its middle one is not known here. Whether a "
        "spouse is present is taken, as in the hierarchy that is common for Adult. Another middle "
        "level and another origin of the intervals are judged too; charts leave them out.",
        "Tables in which a class has one occupation alone disclose everything to anybody; varied "
        "tables are the others. Tied are two varied tables that are equal in entropy, or in what "
        "they tell.",
        NOTE,
    ),
)
