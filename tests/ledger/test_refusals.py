"""A refusal names the column, the cause and a command that passes, and nothing that was done."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pyarrow.csv as csv
import pytest
from tests.ledger.spending_releases import PEOPLE, SCHEMA

import shoal
from shoal.attacks import worst_pair as attacked
from shoal.core.spend import Spend
from shoal.data import bundled
from shoal.ledger.remedies import suggest_smaller_spend

XD = shoal.Schema.of(quasi=["x"], sensitive=["d"])


@pytest.fixture
def ledger(tmp_path):
    with shoal.Ledger.init(tmp_path / "releases.db", epsilon=3) as made:
        yield made


class Clinic:
    """Five hundred patients, released at will."""

    def __init__(self, folder):
        self.folder = folder
        everybody = csv.read_csv(bundled.path("st_anna.csv"))
        self.people = everybody.slice(0, 500)
        self.schema = shoal.Schema.of(
            person="patient",
            identifier=["name", "admitted"],
            quasi=["age", "sex", "zip"],
            sensitive=["diagnosis"],
        )

    def publish(self, name, rule="k-anonymity k=5", people=None, **settings):
        people = self.people if people is None else people
        shoal.publish(people, self.schema, rule, out=self.folder / name, **settings)
        return self.folder / name


@pytest.fixture
def clinic(tmp_path):
    return Clinic(tmp_path)


def refusal(ledger, release, **asked):
    with pytest.raises(shoal.Refused) as error:
        ledger.admit(release, **asked)
    return error.value


def command(hint, verb):
    """The first command of a hint, as words."""
    line = re.search(rf"shoal {verb} .*?(?=\.(?: |$)|; or |, and |, with )", hint)
    assert line, hint
    return shlex.split(line[0])


def option(words, name):
    return words[words.index(name) + 1]


def one_class(values, **more):
    return pa.table({"x": ["1"] * len(values), "d": list(values), **more})


# Two releases of one publisher


def test_a_second_release_of_ones_own_is_told_to_be_based_on_the_first_and_passes_then(
    ledger, clinic
):
    ledger.admit(clinic.publish("first"))
    error = refusal(ledger, clinic.publish("second", "k-anonymity k=4", method="hilbert"))
    assert "column 'diagnosis'" in error.fact
    assert "together with the other publisher" not in error.hint
    assert "pool" not in error.hint
    words = command(error.hint, "publish")
    base = clinic.folder / option(words, "--based-on")
    again = clinic.publish("again", option(words, "-m"), based_on=base)
    assert "--people" in error.hint
    assert ledger.admit(again, people=clinic.people).admitted


def test_people_that_were_given_are_not_asked_for(ledger, clinic):
    ledger.admit(clinic.publish("first"))
    second = clinic.publish("second", "k-anonymity k=4", method="hilbert")
    hint = refusal(ledger, second, people=clinic.people).hint
    assert "--based-on first/" in hint
    assert "--people" not in hint


def test_a_release_that_is_based_on_the_earlier_is_not_told_to_be(ledger, clinic):
    ledger.admit(clinic.publish("first"))
    based = clinic.publish("based", based_on=clinic.folder / "first")
    hint = refusal(ledger, based).hint
    assert "base the second release" not in hint
    assert option(command(hint, "ledger admit"), "--people") == "TABLE"
    assert ledger.admit(based, people=clinic.people).admitted


def test_publishing_into_a_ledger_never_asks_for_the_people_it_publishes(ledger, clinic):
    clinic.publish("first", ledger=ledger)
    with pytest.raises(shoal.Refused) as error:
        clinic.publish("second", "k-anonymity k=4", method="hilbert", ledger=ledger)
    assert "--people" not in error.value.hint
    assert "'diagnosis'" in error.value.fact
    words = command(error.value.hint, "publish")
    clinic.publish("again", option(words, "-m"), based_on=clinic.folder / "first", ledger=ledger)
    assert len(ledger.entries()) == 3


# Somebody else's release


def test_a_stranger_s_release_is_named_with_its_maker_and_people_are_asked_for_once(ledger):
    ledger.add_foreign(one_class("abce"), schema=XD, by="Lake hospital")
    alone = refusal(ledger, one_class("axyz"), schema=XD, relation="overlapping")
    assert "'d'" in alone.fact
    assert "Lake hospital" in alone.hint
    assert "--people" in alone.hint
    assert "--based-on" not in alone.hint
    some = refusal(
        ledger, one_class("axyz"), schema=XD, relation="overlapping", people=pa.table({"x": ["1"]})
    )
    assert "--people TABLE" not in some.hint
    assert "not all" in some.hint


def test_a_rule_that_asks_for_composition_already_is_told_to_ask_for_more(ledger, clinic):
    """Half of the patients are in both."""
    rule = "k-anonymity k=3 & composition l=2 alpha=0.5"
    ledger.admit(clinic.publish("first", rule, clinic.people.slice(0, 300)))
    second = clinic.publish("second", rule, clinic.people.slice(150, 350))
    hint = refusal(ledger, second, relation="overlapping", people=clinic.people.slice(0, 20)).hint
    assert "ask for more than" in hint
    assert "& composition l=3" not in hint


# What cannot be judged


def test_a_base_that_is_not_recorded_is_to_be_recorded_first(ledger, clinic):
    first = clinic.publish("first")
    based = clinic.publish("based", based_on=first)
    hint = refusal(ledger, based, people=clinic.people).hint
    assert "shoal ledger admit EARLIER/" in hint
    assert "--people" not in hint
    ledger.admit(first, people=clinic.people)
    assert ledger.admit(based, people=clinic.people).admitted


def test_releases_without_common_columns_are_named_alike_or_about_others(ledger):
    ledger.add_foreign(one_class("abc"), schema=XD, by="another")
    other = pa.table({"y": ["1", "1"], "e": ["a", "b"]})
    schema = shoal.Schema.of(quasi=["y"], sensitive=["e"])
    error = refusal(ledger, other, schema=schema)
    assert "--people" not in error.hint
    assert "--about" in command(error.hint, "ledger admit")
    assert ledger.admit(other, schema=schema, about="staff").admitted


def test_a_column_that_is_a_cell_elsewhere_is_named(ledger):
    cells = shoal.Schema.of(quasi=["x", "d"], sensitive=["e"])
    ledger.add_foreign(one_class("aabb", e=list("uuvv")), schema=cells, by="another")
    values = shoal.Schema.of(quasi=["x"], sensitive=["d", "e"])
    table = one_class("abab", e=list("uvvu"))
    error = refusal(ledger, table, schema=values, relation="overlapping")
    assert "Column 'd' is sensitive in one release and a cell in the other" in error.fact
    assert "give d the role" in error.hint
    assert "--people" not in error.hint


def test_values_that_are_spelt_otherwise_are_to_be_named_alike(ledger):
    ledger.add_foreign(one_class("abc"), schema=XD, by="another")
    error = refusal(ledger, one_class("ABC"), schema=XD, relation="overlapping")
    assert "name the values of d as entry 2 does" in error.hint
    assert "--people" not in error.hint


@pytest.mark.parametrize("given", [True, False])
def test_a_search_that_was_cut_short_asks_for_people_unless_they_are_given(
    ledger, monkeypatch, given
):
    for values in ("aabbcc", "aabbdd"):
        ledger.add_foreign(one_class(values), schema=XD, by="another")
    monkeypatch.setattr(attacked, "MAX_WORK", 0)
    people = {"people": pa.table({"x": ["1"]})} if given else {}
    error = refusal(ledger, one_class("aabbccdd"), schema=XD, relation="overlapping", **people)
    assert "'d'" in error.fact
    assert "not evaluated" in error.fact
    assert ("--people TABLE" in error.hint) != given


# The budget


def test_a_spend_that_is_too_large_is_told_how_large_it_may_be(ledger, tmp_path):
    def counts(name, epsilon):
        shoal.publish(
            PEOPLE, SCHEMA, out=tmp_path / name, form="counts", epsilon=epsilon, ledger=ledger
        )

    counts("first", 2)
    with pytest.raises(shoal.Refused) as error:
        counts("second", "5/3")
    assert "--epsilon 1 is left" in error.value.hint
    assert "--people" not in error.value.hint
    counts("second", 1)
    assert len(ledger.entries()) == 3


@pytest.mark.parametrize(
    ("earlier", "most"), [("1/3", "8/3"), ("0.1", "2.9"), ("12345/98765", "2.87500")]
)
def test_what_is_left_is_never_rounded_up(ledger, earlier, most):
    ledger.add_foreign(one_class("abc"), schema=XD, by="another", epsilon=earlier)
    account = ledger.account()
    own = Spend(3)
    hint = suggest_smaller_spend(replace(account, own=own, spends=(*account.spends, own)))
    assert f"--epsilon {most} is left" in hint
    assert Fraction(most) <= account.remaining.epsilon < Fraction(most) + Fraction(1, 10_000)


# The report


def test_the_report_says_what_the_ledger_advises(ledger, clinic):
    ledger.admit(clinic.publish("first"))
    second = clinic.publish("second", "k-anonymity k=4", method="hilbert")
    page = clinic.folder / "report.html"
    shoal.report(second, ledger=ledger, original=clinic.people).write(page)
    text = page.read_text(encoding="utf-8")
    assert "--based-on first/" in text
    assert "publish one table together with the other publisher" not in text
