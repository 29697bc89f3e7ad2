"""ARX's optima on Adult, and its local recoding: the same levels, or better ones.

The values are those of ARX's own tests and of ARX 3.9.2 run on the same table.
"""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pytest
from tests.oracles.adult_nine import ADULT_NINE

import shoal
from shoal.core.tally import Groups
from shoal.measures._counting import count_published_rows
from shoal.methods.full_domain import full_domain
from shoal.methods.local import local
from shoal.releases.tallying import encode

FILES = {"income": "salary_class"}
"""Columns that ARX calls otherwise."""


@pytest.fixture(scope="module")
def tallies(real_data, tmp_path_factory):
    """Adult's complete training rows by ARX's hierarchies: nine columns, and occupation apart."""
    with gzip.open(real_data / "adult.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if "?" not in row.values()]
    path = tmp_path_factory.mktemp("adult") / "train.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ADULT_NINE, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(row for row in rows if row["split"] == "train")
    folder = real_data / "hierarchies" / "adult"
    trees = {
        name: shoal.from_arx_csv((folder / f"{FILES.get(name, name)}.csv").read_text("utf-8"))
        for name in ADULT_NINE
    }

    def tally(sensitive=()):
        quasi = [name for name in ADULT_NINE if name not in sensitive]
        schema = shoal.Schema.of(quasi=quasi, sensitive=list(sensitive))
        schema = schema.set({name: shoal.quasi(trees[name]) for name in quasi})
        schema = schema.set({name: shoal.sensitive(trees[name]) for name in sensitive})
        frame = shoal.open(path)
        return encode(frame, schema.fit(frame.fields)).tally

    return {"nine": tally(), "occupation": tally(["occupation"])}


def granularity(tally, cut):
    """As ARX reports it: the columns' shares are averaged first, and scaled afterwards."""
    size = np.array([axis.size for axis in tally.quasi])
    share = (cut.cells.widths(tally.quasi) * (size - 1) + 1) / size
    mean = (count_published_rows(cut) @ share + cut.suppressed) / tally.rows
    return 1 - (mean.mean() - (1 / size).mean()) / (1 - (1 / size).mean())


OWN = [
    ("nine", "k-anonymity k=5", 0, "non-uniform-entropy", 407289.5389, (1, 2, 1, 1, 3, 2, 2, 1, 1)),
    (
        "nine",
        "k-anonymity k=100",
        0,
        "non-uniform-entropy",
        453196.8932,
        (0, 4, 1, 1, 3, 2, 2, 1, 1),
    ),
    (
        "occupation",
        "entropy-diversity l=5",
        0,
        "non-uniform-entropy",
        324620.5270,
        (1, 1, 1, 1, 3, 2, 2, 1),
    ),
    (
        "occupation",
        "entropy-diversity l=5",
        0.04,
        "non-uniform-entropy",
        228878.2039,
        (1, 0, 1, 1, 2, 2, 2, 1),
    ),
    (
        "occupation",
        "k-anonymity k=5 & t-closeness t=0.2",
        0,
        "discernibility",
        456853172,
        (1, 4, 1, 1, 3, 2, 2, 1),
    ),
    (
        "occupation",
        "k-anonymity k=100 & t-closeness t=0.2",
        0,
        "discernibility",
        456853172,
        (1, 4, 1, 1, 3, 2, 2, 1),
    ),
    (
        "occupation",
        "k-anonymity k=5 & t-closeness t=0.2 distance=hierarchical",
        0,
        "non-uniform-entropy",
        398400.0742,
        (0, 4, 1, 1, 3, 2, 2, 1),
    ),
]


@pytest.mark.parametrize(("which", "rule", "share", "measure", "value", "levels"), OWN)
def test_the_optimum_is_arx_s(tallies, which, rule, share, measure, value, levels):
    tally = tallies[which]
    cut = full_domain(tally, shoal.rule(rule), hold_back=int(share * tally.rows), measure=measure)
    assert round(cut.facts["value"], 4) == value
    assert tuple(cut.facts["levels"].values()) == levels


LOSS = [
    ("nine", "k-anonymity k=5", 0, 0.292, 0),
    ("nine", "k-anonymity k=5", 0.05, 0.698, 1_346),
    ("occupation", "k-anonymity k=5 & entropy-diversity l=4", 0, 0.231, 0),
    ("occupation", "k-anonymity k=5 & entropy-diversity l=4", 0.05, 0.668, 1_474),
    ("occupation", "k-anonymity k=5 & t-closeness t=0.2", 0, 0.076, 0),
    ("occupation", "k-anonymity k=5 & t-closeness t=0.2", 0.05, 0.184, 235),
]


@pytest.mark.parametrize(("which", "rule", "share", "quality", "held_back"), LOSS)
def test_no_more_is_lost_than_by_arx(tallies, which, rule, share, quality, held_back):
    tally = tallies[which]
    cut = full_domain(tally, shoal.rule(rule), hold_back=int(share * tally.rows))
    assert round(granularity(tally, cut), 3) >= quality
    assert cut.suppressed <= held_back
    assert shoal.rule(rule).holds(Groups.of(tally, cut)).all()


def test_local_recoding_loses_less_than_arx_s(tallies):
    tally = tallies["nine"]
    cut = local(tally, shoal.KAnonymity(5))
    assert granularity(tally, cut) >= 0.932
    assert cut.suppressed == 0
    assert Groups.of(tally, cut).rows.min() >= 5
