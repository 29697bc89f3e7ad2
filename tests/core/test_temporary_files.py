"""Folders of processes: locked while they live, swept when they are gone."""

from __future__ import annotations

from shoal.core import temporary_files


def test_a_folder_that_another_process_sweeps_before_it_is_locked_is_made_again(
    tmp_path, monkeypatch
):
    """Between making a folder and locking it, a sweep may take it for one that was left."""
    swept = []
    open_folder = temporary_files._open_folder

    def open_after_a_sweep(path):
        if not swept:
            swept.append(path)
            path.rmdir()
        return open_folder(path)

    monkeypatch.setattr(temporary_files, "_open_folder", open_after_a_sweep)
    home = temporary_files._Home(str(tmp_path))
    assert swept != [home.path]
    assert home.path.is_dir()
    home.remove()
    assert list(tmp_path.iterdir()) == []
