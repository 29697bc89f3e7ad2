"""What a pool's providers agree on: rules that hold against each other, and all that is settled."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

import shoal
from shoal.pool import pool_folder
from shoal.pool.verbs import pool_init

RULE = "m-privacy m=1 (k-anonymity k=3)"
K = "k-anonymity k=3"
CK = "ck-safety c=0.99 k=1 on=diagnosis"
KINDS = {"age": "number", "seen": "date"}


def schema(**roles: str) -> shoal.Schema:
    roles = {"age": "quasi", "seen": "quasi", "diagnosis": "sensitive", **roles}
    columns = (shoal.Column(n, r, KINDS.get(n, "category")) for n, r in roles.items())
    return shoal.Schema(tuple(columns))


TWO = {"job": "sensitive"}
ONE = "distinct-diversity l=2"


# The rule


@pytest.mark.parametrize(
    ("rule", "said", "line"),
    [
        (
            f"m-privacy m=1 ({K}) & distinct-diversity l=2 on=job",
            "Outside m-privacy",
            f"m-privacy m=1 ({K} & distinct-diversity l=2 on=job)",
        ),
        (f"{K} & m-privacy m=2 ({K}) & {CK}", "Outside m-privacy", f"m-privacy m=2 ({K}) & {CK}"),
        (
            f"m-privacy m=1 ({K}) & m-privacy m=2 (distinct-diversity l=2 on=job)",
            "more than one m",
            f"m-privacy m=2 ({K} & distinct-diversity l=2 on=job)",
        ),
        (f"m-privacy m=0 ({K}) & m-privacy m=1 ({K})", "more than one m", f"m-privacy m=1 ({K})"),
        ("k-anonymity k=5", "promises nothing", "m-privacy m=1 (k-anonymity k=5)"),
        ("m-privacy m=0 (k-anonymity k=5)", "promises nothing", "m-privacy m=1 (k-anonymity k=5)"),
        (
            f"{K} & distinct-diversity l=2 on=job",
            "own rows",
            f"m-privacy m=1 ({K} & distinct-diversity l=2 on=job)",
        ),
        (CK, "promises nothing", f"m-privacy m=1 (k-anonymity k=5) & {CK}"),
        (
            "m-privacy m=2 (k-anonymity k=1)",
            "every class meets k-anonymity k=1",
            "m-privacy m=2 (k-anonymity k=5)",
        ),
        (
            "m-privacy m=1 (k-anonymity k=1) & distinct-diversity l=2 on=job",
            "every class meets",
            "m-privacy m=1 (distinct-diversity l=2 on=job)",
        ),
        *(
            (
                f"m-privacy m=1 ({empty} on=job) & {CK}",
                "every class meets",
                f"m-privacy m=1 (k-anonymity k=5) & {CK}",
            )
            for empty in (
                "distinct-diversity l=1",
                "entropy-diversity l=1",
                "recursive-diversity c=2 l=1",
                "t-closeness t=1",
                "alpha-k alpha=1 k=1",
            )
        ),
    ],
)
def test_what_would_not_hold_against_partners_is_refused_with_the_line(tmp_path, rule, said, line):
    with pytest.raises(shoal.UsageError, match=said) as error:
        pool_init(tmp_path / "pool", schema(**TWO), rule)
    assert error.value.hint.split('"')[1] == line
    assert pool_init(tmp_path / "pool", schema(**TWO), line).rule == line


@pytest.mark.parametrize(
    ("rule", "unjudged"),
    [
        (K, ["diagnosis", "job"]),
        (f"{K} & distinct-diversity l=2 on=job", ["diagnosis"]),
        (f"{K} & distinct-diversity l=1 on=job", ["diagnosis", "job"]),
        ("t-closeness t=0.9 on=job & recursive-diversity c=1 l=1 on=diagnosis", []),
    ],
)
def test_what_no_requirement_is_about_is_said_at_once(tmp_path, rule, unjudged):
    made = pool_init(tmp_path / "pool", schema(**TWO), f"m-privacy m=1 ({rule}) & {CK}")
    assert made.to_json()["unjudged"] == unjudged
    assert made.to_json()["beside"] == [CK]
    first, *said = str(made).splitlines()
    assert first == f"agreement {made.agreement}"
    assert said[-1] == f"Not held against partners: {CK}."
    assert [f"is about {', '.join(unjudged)}: a class" in one for one in said[:-1]] == (
        [True] if unjudged else []
    )


@pytest.mark.parametrize(
    ("roles", "part", "said"),
    [
        (TWO, ONE, "which of 2 sensitive columns"),
        (TWO, f"{ONE} & entropy-diversity l=2", "which of 2"),
        ({}, f"{ONE} on=age", "'age' is not a sensitive column"),
        (TWO, f"{ONE} on=diagnosis*age", "'age' is not a sensitive column"),
        ({"home town": "sensitive"}, ONE, "which of 2"),
    ],
)
def test_a_rule_is_about_columns_that_are_sensitive(tmp_path, roles, part, said):
    with pytest.raises(shoal.UsageError, match=said) as error:
        pool_init(tmp_path / "pool", schema(**roles), f"m-privacy m=1 (k-anonymity k=3 & {part})")
    assert not (tmp_path / "pool").exists()
    line = shlex.split(error.value.hint.removeprefix("name one: "))[1].rstrip(";")
    assert "on=diagnosis" in line
    assert pool_init(tmp_path / "pool", schema(**roles), line).rule == line


def test_a_name_with_a_blank_can_be_typed(tmp_path):
    roles = {"diagnosis": "quasi", "home town": "sensitive"}
    with pytest.raises(shoal.UsageError, match="not a sensitive column") as error:
        pool_init(tmp_path / "pool", schema(**roles), f"m-privacy m=1 ({ONE} on=age)")
    line = shlex.split(error.value.hint.removeprefix("name one: "))[1]
    assert pool_init(tmp_path / "pool", schema(**roles), line).rule == line


def test_products_of_sensitive_columns_can_be_agreed_on(tmp_path):
    rule = f"m-privacy m=1 ({ONE} on=diagnosis*job)"
    assert pool_init(tmp_path / "pool", schema(**TWO), rule).rule == rule


def test_a_rule_about_values_needs_a_sensitive_column(tmp_path):
    with pytest.raises(shoal.UsageError, match="the schema names none"):
        pool_init(tmp_path / "pool", schema(diagnosis="quasi"), f"m-privacy m=1 ({ONE})")


# All else


def test_the_agreement_has_no_counts_of_one_provider_s_table(tmp_path):
    text = schema().to_toml() + "# 42 rows in our ward\n"
    noted = shoal.Schema.parse(text)
    columns = tuple(replace(c, reason="17 values in 3,000 rows") for c in noted.columns)
    pool_init(tmp_path / "pool", replace(noted, columns=columns), RULE)
    content = (tmp_path / "pool/pool.json").read_text(encoding="utf-8")
    assert content.endswith("}\n")
    assert not any(word in content for word in ("reason", "3,000", "our ward"))
    agreed = pool_folder.load_pool(tmp_path / "pool").agreement.schema
    assert agreed.column("age").kind == "number"


def bare() -> shoal.Schema:
    return shoal.Schema.of(quasi=["age", "seen"], sensitive="diagnosis")


REFUSED = {
    "one provider": (schema, {"providers": ["North"]}, shoal.InputError),
    "twice": (schema, {"providers": ["North", "South", " North"]}, shoal.UsageError),
    "a long name": (schema, {"providers": ["North", "S" * 101]}, shoal.UsageError),
    "m of all": (schema, {"providers": ["North", "South"], "m": 2}, shoal.UsageError),
    "alike": (schema, {"providers": ["St Mary", "st mary", "North"]}, shoal.InputError),
    "no name": (schema, {"providers": ["North", " "]}, shoal.UsageError),
    "no kinds": (bare, {}, shoal.UsageError),
    "kept": (lambda: schema(job="keep"), {}, shoal.UsageError),
    "a clash": (lambda: schema(provider="quasi"), {}, shoal.UsageError),
    "undecided": (lambda: schema(job="undecided"), {}, shoal.SchemaError),
    "method": (schema, {"method": "magic"}, shoal.UsageError),
    "parameter": (schema, {"magic": 1}, shoal.UsageError),
    "hold back": (schema, {"hold_back": 2}, shoal.UsageError),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_agreed_on_is_refused_at_once(tmp_path, case):
    make, settings, error = REFUSED[case]
    m = settings.get("m", 1)
    asked = {name: value for name, value in settings.items() if name != "m"}
    with pytest.raises(error):
        pool_init(tmp_path / "pool", make(), f"m-privacy m={m} (k-anonymity k=3)", **asked)
    assert list(tmp_path.iterdir()) == []


def test_a_pool_is_never_overwritten(tmp_path):
    pool_init(tmp_path / "pool", schema(), RULE)
    with pytest.raises(shoal.UsageError, match="exists already"):
        pool_init(tmp_path / "pool", schema(), RULE)
