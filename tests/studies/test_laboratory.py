"""Measuring: kept on disk, taken up again, side by side; numbers that say where they come from."""

from __future__ import annotations

import json
import os
import time

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.studies import keys, laboratory
from shoal.studies.claims import AGREES, DIFFERS, Claim, compute_mean, select_rows
from shoal.studies.keys import find_sources, make_key, to_plain
from shoal.studies.laboratory import Lab, ProcessPool, open_process_pool
from shoal.studies.splits import compute_provider_shares
from shoal.studies.stored_measurements import FILE, StoredMeasurements
from shoal.studies.tables import read_own_table

ROWS = [
    {"data": "a", "k": 5, "seed": 0, "hit": 10.0},
    {"data": "a", "k": 5, "seed": 1, "hit": 14.0},
    {"data": "a", "k": 10, "seed": 0, "hit": 2.0},
    {"data": "b", "k": 5, "seed": 0, "hit": None},
]
CALLS: list[tuple[int, int]] = []


def squared(n: int, seed: int) -> dict[str, int]:
    CALLS.append((n, seed))
    return {"found": n * n + seed}


def counted(sample, column: str) -> list[dict[str, object]]:
    values = sample.table[column].to_pylist()
    return [{"value": value, "rows": values.count(value)} for value in sorted(set(values))]


def usual(n: int, seed: int = 0, kinds: tuple[str, ...] = ("a",)) -> dict[str, int]:
    return squared(n, seed)


def shaped(n: int, seed: int) -> dict[str, object]:
    part = {"whole": np.int64(n), "part": np.float64(n / 2), "list": (n, seed)}
    return part if seed < 2 else {**part, "part": float("nan")}


def dying(n: int, place: str) -> dict[str, int]:
    while n == 2:  # until another has been kept
        if os.path.exists(place):
            os._exit(9)
        time.sleep(0.01)
    return {"found": n}


def failing(n: int) -> dict[str, int]:
    if n == 2:
        raise KeyboardInterrupt
    return squared(n, 0)


@pytest.fixture(autouse=True)
def fresh():
    CALLS.clear()


@pytest.fixture
def sample():
    table = pa.table({"age": [30, 30, 40], "sex": ["f", "m", "f"], "ill": ["x", "y", "x"]})
    return read_own_table(table, shoal.Schema.of(quasi=["age", "sex"], sensitive="ill"))


def lab(folder=None, pool=None, steps=None, **samples):
    told = (lambda *step: steps.append(step)) if steps is not None else laboratory.ignore_progress
    return Lab("a-study", samples, {}, (0, 1), StoredMeasurements(folder), pool, told)


CELLS = [{"n": n, "seed": seed} for n in (1, 2, 3) for seed in (0, 1)]


def test_rows_have_their_parameters_and_come_in_the_order_of_the_cells():
    rows = lab().measure_cells(squared, CELLS)
    assert rows == [{**cell, "found": cell["n"] ** 2 + cell["seed"]} for cell in CELLS]


def test_a_cell_s_table_is_handed_over_and_named(sample):
    rows = lab(own=sample).measure_cells(counted, [{"data": "own", "column": "sex"}])
    assert rows == [
        {"data": "own", "column": "sex", "value": "f", "rows": 2},
        {"data": "own", "column": "sex", "value": "m", "rows": 1},
    ]


def test_what_was_measured_is_not_measured_again(tmp_path):
    first = lab(tmp_path).measure_cells(squared, CELLS[:4])
    later = lab(tmp_path)
    again = later.measure_cells(squared, CELLS)
    assert again[:4] == first
    assert later.stored.seconds > 0
    assert len(CALLS) == len(CELLS)


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path):
    cells = [{"n": n} for n in (1, 2, 3)]
    with pytest.raises(KeyboardInterrupt):
        lab(tmp_path).measure_cells(failing, cells)
    assert len((tmp_path / FILE).read_text().splitlines()) == 1
    lab(tmp_path).measure_cells(failing, [{"n": n} for n in (1, 3)])
    assert CALLS == [(1, 0), (3, 0)]


def test_a_line_that_a_killed_run_left_unfinished_loses_no_other(tmp_path):
    lab(tmp_path).measure_cells(squared, CELLS[:2])
    whole = (tmp_path / FILE).read_text()
    (tmp_path / FILE).write_text(whole[:-20])
    lab(tmp_path).measure_cells(squared, CELLS[:3])
    assert len(CALLS) == 2 + 2
    lab(tmp_path).measure_cells(squared, CELLS[:3])
    assert len(CALLS) == 2 + 2


def test_other_code_or_data_is_measured_again(tmp_path, monkeypatch, sample):
    cell = {"data": "own", "column": "sex"}
    before = make_key(counted, cell, sample.sha256)
    other = read_own_table(
        sample.table.slice(1), shoal.Schema.of(quasi=["age", "sex"], sensitive="ill")
    )
    assert make_key(counted, cell, other.sha256) != before
    assert make_key(counted, {**cell, "column": "age"}, sample.sha256) != before
    monkeypatch.setattr(keys, "hash_code", lambda: "another")
    assert make_key(counted, cell, sample.sha256) != before
    monkeypatch.undo()
    assert make_key(counted, cell, sample.sha256) == before
    monkeypatch.setattr(keys, "_source", lambda what: "another")
    assert make_key(counted, cell, sample.sha256) != before


def test_the_code_is_the_house_with_its_tables_and_without_its_doors_and_pages():
    files = [file.relative_to(keys.HOUSE).as_posix() for file in keys.HOUSE.rglob("*.*")]
    found = {
        file for file in files if file.endswith((".py", ".csv")) and keys.affects_measurements(file)
    }
    assert {
        "core/tally.py",
        "data/bundled/sweeney_fig2.csv",
        "methods/mondrian.py",
        "studies/tables.py",
        "verbs/publish.py",
    } <= found
    rooms = ("cli/", "reports/charts/", "reports/pages/", "web/", "data/download", "studies/ganta/")
    assert [file for file in found if file.startswith(rooms)] == []
    assert {file for file in found if file.startswith("studies/")} == {"studies/tables.py"}


def test_a_changed_file_of_the_house_is_other_code(tmp_path, monkeypatch):
    (tmp_path / "bundled").mkdir()
    (tmp_path / "cli").mkdir()
    for file in ("tally.py", "bundled/a.csv", "cli/a.py"):
        (tmp_path / file).write_text("a = 1\n")
    monkeypatch.setattr(keys, "HOUSE", tmp_path)
    found = [keys.hash_code.__wrapped__()]
    for file in ("cli/a.py", "bundled/a.csv", "tally.py"):
        (tmp_path / file).write_text("a = 2\n")
        found.append(keys.hash_code.__wrapped__())
    assert found[0] == found[1]
    assert len(set(found)) == 3


FILES = {
    "one/figure.py": "from shoal.studies.one import shared\nfrom shoal.studies.claims import Row\n",
    "one/shared.py": "def late():\n    from . import deep\n    from ..two.other import name\n",
    "one/deep.py": "import shoal.studies.splits\nfrom shoal.studies.one.figure import back\n",
    "one/aside.py": "from shoal.studies.one.figure import back\n",
    "two/__init__.py": "",
    "two/other.py": "import json\nfrom shoal.studies.tables import Sample\n",
    "splits.py": "import shoal\n",
    "tables.py": "",
    "claims.py": "from shoal.studies.one import aside\n",
}


def test_what_a_file_imports_from_the_studies_is_part_of_it(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = find_sources(tmp_path / "one" / "figure.py", tmp_path)
    assert [file.relative_to(tmp_path).as_posix() for file in found] == [
        "one/deep.py",
        "one/figure.py",
        "one/shared.py",
        "splits.py",
        "tables.py",
        "two/other.py",
    ]
    assert find_sources(tmp_path / "tables.py", tmp_path) == [tmp_path / "tables.py"]


def test_the_headline_study_depends_on_its_room_and_not_on_the_seam():
    files = find_sources(keys.STUDIES / "ganta" / "headline.py")
    found = {file.relative_to(keys.STUDIES).as_posix() for file in files}
    assert {"ganta/headline.py", "ganta/pairs.py", "tables.py"} <= found
    assert not found & {
        "claims.py",
        "experiment.py",
        "laboratory.py",
        "stored_measurements.py",
        "running.py",
    }
    assert not [file for file in found if file.partition("/")[0] in ("martin", "sattar")]


def test_a_parameter_left_out_and_one_said_as_it_is_are_one_measurement(tmp_path):
    said = {"n": 3, "seed": 0, "kinds": ["a"]}
    assert make_key(usual, {"n": 3}, "") == make_key(usual, said, "")
    assert make_key(usual, {"n": 3}, "") != make_key(usual, {"n": 3, "seed": 1}, "")
    first = lab(tmp_path).measure_cells(usual, [{"n": 3}])
    again = lab(tmp_path).measure_cells(usual, [said])
    assert (first, again) == ([{"n": 3, "found": 9}], [{**said, "found": 9}])
    assert CALLS == [(3, 0)]


def test_rows_are_the_same_when_they_are_new_and_when_they_were_kept(tmp_path):
    cells = [{"n": 3, "seed": 1}]
    new = lab(tmp_path).measure_cells(shaped, cells)
    assert new == [{"n": 3, "seed": 1, "whole": 3, "part": 1.5, "list": [3, 1]}]
    assert [type(value) for value in new[0].values()] == [int, int, int, float, list]
    assert lab(tmp_path).measure_cells(shaped, cells) == new
    with pytest.raises(shoal.ShoalError, match="of shaped has no plain value in 'part'") as told:
        lab(tmp_path).measure_cells(shaped, [{"n": 3, "seed": 2}])
    assert told.value.hint
    with pytest.raises(shoal.ShoalError, match="in 'who'"):
        to_plain({"n": 1, "who": object()}, "A row")


def test_a_study_knows_which_columns_say_what_was_measured(sample):
    one = lab(own=sample)
    one.measure_cells(counted, [{"data": "own", "column": "sex"}])
    one.measure_cells(squared, CELLS)
    assert list(one.parameters) == ["data", "column", "n", "seed"]


def test_the_hash_of_a_table_is_of_its_values_and_roles(sample):
    again = read_own_table(sample.table, shoal.Schema.of(quasi=["age", "sex"], sensitive="ill"))
    roles = read_own_table(sample.table, shoal.Schema.of(quasi=["age", "ill"], sensitive="sex"))
    assert again.sha256 == sample.sha256 != roles.sha256


ODD = (
    b"17",
    b"null",
    b"[]",
    b'{"key": "a"}',
    b'{"key": "a", "seconds": "1", "rows": []}',
    b'{"key": "a", "seconds": 1, "rows": [3]}',
    b"\xff\xfe",
    b"",
    b'{"key": "a',
)


@pytest.mark.parametrize("line", ODD)
def test_what_is_no_measurement_is_passed_over(tmp_path, line):
    first = lab(tmp_path).measure_cells(squared, CELLS[:2])
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(line + b"\n" + whole + line)
    assert lab(tmp_path).measure_cells(squared, CELLS[:3])[:2] == first
    assert lab(tmp_path).measure_cells(squared, CELLS[:3])[:2] == first
    assert len(CALLS) == 3


def worded(n: int) -> dict[str, str]:
    return {"said": "Zürich\u2028Genève\x85" * n}


def test_a_line_torn_anywhere_costs_one_measurement(tmp_path):
    cells = [{"n": 1}, {"n": 2}]
    rows = lab(tmp_path).measure_cells(worded, cells)
    whole = (tmp_path / FILE).read_bytes()
    assert whole.isascii()
    assert whole.count(b"\n") == 2
    utf8 = whole.replace(b"\\u00fc", "ü".encode())
    for end in (1, 30, utf8.rindex("ü".encode()) + 1):
        (tmp_path / FILE).write_bytes(utf8[:end])
        assert lab(tmp_path).measure_cells(worded, cells) == rows
        assert lab(tmp_path).measure_cells(worded, cells) == rows


def test_a_file_that_cannot_be_read_or_written_is_told(tmp_path):
    (tmp_path / "a" / FILE).mkdir(parents=True)
    with pytest.raises(shoal.InputError, match=r"measured\.jsonl cannot be read: Is a directory"):
        StoredMeasurements(tmp_path / "a")
    with pytest.raises(shoal.OutputError, match="cannot be written: No such file"):
        lab(tmp_path / "nowhere").measure_cells(squared, CELLS[:1])


def test_a_disk_that_is_full_leaves_whole_lines_and_at_most_one_torn(tmp_path, monkeypatch):
    write = os.write
    lab(tmp_path).measure_cells(squared, CELLS[:1])
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:-9]))
    full = lab(tmp_path)
    with pytest.raises(shoal.OutputError, match="No space left"):
        full.measure_cells(squared, CELLS[:2])
    monkeypatch.undo()
    full.measure_cells(squared, CELLS[:3])
    lab(tmp_path).measure_cells(squared, CELLS[:3])
    assert CALLS == [(1, 0), (1, 1), (2, 0), (1, 1)]  # what was not kept is measured again


def test_seconds_are_of_what_was_asked_for_now_and_before(tmp_path):
    first = lab(tmp_path)
    first.measure_cells(squared, [*CELLS[:2], *CELLS[:2]])
    assert 0 < first.stored.now == first.stored.seconds
    later = lab(tmp_path)
    later.measure_cells(squared, CELLS[:3])
    later.measure_cells(squared, CELLS[:3])
    assert later.stored.seconds - later.stored.now == pytest.approx(first.stored.seconds, abs=2e-3)


def test_progress_says_how_many_cells_are_done(tmp_path):
    lab(tmp_path).measure_cells(squared, CELLS[:2])
    steps: list[tuple[str, int, int]] = []
    lab(tmp_path, steps=steps).measure_cells(squared, CELLS)
    assert steps == [("a-study", done, 6) for done in (2, 3, 4, 5, 6)]


def test_processes_find_what_one_process_finds(tmp_path):
    cells = [{"n": n, "kind": kind} for n in (3, 4) for kind in ("uniform", "exponential")]
    with open_process_pool(2) as pool:
        assert pool is not None
        found = dict(pool.results({}, shares_row, {str(i): cell for i, cell in enumerate(cells)}))
    rows = {key: one for key, (one, _) in found.items()}
    assert rows == {str(i): [shares_row(**cell)] for i, cell in enumerate(cells)}
    assert all(seconds > 0 for _, seconds in found.values())
    with open_process_pool(1) as none:
        assert none is None


def shares_row(n: int, kind: str) -> dict[str, float]:
    return {"largest": round(float(compute_provider_shares(n, kind)[0]), 6)}


def test_a_process_that_dies_is_told_and_what_was_measured_is_kept(tmp_path):
    cells = [{"n": n, "place": str(tmp_path / FILE)} for n in (1, 2)]
    pool = ProcessPool(1)
    with pytest.raises(shoal.ShoalError) as told:
        lab(tmp_path, pool).measure_cells(dying, cells)
    pool.close(at_once=True)
    assert told.value.fact == "A process that measured has ended before it was done."
    assert "run it again" in told.value.hint
    assert "--jobs 1" in told.value.hint
    (line,) = (tmp_path / FILE).read_bytes().splitlines()
    assert json.loads(line)["rows"] == [{"found": 1}]


# Numbers and claims


def test_a_number_is_the_mean_of_its_rows():
    found = compute_mean(ROWS, "hit", said="a", unit=" %", data="a", k=5)
    assert (found.mean, found.least, found.most, found.runs) == (12.0, 10.0, 14.0, 2)
    assert found.spread == pytest.approx(2 * 2**0.5)
    assert str(found) == "12.0 ± 2.8 %"
    assert found.again(ROWS) == found


POOLED = [{"k": k, "seed": seed, "hit": float(10 * k + seed)} for k in (1, 2, 3) for seed in (0, 1)]


def test_the_spread_is_over_seeds_and_not_over_settings():
    found = compute_mean(POOLED, "hit", unit=" %")
    assert (found.mean, found.runs, found.rows) == (20.5, 2, 6)
    assert found.spread == pytest.approx(0.5**0.5)  # of 20 and 21
    assert (found.least, found.most) == (10.0, 31.0)
    assert str(found) == "20.5 ± 0.7 %"
    one = compute_mean(POOLED, "hit", unit=" %", seed=0)
    assert (one.mean, one.spread, one.runs, one.rows) == (20.0, 0.0, 1, 3)
    assert str(one) == "20.0 % (10 to 30)"
    none = compute_mean([{"k": k, "hit": k / 2} for k in (2, 3)], "hit")
    assert (none.spread, none.runs, none.rows, str(none)) == (0.0, 1, 2, "1.2 (1.0 to 1.5)")
    assert all(one.again(POOLED) == one for one in (found, one))
    assert found.to_json()["rows"] == 6


def test_a_number_of_no_rows_is_an_error_and_not_nothing():
    with pytest.raises(shoal.ShoalError) as told:
        compute_mean(ROWS, "hit", data="c")
    assert told.value.hint
    with pytest.raises(shoal.ShoalError):
        compute_mean(ROWS, "hit", data="b")


def test_rows_are_chosen_by_all_their_values():
    assert select_rows(ROWS, data="a", seed=0) == [ROWS[0], ROWS[2]]


def test_a_claim_that_does_not_agree_says_why():
    ours = (compute_mean(ROWS, "hit", data="a", k=10),)
    assert json.dumps(Claim("It falls.", "3 %", ours, AGREES).to_json())
    with pytest.raises(ValueError, match="says why"):
        Claim("It falls.", "3 %", ours, DIFFERS)
    with pytest.raises(ValueError, match="one of"):
        Claim("It falls.", "3 %", ours, "maybe")
