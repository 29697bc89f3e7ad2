"""Every door that reads text or a file, fed with damaged ones: an error is one of ours, always.

Valid content is mutated: bytes flipped, cut and repeated; words replaced by those that other
readers stumbled over. The same examples each time, so that a failure is somebody's change; the
long runs look further.
"""

from __future__ import annotations

import io
import json
import shutil
import traceback
import zipfile
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import xlsxwriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.theory import knowledge

FEW, MANY = 12, 1_000


def budget(examples: int) -> Callable[..., Any]:
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def fuzzed(*strategies: Any, few: int = FEW, many: int = MANY) -> Callable[..., Any]:
    """The test as a short run of the suite, and as a long one of the same name."""

    def double(check: Callable[..., Any]) -> Callable[..., Any]:
        @pytest.mark.parametrize(
            "examples", [few, pytest.param(many, marks=pytest.mark.long)], ids=["few", "many"]
        )
        def run(examples: int, tmp_path: Path) -> None:
            drawn = given(st.tuples(*strategies))(lambda some: check(tmp_path, *some))
            budget(examples)(drawn)()

        run.__name__, run.__doc__ = check.__name__, check.__doc__
        return run

    return double


def strange_error(call: Callable[[], Any]) -> str:
    """Call it: the traceback of an error that is none of Shoal's, or nothing."""
    try:
        call()
    except (shoal.UsageError, shoal.NotMetError, shoal.ExposedError, shoal.InputError):
        return ""
    except Exception:
        return traceback.format_exc()
    return ""


def test_an_error_that_is_none_of_ours_is_noticed():
    assert "ZeroDivisionError" in strange_error(lambda: 1 / 0)


# How content is damaged

EDITS = st.lists(
    st.tuples(
        st.sampled_from(["flip", "cut", "repeat", "insert", "truncate"]),
        st.floats(0, 1),
        st.integers(1, 40),
        st.binary(min_size=1, max_size=8),
    ),
    min_size=1,
    max_size=4,
)
NASTY = [
    "",
    "0",
    "-1",
    "1e999",
    "-1e999",
    "nan",
    "inf",
    "9" * 400,
    "9" * 5_000,
    "1" + "0" * 30,
    "null",
    "true",
    "[]",
    "{}",
    "[[]]",
    '""',
    "''",
    "(",
    ")",
    "&",
    "=",
    "\\",
    '"',
    "'",
    "\x00",
    "\ufeff",
    "\ud7ff",
    "\u202e",
    "*",
    "?",
    "[0-9]",
    "{a, b}",
    "[5-",
    ">=9",
    "\r",
    "\n\n",
    ";",
    "|",
    "->",
    "not ",
    " on=ill",
    "0000-00-00",
    "9999-99-99",
    "(" * 50,
    "[" * 3_000,
    "\t",
    "%",
    "é",
]
SPLICES = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(NASTY)), min_size=1, max_size=4
)


def damage(content: bytes, edits: list[tuple[str, float, int, bytes]]) -> bytes:
    data = bytearray(content)
    for kind, place, length, some in edits:
        at = int(place * len(data))
        if kind == "flip" and data:
            data[at % len(data)] ^= some[0] or 1
        elif kind == "cut":
            del data[at : at + length]
        elif kind == "repeat":
            data[at:at] = data[at : at + length] * 3
        elif kind == "insert":
            data[at:at] = some
        elif kind == "truncate" and length > 30:
            del data[at:]
    return bytes(data)


def splice(text: str, splices: list[tuple[float, int, str]]) -> str:
    for place, length, word in splices:
        at = int(place * len(text))
        text = text[:at] + word + text[at + length :]
    return text


# Text


SCHEMAS = (
    'edition = 1\n[columns]\nname = "identifier"\n[columns.age]\nrole = "quasi"\nkind = "number"\n'
    "bounds = [0, 120]\nhierarchy = {intervals = [5, 10, 20], top = 80}\n",
    '[columns.day]\nrole = "quasi"\nkind = "date"\nhierarchy = {dates = ["month", "year"]}\n'
    '[columns.zip]\nrole = "quasi"\nhierarchy = "prefixes"\nweight = 2\ndomain = ["1", "2"]\n',
    '[columns.job]\nrole = "sensitive"\nhierarchy = {tree = {office = ["clerk", "cook"]}}\n'
    "[columns.pay]\nrole = 'quasi'\nhierarchy = {equal_frequency = [8, 4]}\n",
)


@fuzzed(st.sampled_from(SCHEMAS), SPLICES, few=100)
def test_schemas(folder, text, splices):
    columns: list[shoal.Column] = []

    def read():
        schema = shoal.Schema.parse(splice(text, splices))
        schema.to_toml()
        repr(schema)
        columns.extend(column for column in schema.columns if column.hierarchy is not None)

    assert strange_error(read) == ""
    for column in columns:
        values = [1.0, 2.0, 80.0] if column.kind == "number" else ["1", "2", "clerk"]
        kind = column.kind or "category"
        assert strange_error(partial(column.hierarchy.grow, column.name, kind, values)) == ""


RULES = (
    "k-anonymity k=10 & t-closeness t=0.2 on=ill distance=ordered",
    "m-privacy m=2 (k-anonymity k=5 & distinct-diversity l=3)",
    "recursive-diversity c=2 l=2 & entropy-diversity l=2",
    "ck-safety c=0.7 k=2 & alpha-k-anonymity alpha=0.5 k=2 on=ill",
    "beta-likeness beta=2 & delta-disclosure delta=1/3",
)
TABLE = pa.table({"age": [30 + i % 3 for i in range(12)], "ill": ["flu", "cold", "flu"] * 4})
ROLES = shoal.Schema.of(quasi="age", sensitive="ill")


@fuzzed(st.sampled_from(RULES), SPLICES, few=100)
def test_rules(folder, text, splices):
    assert strange_error(lambda: str(shoal.rule(splice(text, splices)))) == ""


@fuzzed(st.sampled_from(RULES), SPLICES, few=15, many=300)
def test_rules_that_a_table_is_published_by(folder, text, splices):
    rule = splice(text, splices)
    assert strange_error(lambda: shoal.publish(TABLE, ROLES, rule, hold_back=1.0)) == ""


HIERARCHY = "flu;cold;*\ncough;cold;*\nhiv;virus;*\n'a;b';virus;*\n"


@fuzzed(SPLICES, few=100)
def test_hierarchies(folder, splices):
    def read():
        tree = shoal.from_arx_csv(splice(HIERARCHY, splices))
        tree.grow("ill", "category", ["flu", "cough", "hiv", "a;b"])

    assert strange_error(read) == ""


KNOWLEDGE = (
    "Hannah.disease=flu -> Charlie.disease=flu; not Ed.disease=mumps",
    'Ed.disease=flu & Bob.disease=flu -> Ann.disease=flu | Joe.disease="a ""b"""',
    '#12.disease=flu\n"St. John".disease=null',
)


@fuzzed(st.sampled_from(KNOWLEDGE), SPLICES, few=100)
def test_knowledge(folder, text, splices):
    changed, atom = splice(text, splices), splice(text.partition(" ")[0], splices)
    assert strange_error(lambda: list(map(str, knowledge.parse_knowledge(changed)))) == ""
    assert strange_error(lambda: knowledge.parse_atom(atom)) == ""


# Tables


def open_and_read(path: Path) -> None:
    with closing(shoal.open(path)) as frame:
        frame.profile()
        frame.values([field.name for field in frame.fields])


def strange_table_error(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return strange_error(lambda: open_and_read(path))


CSV = (
    b"age,zip,day,note\n34,01301,2020-01-31,\"a, b\"\n41,13053,2020-02-01,'x'\n,13068,,NA\n",
    "ålder;lön;ort\n34;1,5;Malmö\n41;2,25;Göteborg\n".encode("latin-1"),
    "a\tb\n1\t2\n".encode("utf-16"),
)


@fuzzed(st.sampled_from(CSV), EDITS)
def test_csv_files(folder, content, edits):
    assert strange_table_error(folder / "a.csv", damage(content, edits)) == ""


@fuzzed(st.sampled_from([text.decode() for text in CSV[:1]]), SPLICES)
def test_csv_cells(folder, text, splices):
    assert strange_table_error(folder / "a.csv", splice(text, splices).encode()) == ""


def workbook() -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet()
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        sheet.write_row(0, 0, ["age", "town", "day"])
        for row in range(1, 5):
            sheet.write_row(row, 0, [30 + row, f"town {row}"])
            sheet.write_number(row, 2, 43_000 + row, day)
    return file.getvalue()


WORKBOOK = workbook()
with zipfile.ZipFile(io.BytesIO(WORKBOOK)) as _archive:
    PARTS = {name: _archive.read(name) for name in _archive.namelist()}
CELLS = ["xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/workbook.xml", "xl/styles.xml"]


def zipped(parts: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


@fuzzed(EDITS)
def test_workbooks(folder, edits):
    assert strange_table_error(folder / "a.xlsx", damage(WORKBOOK, edits)) == ""


@fuzzed(st.sampled_from(CELLS), EDITS, many=150)
def test_parts_of_workbooks(folder, part, edits):
    parts = PARTS | {part: damage(PARTS[part], edits)}
    assert strange_table_error(folder / "a.xlsx", zipped(parts)) == ""


@fuzzed(st.sampled_from(CELLS), SPLICES, many=150)
def test_words_in_workbooks(folder, part, splices):
    changed = splice(PARTS[part].decode(), splices).encode()
    assert strange_table_error(folder / "a.xlsx", zipped(PARTS | {part: changed})) == ""


COLUMNS = pa.table(
    {
        "age": pa.array([30, None, 41], pa.int64()),
        "town": ["north", "south", None],
        "day": pa.array([18_000, 18_001, None], pa.date32()),
        "at": pa.array([1, 2, None], pa.timestamp("us")),
        "pay": [1.5, float("nan"), None],
        "yes": [True, False, None],
        "kind": pa.array(["a", "b", "a"]).dictionary_encode(),
    }
)


def stored(write: Callable[..., Any], **more: Any) -> bytes:
    file = io.BytesIO()
    write(COLUMNS, file, **more)
    return file.getvalue()


PARQUET = (stored(pq.write_table), stored(pq.write_table, compression="none", use_dictionary=False))
ARROW = (stored(feather.write_feather, compression="uncompressed"), stored(feather.write_feather))


@fuzzed(st.sampled_from(PARQUET), EDITS)
def test_parquet_files(folder, content, edits):
    assert strange_table_error(folder / "a.parquet", damage(content, edits)) == ""


@fuzzed(st.sampled_from(ARROW), EDITS)
def test_arrow_files(folder, content, edits):
    assert strange_table_error(folder / "a.feather", damage(content, edits)) == ""


# Releases


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.sampled_from(NASTY),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NASTY), inner, max_size=3)
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "release"
    table = pa.table(
        {
            "id": [f"p{i}" for i in range(12)],
            "age": [30 + i % 3 for i in range(12)],
            "ill": ["flu", "cold", "flu"] * 4,
        }
    )
    schema = ROLES.set(id="person")
    shoal.publish(table, schema, "k-anonymity k=2", out=folder)
    return folder


def replaced(document: Any, path: list[float], value: Any) -> Any:
    """The document with one of its values replaced, found by shares of the way."""
    if not path or not isinstance(document, dict | list) or not document:
        return value
    keys = list(document) if isinstance(document, dict) else list(range(len(document)))
    key = keys[int(path[0] * len(keys)) % len(keys)]
    copy = document.copy()
    copy[key] = replaced(document[key], path[1:], value)
    return copy


PATHS = st.lists(st.floats(0, 1), min_size=1, max_size=3)


def changed_release(release: Path, folder: Path, file: str, path: list[float], value: Any) -> Path:
    copy = folder / "release"
    for end in ("", ".private"):
        shutil.rmtree(f"{copy}{end}", ignore_errors=True)
        shutil.copytree(f"{release}{end}", f"{copy}{end}")
    target = folder / file
    document = replaced(json.loads(target.read_text()), path, value)
    target.chmod(0o600)
    target.write_text(json.dumps(document))
    return copy


@pytest.mark.parametrize(
    "examples", [FEW, pytest.param(300, marks=pytest.mark.long)], ids=["few", "many"]
)
@pytest.mark.parametrize("file", ["release/manifest.json", "release.private/companion.json"])
def test_manifests_and_companions(release, tmp_path, file, examples):
    @budget(examples)
    @given(PATHS, VALUES)
    def run(path, value):
        changed = changed_release(release, tmp_path, file, path, value)
        for verb in (shoal.verify, shoal.audit):
            assert strange_error(partial(verb, changed)) == ""

    run()
