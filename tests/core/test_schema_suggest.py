"""Suggested roles: from names and counts, always with a reason, undecided where in doubt."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal.core.schema as s
from shoal.core.hierarchy import Dates, Flat, Ordered, Prefixes
from shoal.core.schema import Column, Field, Profile, Schema
from shoal.core.schema_suggest import find_name_hints, split_words


@dataclass
class Table:
    """A stand-in with what `Schema.suggest` may use, and nothing else."""

    counts: dict[str, Profile]
    kinds: dict[str, str] = field(default_factory=dict)

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(name, self.kinds.get(name, "category")) for name in self.counts)

    def profile(self) -> dict[str, Profile]:
        return self.counts


def counted(rows: int = 1000, distinct: int = 20, nulls: int = 0, once: int = 0) -> Profile:
    return Profile(rows, nulls, distinct, once, 2.5, 1, 9)


UNIQUE = counted(distinct=1000, once=1000)


def suggested(name: str, kind: str = "category", profile: Profile | None = None) -> Column:
    frame = Table({name: profile or counted()}, {name: kind})
    return Schema.suggest(frame).column(name)


# Names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("zip_code", ("zip", "code")),
        ("zipCode", ("zip", "code")),
        ("PatientID", ("patient", "id")),
        ("HTTPServer", ("http", "server")),
        ("Prénom du patient", ("prenom", "du", "patient")),
        ("ICD-10", ("icd",)),
        ("Straße", ("strasse",)),
        ("123", ()),
    ],
)
def test_names_are_cut_into_words(name: str, expected: tuple[str, ...]) -> None:
    assert split_words(name) == expected


@pytest.mark.parametrize(
    "name", ["message", "unicity", "image", "hidden", "sexton", "gripes", "validity", "rename"]
)
def test_words_inside_words_are_no_hints(name: str) -> None:
    assert find_name_hints(name) == {}
    assert suggested(name).role == "undecided"


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("age", "quasi"),
        ("patient_age", "quasi"),
        ("ZIPCODE", "quasi"),
        ("birthDate", "quasi"),
        ("marital-status", "quasi"),
        ("native-country", "quasi"),
        ("PLZ", "quasi"),
        ("Geburtsdatum", "quasi"),
        ("sexe", "quasi"),
        ("edad", "quasi"),
        ("città", "quasi"),
        ("country_name", "quasi"),
        ("diagnosis", "sensitive"),
        ("Diagnose", "sensitive"),
        ("icd10", "sensitive"),
        ("drugs", "sensitive"),
        ("drug_name", "sensitive"),
        ("salaire", "sensitive"),
        ("hospital", "provider"),
        ("hospital_id", "provider"),
        ("Krankenhaus", "provider"),
        ("ssn", "identifier"),
        ("email", "identifier"),
        ("eMail", "identifier"),
        ("name", "identifier"),
        ("address", "identifier"),
        ("patientName", "identifier"),
        ("last_name", "identifier"),
        ("Nachname", "identifier"),
        ("phone number", "identifier"),
    ],
)
def test_names_suggest_roles(name: str, role: str) -> None:
    column = suggested(name)
    assert column.role == role
    assert "the name says" in column.reason


# Counts


def test_every_suggestion_has_a_reason() -> None:
    profiles = [counted(), UNIQUE, counted(0, 0), counted(5, 0, nulls=5), counted(distinct=1)]
    for name in ("age", "x", "id", "patient", "weight", "city diagnosis", "", "hospital name"):
        for kind in s.KINDS:
            for profile in profiles:
                column = suggested(name, kind, profile)
                assert column.role in s.ROLES
                assert column.reason
                assert column.kind == kind


def test_a_name_that_says_person_is_a_person_whether_or_not_it_repeats() -> None:
    assert suggested("patient_id", profile=counted(distinct=900)).role == "person"
    assert suggested("Patientennummer", profile=counted(distinct=900)).role == "person"
    assert suggested("patient number", profile=counted(distinct=900)).role == "person"
    assert suggested("patient", profile=UNIQUE).role == "person"
    assert suggested("patient_satisfaction").role == "undecided"


def test_an_id_that_repeats_is_left_to_the_publisher() -> None:
    assert suggested("id", "number", UNIQUE).role == "identifier"
    assert suggested("id", "number", counted(distinct=30)).role == "undecided"


def test_unique_values_without_a_hint() -> None:
    assert suggested("ref", "code", UNIQUE).role == "identifier"
    assert suggested("lab", "number", UNIQUE).role == "undecided"
    few = counted(rows=8, distinct=8, once=8)
    assert suggested("ref", "code", few).role == "undecided"


def test_free_text_is_left_out_and_a_date_is_quasi() -> None:
    assert suggested("age", "text").role == "identifier"
    assert "free text" in suggested("age", "text").reason
    assert suggested("seen", "date").role == "quasi"


def test_names_that_say_two_things_are_undecided() -> None:
    column = suggested("birth_weight", "number")
    assert column.role == "undecided"
    assert "quasi" in column.reason
    assert "weight" in column.reason


def test_weight_of_a_body_is_told_from_weight_in_a_survey() -> None:
    assert suggested("fnlwgt", "number").role == "weight"
    assert suggested("weight", "category").role == "undecided"
    kinds = {"weight": "number", "height": "number"}
    frame = Table({name: counted() for name in kinds}, kinds)
    assert Schema.suggest(frame).column("weight").role == "undecided"


def test_only_one_provider_is_suggested() -> None:
    schema = Schema.suggest(Table({"hospital": counted(), "clinic": counted()}))
    assert [column.role for column in schema.columns] == ["provider", "undecided"]
    assert "'hospital' is the provider already" in schema.column("clinic").reason


def test_suggestions_do_not_depend_on_the_order_of_other_columns() -> None:
    names = ["age", "disease", "visits", "zip"]
    one = Schema.suggest(Table({name: counted() for name in names}))
    two = Schema.suggest(Table({name: counted() for name in reversed(names)}))
    assert {column.name: column for column in one.columns} == {c.name: c for c in two.columns}


def test_quasi_suggestions_show_a_hierarchy_to_edit() -> None:
    kinds = {"age": "number", "birth": "date", "zip": "code", "sex": "category"}
    schema = Schema.suggest(Table({name: counted() for name in kinds}, kinds))
    found = [column.hierarchy for column in schema.columns]
    assert found == [Ordered(), Dates(), Prefixes(), Flat()]


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(NAMES)
def test_any_name_can_be_suggested_fitted_and_shown(name: str) -> None:
    schema = Schema.suggest(Table({name: counted()}))
    assert schema.set({name: s.quasi}).fit([Field(name, "category")]).quasi[0].name == name
    assert "<script" not in schema._repr_html_()
    assert len(repr(schema).split("\n")) == 2
