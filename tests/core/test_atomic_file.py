"""A file is written whole or not at all."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from shoal import OutputError
from shoal.core.atomic_file import write_file


def test_text_and_bytes_are_written_as_they_are(tmp_path):
    write_file(tmp_path / "a.txt", "Zürich\r\nGenf\n")
    assert (tmp_path / "a.txt").read_bytes() == "Zürich\r\nGenf\n".encode()
    write_file(tmp_path / "a.txt", b"\x00\xff")
    assert (tmp_path / "a.txt").read_bytes() == b"\x00\xff"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.name != "posix", reason="looks at permissions")
def test_who_may_read_it_is_as_asked(tmp_path):
    before = os.umask(0o022)
    try:
        write_file(tmp_path / "all", "a")
        write_file(tmp_path / "mine", "a", mode=0o600)
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("all", "mine")]
    assert modes == [0o644, 0o600]


def test_a_folder_in_its_place_is_told(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match=r"folder cannot be written: Is a directory\.") as told:
        write_file(tmp_path / "folder", "new", hint="elsewhere.")
    assert told.value.hint == "elsewhere."
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize(
    ("step", "error", "told"),
    [
        ("fsync", OSError(28, "No space left"), OutputError),
        ("replace", KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_what_fails_leaves_the_old_file_and_no_part(tmp_path, monkeypatch, step, error, told):
    write_file(tmp_path / "a.txt", "old")

    def fail(*_):
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(told):
        write_file(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_several_that_write_at_once_do_not_meet(tmp_path):
    path, texts = tmp_path / "a.txt", [letter * 200_000 for letter in "abcd"]

    def write_often(text):
        for _ in range(25):
            write_file(path, text)

    with ThreadPoolExecutor(len(texts)) as pool:
        writers = [pool.submit(write_often, text) for text in texts]
        while not all(writer.done() for writer in writers):
            assert not path.exists() or path.read_text() in texts
        for writer in writers:
            writer.result()  # raises what the writing raised
    assert os.listdir(tmp_path) == ["a.txt"]
