"""Schema: roles, TOML that keeps comments, and what does not fit."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal.core.schema as s
from shoal.core.errors import HierarchyError, InputError, SchemaError
from shoal.core.hierarchy import (
    Dates,
    Flat,
    Hierarchy,
    Ordered,
    Prefixes,
    equal_frequency,
    equal_width,
    from_arx_csv,
    intervals,
    tree,
)
from shoal.core.schema import Column, Field, Schema

TEXT = """\
# Made by the data office.
edition = 1 # the format

# Age in whole years.
[columns.age]
role = "quasi" # known to neighbours
hierarchy = { intervals = [5, 10, 20] }

[columns."home town"]
role = "quasi"
# to be decided in May
[columns.visits]
role = "undecided"
# the end
"""


# Roles


def test_roles_are_taken_bare_called_and_by_name() -> None:
    schema = Schema(()).set(
        {"a b": s.quasi, "c": s.quasi()}, d="quasi", e=s.identifier, f=s.provider(), g=s.sensitive
    )
    assert schema.names == ("a b", "c", "d", "e", "f", "g")
    roles = [column.role for column in schema.columns]
    assert roles == ["quasi"] * 3 + ["identifier", "provider", "sensitive"]


def test_set_makes_a_new_schema_and_keeps_the_kind() -> None:
    old = Schema((Column("age", "undecided", "number", reason="unsure"), Column("b")))
    new = old.set(age=s.quasi(intervals(5, 10), weight=2, bounds=(0, 120)))
    assert old.column("age").role == "undecided"
    expected = Column("age", "quasi", "number", intervals(5, 10), None, (0.0, 120.0), 2)
    assert new.columns == (expected, Column("b"))


def test_bounds_of_dates_are_ordinals() -> None:
    days = (datetime.date(1900, 1, 1), datetime.date(2020, 1, 1))
    schema = Schema(()).set(birth=s.quasi(bounds=days, kind="date"))
    assert schema.column("birth").bounds == tuple(float(day.toordinal()) for day in days)
    assert "bounds = [1900-01-01, 2020-01-01]" in schema.to_toml()
    assert Schema.parse(schema.to_toml()) == schema


@pytest.mark.parametrize(
    "wrong",
    [
        "secret",
        3,
        int,
        s.quasi(weight=0),
        s.quasi(weight=float("nan")),
        s.quasi(domain=()),
        s.quasi(domain=("a", "a")),
        s.quasi(bounds=(2, 1)),
        s.quasi(kind="colour"),
        s.quasi(bounds=(0, float("inf"))),
        s.quasi("flat"),  # type: ignore[arg-type]
    ],
)
def test_wrong_roles_are_refused_with_a_hint(wrong: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema(()).set(age=wrong)
    assert '"age"' in caught.value.fact
    assert caught.value.hint


def test_of_takes_names_and_lists_and_refuses_two_roles() -> None:
    schema = Schema.of(quasi=["age", "zip"], sensitive="disease", provider="site", keep=["year"])
    assert [column.name for column in schema.quasi] == ["age", "zip"]
    assert [column.name for column in schema.sensitive] == ["disease"]
    assert schema.provider == Column("site", "provider")
    assert (schema.person, schema.weight, schema.undecided) == (None, None, ())
    with pytest.raises(SchemaError, match='named twice: "age"'):
        Schema.of(quasi=["age"], sensitive=["age"])


def test_a_column_that_is_not_there_is_answered_with_one_alike() -> None:
    with pytest.raises(SchemaError, match='Did you mean "diagnosis"'):
        Schema.of(sensitive="diagnosis").column("diagnose")


# Fitting to a table

FIELDS = (Field("zip", "code"), Field("age", "number"), Field("note", "text"), Field("ill", "text"))


def test_fit_settles_kinds_hierarchies_and_order() -> None:
    schema = Schema.of(quasi=["age", "zip"], identifier="note").set(
        ill=s.sensitive(kind="category"), age=s.quasi(intervals(5))
    )
    fitted = schema.fit(FIELDS)
    assert fitted.columns == (
        Column("zip", "quasi", "code", Prefixes()),
        Column("age", "quasi", "number", intervals(5)),
        Column("note", "identifier", "text"),
        Column("ill", "sensitive", "category", Flat()),
    )
    assert fitted.fit(FIELDS) == fitted
    assert Schema.parse(fitted.to_toml()) == fitted


def fits_not(schema: Schema, *fields: Field) -> SchemaError:
    with pytest.raises(SchemaError) as caught:
        schema.fit(fields)
    assert caught.value.hint
    assert caught.value.exit_code == 5
    return caught.value


AGE = Field("age", "number")


def test_fit_names_columns_missing_from_the_table() -> None:
    error = fits_not(Schema.of(quasi=["age", "zipp"]), AGE, Field("zip", "code"))
    assert '"zipp"' in error.fact
    assert error.hint == 'Did you mean "zip"?'


def test_fit_refuses_undecided_and_unnamed_columns() -> None:
    schema = Schema.of(quasi="age").set(visits="undecided")
    error = fits_not(schema, AGE, Field("visits", "number"), Field("two words", "category"))
    assert '"visits", "two words" (1 of them not in the schema)' in error.fact
    assert 'schema.set({"visits": shoal.quasi})' in error.hint
    assert '[columns.visits] with role = "quasi"' in error.hint
    error = fits_not(Schema.of(quasi="age"), AGE, Field("two words", "category"))
    assert '[columns."two words"] with role = "quasi"' in error.hint


@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep"])
def test_fit_refuses_to_publish_free_text(role: str) -> None:
    error = fits_not(Schema.of(quasi="age").set(note=role), AGE, Field("note", "text"))
    assert "free text" in error.fact
    assert "shoal.identifier" in error.hint


def test_fit_refuses_a_table_without_quasi_identifiers() -> None:
    assert "no quasi-identifier" in fits_not(Schema.of(keep="age"), AGE).fact
    assert "no quasi-identifier" in fits_not(Schema(())).fact


def test_fit_refuses_doubled_names_two_providers_and_wrong_kinds() -> None:
    assert "named twice" in fits_not(Schema.of(quasi="age"), AGE, AGE).fact
    two = Schema.of(quasi="age", provider="a").set(b=s.provider)
    assert "role provider" in fits_not(two, AGE, Field("a", "code"), Field("b", "code")).fact
    code = Schema(()).set(age=s.quasi(kind="code"))
    assert 'kinds={"age": "code"}' in fits_not(code, AGE).hint
    heavy = Schema.of(quasi="age", weight="w")
    assert "not a number" in fits_not(heavy, AGE, Field("w", "category")).fact


# Text


def test_an_untouched_text_comes_back_as_it_was() -> None:
    assert Schema.parse(TEXT).to_toml() == TEXT


def test_comments_and_order_survive_set() -> None:
    schema = Schema.parse(TEXT).set(
        {"home town": s.keep}, age=s.sensitive(), visits=s.quasi(weight=2), new=s.keep
    )
    text = schema.to_toml()
    at = [text.index(line) for line in TEXT.splitlines() if line.startswith("#")]
    assert at == sorted(at)
    assert 'role = "sensitive" # known to neighbours' in text
    assert "edition = 1 # the format" in text
    assert Schema.parse(text) == schema
    assert schema.names == ("age", "home town", "visits", "new")


def test_short_inline_and_dotted_columns_are_read_and_edited() -> None:
    text = (
        'edition = 1\n[columns]\na = "keep" # one\nb = {role = "quasi"} # two\nc.role = "quasi"\n'
    )
    schema = Schema.parse(text)
    assert [column.role for column in schema.columns] == ["keep", "quasi", "quasi"]
    changed = schema.set(a=s.quasi(weight=3), b=s.keep, c=s.sensitive(bounds=(0, 1)), d=s.keep)
    edited = changed.to_toml()
    assert Schema.parse(edited) == changed
    assert "# one" in edited
    assert "# two" in edited
    assert 'a = "provider" # one' in schema.set(a=s.provider).to_toml()


@pytest.mark.parametrize(
    "text",
    [
        '[columns.a]\nrole = "quasi"\n[columns.a.hierarchy]\nintervals = [5] # c1\n# c2\n',
        '[columns.a.hierarchy]\nintervals = [5]\n# c1\n[columns.a]\nrole = "quasi" # c2\n',
        '# c1\r\n[columns.a]\r\nrole = "quasi" # c2\r\n',
        '\ufeff# c1\n[columns.a]\nrole = "quasi" # c2\n',
        'columns = {a = "quasi", b = {role = "keep"}} # c1\n# c2',
        'columns.a.role = "quasi" # c1\nedition = 1\ncolumns.b = "keep" # c2\n',
        "[columns.a] # c1\nreason = '# no comment'\nrole = \"quasi\" # c2",
        "# c1\n[columns] # c2",
    ],
)
@pytest.mark.parametrize(
    "roles",
    [
        {"a": s.keep},
        {"a": s.quasi(intervals(7), weight=2)},
        {"z": s.sensitive},
        {"b": s.identifier, "a": "undecided", "z": s.quasi(bounds=(0, 1.5))},
    ],
)
def test_odd_layouts_keep_their_meaning_and_every_comment(
    text: str, roles: dict[str, s.Asked]
) -> None:
    schema = Schema.parse(text).set(roles)
    edited = schema.to_toml()
    assert Schema.parse(edited) == schema
    assert edited.count("# c1") == edited.count("# c2") == 1


def test_a_hierarchy_in_a_file_is_read_by_the_caller_and_named_in_the_text() -> None:
    text = '[columns.age]\nrole = "quasi"\nhierarchy = {file = "age.csv"}\n'
    files = {"age.csv": "17;young;*\n18;old;*\n"}
    schema = Schema.parse(text, files=files.__getitem__)
    assert schema.column("age").hierarchy == from_arx_csv(files["age.csv"], source="age.csv")
    assert schema.to_toml() == text
    again = Schema(schema.columns).to_toml()
    assert Schema.parse(again, files=files.__getitem__) == schema
    with pytest.raises(SchemaError, match="files="):
        Schema.parse(text)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("edition = ", "not valid TOML"),
        ("edition = 99", "edition 99"),
        ('edition = "1"', "edition"),
        ("columns = 3", "not a table"),
        ("[columns]\na = 3", "not a table"),
        ("[column.a]", '"column"'),
        ('[columns.a]\nrolle = "quasi"', '"rolle"'),
        ('[columns.a]\nrole = "quasy"', "unknown role"),
        ("[columns.a]\nrole = 1", "role of the wrong type"),
        ("[columns.a]\nweight = true", "weight of the wrong type"),
        ("[columns.a]\nbounds = [1]", "bounds of the wrong type"),
        ("[columns.a]\ndomain = [[1]]", "domain of the wrong type"),
        ("[columns.a]\n[columns.a]", "not valid TOML"),
    ],
)
def test_wrong_texts_are_refused(text: str, fact: str) -> None:
    with pytest.raises(SchemaError, match=fact) as caught:
        Schema.parse(text)
    assert caught.value.hint


def test_a_wrong_hierarchy_names_its_column() -> None:
    with pytest.raises(HierarchyError, match='Column "a": '):
        Schema.parse('[columns.a]\nhierarchy = "upwards"')


# Properties

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.floats(-1e6, 1e6, allow_nan=False).map(float)
VALUES = NAMES | st.integers(-(2**40), 2**40) | st.dates()
HIERARCHIES: st.SearchStrategy[Hierarchy | None] = st.sampled_from(
    [
        None,
        Flat(),
        Ordered(),
        Prefixes(),
        Prefixes((3, 1)),
        Dates(),
        Dates(("year", "decade")),
        intervals(5, 10, 20),
        intervals(2, origin=1, top=80),
        tree({"Europe": ["Italy", "France"]}),
        equal_width(8, 4, 2),
        equal_frequency(4, 2),
    ]
)
COLUMNS = st.builds(
    Column,
    name=NAMES,
    role=st.sampled_from(s.ROLES),
    kind=st.sampled_from(("", *s.KINDS)),
    hierarchy=HIERARCHIES,
    domain=st.none() | st.lists(VALUES, min_size=1, max_size=3, unique=True).map(tuple),
    bounds=st.none() | st.tuples(NUMBERS, NUMBERS).filter(lambda b: b[0] < b[1]),
    weight=st.just(1) | st.floats(0.5, 9),
    reason=NAMES,
)
SCHEMAS = st.lists(COLUMNS, max_size=4, unique_by=lambda column: column.name).map(
    lambda columns: Schema(tuple(columns))
)


@given(SCHEMAS)
def test_text_round_trip_is_the_identity(schema: Schema) -> None:
    text = schema.to_toml()
    assert Schema.parse(text) == schema
    assert Schema.parse(text).to_toml() == text


@given(SCHEMAS, st.data())
def test_comments_survive_any_set(schema: Schema, data: st.DataObject) -> None:
    lines = schema.to_toml().split("\n")
    marked = "\n".join(
        f"# note {at}\n{line}" if line.startswith("[") else line for at, line in enumerate(lines)
    )
    notes = [line for line in marked.split("\n") if line.startswith("# note")]
    changed = data.draw(st.dictionaries(st.sampled_from(schema.names or ("x",)), COLUMNS))
    new = Schema.parse(marked).set(
        {
            name: s.Role(c.role, c.hierarchy, c.weight, c.bounds, c.domain, c.kind)
            for name, c in changed.items()
        }
    )
    text = new.to_toml()
    assert Schema.parse(text) == new
    assert [line for line in text.split("\n") if line.startswith("# note")] == notes


# Shown


def test_repr_is_an_aligned_table_and_html_is_escaped() -> None:
    schema = Schema((Column("<b>", "quasi", "number", intervals(5, 10), reason="a & b"),))
    head, line = repr(schema).split("\n")
    assert head.index("kind") == line.index("number")
    assert "intervals 5, 10" in line
    assert "<td>&lt;b&gt;</td>" in schema._repr_html_()
    assert "a &amp; b" in schema._repr_html_()


def test_messages_hold_no_declared_value() -> None:
    with pytest.raises(InputError) as caught:
        Column("a", "quasi", domain=("hunter2", "hunter2"))
    assert "hunter2" not in str(caught.value)
