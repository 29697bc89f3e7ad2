"""The papers' data sets: the columns, rows, hash and licence of each of their files.

The hash is of the table as text, so that it does not depend on who compressed it. Of Adult it was
found from files whose own hashes are those that the archive's files are known by.
"""

from __future__ import annotations

from dataclasses import dataclass

ADULT_COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
    "split",
)
IPUMS_COLUMNS = tuple(
    "year gq gqtypeg farm ownershg value rent ftotinc nfams ncouples nmothers nfathers momloc "
    "stepmom momrule poploc steppop poprule sploc sprule famsize nchild nchlt5 famunit eldch yngch "
    "nsibs relateg age sex raceg marst chborn bplg school educrec schltype empstatg labforce "
    "occ1950 occscore sei ind1950 classwkg wkswork2 hrswork2 yrlastwk workedyr inctot incwage "
    "incbus incfarm incss incwelfr incother poverty migrat5g migplac5 movedin vetstat "
    "tranwork".split()
)


@dataclass(frozen=True)
class DataFile:
    """What a file holds that is what it should be."""

    columns: tuple[str, ...]
    rows: int
    sha256: str
    """Of its content, not compressed."""
    parts: tuple[str, ...]
    """The archive's files that it is made of."""


@dataclass(frozen=True)
class DataSet:
    """A table that studies run on, by its name."""

    name: str
    title: str
    files: tuple[str, ...]
    rows: int
    """Complete ones: those that studies use."""


FILES = {
    "adult.csv.gz": DataFile(
        ADULT_COLUMNS,
        48_842,
        "c6c77bfbd8b6c387f5e508860cdc6595f3522e645be92e9d55612bbf046829f9",
        ("adult.data", "adult.test"),
    ),
    "ipums_la_97.csv.gz": DataFile(
        IPUMS_COLUMNS,
        70_187,
        "de322c719c78ab7f7157f09d462e752881040c3afd67ab5f688091661663386b",
        ("ipums.la.97",),
    ),
    "ipums_la_98.csv.gz": DataFile(
        IPUMS_COLUMNS,
        74_954,
        "ab18bdb7652d4b73cf623e673013872abfb93989542ec2971271fd3e163196f8",
        ("ipums.la.98",),
    ),
    "ipums_la_99.csv.gz": DataFile(
        IPUMS_COLUMNS,
        88_443,
        "8f6ceed7de81ced8f23923f31139b68bc486b4554467b545ff526227ded25073",
        ("ipums.la.99",),
    ),
}
_ADULT, *_IPUMS = FILES
DATASETS = {
    dataset.name: dataset
    for dataset in (
        DataSet("adult", "Adult, complete rows", (_ADULT,), 45_222),
        DataSet("adult-train", "Adult, complete training rows", (_ADULT,), 30_162),
        DataSet("ipums-1970", "IPUMS Los Angeles 1970", (_IPUMS[0],), 70_187),
        DataSet(
            "ipums-stacked",
            "IPUMS Los Angeles 1970, 1980 and 1990, stacked",
            tuple(_IPUMS),
            233_584,
        ),
    )
}
"""By name; the numbers in the names of the IPUMS files are no years."""
NOT_APPLICABLE = {"occ1950": 999, "ind1950": 0, "inctot": 999_999}
"""What stands for "not applicable" in columns of IPUMS."""

LICENCE_FILE = "LICENCES.txt"
SHORT_LICENCES = {
    "adult": "CC BY 4.0",
    "ipums": "free to use and distribute at no charge, with citation",
}
"""In a few words, by what the files' names begin with."""
LICENCE_TEXT = """\
The tables in this folder were fetched by `shoal data fetch`. Shoal's own licence is not theirs.

adult.csv.gz
    Becker, B. and Kohavi, R.: Adult. UCI Machine Learning Repository, 1996.
    https://doi.org/10.24432/C5XW20
    Licence: Creative Commons Attribution 4.0 International (CC BY 4.0),
    https://creativecommons.org/licenses/by/4.0/
    Changed: both files in one with a header and a column that says which (train, test); no blanks
    behind commas, no full stop behind the income. No value is changed.

ipums_la_97.csv.gz, ipums_la_98.csv.gz, ipums_la_99.csv.gz
    Ruggles, S. and Sobek, M. et al.: Integrated Public Use Microdata Series: Version 2.0.
    Minneapolis: Historical Census Projects, University of Minnesota, 1997.
    http://www.ipums.umn.edu/
    Samples of Los Angeles and Long Beach from the censuses of 1970, 1980 and 1990, by way of the
    UCI Machine Learning Repository, IPUMS Census Database: https://doi.org/10.24432/C5BG63
    Licence: everybody may use and distribute the data and its documentation, as long as no fee is
    charged for either and publications that rest on it cite it as above; its makers ask for a
    copy of such publications.
    Changed: a header with the names of the 61 columns. No value is changed.
"""


def describe_licence(file: str) -> str:
    """A file's licence in a few words.

    >>> describe_licence("adult.csv.gz")
    'CC BY 4.0'
    """
    return next(words for begins, words in SHORT_LICENCES.items() if file.startswith(begins))
