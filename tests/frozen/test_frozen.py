"""What Shoal does is what it did: the inventory of its names, and the recording of its answers."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest
from tests.frozen import inventory
from tests.frozen.comparing import VARIES, differences, keep_varying, merge
from tests.frozen.normal import key_paths, normalise_json, normalise_text
from tests.frozen.recording import RECORDINGS
from tests.frozen.scenes import SCENES

ROOT = Path(__file__).parent.parent.parent
QUICK = [name for name, scene in SCENES.items() if scene.is_quick]


@pytest.fixture(scope="module")
def collected() -> inventory.Inventory:
    return inventory.collect()


def test_the_inventory_is_what_there_is(collected):
    assert inventory.compare(inventory.read(), collected) == []


@pytest.mark.parametrize("kind", ["verbs", "options", "JSON keys", "models", "studies"])
def test_a_name_that_is_gone_or_new_is_noticed(collected, kind):
    frozen = inventory.read()
    gone = sorted(collected[kind])[0]
    changed = {**collected, kind: [*collected[kind][1:], "new-name"]}
    lines = [f"{kind}: {gone} is gone", f"{kind}: new-name is new"]
    assert inventory.compare(frozen, changed) == lines
    frozen[kind][gone] = {"now": "new-name"}
    assert inventory.compare(frozen, changed) == []


def test_a_name_may_go_to_another_section_and_must_be_there(collected):
    frozen = deepcopy(inventory.read())
    changed = {**collected, "verbs": collected["verbs"][1:]}
    first = collected["verbs"][0]
    frozen["verbs"][first] = {"now": "models: k-anonymity"}
    assert inventory.compare(frozen, changed) == []
    frozen["verbs"][first] = {"now": "models: none"}
    assert inventory.compare(frozen, changed) == [
        f"verbs: {first} is gone, nor is there models: none"
    ]


# The recording


def replayed(*arguments: str) -> subprocess.CompletedProcess[str]:
    """``make replay`` in a process of its own, which forks before it has threads."""
    return subprocess.run(
        [sys.executable, "-m", "tests.frozen", "replay", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="forks, with files in memory")
def test_some_scenes_are_as_they_were_recorded():
    done = replayed(*QUICK)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="forks, with files in memory")
def test_every_scene_is_as_it_was_recorded():
    done = replayed()
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_every_scene_is_recorded_and_nothing_else():
    assert {path.stem for path in RECORDINGS.glob("*.json")} == {*SCENES, "keys"}


def test_no_value_of_adult_is_recorded(real_data):
    rows = gzip.decompress((real_data / "adult.csv.gz").read_bytes()).decode().splitlines()[1:]
    values = {cell for row in rows for cell in row.split(",") if len(cell) > 6}
    for name, scene in SCENES.items():
        if scene.is_secret:
            text = (RECORDINGS / f"{name}.json").read_text(encoding="utf-8")
            assert {value for value in values if json.dumps(value) in text} == set()


RUN = {"exit": 0, "out": ["3 rows in 0.2 of them", "done"], "json": {"a": [1, 2], "b": 0.5}}


@pytest.mark.parametrize(
    ("changed", "at"),
    [
        ({**RUN, "exit": 3}, "exit"),
        ({**RUN, "json": {"a": [1, 3], "b": 0.5}}, "json › a [2]"),
        ({**RUN, "json": {"a": [1], "b": 0.5}}, "json › a [2…]"),
        ({**RUN, "json": {"a": [1, 2]}}, "json › b"),
        ({**RUN, "files": {}}, "files"),
        ({**RUN, "out": ["4 rows in 0.2 of them", "done"]}, "out [1]"),
    ],
)
def test_a_changed_value_is_noticed_and_its_place_is_said(changed, at):
    assert [place for place, _, _ in differences(RUN, changed)] == [at]
    assert list(differences(RUN, deepcopy(RUN))) == []


def test_what_varies_from_run_to_run_is_not_compared_and_the_rest_is():
    other = {**RUN, "out": ["3 rows in 0.7 of them", "done"]}
    kept = merge(RUN, other)
    assert kept["out"] == [f"3 rows in {VARIES} of them", "done"]
    assert list(differences(kept, {**RUN, "out": ["3 rows in 0.9 of them", "done"]})) == []
    assert list(differences(kept, {**RUN, "out": ["4 rows in 0.9 of them", "done"]})) != []
    again = keep_varying(kept, {**RUN, "exit": 3})
    assert (again["exit"], again["out"]) == (3, kept["out"])
    assert merge([1], [1, 2]) == VARIES
    assert merge({"a": True}, {"a": 1}) == {"a": VARIES}


def test_texts_and_numbers_are_the_same_on_every_machine_and_day(tmp_path):
    text = f"wrote {tmp_path}/a.csv at 2026-01-02T03:04:05Z in 0.31 s, {'0a' * 32}"
    assert normalise_text(text, tmp_path) == "wrote <here>/a.csv at <time> in <seconds>, <hash>"
    assert normalise_json({"x": 0.123456789, "seconds": 1.5}, tmp_path) == {
        "x": 0.123457,
        "seconds": "<seconds>",
    }
    assert normalise_text("2024-01-31, 12 of 34", tmp_path) == "2024-01-31, 12 of 34"


def test_keys_that_the_data_gives_are_one():
    document = {"columns": {"age": {"role": 1}, "name": {"role": 2}}, "name": [{"k": {"12": 1}}]}
    assert sorted(set(key_paths(document))) == [
        "columns",
        "columns.*",
        "columns.*.role",
        "name",
        "name[].k",
        "name[].k.*",
    ]
