"""The 70 % claim: most people can be found in a table that publishes the means of small groups.

Ganta et al. 2008 tell in their text that under microaggregation (MDAV), where every class is
published as its centroid, the nearest centroid is that of the right class for about 70 % of the
people of a census; so they take the class that holds a person for known. Which table, k and coding
of categories this is of is not known here: each is a reading, and all are judged together.

Two ways of counting. ``published``: the release as Shoal writes it (form centroids), where classes
with equal centroids are one, located as any adversary would from the file: numbers over their
standard deviation, other values equal or not. ``every class``: the method's own classes, each with
its own centroid, located by the method's own distance, as a bare experiment with MDAV has it; of
several nearest one is drawn.

Their section 3.3 also says that no partition need be larger than 2k + 1. Two classes can be made of
2k people, so that 2k - 1 are enough: the largest class of MDAV is measured, for numbers of people
that leave every remainder.

Not as in the paper: 8,000 people of each table are drawn for each seed, because the work of MDAV
grows with the square of the people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import shoal
from shoal.adversary.context import build_context
from shoal.attacks._shared.candidate_classes import Located, locate
from shoal.core import temporary_files
from shoal.core.theory.adversary_view import Needs
from shoal.methods._shared.points import Points
from shoal.methods.microaggregation import EmbeddedPoints, Pieces
from shoal.releases.reader import open_frame
from shoal.releases.tallying import encode
from shoal.studies.claims import (
    AGREES,
    CORRECTED,
    DIFFERS,
    Claim,
    Number,
    Row,
    Rows,
    compute_mean,
    select_rows,
)
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.ganta.pairs import (
    ABOUT,
    ALL,
    HEADED,
    PERSON,
    POINTS,
    TWO_WAYS,
    WORDS,
    judge_figure,
    judge_readings,
    keep_rows,
    list_rows_kept,
    name_table,
)
from shoal.studies.laboratory import Lab
from shoal.studies.pages.lines import draw_lines
from shoal.studies.tables import Sample

PUBLISHED, EVERY = "published", "every class"
PRINTED = 70
CODINGS = ("ordinal", "one-hot")
TOLD = {
    (PUBLISHED, "ordinal"): "from the published file",
    (EVERY, "ordinal"): "every class apart",
    (EVERY, "one-hot"): "every class apart, categories equal or not",
}
METHOD = "microaggregation"
FIRST = 4
"""The largest class is looked for among so many k people, and up to two k more."""
LABELS = {"k": "k", "located": "People found in their class", "how": "Counted", "table": "Table"}


def measure_location(
    sample: Sample, *, k: int, people: int, rows_kept: str, seed: int
) -> list[Row]:
    """Percent of people whose nearest centroid is that of their class: both ways of counting."""
    kept_sample = keep_rows(sample, rows_kept)
    people_drawn = np.random.default_rng(seed).permutation(kept_sample.rows)[:people]
    table = kept_sample.columns().take(people_drawn)
    return [
        {
            "how": PUBLISHED,
            "categories": "ordinal",
            "located": locate_in_published(table, kept_sample, k),
        },
        *(
            {
                "how": EVERY,
                "categories": coding,
                "located": locate_in_every_class(table, kept_sample, k, coding),
            }
            for coding in list_codings(kept_sample)
        ),
    ]


def list_codings(sample: Sample) -> tuple[str, ...]:
    """How categories can be measured; in one way where all columns are numbers."""
    types = [sample.table.schema.field(name).type for name in sample.quasi]
    return (
        CODINGS[:1]
        if all(pa.types.is_integer(type_) or pa.types.is_floating(type_) for type_ in types)
        else CODINGS
    )


def locate_in_published(table: pa.Table, sample: Sample, k: int) -> float:
    """Percent found from the published file; of several nearest centroids one is drawn."""
    numbered = table.append_column(PERSON, pa.array(np.arange(table.num_rows)))
    schema = sample.schema.set({PERSON: shoal.person})
    with temporary_files.temporary_folder() as folder:
        release = shoal.publish(
            numbered,
            schema,
            f"k-anonymity k={k}",
            method=METHOD,
            form="centroids",
            out=folder / "release",
            format="parquet",
        )
        view = build_context([release], schema, numbered).view([0], Needs(people=True))
    people = view.people
    assert people is not None  # the targets were given
    true, near_to = (
        locate(view.releases[0], view.axes, people, how) for how in ("assumed", "centroid")
    )
    return compute_hit_rate(true, near_to)


def compute_hit_rate(true: Located, near_to: Located) -> float:
    """Percent of the people whose own class is the one drawn of the nearest."""
    start, classes = near_to
    number_of = np.diff(start)
    person = np.repeat(np.arange(len(number_of)), number_of)
    return float(100 * ((classes == true[1][person]) / number_of[person]).sum() / len(number_of))


def locate_in_every_class(table: pa.Table, sample: Sample, k: int, categories: str) -> float:
    """Percent found where each class of the method has a centroid of its own."""
    return compute_nearest_share(*cluster_people(table, sample, k, categories))


def cluster_people(
    table: pa.Table, sample: Sample, k: int, categories: str
) -> tuple[EmbeddedPoints, Pieces]:
    """The people as places, and the method's classes of them."""
    with open_frame(table) as frame:
        tally = encode(frame, sample.schema.fit(frame.fields)).tally
    cloud = EmbeddedPoints.of(tally, Points.of(tally), categories)
    pieces, _ = cloud.cluster(k, table.num_rows)
    return cloud, pieces


def measure_largest_class(sample: Sample, *, k: int, seed: int) -> Row:
    """The largest class of MDAV, and how large it may be, over 2k numbers of people in a row."""
    order = np.random.default_rng(seed).permutation(sample.rows)
    sizes = []
    for people in range(min(FIRST * k, sample.rows), min((FIRST + 2) * k, sample.rows + 1)):
        _, class_, count = cluster_people(
            sample.columns().take(order[:people]), sample, k, CODINGS[0]
        )[1]
        sizes.append(int(np.bincount(class_, count).max()))
    return {"largest": max(sizes), "numbers": len(sizes)}


def compute_nearest_share(cloud: EmbeddedPoints, pieces: Pieces) -> float:
    """Percent of people whose class has the nearest centroid: means, and modes of categories."""
    point, class_, people = pieces
    far = _distances(cloud, pieces)
    nearest = far <= far.min(axis=1, keepdims=True) * (1 + 1e-9) + 1e-12
    share = nearest[point, class_] / nearest.sum(axis=1)[point]
    return float(100 * (people * share).sum() / people.sum())


def _distances(cloud: EmbeddedPoints, pieces: Pieces) -> NDArray[np.float64]:
    """(points, classes): squared, by the method's own measure."""
    point, class_, people = pieces
    classes = int(class_.max()) + 1
    rows = np.bincount(class_, people, classes)
    far = np.zeros((len(cloud.people), classes))
    for column in cloud.coordinates:
        middle = np.bincount(class_, people * column[point], classes) / rows
        far += (column[:, None] - middle) ** 2
    for j, codes in enumerate(cloud.codes):
        occurrences = np.zeros((classes, int(cloud.code_offsets[-1])))
        np.add.at(occurrences, (class_, codes[point]), people)
        far += cloud.match_weights[j] * (codes[:, None] != occurrences.argmax(axis=1))
    return far


def measure(lab: Lab) -> list[Row]:
    """Every table and k; then the largest classes, once."""
    cells = [
        {
            "data": data,
            "rows_kept": rows,
            "k": k,
            "people": min(lab.settings["people"], lab.samples[data].rows),
            "seed": seed,
        }
        for data, sample in lab.samples.items()
        for rows in list_rows_kept(sample)
        for k in lab.settings["k"]
        for seed in lab.seeds
    ]
    people = [
        {"table": name_table(lab.samples[row["data"]], row["rows_kept"]), **row}
        for row in lab.measure_cells(measure_location, cells)
    ]
    once = [
        {"data": data, "k": k, "seed": lab.seeds[0]}
        for data in lab.samples
        for k in lab.settings["largest_k"]
    ]
    return [*people, *lab.measure_cells(measure_largest_class, once)]


def claims(rows: Rows) -> Sequence[Claim]:
    """About 70 % of the people, and no class of more than 2k + 1."""
    return [_nearest_claim(rows), _largest_class_claim(rows)]


def _nearest_claim(rows: Rows) -> Claim:
    readings = _collect_readings(rows)
    close = [reading for reading in readings if judge_figure(reading, PRINTED) == AGREES]
    low, high = (end(readings, key=lambda reading: reading.mean) for end in (min, max))
    why = (
        "Which table, which k and which way of counting the figure is of is not known here. "
        f"Within {POINTS[0]} points of it are {len(close)} of {len(readings)} readings; the least "
        "is "
        f"{low} ({low.said}), the most {high} ({high.said})."
    )
    return Claim(
        "Of a census published by microaggregation, the nearest centroid is that of the right "
        f"class for about {PRINTED} % of the people.",
        f"about {PRINTED} %",
        readings,
        judge_readings(readings, PRINTED),
        why,
    )


def _collect_readings(rows: Rows) -> tuple[Number, ...]:
    """Every table, way of counting and k, over all rows."""
    kinds = dict.fromkeys(
        (row["data"], row["how"], row["categories"], row["k"])
        for row in select_rows(rows, rows_kept=ALL)
    )
    return tuple(
        compute_mean(
            rows,
            "located",
            said=f"{WORDS[data]}, k = {k}, {TOLD[how, categories]}",
            unit=" %",
            data=data,
            rows_kept=ALL,
            how=how,
            categories=categories,
            k=k,
        )
        for data, how, categories, k in kinds
    )


def _largest_class_claim(rows: Rows) -> Claim:
    """Corrected where the largest class is 2k - 1 wherever it was looked for."""
    measured = [row for row in rows if "largest" in row]
    ours = tuple(
        compute_mean(
            rows,
            "largest",
            said=f"{WORDS[row['data']]}, k = {row['k']}",
            unit=" people",
            data=row["data"],
            k=row["k"],
        )
        for row in measured
    )
    beyond = [row["largest"] - 2 * row["k"] for row in measured]
    verdict = CORRECTED if set(beyond) == {-1} else AGREES if max(beyond) in (0, 1) else DIFFERS
    why = (
        f"In {beyond.count(-1)} of {len(beyond)} cases the largest class of MDAV, over 2k numbers "
        "of people in a row, has 2k - 1 people: 2k can be made into two classes."
    )
    return Claim(
        "Microaggregation needs no class of more than 2k + 1 people.",
        "2k + 1",
        ours,
        verdict,
        "" if verdict == AGREES else why,
    )


def charts(rows: Rows) -> Mapping[str, Spec]:
    """Ways of counting side by side. The paper's figure has no k, and so no place of its own."""
    shown = [{**row, "how": TOLD[row["how"], row["categories"]]} for row in rows if "how" in row]
    return {
        "located": draw_lines(
            shown,
            x="k",
            y="located",
            by="how",
            panel="table",
            unit="%",
            labels=LABELS,
            title=_make_title(shown),
            about="Percent of people whose nearest centroid is that of the class they are in; the "
            f"paper tells of about {PRINTED} % and gives no k. {HEADED}",
        )
    }


def _make_title(shown: Rows) -> str:
    parts = []
    for table in dict.fromkeys(row["table"] for row in shown):
        kinds = {(row["how"], row["k"]) for row in select_rows(shown, table=table)}
        means = [compute_mean(shown, "located", table=table, how=how, k=k).mean for how, k in kinds]
        parts.append(f"{min(means):.0f} to {max(means):.0f} % ({table})")
    return f"By k and way of counting the nearest centroid finds {', '.join(parts)}"


EXPERIMENT = Experiment(
    shows="Text, section 3: people found by the nearest centroid",
    measure=measure,
    claims=claims,
    charts=charts,
    data=("adult-train", "ipums-1970"),
    settings={"k": [5, 10, 20], "people": 8_000, "largest_k": [5, 10]},
    seeds=3,
    own=True,
    notes=(
        "8,000 people of each table are drawn for each seed: MDAV takes time with their square.",
        TWO_WAYS,
        ABOUT,
        "The largest class is looked for with numbers of people from 4k to 6k - 1, drawn once.",
    ),
)
