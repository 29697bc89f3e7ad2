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

from shoal.studies.claims import FOUND, Claim, Number, Row, Rows, chosen, number
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.laboratory import Lab
from shoal.studies.martin.ages import (
    ALL,
    IMPLICATIONS,
    NEGATIONS,
    by_knowledge,
    disclosed,
    histograms,
    least_entropy,
)
from shoal.studies.martin.closeness import BOUNDS, NOTE, closeness, distance
from shoal.studies.pages.charts import dots
from shoal.studies.tables import Sample


def _measure(lab: Lab) -> Sequence[Row]:
    asked = lab.settings
    readings = [(asked["origin"], asked["middle"]), *map(tuple, asked["others"])]
    cells = [
        {
            "data": name,
            "width": width,
            "origin": origin,
            "middle": middle,
            "pieces": list(asked["pieces"]),
        }
        for name in lab.samples
        for origin, middle in readings
        for width in asked["widths"]
    ]
    tables = lab.measured(lattice, cells)
    return [*tables, *_together(tables)]


def lattice(
    sample: Sample, width: int | str, origin: int, middle: str, pieces: list[int]
) -> list[Row]:
    """The twelve tables that tell age in intervals of one width."""
    rows = []
    for marital, race, sex in product(range(3), range(2), range(2)):
        classes = histograms(
            sample, width, origin, marital=marital, race=race, sex=sex, middle=middle
        )
        told = disclosed(classes, max(pieces))
        of = {
            "part": "table",
            "marital": marital,
            "race": race,
            "sex": sex,
            "table": f"{width}, {marital}, {race}, {sex}",
            "classes": len(classes),
            "smallest": min(map(sum, classes)),
            "fewest": min(map(len, classes)),
            "entropy": least_entropy(classes),
        }
        rows += [_sorted_out(row) for row in by_knowledge(told, pieces, **of)]
    return rows


def _sorted_out(row: Row) -> Row:
    """With whether the least varied class varies, and whether few values alone are certainty.

    In a table that does not vary everything is told without any knowledge.
    """
    few = row["fewest"] <= row["k"] + 1
    return {**row, "varied": row["entropy"] > 0, "unlike": int(row["certain"] != few)}


def _together(tables: Sequence[Row]) -> list[Row]:
    """What all varied tables of one reading say together, for each kind of knowledge and k."""
    rows: list[Row] = []
    for reading, kind in product(_readings(tables), (IMPLICATIONS, NEGATIONS)):
        here = chosen(tables, **reading, knowledge=kind)
        for k in dict.fromkeys(row["k"] for row in here):
            one = chosen(here, k=k)
            varied = chosen(one, varied=True)
            rows.append(
                {
                    "part": "together",
                    **reading,
                    "knowledge": kind,
                    "k": k,
                    "tables": len(one),
                    "tables_varied": len(varied),
                    "tables_certain": sum(row["certain"] for row in varied),
                    **_order(varied),
                }
            )
    return rows


def _order(tables: Rows) -> Row:
    """Of the pairs that differ in both, those (in %) whose more varied table tells less."""
    differ = [
        (a["entropy"] - b["entropy"]) * (a["disclosure"] - b["disclosure"])
        for a, b in combinations(tables, 2)
    ]
    decided = [one < 0 for one in differ if one]
    return {
        "pairs": len(differ),
        "pairs_differ": len(decided),
        "pairs_tied": len(differ) - len(decided),
        "in_order_100": 100 * fmean(decided) if decided else None,
    }


def _readings(rows: Rows) -> list[dict[str, Any]]:
    """Whose data, where intervals begin and what the middle level tells; the study's own first."""
    names = ("data", "origin", "middle")
    found = dict.fromkeys(tuple(row[name] for name in names) for row in rows)
    return [dict(zip(names, one, strict=True)) for one in found]


def _words(reading: Mapping[str, Any]) -> str:
    return f"origin {reading['origin']}, {reading['middle']}"


def _claims(rows: Rows) -> Sequence[Claim]:
    beside: dict[str, dict[str, Any]] = {
        "mean over varied tables": {"varied": True},
        "mean over all tables": {},
    }
    found = [
        distance(rows, _words(one), {"part": "table", **one}, beside) for one in _readings(rows)
    ]
    tables = len({row["table"] for row in chosen(rows, part="table")})
    says = (
        f"In the {tables} tables of the lattice over Adult, what k implications tell {BOUNDS} "
        "what k negations tell."
    )
    return [closeness(says, found), _falling(rows), _certainty(rows)]


def _falling(rows: Rows) -> Claim:
    """Less is told where the least varied class varies more: how often."""
    own, *others = [_shares(rows, reading, IMPLICATIONS) for reading in _readings(rows)]
    every = [one for shares in (own, *others) for one in shares]
    least, most = (pick(every, key=lambda one: one.mean) for pick in (min, max))
    (worst,) = chosen(rows, **least.where)
    counted = [
        number(rows, of, said=f"{said}, k = {worst['k']}; {_words(worst)}", **least.where)
        for of, said in (
            ("tables_varied", "varied tables"),
            ("pairs_differ", "pairs that differ"),
            ("pairs_tied", "pairs that are tied"),
        )
    ]
    varied, differ, tied = counted
    return Claim(
        "Of two varied tables that differ in entropy and in what k implications tell, the more "
        f"varied one tells less in {least.mean:.1f} to {most.mean:.1f} % of the pairs.",
        "",
        own,
        FOUND,
        f"Least for k = {worst['k']} ({_words(worst)}): of the {differ} pairs of the {varied} "
        f"varied tables that differ in both, {least}; {tied} more are tied.",
        (*counted, *(one for shares in others for one in shares)),
    )


def _shares(rows: Rows, reading: Mapping[str, Any], kind: str) -> tuple[Number, ...]:
    """For each k the pairs of tables in order, in %."""
    where = {"part": "together", **reading, "knowledge": kind}
    return tuple(
        number(
            rows,
            "in_order_100",
            said=f"pairs in order, k = {row['k']}; {_words(reading)}",
            unit=" %",
            **where,
            k=row["k"],
        )
        for row in chosen(rows, **where)
        if row["in_order_100"] is not None
    )


def _certainty(rows: Rows) -> Claim:
    """Whether the tables that tell all are those in which a class has few occupations."""
    unlike = number(
        rows, "unlike", said="share of tables and k where one is without the other", part="table"
    )
    said = "exactly" if unlike.most == 0 else "not exactly"
    return Claim(
        f"With k pieces of either knowledge somebody's occupation is certain in {said} those "
        "tables that have a class of at most k + 1 occupations.",
        "",
        (unlike,),
        FOUND,
    )


def _charts(rows: Rows) -> Mapping[str, Spec]:
    own = _readings(rows)[0]
    told = [{**row, "by": f"k = {row['k']}"} for row in chosen(rows, part="table", **own)]
    apart = max(float(row["beyond"]) for row in chosen(told, knowledge=IMPLICATIONS))
    together = chosen(rows, part="together", **own)[0]
    flat = int(together["tables"]) - int(together["tables_varied"])
    names = {
        "entropy": "Entropy of the least varied class (bits)",
        "by": "Pieces of knowledge",
        "disclosure": "Largest belief",
        IMPLICATIONS: "Implications",
        NEGATIONS: "Negations",
    }
    charts: dict[str, Any] = {
        kind: dots(
            chosen(told, knowledge=kind),
            x="entropy",
            y="disclosure",
            by="by",
            labels=names,
            title=_title(_shares(rows, own, kind), kind),
            about=f"A dot a table and number of pieces; pairs of varied tables that differ in "
            f"both. {flat} of {together['tables']} tables have a class with one occupation alone, "
            "at 0 bits.",
        )
        for kind in (IMPLICATIONS, NEGATIONS)
    }
    charts["closeness"] = dots(
        _paired(told),
        x=NEGATIONS,
        y=IMPLICATIONS,
        by="by",
        labels=names,
        diagonal=True,
        title=f"Implications tell at most {apart:.1f} points more than negations",
        about="A dot a table and number of pieces: the largest belief from either knowledge, with "
        f"{_words(own)}.",
    )
    return charts


def _title(shares: Sequence[Number], kind: str) -> str:
    """In how many of the pairs the more varied table tells less, of one kind of knowledge."""
    if not shares:
        return f"{kind.capitalize()}: entropy and what is told"
    low, high = (pick(one.mean for one in shares) for pick in (min, max))
    told = f"{low:.0f} to {high:.0f} % of pairs"
    return f"{kind.capitalize()}: the more varied table tells less in {told}"


def _paired(tables: Rows) -> list[Row]:
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
