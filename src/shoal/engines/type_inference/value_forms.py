"""The forms a value can be written in, and the SQL that reads each.

A *form* is the shape of one text value (`digits`, `plain`, `iso` …). Each distinct value of a
column is given its form once, in the engine; `column_kind` then decides on the counts of the forms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.core.missing_marks import DOUBTFUL_MARKS

SOFT_MARKS = ("-", "--", ".", "none", "None", "NONE", *DOUBTFUL_MARKS)
"""Null only among numbers or dates: elsewhere `none` and `-` are values (no disease, negative)."""

_BLANKS_SQL = "' \t\r\n' || chr(160)"
"""In ASCII: where one character of a query is not, the driver looks at each of them."""

_EXPONENT = r"([eE][+-]?\d+)?"
_PATTERNS = (  # the first that fits, on the whole value
    ("zeros", r"0\d+(\.\d+)?"),
    ("digits", r"\d+"),
    ("dotted", r"[+-]?\d{1,3}\.\d{3}"),
    ("plain", rf"[+-]?(\d+\.?\d*|\.\d+){_EXPONENT}"),
    (
        "iso",
        r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"
        r"([ T]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s?(Z|UTC|[+-]\d{2}(:?\d{2})?)?)?",
    ),
    ("parts", r"\d{1,2}(/\d{1,2}/|\.\d{1,2}\.|-\d{1,2}-)(\d{4}|\d{2})"),
    ("either", r"[+-]?\d{1,3},\d{3}"),
    ("spaced", r"[+-]?\d{1,3}(['\x{a0}\x{202f} ]\d{3})+"),
    ("point", rf"[+-]?\d{{1,3}}([,'\x{{a0}}\x{{202f}} ]\d{{3}})+(\.\d*)?{_EXPONENT}"),
    ("comma", rf"[+-]?(\d+|\d{{1,3}}([.'\x{{a0}}\x{{202f}} ]\d{{3}})+)(,\d*)?{_EXPONENT}"),
    ("comma", rf"[+-]?,\d+{_EXPONENT}"),
    ("inf", r"[+-]?(?i:inf|infinity)"),
    ("code", r"[A-Za-z]{1,2}\d[0-9A-Za-z]*([.\-/][0-9A-Za-z]+)*"),
)


def quote_text(text: str) -> str:
    """A string as SQL.

    >>> quote_text("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def quote_column(column: str) -> str:
    """A column name as SQL.

    >>> print(quote_column('a "b"'))
    "a ""b""\"
    """
    return '"' + column.replace('"', '""') + '"'


def trim_blanks(value: str) -> str:
    """The value without blanks around it."""
    return f"trim({value}, {_BLANKS_SQL})"


def query_census(column: str, query: str, marks: Sequence[str], dates: bool = False) -> str:
    """A query with one row per form of a text column, and the counts `column_kind` decides on.

    Columns: form; rows, distinct values, and rows with blanks around the value; lengths, words and
    letters; distinct shapes of the first three characters. Or, for columns with dates among their
    values: how ``dates`` read, which takes the engine longer to plan than most tables to count.
    Only distinct values are looked at, each once.
    """
    counts = _sum_where(_date_tests()) if dates else _COUNTS
    counted = (
        f"SELECT {quote_column(column)}::VARCHAR AS r, count(*) AS n FROM ({query}) GROUP BY 1"
    )
    return (
        f"WITH counted AS ({counted}), {_shapes_sql('r, n', 'counted', marks)}"
        f" SELECT form, {counts} FROM shaped GROUP BY form"
    )


_COUNTS = """sum(n)::BIGINT AS rows, count(DISTINCT v) AS distinct,
            coalesce(sum(n) FILTER (r <> v), 0)::BIGINT AS padded,
            min(length(v)) AS shortest, max(length(v)) AS longest,
            sum(n * (1 + length(v) - length(replace(v, ' ', ''))))::BIGINT AS words,
            sum(n * length(v))::BIGINT AS letters, count(DISTINCT head) AS heads"""


def _shapes_sql(own: str, counted: str, marks: Sequence[str]) -> str:
    """The text ``v``, form and head of each value ``r`` of a relation, beside its ``own``."""
    cases = "".join(
        f" WHEN regexp_full_match(v, {quote_text(pattern)}) THEN {quote_text(form)}"
        for form, pattern in _PATTERNS
    )
    null = ", ".join(map(quote_text, ("", *marks)))
    soft = ", ".join(map(quote_text, SOFT_MARKS))
    return f"""formed AS (
            SELECT {own}, coalesce({trim_blanks("r")}, '') AS v,
                CASE WHEN v IN ({null}) THEN 'null:' || v
                     WHEN v IN ({soft}) THEN 'soft:' || v{cases} ELSE 'word' END AS form
            FROM {counted}
        ), shaped AS (
            SELECT *, regexp_replace(regexp_replace(v[:3], '[A-Za-z]', 'A', 'g'), '\\d', '9', 'g')
                AS head FROM formed
        )"""


def query_forms(source: str, marks: Sequence[str]) -> str:
    """A query with the form of each text ``r`` of a relation (``k``, ``r``)."""
    return f"WITH {_shapes_sql('k, r', source, marks)} SELECT * FROM shaped"


def query_lot_census(counts: str, texts: str, dates: bool = False) -> str:
    """The census of many columns at once: of ``counts``, (``i``, ``k``, ``n``) for each value.

    How often the ``i``-th column holds the ``k``-th of the ``texts``. Rows begin with ``i``; those
    of ``dates`` are only for the forms of dates. ``written`` counts the values that are not NULL.
    """
    if not dates:
        return (
            f"SELECT i, form, {_COUNTS}, count(*) AS raw, count(r) AS written"
            f" FROM {counts} JOIN {texts} USING (k) GROUP BY i, form"
        )
    flags = ", ".join(f"({test}) AS {label}" for label, test in _date_tests().items())
    sums = _sum_where({label: label for label in _date_tests()})
    return (
        f"SELECT i, form, {sums} FROM {counts} JOIN (SELECT k, form, {flags} FROM {texts}"
        " WHERE form IN ('iso', 'parts')) USING (k) GROUP BY i, form"
    )


def _sum_where(tests: Mapping[str, str]) -> str:
    return ", ".join(
        f"coalesce(sum(n) FILTER ({test}), 0)::BIGINT AS {label}" for label, test in tests.items()
    )


def _date_tests() -> dict[str, str]:
    part = "form = 'parts' AND TRY_CAST(regexp_extract(v, '^(\\d+)\\D(\\d+)', {}) AS INTEGER) > 12"
    return {
        "first": part.format(1),
        "second": part.format(2),
        "short": "form = 'parts' AND regexp_full_match(v, '.*\\D\\d\\d')",
        "timed": "form = 'iso' AND length(v) > 10 AND regexp_matches(v, '[ T].*[1-9].*')"
        " AND NOT regexp_matches(v, '[ T]0?0:00(:00([.,]0+)?)?\\s?(Z|UTC|[+-].*)?$')",
        "bad_iso": f"form = 'iso' AND {cast_date('v', 'iso', safe=True)} IS NULL",
        "bad_day": f"form = 'parts' AND {cast_date('v', 'day', safe=True)} IS NULL",
        "bad_month": f"form = 'parts' AND {cast_date('v', 'month', safe=True)} IS NULL",
    }


def cast_number(value: str, decimal: str, safe: bool = False) -> str:
    """A text value as DOUBLE, its thousands separators taken out."""
    group = ("[.'" if decimal == "," else "[,'") + " \\x{a0}\\x{202f}]"
    bare = f"regexp_replace({value}, {quote_text(group)}, '', 'g')"
    if decimal == ",":
        bare = f"replace({bare}, ',', '.')"
    return f"{'TRY_CAST' if safe else 'CAST'}({bare} AS DOUBLE)"


def cast_date(value: str, order: str, safe: bool = False) -> str:
    """A text value as DATE; ``order`` is iso, day or month. Two-digit years: 1930 to 2029."""
    cast = "TRY_CAST" if safe else "CAST"
    if order == "iso":
        day = f"regexp_extract({value}, '^\\d+\\D\\d+\\D\\d+')"
        return f"{cast}(regexp_replace({day}, '[/.]', '-', 'g') AS DATE)"
    groups = [f"regexp_extract({value}, '^(\\d+)\\D(\\d+)\\D(\\d+)$', {i})" for i in (1, 2, 3)]
    day, month = groups[:2] if order == "day" else groups[1::-1]
    year = (
        f"CASE WHEN length({groups[2]}) > 2 THEN {groups[2]}"
        f" WHEN {groups[2]} < '30' THEN '20' || {groups[2]} ELSE '19' || {groups[2]} END"
    )
    return f"{cast}(({year}) || '-' || {month} || '-' || {day} AS DATE)"
