"""Several releases of overlapping people, each made on its own, and what they say together.

Of a table some people are drawn who are in every release (Ganta et al. 2008, section 3: 5,000);
the others are divided evenly among the releases. Each release is published by itself under its
rule, and the people in all of them are looked for in all of them (`shoal.attack`, intersection).
The paper does not say how large its subsets are: here each has the people in common and an even
part of the rest, unless a size is given.

Every row says, in percent of the people in common, how many have at most so many values left that
one of them would be named with a confidence of 100, 50, 33, 25, 20 or 10 %: ``pvp_100`` ... where
the class that holds each person is known (the paper's assumption), ``pvp_100_honest`` ... where
everybody may be in any class whose cells fit. Where cells do not overlap (Mondrian) both are one.
``alone_100`` is the part of ``pvp_100`` that needs no second release: people of whom one release by
itself leaves one value. Where cells overlap it is known for honest location alone.

How large classes are is told in two ways, for the paper does not say how it averaged:
``class_size`` is rows / classes, ``own_class_size`` the mean over people of the size of the class
that each is in, which a few large classes raise.

What the paper gives as "about" is judged by one rule in all of its studies (`judge_figure`,
`judge_readings`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

import shoal
from shoal import Finding, Release, Schema, UsageError
from shoal.core import temporary_files
from shoal.studies.claims import AGREES, DIFFERS, PARTLY, Number, Row, Rows
from shoal.studies.laboratory import Lab
from shoal.studies.tables import Sample

PERSON = "number of the person"
"""The column by which the private companions know who is in which class."""
OVERLAP = 5_000
FEWEST = 6
"""No more than one person in so many is in every release, so that small tables have others."""
ALL, APPLICABLE = "all", "applicable"
KEPT = (ALL, APPLICABLE)
"""Which rows are kept: all, or those of people to whom the sensitive column applies."""
CONFIDENCES = {"pvp_100": 0, "pvp_50": 1, "pvp_33": 2, "pvp_25": 3, "pvp_20": 4, "pvp_10": 5}
"""Where each confidence stands among those of the attack (1, 1/2, 1/3, 1/4, 1/5, 1/10)."""

WORDS = {
    "adult-train": "Adult",
    "adult": "Adult with its test rows",
    "ipums-1970": "IPUMS",
    "bplg": "birth place",
    "occ1950": "occupation",
    "ind1950": "industry",
    "inctot": "income",
}
"""What tables and columns are called in headings and sentences."""
POINTS, SHARES = (3, 8), (0.1, 0.25)
"""How far ours may be from what is printed to agree, and to agree in part: percentages in points,
other figures as shares of what is printed."""
MONDRIAN = ("mondrian", "mondrian")
MADE = {
    MONDRIAN: "both by Mondrian",
    ("microaggregation", "microaggregation"): "both by microaggregation",
    ("mondrian", "microaggregation"): "Mondrian and microaggregation",
}
"""Pairs of methods as the paper's Figure 1 has them."""
HEADED = "Headings say which rows are kept; bands go from the least run to the most."
TWO_WAYS = (
    "IPUMS is studied twice: with all rows, as the paper did, and without the people whose "
    'sensitive value is "not applicable" (rows_kept says which).'
)
SUBSETS = (
    "The paper does not give the size of its subsets: here each has the 5,000 people in common and "
    "half of the others. Its Adult has 30,162 rows, the complete training rows."
)
ABOUT = (
    'What the paper gives as "about" is judged by bounds of ours, set with the numbers known. A '
    f"percentage agrees within {POINTS[0]} points and partly within {POINTS[1]}, near 0 as near "
    "100; any other figure agrees within a tenth of what is printed and partly within a quarter. "
    "Where the paper leaves open what it means, every reading is judged and none is picked: all "
    "agree, or all differ, or else it is partly so."
)

Subset = NDArray[np.int64]


def measure_pairs(lab: Lab, methods: Sequence[tuple[str, str]] = (MONDRIAN,)) -> list[Row]:
    """A pair for each table, rows kept, k, two methods and seed; ``table`` and ``made`` say so."""
    cells = [
        {"data": data, "rows_kept": rows, "k": k, "first": first, "second": second, "seed": seed}
        for data, sample in lab.samples.items()
        for rows in list_rows_kept(sample)
        for k in lab.settings["k"]
        for first, second in methods
        for seed in lab.seeds
    ]
    return [
        {
            "table": name_table(lab.samples[row["data"]], row["rows_kept"]),
            "made": MADE[row["first"], row["second"]],
            **row,
        }
        for row in lab.measure_cells(measure_pair, cells)
    ]


def name_table(sample: Sample, rows_kept: str) -> str:
    """A table and which of its rows, as a chart's heading."""
    name = WORDS.get(sample.name, sample.description)
    if sample.stand_in:
        name = f"made-up {name}"
    if len(list_rows_kept(sample)) == 1:
        return name
    return (
        f"{name}, all rows"
        if rows_kept == ALL
        else f"{name}, with an {name_sensitive_column(sample)}"
    )


def name_sensitive_column(sample: Sample) -> str:
    """What the sensitive column is of, in a word."""
    return WORDS.get(sample.sensitive, sample.sensitive)


def judge_figure(ours: Number, theirs: float) -> str:
    """How ours stands to a figure that the paper gives as "about".

    Percentages, which have " %" as their unit, are judged in points, so that a share and the rest
    of it are judged alike; others by their part of what is printed.
    """
    off = abs(ours.mean - theirs)
    least, most = POINTS if ours.unit == " %" else (share * theirs for share in SHARES)
    return AGREES if off <= least else PARTLY if off <= most else DIFFERS


def judge_readings(readings: Sequence[Number], theirs: float) -> str:
    """How all readings of one printed figure stand to it; none is picked."""
    verdicts = {judge_figure(reading, theirs) for reading in readings}
    return verdicts.pop() if len(verdicts) == 1 else PARTLY


def list_readings(readings: Sequence[Number]) -> str:
    """Readings in a sentence, each with what it is of.

    >>> from shoal.studies.claims import compute_mean
    >>> list_readings([compute_mean([{"share": 5}], "share", said="Mondrian", unit=" %")])
    '5 % (Mondrian)'
    """
    return ", ".join(f"{reading} ({reading.said})" for reading in readings)


def measure_pair(
    sample: Sample,
    *,
    k: int,
    seed: int,
    first: str = "mondrian",
    second: str = "mondrian",
    rule: str = "",
    rows_kept: str = ALL,
    releases: int = 2,
    overlap: int = OVERLAP,
    size: int = 0,
    sensitive: str = "",
) -> Row:
    """Publish, attack, and give one row.

    The first release is made by the method ``first``, the others by ``second``. ``rule`` is asked
    beside k-anonymity. ``size``: rows of each release, 0 for an even part. ``sensitive``: another
    column of the sample's than its own.
    """
    people = keep_rows(sample.on(sensitive) if sensitive else sample, rows_kept)
    requirement = f"k-anonymity k={k}" + (f" & {rule}" if rule else "")
    parts = draw_subsets(people.rows, releases=releases, overlap=overlap, size=size, seed=seed)
    methods = [first] + [second] * (releases - 1)
    return attack_parts(people.columns(), people.schema, [requirement] * releases, methods, parts)


def keep_rows(sample: Sample, rows_kept: str) -> Sample:
    """The sample with all its rows, or with those whose sensitive value says something."""
    if rows_kept not in KEPT:
        raise UsageError(f"There are no rows {rows_kept!r}.", f"one of {', '.join(KEPT)}.")
    return sample.applicable() if rows_kept == APPLICABLE else sample


def list_rows_kept(sample: Sample) -> tuple[str, ...]:
    """Which rows can be kept: where the sensitive column applies to everybody, all."""
    return KEPT if sample.sensitive in sample.empty else (ALL,)


def draw_subsets(rows: int, *, releases: int, overlap: int, size: int, seed: int) -> list[Subset]:
    """The rows of each release, the people in common first in all of them, in one order.

    The others are in one release each; where so many of the asked ``size`` are not there, every
    release draws its own from all of them.
    """
    in_common = min(overlap, rows // FEWEST)
    rng = np.random.default_rng(seed)
    order = rng.permutation(rows)
    both, others = order[:in_common], order[in_common:]
    more = (size - in_common) if size else len(others) // releases
    if not in_common > 0 or not 0 <= more <= len(others):
        raise UsageError(
            f"{rows:,} rows cannot be drawn from as asked.",
            "take a larger table, or smaller parts.",
        )
    if more * releases <= len(others):
        parts = [others[i * more : (i + 1) * more] for i in range(releases)]
    else:
        parts = [rng.permutation(others)[:more] for _ in range(releases)]
    return [np.concatenate([both, part]) for part in parts]


def attack_parts(
    table: pa.Table,
    schema: Schema,
    rules: Sequence[str],
    methods: Sequence[str],
    parts: Sequence[Subset],
) -> Row:
    """A row: the releases of these parts, by these rules and methods, attacked together.

    The people in common are those in all of the parts.
    """
    begun = time.perf_counter()
    with publish_parts(table, schema, rules, methods, parts) as releases:
        finding = attack_people(*number_people(table, schema), releases, find_common_people(parts))
        own = float(np.mean([own_class_size(release, schema) for release in releases]))
    row = {**tabulate_finding(releases, finding), "own_class_size": own}
    return {**row, "seconds": round(time.perf_counter() - begun, 2)}


@contextmanager
def publish_parts(
    table: pa.Table,
    schema: Schema,
    rules: Sequence[str],
    methods: Sequence[str],
    parts: Sequence[Subset],
    **parameters: Any,
) -> Iterator[list[Release]]:
    """A release of each part, there as long as it is needed; ``parameters`` are the methods'.

    As Parquet, which is read and written in half of the time.
    """
    people, roles = number_people(table, schema)
    with temporary_files.temporary_folder() as folder:
        yield [
            shoal.publish(
                people.take(part),
                roles,
                rule,
                method=method,
                out=folder / str(j),
                format="parquet",
                **parameters,
            )
            for j, (rule, method, part) in enumerate(zip(rules, methods, parts, strict=True))
        ]


def number_people(table: pa.Table, schema: Schema) -> tuple[pa.Table, Schema]:
    """The table with a number for every person, and its schema."""
    numbers = pa.array(np.arange(table.num_rows))
    return table.append_column(PERSON, numbers), schema.set({PERSON: shoal.person})


def own_class_size(release: Release, schema: Schema) -> float:
    """The mean over the people of a release of the size of everybody's class, from its file."""
    names = [column.name for column in schema.quasi]
    table = pyarrow.parquet.read_table(release.path, columns=names)
    sizes = table.group_by(names).aggregate([([], "count_all")])["count_all"].to_numpy()
    return float((sizes * sizes).sum() / sizes.sum())


def find_common_people(parts: Sequence[Subset]) -> Subset:
    """The rows that are in all of the parts, in order."""
    people = parts[0]
    for part in parts[1:]:
        people = np.intersect1d(people, part)
    return people


def attack_people(
    table: pa.Table, schema: Schema, releases: Sequence[Release], people: Subset
) -> Finding:
    """The intersection attack on some rows' people.

    Their values are not given to it: they settle only how well beliefs are calibrated, which no
    figure of the paper asks, and would take half of the time.
    """
    columns = [name for name in table.column_names if name != schema.sensitive[0].name]
    targets = table.select(columns).take(people)
    return shoal.attack("intersection", list(releases), targets=targets, schema=schema)


def tabulate_finding(releases: Sequence[Release], finding: Finding) -> Row:
    """What the attack found, in columns, by assumed and by honest location."""
    honest: Mapping[str, Any] = finding.details
    assumed = honest.get("assumed", honest)  # the same where nobody fits several classes
    sizes = [release.verdict.rows / release.verdict.classes for release in releases]
    return {
        **{name: _percent(assumed, at) for name, at in CONFIDENCES.items()},
        **{f"{name}_honest": _percent(honest, at) for name, at in CONFIDENCES.items()},
        "prior": float(np.mean(assumed["prior"])),
        "prior_first": assumed["prior"][0],
        "prior_second": assumed["prior"][1],
        "posterior": assumed["posterior"],
        "drop": assumed["mean_drop"],
        "posterior_honest": honest["posterior"],
        "drop_honest": honest["mean_drop"],
        "alone_100": _percent_exposed_before(assumed, finding.people),
        "alone_100_honest": _percent_exposed_before(honest, finding.people),
        "class_size": float(np.mean(sizes)),
        "classes": sum(release.verdict.classes for release in releases) / len(releases),
        "rows_each": sum(release.verdict.rows for release in releases) / len(releases),
        "people": finding.people,
    }


def find_panels(rows: Rows) -> dict[str, str]:
    """Of each data set the panel that has the rows which the paper kept, all of them."""
    return {row["data"]: row["table"] for row in rows if row["rows_kept"] == ALL}


def _percent(details: Mapping[str, Any], at: int) -> float:
    return float(details["pvp"][at]["percent"])


def _percent_exposed_before(details: Mapping[str, Any], people: int) -> float | None:
    """Percent of the people of whom a single release leaves one value; where it is told."""
    return 100 * details["exposed_before"] / people if "exposed_before" in details else None
