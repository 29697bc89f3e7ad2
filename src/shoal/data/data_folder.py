"""Where data sets lie: in the folder that ``SHOAL_DATA`` names, else in the user's data folder.

| system | the user's data folder |
|---|---|
| Linux and others | ``$XDG_DATA_HOME/shoal``, else ``~/.local/share/shoal`` |
| macOS | ``~/Library/Application Support/shoal`` |
| Windows | ``%LOCALAPPDATA%\\shoal`` |
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shoal.core.errors import InputError, UsageError
from shoal.data.catalogue import DATASETS, FILES, DataSet, describe_licence

VARIABLE = "SHOAL_DATA"


def user_folder() -> Path:
    """The user's own folder for data sets, which need not be there yet."""
    home = Path(os.path.expanduser("~"))
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "shoal"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "shoal"
    stated = os.environ.get("XDG_DATA_HOME", "")
    # The specification says that a relative path there is to be ignored.
    return (Path(stated) if os.path.isabs(stated) else home / ".local" / "share") / "shoal"


def list_folders() -> tuple[Path, ...]:
    """Where a file is looked for, in this order."""
    named = os.environ.get(VARIABLE)
    return (*([Path(named)] if named else []), user_folder())


def find_file(file: str) -> Path | None:
    """Where a file of a data set lies; None where it is nowhere."""
    places = (folder / file for folder in list_folders())
    return next((place for place in places if os.path.isfile(place)), None)


def choose_target() -> Path:
    """Where what is fetched goes: the first of the folders that can be written to."""
    return next((folder for folder in list_folders() if is_writable(folder)), user_folder())


def is_writable(folder: Path) -> bool:
    """Whether files may be put there; a folder that is not there yet: whether it may be made."""
    there = next(one for one in (folder, *folder.absolute().parents) if os.path.exists(one))
    # An administrator may write anywhere; a folder that says read-only is left alone all the same.
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK) and bool(_mode(there) & 0o222)


def _mode(folder: Path) -> int:
    return folder.stat().st_mode


def list_missing_files(names: Iterable[str]) -> list[str]:
    """The files of these data sets that are nowhere."""
    wanted = dict.fromkeys(file for name in names for file in get_dataset(name).files)
    return [file for file in wanted if find_file(file) is None]


def get_dataset(name: str) -> DataSet:
    """The data set of a name; UsageError where there is none."""
    if name not in DATASETS:
        raise UsageError(f"There is no data set {name!r}.", f"one of {', '.join(DATASETS)}.")
    return DATASETS[name]


def require_datasets(names: Iterable[str]) -> None:
    """Refuse where any file of these data sets is missing: all of them in one message."""
    asked = list(dict.fromkeys(names))
    if not (missing := list_missing_files(asked)):
        return
    absent = [name for name in asked if set(get_dataset(name).files) & set(missing)]
    one = len(absent) == 1
    listed = " and ".join(filter(None, (", ".join(absent[:-1]), absent[-1])))
    raise InputError(
        f"The data set{'' if one else 's'} {listed} {'is' if one else 'are'} not here "
        f"({', '.join(missing)}).",
        f"get {'it' if one else 'them'} with `shoal data fetch`, or name the folder of the files "
        f"in the variable {VARIABLE}; --stand-in studies made-up people instead, and says so.",
    )


def datasets() -> list[dict[str, Any]]:
    """Every data set: its name, what it is, whether it is here, and where its files lie.

    >>> [one["name"] for one in datasets()]
    ['adult', 'adult-train', 'ipums-1970', 'ipums-stacked']
    """
    return [_standing(one) for one in DATASETS.values()]


def _standing(one: DataSet) -> dict[str, Any]:
    found = {file: find_file(file) for file in one.files}
    return {
        "name": one.name,
        "told": one.title,
        "rows": one.rows,
        "here": None not in found.values(),
        "files": {file: None if place is None else str(place) for file, place in found.items()},
        "licence": describe_licence(one.files[0]),
    }


def list_files(names: Iterable[str]) -> list[str]:
    """The files of these data sets, or of all."""
    asked = list(names) or list(DATASETS)
    needed = {file for name in asked for file in get_dataset(name).files}
    return [file for file in FILES if file in needed]
