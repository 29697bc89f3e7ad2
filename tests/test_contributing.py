"""The examples of CONTRIBUTING.md keep the contracts of what they are examples of."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.test_house import view

import shoal
from shoal import testing

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/examples/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_page_points_to_every_example(path):
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f"docs/examples/{path.name}" in page


def test_the_model_keeps_the_contract_of_models():
    testing.check_model(load("crowd").Crowd(2))


def test_the_measure_keeps_the_contract_of_measures():
    testing.check_measure(load("starred").starred)


def test_the_method_keeps_the_contract_of_methods():
    testing.check_method(load("one_class").one_class)


def test_the_attack_keeps_the_contract_of_attacks():
    testing.check_attack(load("most_common").most_common, view(), view(sensitive=None))


def test_the_engine_publishes_what_duckdb_publishes(tmp_path):
    drawn = random.Random(4)
    rows = [
        {"sex": drawn.choice("fm"), "ward": drawn.choice("abcdefgh"), "ill": drawn.choice("xyz")}
        for _ in range(200)
    ]
    schema = shoal.Schema.of(quasi=["sex", "ward"], sensitive="ill")
    sources = {"row_list": load("row_list").RowList(rows), "duckdb": table_of(rows)}
    contents = {}
    for name, source in sources.items():
        release = shoal.publish(source, schema, "k-anonymity k=9", out=tmp_path / name)
        assert shoal.verify(release.folder).holds
        contents[name] = sorted(release.path.read_text(encoding="utf-8").splitlines())
    assert contents["row_list"] == contents["duckdb"]


def table_of(rows):
    import pyarrow

    return pyarrow.Table.from_pylist(rows)
