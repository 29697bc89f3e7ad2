"""Where the papers' data sets are looked for, and what is said where they are not what they were.

The real ones are read too, where they are here.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import shoal
from shoal import InputError, UsageError
from shoal.data import data_folder
from shoal.data.catalogue import ADULT_COLUMNS, FILES, IPUMS_COLUMNS
from shoal.studies.datasets import SOURCES, load_dataset, load_datasets

ROW = "39,State-gov,77516,Bachelors,13,Never-married,Sales,Wife,White,Male,1,0,40,Cuba,<=50K,train"
SMALL = "\n".join((",".join(ADULT_COLUMNS), ROW, ROW.replace("Cuba", "?")[:-5] + "test")) + "\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for data sets; the user's own is empty too."""
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def put(folder, file, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(gzip.compress(text.encode()))


# Where they lie


def test_the_user_s_folder_is_that_of_the_system(monkeypatch):
    for name in ("SHOAL_DATA", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.setattr(sys, "platform", "linux")
    assert data_folder.list_folders() == (Path("/h/.local/share/shoal"),)
    monkeypatch.setenv("XDG_DATA_HOME", "share")  # not absolute: not meant
    assert data_folder.user_folder() == Path("/h/.local/share/shoal")
    monkeypatch.setenv("XDG_DATA_HOME", "/share")
    assert data_folder.user_folder() == Path("/share/shoal")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert data_folder.user_folder() == Path("/h/Library/Application Support/shoal")
    monkeypatch.setattr(sys, "platform", "win32")
    assert data_folder.user_folder() == Path("/h/AppData/Local/shoal")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert data_folder.user_folder() == Path("/local/shoal")
    monkeypatch.setenv("SHOAL_DATA", "/mine")
    assert data_folder.list_folders() == (Path("/mine"), Path("/local/shoal"))


def test_the_named_folder_comes_first(folder, tmp_path):
    own = tmp_path / "user" / "shoal"
    assert data_folder.find_file("adult.csv.gz") is None
    put(own, "adult.csv.gz", SMALL)
    assert data_folder.find_file("adult.csv.gz") == own / "adult.csv.gz"
    put(folder, "adult.csv.gz", SMALL)
    assert data_folder.find_file("adult.csv.gz") == folder / "adult.csv.gz"


def test_what_is_fetched_goes_where_it_can_be_written(folder, tmp_path, monkeypatch):
    assert data_folder.choose_target() == folder
    folder.chmod(0o555)
    try:
        assert data_folder.choose_target() == tmp_path / "user" / "shoal"
    finally:
        folder.chmod(0o755)
    monkeypatch.setenv("SHOAL_DATA", str(folder / "new" / "er"))
    assert data_folder.choose_target() == folder / "new" / "er"
    (folder / "new").write_text("a file")
    assert data_folder.choose_target() == tmp_path / "user" / "shoal"


# What is missing


def test_all_that_is_missing_is_said_at_once(folder):
    with pytest.raises(InputError) as one:
        load_dataset("adult")
    assert one.value.fact == "The data set adult is not here (adult.csv.gz)."
    with pytest.raises(InputError) as more:
        load_datasets(["adult-train", "ipums-1970", "ipums-stacked", "ipums-1970"])
    assert more.value.fact == (
        "The data sets adult-train, ipums-1970 and ipums-stacked are not here (adult.csv.gz, "
        "ipums_la_97.csv.gz, ipums_la_98.csv.gz, ipums_la_99.csv.gz)."
    )
    for way in ("shoal data fetch", "SHOAL_DATA", "--stand-in"):
        assert way in more.value.hint
    put(folder, "ipums_la_97.csv.gz", "")
    with pytest.raises(InputError, match=r"set ipums-stacked is not here \(ipums_la_98"):
        load_datasets(["ipums-1970", "ipums-stacked"])


def test_the_public_listing_says_where_everything_is(folder):
    put(folder, "ipums_la_97.csv.gz", "")
    found = {one["name"]: one for one in shoal.datasets()}
    assert set(found) == set(SOURCES)
    assert [name for name, one in found.items() if one["here"]] == ["ipums-1970"]
    assert found["ipums-stacked"]["files"] == {
        "ipums_la_97.csv.gz": str(folder / "ipums_la_97.csv.gz"),
        "ipums_la_98.csv.gz": None,
        "ipums_la_99.csv.gz": None,
    }
    assert found["adult"]["licence"] == "CC BY 4.0"


def test_names_and_settings_that_make_no_sense_are_refused(folder):
    with pytest.raises(UsageError, match="no data set 'census'"):
        load_dataset("census")
    with pytest.raises(UsageError, match="Only a stand-in"):
        load_dataset("adult", rows=100)


# What is damaged


def ipums(**changed):
    rows = [dict.fromkeys(IPUMS_COLUMNS, "1") | changed for _ in range(2)]
    return "".join(f"{','.join(row)}\n" for row in (IPUMS_COLUMNS, *(r.values() for r in rows)))


DAMAGED = {
    "rows": ("adult", SMALL, "adult.csv.gz has 2 rows, not 48,842."),
    "a column": ("adult", SMALL.replace("race,", ""), "adult.csv.gz has no column race."),
    "no header": ("adult", ROW + "\n", "has no column age, workclass, fnlwgt and 13 more."),
    "one more": ("adult", SMALL.replace("split", "split,x"), "has 17 columns, not 16."),
    "ragged": ("adult", SMALL + "39,Private\n", "adult.csv.gz has 3 rows, not 48,842."),
    "empty": ("adult", "", "has no column age, workclass"),
    "few": ("ipums-1970", ipums(age="secret"), "ipums_la_97.csv.gz has 2 rows, not 70,187."),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_file_that_is_not_the_papers_is_refused(folder, case):
    name, text, told = DAMAGED[case]
    put(folder, SOURCES[name].of.files[0], text)
    with pytest.raises(InputError) as refused:
        load_dataset(name)
    assert told in refused.value.fact
    assert "secret" not in str(refused.value)  # no cell is shown
    assert "shoal data fetch --replace" in refused.value.hint


@pytest.mark.parametrize("content", [b"age,sex\n1,2\n", gzip.compress(SMALL.encode())[:-9], b""])
def test_a_file_that_cannot_be_unpacked_is_refused(folder, content):
    (folder / "adult.csv.gz").write_bytes(content)
    with pytest.raises(InputError, match=r"adult\.csv\.gz"):
        load_dataset("adult")


@pytest.fixture
def small(folder, monkeypatch):
    """Adult as if it had two rows, one of them complete."""
    held = replace(FILES["adult.csv.gz"], rows=2, sha256=hashlib.sha256(SMALL.encode()).hexdigest())
    monkeypatch.setitem(FILES, "adult.csv.gz", held)
    put(folder, "adult.csv.gz", SMALL)
    return folder / "adult.csv.gz"


def test_the_papers_content_is_known_by_its_hash_whoever_compressed_it(small):
    small.write_bytes(gzip.compress(SMALL.encode(), 1, mtime=9))
    found = load_dataset("adult")
    assert (found.rows, found.table["age"].to_pylist()) == (1, [39])
    assert found.table["occupation"].to_pylist() == ["Sales"]


@pytest.mark.parametrize(
    "other",
    [
        SMALL.replace("39,", "38,", 1),
        "\n".join([SMALL.splitlines()[0], *SMALL.splitlines()[:0:-1]]) + "\n",
        SMALL.replace("age,workclass", "workclass,age"),
        SMALL.replace("\n", "\r\n"),
    ],
)
def test_other_values_in_the_same_shape_are_refused(small, other):
    put(small.parent, small.name, other)
    with pytest.raises(InputError) as refused:
        load_dataset("adult")
    assert refused.value.fact == (
        "adult.csv.gz has the columns and rows of the papers' table, but other content."
    )
    assert "shoal data fetch --replace" in refused.value.hint


# The real ones

DOMAINS = {
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
    "adult-train": {"age": 72, "occupation": 14},
    "ipums-1970": {"bplg": 113, "occ1950": 247, "ind1950": 145, "inctot": 471},
}


def test_the_real_data_sets_have_the_papers_counts(real_data):
    assert os.environ["SHOAL_DATA"] == str(real_data)
    if data_folder.list_missing_files(SOURCES):
        pytest.skip("not every data set is here")
    found = load_datasets(SOURCES)
    assert {name: one.rows for name, one in found.items()} == {
        "adult": 45_222,
        "adult-train": 30_162,
        "ipums-1970": 70_187,
        "ipums-stacked": 233_584,
    }
    for name, sizes in DOMAINS.items():
        table = found[name].table
        assert {column: len(table[column].unique()) for column in sizes} == sizes
    assert not any(one.stand_in for one in found.values())
    assert found["ipums-1970"].applicable().rows == 39_503
    assert load_dataset("adult") is found["adult"]  # read once
