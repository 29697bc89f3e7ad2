"""The CSV door: dialects, encodings, and every wrong row told by its line."""

from __future__ import annotations

import gzip
import stat
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.core.errors import InputError, UsageError
from shoal.engines.open_table import open as open_table
from shoal.engines.readers.csv import detect_dialect
from shoal.engines.readers.spool import Spool


def written(folder: Path, content: bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def refused(path: Path, **options: str) -> str:
    with pytest.raises(InputError) as caught:
        open_table(path, **options)
    assert caught.value.hint
    assert caught.value.exit_code == 5
    return caught.value.fact


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends(tmp_path: Path, delimiter: str, end: str) -> None:
    rows = ["a b;c" if delimiter != ";" else "a b", "x"]
    text = end.join(delimiter.join(row) for row in (rows, ["1", "u"], ["2", '"v, w"'])) + end
    frame = open_table(written(tmp_path, text.encode()))
    assert [field.name for field in frame.fields] == rows
    assert sorted(frame.values(["x"])["x"].values) == ["u", "v, w"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le-bom", "cp1252"])
@pytest.mark.parametrize("packed", [False, True])
def test_encodings(tmp_path: Path, encoding: str, packed: bool) -> None:
    text = "näme,n\n" + "plain,1\n" * 140_000 + "Müller,2\n"  # the accent comes late
    codec = encoding.removesuffix("-bom")
    content = ("\ufeff" + text if codec != encoding else text).encode(codec)
    path = written(
        tmp_path,
        gzip.compress(content, 1) if packed else content,
        "t.csv.gz" if packed else "t.csv",
    )
    field = (frame := open_table(path)).fields[0]
    assert field.name == "näme"
    assert sorted(frame.values(["näme"])["näme"].values) == ["Müller", "plain"]
    assert any("Windows-1252" in note for note in field.notes) == (encoding == "cp1252")


def test_single_quotes_and_given_dialect(tmp_path: Path) -> None:
    path = written(tmp_path, b"a,b\n'x, y','1'\n'z','2'\n")
    assert detect_dialect(path).quote == "'"
    assert sorted(open_table(path).values(["a"])["a"].values) == ["x, y", "z"]
    loud = written(tmp_path, b"a#b\n1#2\n")
    assert [f.name for f in open_table(loud, delimiter="#").fields] == ["a", "b"]
    raw = written(tmp_path, b'a,b\n"x,2\n')
    assert open_table(raw, quote="").values(["a"])["a"].values == ['"x']
    with pytest.raises(UsageError):
        open_table(loud, delimiter="##")
    with pytest.raises(UsageError):
        open_table(loud, encoding="klingon")


def test_wrong_rows_by_line_and_count(tmp_path: Path) -> None:
    text = b'a,b\n1,2\n3\n"x\ny",2\n4,5,6\n\n7,8\n'
    fact = refused(written(tmp_path, text))
    assert fact == (
        "3 rows do not fit the header of 2 columns: "
        "line 3 (1 field), line 6 (3 fields), line 7 (empty)."
    )


def test_many_wrong_rows_are_counted(tmp_path: Path) -> None:
    fact = refused(written(tmp_path, b"a,b\n" + b"secret\n" * 50_000))
    assert fact.startswith("50,000 rows")
    assert "line 2 " in fact
    assert fact.endswith(", ….")
    assert "secret" not in fact


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=30))
def test_every_ragged_row_is_found(rows: list[tuple[int, bool]]) -> None:
    lines, wrong, number = ["a,b,c"], [], 2
    for width, broken in rows:
        lines.append(",".join(['"x\ny"' if broken else "z"] + ["1"] * (width - 1)))
        if width != 3:
            wrong.append(number)
        number += 1 + broken
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), ("\n".join(lines) + "\n").encode())
        if not wrong:
            assert sum(open_table(path).values(["c"])["c"].counts) == len(rows)
            return
        fact = refused(path, delimiter=",")
    assert fact.startswith(f"{len(wrong)} row")
    assert all(f"line {line} (" in fact for line in wrong[:5])


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,b\n", "no rows"),
        (b"a,b,a\n1,2,3\n", "have the same name"),
        (b"a,A\n1,2\n", "have the same name"),
        (b"a,b\n1,2\n3,\x004\n", "NUL bytes, the first in line 3"),
        (b'a,b\n1,2\n"open,3\n4,5\n', "line 3 (a quote is not closed"),
        (b'a,b\n"x"y,2\n', "line 2 (text after a closing quote)"),
        (b"a,b\nx\x81\xff,2\n", "neither UTF-8 nor Windows-1252"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, part: str) -> None:
    assert part in refused(written(tmp_path, content))


@pytest.mark.skipif(sys.platform != "linux", reason="bytes that were read are counted in /proc")
def test_one_endless_line_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with path.open("wb") as file:
        for _ in range(64):
            file.write(b"x" * (1 << 20))
    before = bytes_read()
    assert "longer than 2 MB" in refused(path)
    assert bytes_read() - before < 32 << 20


def bytes_read() -> int:
    """How many bytes this process has read so far, from any file."""
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counts["rchar"])


def test_a_torn_gzip(tmp_path: Path) -> None:
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 10_000)
    assert "gzip" in refused(written(tmp_path, whole[:-20], "t.csv.gz"))


def test_given_encoding_is_checked(tmp_path: Path) -> None:
    path = written(tmp_path, "a\nMüller\n".encode("latin-1"))
    assert "not valid" in refused(path, encoding="utf-8")
    assert open_table(path, encoding="latin-1").values(["a"])["a"].values == ["Müller"]


def test_empty_cells_are_null_and_a_lone_column_keeps_its_blank_lines(tmp_path: Path) -> None:
    assert open_table(written(tmp_path, b'a,b\n,1\n"",2\n')).values(["a"])["a"].nulls == 2
    assert open_table(written(tmp_path, b"a\nx\n\ny\n")).values(["a"])["a"].nulls == 1


def test_the_spool_has_no_name_and_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spool = Spool()
    path = spool.rows(["a"], [["1"]])
    assert list(tmp_path.rglob("*")) == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_nlink == 0
    spool.close()
    spool.close()
    assert not path.exists()
