"""Under which licences the data sets are, and the text about it that lies beside them."""

from __future__ import annotations

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
