"""Bundled data: two synthetic hospitals, a town's patients and voters, the papers' tiny tables.

`st_anna.csv` and `harbour.csv` are written by `make.py`; nobody in them exists. About five hundred
people are in both, with the same age, sex, ZIP code, day of admission and diagnosis. Nor does
anybody in `medical.csv`, a table without names, or in `voters.csv`, a list of the same town with
them: Sweeney's Figure 1, where ZIP code, date of birth and sex link the two. The small tables are
those printed in the papers (Sweeney 2002; Martin et al. 2007; Ganta et al. 2008; Goryczka et al.
2014; Sattar and Helal 2018), named after paper and figure.
"""

from importlib.resources import files
from pathlib import Path

from shoal.core.errors import UsageError


def _folder() -> Path:
    return Path(str(files(__name__)))


def names() -> tuple[str, ...]:
    """The names of the bundled tables, sorted.

    >>> "st_anna.csv" in names()
    True
    """
    return tuple(sorted(file.name for file in _folder().glob("*.csv")))


def path(name: str) -> Path:
    """Where the bundled table `name` lies; UsageError when there is none of that name.

    >>> path("harbour.csv").name
    'harbour.csv'
    """
    if name not in names():
        raise UsageError("There is no bundled table of that name.", "one of " + ", ".join(names()))
    return _folder() / name
