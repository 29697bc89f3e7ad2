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
    stated = os.environ.get(VARIABLE)
    return (*([Path(stated)] if stated else []), user_folder())


def find_file(file: str) -> Path | None:
    """Where a file of a data set lies; None where it is nowhere."""
    places = (folder / file for folder in list_folders())
    return next((place for place in places if os.path.isfile(place)), None)


def choose_target() -> Path:
    """Where what is fetched goes: the first of the folders that can be written to."""
    return next((folder for folder in list_folders() if is_writable(folder)), user_folder())


def is_writable(folder: Path) -> bool:
    """Whether files may be put there; a folder that is not there yet: whether it may be made."""
    existing = next(path for path in (folder, *folder.absolute().parents) if os.path.exists(path))
    # An administrator may write anywhere; a folder that says read-only is left alone all the same.
    may_write = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
    return may_write and bool(existing.stat().st_mode & 0o222)


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
    wanted = list(dict.fromkeys(names))
    if not (missing := list_missing_files(wanted)):
        return
    absent = [name for name in wanted if set(get_dataset(name).files) & set(missing)]
    single = len(absent) == 1
    listed = " and ".join(filter(None, (", ".join(absent[:-1]), absent[-1])))
    raise InputError(
        f"The data set{'' if single else 's'} {listed} {'is' if single else 'are'} not here "
        f"({', '.join(missing)}).",
        f"get {'it' if single else 'them'} with `shoal data fetch`, or name the folder of the "
        f"files in the variable {VARIABLE}; --stand-in studies made-up people instead, and says "
        "so.",
    )


def datasets() -> list[dict[str, Any]]:
    """Every data set: its name, what it is, whether it is here, and where its files lie.

    >>> [dataset["name"] for dataset in datasets()]
    ['adult', 'adult-train', 'ipums-1970', 'ipums-stacked']
    """
    return [_describe_dataset(dataset) for dataset in DATASETS.values()]


def _describe_dataset(dataset: DataSet) -> dict[str, Any]:
    places = {file: find_file(file) for file in dataset.files}
    return {
        "name": dataset.name,
        "told": dataset.title,
        "rows": dataset.rows,
        "here": None not in places.values(),
        "files": {file: None if place is None else str(place) for file, place in places.items()},
        "licence": describe_licence(dataset.files[0]),
    }


def list_files(names: Iterable[str]) -> list[str]:
    """The files of these data sets, or of all."""
    wanted = list(names) or list(DATASETS)
    needed = {file for name in wanted for file in get_dataset(name).files}
    return [file for file in FILES if file in needed]
