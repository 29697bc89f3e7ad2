"""Made-up people: the shape of the real tables, the same each time, and said to be made up."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from shoal import UsageError
from shoal.studies.datasets import SOURCES, load_dataset, load_datasets
from shoal.studies.stand_in import MadeUpPeople, draw_stand_in

KINDS = {
    "age": "int64",
    "classwkg": "int64",
    "educrec": "int64",
    "marst": "int64",
    "raceg": "int64",
    "bplg": "int64",
    "occ1950": "int64",
    "ind1950": "int64",
    "inctot": "int64",
}
SIZES = {
    "adult": {
        "age": 74,
        "workclass": 7,
        "education": 16,
        "marital_status": 7,
        "race": 5,
        "sex": 2,
        "native_country": 41,
        "occupation": 14,
    },
    "ipums-1970": {
        "age": 101,
        "classwkg": 3,
        "educrec": 10,
        "marst": 6,
        "raceg": 7,
        "sex": 2,
        "bplg": 113,
        "occ1950": 247,
        "ind1950": 145,
        "inctot": 471,
    },
    "ipums-stacked": {
        "age": 101,
        "classwkg": 3,
        "educrec": 10,
        "marst": 6,
        "raceg": 7,
        "sex": 2,
        "bplg": 136,
        "occ1950": 252,
        "ind1950": 145,
    },
}


@pytest.fixture(autouse=True)
def without_data(monkeypatch, tmp_path):
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def columns(name, rows=None):
    table = load_dataset(name, True, rows=rows).table
    return {column: np.array(table[column].to_pylist()) for column in table.column_names}


@pytest.mark.parametrize("name", SOURCES)
def test_it_has_the_columns_kinds_and_rows_and_says_what_it_is(name):
    one = load_dataset(name, True)
    source = SOURCES[name]
    assert one.stand_in
    assert one.description == f"made-up people in the shape of {source.of.title}"
    assert one.name == name
    assert one.rows == source.of.rows
    assert one.table.column_names == [*source.quasi, *source.sensitive]
    assert one.quasi == source.quasi
    assert one.sensitive == source.sensitive[0]
    assert one.table.combine_chunks().to_pandas().notna().all().all()
    kinds = {field.name: str(field.type) for field in one.table.schema}
    number = "int64" if name.startswith("ipums") else "string"
    assert kinds == {column: KINDS.get(column, number) for column in kinds}


@pytest.mark.parametrize("name", SIZES)
def test_its_domains_are_as_large_as_the_real_ones(name):
    table = load_dataset(name, True).table
    assert {column: len(table[column].unique()) for column in SIZES[name]} == SIZES[name]


def test_nothing_applies_to_children_and_to_those_without_work():
    found = columns("ipums-1970")
    no_job, no_trade = found["occ1950"] == 999, found["ind1950"] == 0
    assert 0.42 < no_job.mean() < 0.46
    assert (no_job == no_trade).all()
    assert (no_job == (found["classwkg"] == 0)).all()
    assert no_job[found["age"] < 14].all()
    grown = (found["age"] >= 25) & (found["age"] < 55)
    assert no_job[grown].mean() < 0.25 < 0.6 < no_job[found["age"] >= 70].mean()
    assert ((found["inctot"] == 999_999) == (found["age"] < 14)).all()
    assert load_dataset("ipums-1970", True).applicable().rows == int((~no_job).sum())


def related(first, second):
    """Cramér's V: 0 where two columns have nothing to do with each other, 1 where one is both."""
    counts = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(counts, (first, second), 1)
    found = chi2_contingency(counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0])
    return (found.statistic / counts.sum() / (min(counts.shape) - 1)) ** 0.5


def codes(values):
    return np.unique(values, return_inverse=True)[1]


PAIRS = {
    "adult": [("age", "marital_status"), ("education", "occupation"), ("sex", "occupation")],
    "ipums-1970": [
        ("age", "educrec"),
        ("raceg", "bplg"),
        ("educrec", "occ1950"),
        ("occ1950", "ind1950"),
        ("sex", "occ1950"),
    ],
}


@pytest.mark.parametrize("name", PAIRS)
def test_columns_go_together(name):
    found, rng = columns(name, 20_000), np.random.default_rng(1)
    for first, second in PAIRS[name]:
        one, other = codes(found[first]), codes(found[second])
        assert related(one, other) > 2 * related(one, rng.permutation(other)), (first, second)


def test_it_is_the_same_each_time_and_of_one_law_in_any_size():
    assert draw_stand_in("adult", 500).equals(draw_stand_in("adult", 500))
    assert not draw_stand_in("adult", 500).equals(draw_stand_in("adult", 501).slice(0, 500))
    few, many = columns("adult", 15_000)["occupation"], columns("adult")["occupation"]
    for job in np.unique(many):
        assert abs((few == job).mean() - (many == job).mean()) < 0.015


def test_a_small_one_is_for_trials():
    one = load_dataset("ipums-stacked", True, rows=300)
    assert one.rows == 300
    assert one.stand_in
    assert one.sha256 != load_dataset("ipums-stacked", True, rows=301).sha256
    with pytest.raises(UsageError, match="shows nothing"):
        load_dataset("adult", True, rows=3)


def test_the_stand_in_is_taken_whether_the_data_is_here_or_not(monkeypatch, tmp_path):
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    (tmp_path / "adult.csv.gz").write_bytes(b"not read")
    assert all(one.stand_in for one in load_datasets(["adult", "adult-train"], True).values())


def test_values_are_drawn_by_the_weights_of_their_group():
    crowd = MadeUpPeople(np.random.default_rng(0), np.random.default_rng(0), 30_000)
    group = np.repeat([0, 1, 2], 10_000)
    weights = np.array([[1.0, 3, 0, 0], [0, 0, 5, 5], [1, 1, 1, 1]])
    found = crowd.draw(weights, group)
    for one in range(3):
        shares = np.bincount(found[group == one], minlength=4) / 10_000
        assert np.abs(shares - weights[one] / weights[one].sum()).max() < 0.015
    rare = crowd.draw(np.array([[1.0, 1e-12, 1e-12]]), crowd.make_one_group())
    assert set(rare) == {0, 1, 2}  # every value occurs
