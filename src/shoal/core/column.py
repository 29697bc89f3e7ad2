"""Column: one attribute of a table, what it is (role), how it is read (kind), how it generalises.

`Field` and `Profile` are what a frame knows about a column; `Column` is what the publisher says
about it. The words a publisher uses (`quasi(...)`, `identifier`, ...) live here too.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from shoal.core.errors import SchemaError
from shoal.core.hierarchy import Dates, Flat, Hierarchy, Ordered, Prefixes

KINDS = ("number", "category", "date", "code", "text")
"""How a column's values are read; `text` is free text, which is never published."""

ROLES = (
    "identifier",
    "quasi",
    "sensitive",
    "provider",
    "person",
    "weight",
    "keep",
    "drop",
    "undecided",
)
"""What a column is to an adversary, and so what happens to it."""

ROLES_LEFT_OUT = ("identifier", "drop")
"""The roles of columns that are not published: those that point at a person, and all others."""

PUBLISHED_ROLES = frozenset({"quasi", "sensitive", "keep"})
"""The roles whose values reach the published file."""

DEFAULT_HIERARCHIES: dict[str, Hierarchy] = {
    "number": Ordered(),
    "date": Dates(),
    "code": Prefixes(),
    "category": Flat(),
}
"""How a column of each kind generalises when nobody says otherwise."""

MISSING_IS_VALUE = "value"
"""What a schema says of a sensitive column whose empty cells are a value of their own."""

Value = str | int | float | bool | datetime.date
Bound = float | datetime.date


@dataclass(frozen=True)
class Field:
    """A column as a frame reads it: its name, its kind, and what was noticed while reading."""

    name: str
    kind: str
    notes: tuple[str, ...] = ()
    ordered: bool = False
    """Whether it is a category whose values have an order of their own: bands, sizes, chapters."""
    null_marks: tuple[tuple[str, int], ...] = ()
    """What was read as missing beside the empty cell, with the number of rows."""
    doubtful_marks: tuple[tuple[str, int], ...] = ()
    """What was read as a value and may mean that one is missing, with the number of rows."""
    decimal_comma: bool = False


@dataclass(frozen=True)
class Profile:
    """Counts over one column.

    `nulls` of the `rows` are empty; the rest hold `distinct` values, of which `once` occur in a
    single row; `entropy` is in bits; `shortest` and `longest` are lengths of the values as text.
    """

    rows: int
    nulls: int
    distinct: int
    once: int
    entropy: float
    shortest: int
    longest: int


def describe_marks(fields: Iterable[Field]) -> list[str]:
    """What was read as missing, and what may mean it and was read as a value, by column.

    >>> describe_marks([Field("race", "category", null_marks=(("?", 2),))])
    ["Column race: 2 cells written '?' are read as missing."]
    """
    lines = []
    for field in fields:
        for mark, rows in field.null_marks:
            cells = "1 cell" if rows == 1 else f"{rows:,} cells"
            verb = "is" if rows == 1 else "are"
            lines.append(f"Column {field.name}: {cells} written {mark!r} {verb} read as missing.")
        for mark, rows in field.doubtful_marks:
            cells = "1 cell is" if rows == 1 else f"{rows:,} cells are"
            lines.append(
                f"Column {field.name}: {cells} written {mark!r}, read as a value. "
                f"Where that means missing, add --null {mark}."
            )
    return lines


def default_hierarchy(field: Field, kind: str = "") -> Hierarchy | None:
    """How a column generalises when nobody says otherwise; ``kind``: as the publisher reads it."""
    kind = kind or field.kind
    return Ordered() if field.ordered and kind == "category" else DEFAULT_HIERARCHIES.get(kind)


@dataclass(frozen=True)
class Role:
    """A role with the settings a publisher gave it; made by `quasi(...)`, `sensitive(...)`."""

    name: str
    hierarchy: Hierarchy | None = None
    weight: float = 1
    bounds: tuple[Bound, Bound] | None = None
    domain: Sequence[Value] | None = None
    kind: str | None = None
    missing: str = ""

    def __call__(self) -> Role:
        """Itself, so that a role reads the same with and without brackets."""
        return self


RoleLike = Role | str | Callable[..., Role]
"""What `Schema.set` takes: a role, its name, or a bare `quasi` or `sensitive`."""

identifier = Role("identifier")
provider = Role("provider")
person = Role("person")
weight = Role("weight")
keep = Role("keep")
drop = Role("drop")


def quasi(
    hierarchy: Hierarchy | None = None,
    *,
    weight: float = 1,
    bounds: tuple[Bound, Bound] | None = None,
    domain: Sequence[Value] | None = None,
    kind: str | None = None,
) -> Role:
    """A quasi-identifier: others may know it, and together such columns may single a person out.

    Parameters
    ----------
    hierarchy : Hierarchy, optional
        How it generalises; without one as its kind does.
    weight : float
        Its importance to the methods and to the measured loss.
    bounds : (number or date, number or date), optional
        The smallest and the largest value that it may take, whatever the table holds.
    domain : sequence, optional
        The values that it may take; ``""`` among them says that cells may be empty.
    kind : str, optional
        How it is read, where that is not as the table has it: one of `KINDS`.

    Examples
    --------
    >>> quasi(bounds=(0, 120)).name
    'quasi'
    """
    return Role("quasi", hierarchy, weight, bounds, domain, kind)


def sensitive(
    hierarchy: Hierarchy | None = None,
    *,
    weight: float = 1,
    bounds: tuple[Bound, Bound] | None = None,
    domain: Sequence[Value] | None = None,
    kind: str | None = None,
    missing: str = "",
) -> Role:
    """A sensitive attribute: what nobody should learn about a person.

    Parameters
    ----------
    hierarchy, weight, bounds, domain, kind
        As in `quasi`.
    missing : str
        ``"value"`` says that an empty cell is a value of its own ("not tested"); otherwise it is a
        value that nobody knows, and rules are judged as if it were the worst for them.

    Examples
    --------
    >>> sensitive(domain=["flu", "mumps"]).name
    'sensitive'
    """
    return Role("sensitive", hierarchy, weight, bounds, domain, kind, missing)


@dataclass(frozen=True)
class Column:
    """One column of a schema.

    Parameters
    ----------
    name, role : str
        The role is one of `ROLES`.
    kind : str
        One of `KINDS`; empty: as the table has it.
    hierarchy : Hierarchy, optional
        How it generalises; without one as its kind does.
    domain, bounds, weight, missing
        As in `quasi` and `sensitive`. Bounds of a date column are kept as day ordinals
        (`datetime.date.toordinal`).
    reason : str
        Why it has its role, for a reader.

    Raises
    ------
    SchemaError
        Where a setting is not understood.

    Examples
    --------
    >>> Column("age", "quasi", "number", bounds=(0, 120)).bounds
    (0.0, 120.0)
    """

    name: str
    role: str = "undecided"
    kind: str = ""
    hierarchy: Hierarchy | None = None
    domain: tuple[Value, ...] | None = None
    bounds: tuple[float, float] | None = None
    weight: float = 1
    reason: str = ""
    missing: str = ""

    @property
    def blanks_are_unknown(self) -> bool:
        """Whether an empty cell of this sensitive column may stand for any of its values."""
        return self.role == "sensitive" and self.missing != MISSING_IS_VALUE

    @property
    def listed_values(self) -> tuple[Value, ...] | None:
        """The values of the domain; None where it lists none, and so restricts none.

        The empty text is no value: it says that cells may be empty.

        >>> Column("sex", domain=("F", "M", "")).listed_values
        ('F', 'M')
        >>> Column("age", domain=("",)).listed_values is None
        True
        """
        return tuple(value for value in self.domain or () if value != "") or None

    @property
    def may_be_empty(self) -> bool:
        """Whether the domain says that cells may be empty."""
        return "" in (self.domain or ())

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise self._wrong("has an unknown role", f"The roles are: {', '.join(ROLES)}.")
        if self.kind and self.kind not in KINDS:
            raise self._wrong("has an unknown kind", f"The kinds are: {', '.join(KINDS)}.")
        if not (_is_finite(self.weight) and self.weight > 0):
            raise self._wrong("has a weight that is not above 0", "The usual weight is 1.")
        if self.hierarchy is not None and not isinstance(self.hierarchy, Hierarchy):
            raise self._wrong(
                "has a hierarchy of the wrong type",
                f"schema.set({{{quote_name(self.name)}: shoal.quasi(shoal.intervals(5, 10, 20))}})",
            )
        able = self.role in ("sensitive", "undecided") and self.missing == MISSING_IS_VALUE
        if self.missing and not able:
            raise self._wrong(
                "says of missing values what is not understood",
                'missing = "value" in a sensitive column: an empty cell is a value of its own.',
            )
        self._check_domain()
        self._check_bounds()

    def _check_domain(self) -> None:
        if self.domain is None:
            return
        if not self.domain:
            raise self._wrong("has an empty domain", "List its values, or leave the domain out.")
        repeats = len(self.domain) - len(set(self.domain))
        if repeats:
            raise self._wrong(f"has {repeats} repeated values in its domain", "Name each once.")

    def _check_bounds(self) -> None:
        if self.bounds is None:
            return
        low, high = (_position(bound) for bound in self.bounds)
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise self._wrong("has bounds that are not low, high", "For example bounds = [0, 120].")
        object.__setattr__(self, "bounds", (low, high))

    def _wrong(self, fact: str, hint: str) -> SchemaError:
        return SchemaError(f"Column {quote_name(self.name)} {fact}.", hint)


def make_column(name: str, requested: RoleLike, before: Column | None = None) -> Column:
    """The column `name` in the requested role; its kind stays unless a new one is given.

    >>> make_column("age", quasi, Column("age", kind="number")).kind
    'number'
    """
    role = Role(requested) if isinstance(requested, str) else requested
    role = role() if callable(role) else None
    if not isinstance(role, Role):
        raise SchemaError(
            f"Column {quote_name(name)} was given something that is not a role.", role_hint(name)
        )
    kind = before.kind if role.kind is None and before else role.kind or ""
    domain = None if role.domain is None else tuple(role.domain)
    bounds = None if role.bounds is None else (_position(role.bounds[0]), _position(role.bounds[1]))
    settings = (role.hierarchy, domain, bounds, role.weight)
    return Column(name, role.name, kind, *settings, missing=role.missing)


def is_pattern(name: str) -> bool:
    """Whether a name in a schema stands for every column that fits it: ``*_id``, ``*``."""
    return "*" in name


def quote_name(name: str) -> str:
    """A column's name as a person types it in Python: in double quotes, on one line."""
    return json.dumps(name, ensure_ascii=False)


LIKE_A_VALUE = "its name looks like a value: is the header missing?"
"""The note on a column whose name may be somebody's cell."""
_VALUE = re.compile(
    r"[+-]?[\d.,:/ %€$£-]*\d[\d.,:/ %€$£-]*|\S+@\S+|.{81,}|true|false|yes|no|null|nan|n/?a",
    re.IGNORECASE | re.DOTALL,
)


def is_like_a_value(name: str) -> bool:
    """Whether a column's name may be a cell: a number, a date, an address, a whole sentence.

    >>> [is_like_a_value(name) for name in ("age", "zip_5", "34", "2020-01-31", "ann@home.org")]
    [False, False, True, True, True]
    """
    return _VALUE.fullmatch(name.strip()) is not None


def describe_name(name: str) -> str:
    """A column's name for an error: what may be a cell is not shown.

    >>> describe_name("age"), describe_name("34")
    ("'age'", 'whose name looks like a value')
    """
    return "whose name looks like a value" if is_like_a_value(name) else repr(name)


def may_lack_header(fields: Iterable[Field]) -> bool:
    """Whether the names of a table's columns may be the values of its first row."""
    return any(is_like_a_value(field.name) or LIKE_A_VALUE in field.notes for field in fields)


def list_columns(fields: Sequence[Field], known: Iterable[str] = ()) -> str:
    """A table's columns for an error, unless the header may be somebody's row.

    It is a header where all of the ``known`` names are in it; or, where some of them are or none
    is known, where no name of it looks like a value.

    >>> list_columns([Field("age", "number"), Field("sex", "category")], ["age", "zip"])
    'The table has: "age", "sex".'
    >>> list_columns([Field("34", "number"), Field("f", "category")]).partition(":")[0]
    'The table has 2 columns, whose names may be values and are not shown'
    """
    names, wanted = [field.name for field in fields], set(known)
    is_known = bool(wanted) and wanted <= set(names)
    is_strange = bool(wanted) and wanted.isdisjoint(names)
    if not is_known and (is_strange or may_lack_header(fields)):
        return (
            f"The table has {len(names):,} columns, whose names may be values and are not shown: "
            "check that its first row is a header; shoal look lists the columns."
        )
    return f"The table has: {', '.join(map(quote_name, names))}."


def join_column_names(names: Iterable[str]) -> str:
    """Columns' names in a sentence: in double quotes where a comma would make two of one.

    >>> print(join_column_names(["sex", "Age, years"]))
    sex, "Age, years"
    """
    return ", ".join(quote_name(name) if "," in name else name for name in names)


def toml_key(name: str) -> str:
    """A column's name as it stands in a schema file: in quotes where it must be.

    >>> toml_key("age"), toml_key("home town")
    ('age', '"home town"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quote_name(name)


def role_hint(name: str, role: str = "quasi") -> str:
    """What gives a column its role: on the command line, in Python, and in a schema file.

    >>> print(role_hint("visits", "keep"))
    --keep visits, schema.set({"visits": shoal.keep}), or [columns.visits] with role = "keep"
    """
    key = toml_key(name)
    return (
        f"--{role} {key}, schema.set({{{quote_name(name)}: shoal.{role}}}), "
        f'or [columns.{key}] with role = "{role}"'
    )


def _position(bound: Bound) -> float:
    """Where a bound lies; beyond all numbers it is infinite, and so no bound."""
    try:
        return float(bound.toordinal() if isinstance(bound, datetime.date) else bound)
    except OverflowError:
        return math.inf


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number beyond all floats
        return False
