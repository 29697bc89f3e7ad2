"""The budget of a ledger: what releases spend together, and who is refused at its edge."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest
from tests.ledger.spending_releases import PEOPLE, SCHEMA

import shoal
from shoal.core.spend import Spend
from shoal.ledger.budget import compute_account
from shoal.ledger.candidate import Candidate, apply_stated_spend, hash_release_table
from shoal.ledger.noise_releases import check_noise_spend
from shoal.ledger.remedies import suggest_smaller_spend
from shoal.reports.sections.composition import CompositionEvidence, render_composition


@pytest.fixture
def ledger(tmp_path):
    with shoal.Ledger.init(tmp_path / "releases.db", epsilon=1, delta="1/1000000") as made:
        yield made


ELSEWHERE = shoal.Schema.of(quasi=["town"], sensitive=["job"])


def elsewhere(number):
    """A table of others: each with its own hash."""
    return pa.table({"town": [f"{number}", "x"], "job": ["p", "q"]})


def foreign(ledger, number, **spend):
    """Record the table of others by a number, and what it spends."""
    return ledger.add_foreign(elsewhere(number), schema=ELSEWHERE, by="another", **spend)


def entry(epsilon, form="", **more):
    """An entry as the account reads it."""
    body = {"about": "people", "form": form, "spend": {"epsilon": epsilon, **more}}
    return SimpleNamespace(kind="foreign", number=0, body=body)


def changed(folder, to, **told):
    """A copy of a release with its manifest changed by hand."""
    shutil.copytree(folder, to)
    shutil.copytree(folder.with_name(f"{folder.name}.private"), to.with_name(f"{to.name}.private"))
    manifest = json.loads((to / "manifest.json").read_text(encoding="utf-8"))
    manifest |= told
    (to / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return to


# Adding up


def test_a_budget_is_refused_exactly_at_its_edge(ledger, releases):
    foreign(ledger, 0, epsilon="1/3")
    found = ledger.judge(releases / "laplace")
    assert found.admitted
    assert found.spend.total == Spend(1)
    assert found.spend.remaining == Spend(0, "1e-6")
    foreign(ledger, 1, epsilon="1e-30")
    with pytest.raises(shoal.Refused) as raised:
        ledger.admit(releases / "laplace")
    refused = raised.value.admission
    assert refused.reasons == (f"The budget is exceeded: {refused.spend}.",)
    assert raised.value.exit_code == 4


def test_spends_that_were_stored_as_floats_are_read(ledger):
    for i, epsilon in enumerate((0.1, 0.2, 0.3)):
        body = {"table": f"{i}", "about": "people", "spend": {"epsilon": epsilon, "delta": 1e-07}}
        ledger.book.append({"kind": "release", **body})
    assert ledger.account().total == Spend("3/5", "3/10000000")
    assert ledger.account("staff").total == Spend()


def test_a_ledger_without_a_theorem_of_its_own_is_basic(tmp_path):
    with shoal.Ledger.init(tmp_path / "a.db") as ledger:
        found = ledger.account()
        assert (found.budget, found.composition, found.remaining) == (None, "basic", None)
        bare = [one for one in ledger.entries() if one.body.pop("composition")]
        assert compute_account(Spend(1), "people", bare).composition == "basic"


@pytest.mark.parametrize("composition", ["advanced", "zcdp"])
def test_the_theorem_in_force_is_fixed_at_the_founding(tmp_path, composition):
    where = tmp_path / "releases.db"
    with shoal.Ledger.init(where, epsilon=1, delta=1e-6, composition=composition) as ledger:
        entries = ledger.entries()
    entries += [entry("1/100")] * 150
    found = compute_account(Spend(), "people", entries)
    assert found.totals["basic"] == Spend("3/2")
    assert found.total == found.totals[composition]
    assert found.total.within(found.budget)
    assert 0 < found.remaining.epsilon < 1
    told = found.to_json()
    assert (told["composition"], told["totals"]["basic"]["epsilon"]) == (composition, "3/2")
    assert found.budget == Spend(1, "1e-6")


@pytest.fixture
def concentrated(tmp_path):
    where = tmp_path / "rho.db"
    with shoal.Ledger.init(where, epsilon=9, delta=1e-6, composition="zcdp") as made:
        yield made


def test_a_delta_without_rho_is_not_recorded_where_rho_is_added_up(concentrated):
    with pytest.raises(shoal.UsageError, match="states no ρ") as told:
        foreign(concentrated, 0, epsilon="1/100", delta="1e-9")
    assert "--rho" in told.value.hint
    assert concentrated.account().total == Spend()
    foreign(concentrated, 0, epsilon="1/100", delta="1e-9", rho="1/500000")
    foreign(concentrated, 1, epsilon="1/100")
    assert concentrated.account().total.rho == Spend("1/500000").epsilon + Spend("1/20000").epsilon
    for wrong in ({"epsilon": 1}, {"delta": "1e-9"}, {}):
        with pytest.raises(shoal.UsageError, match="A ρ stands beside"):
            foreign(concentrated, 2, rho="1/50", **wrong)


def test_an_account_that_has_a_delta_without_rho_has_no_concentrated_total(concentrated, releases):
    body = {"table": "0", "about": "people", "spend": {"epsilon": "1/100", "delta": "1e-9"}}
    concentrated.book.append({"kind": "release", **body, "never_out": False})
    concentrated.book.append({"kind": "withdrawn", "number": 2, "reason": "a", "never_out": True})
    assert concentrated.admit(releases / "gauss").admitted
    assert concentrated.account().total.epsilon < Spend("1/3").epsilon
    found = compute_account(
        Spend(1), "people", [*concentrated.entries(), entry("1/100", delta="1e-9")]
    )
    assert found.total is None
    assert found.reason.startswith("The budget cannot be kept: no total by zcdp composition")
    assert "states no ρ" in found.reason
    assert found.to_json()["epsilon"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"composition": "zcdp"},
        {"composition": "advanced", "epsilon": 1},
        {"composition": "smallest", "epsilon": 1, "delta": 1e-6},
        {"epsilon": "x"},
        {"composition": "zcdp", "epsilon": 1, "delta": "1e-400"},
        {"epsilon": 0},
        {"delta": 1e-6},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -1},
        {"epsilon": 1, "delta": "1/10"},
        {"epsilon": 101},
        {"epsilon": 0, "delta": 1e-6},
    ],
)
def test_a_budget_that_cannot_be_kept_is_refused_at_the_founding(tmp_path, wrong):
    with pytest.raises(shoal.UsageError) as told:
        shoal.Ledger.init(tmp_path / "a.db", **wrong)
    assert told.value.hint
    assert not list(tmp_path.iterdir())


def test_a_pure_epsilon_is_told_as_what_it_counts_where_rho_is_added_up(tmp_path):
    where = tmp_path / "a.db"
    with shoal.Ledger.init(where, epsilon=3, delta=1e-6, composition="zcdp") as ledger:
        entries = [*ledger.entries(), entry("1e-9")]
    found = compute_account(Spend(1), "people", entries)
    assert "5.22154, δ 1e-06 would be spent by zcdp composition of ε 3" in found.reason
    assert "A pure ε 1 counts as ρ 0.5, which is ε 5.22154 at δ 1e-06 (basic: 1)." in found.reason
    gauss = compute_account(Spend(9, "1e-7", 1), "people", entries)
    assert (gauss.exceeded, gauss.pure_epsilon_note) == (True, "")
    small = compute_account(Spend("1/10"), "people", entries)
    assert small.left == f"left for one more release of pure ε: {float(small.remaining.epsilon)}"
    basic = replace(small, composition="basic")
    assert basic.left == "ε 2.9, δ 1e-06 left"


def test_a_single_release_of_all_the_budget_is_admitted_and_is_the_last(tmp_path):
    where, spend = tmp_path / "edge.db", {"epsilon": "1.9", "delta": "1e-6"}
    asked = {"form": "counts", "marginals": 1}
    with shoal.Ledger.init(where, **spend, composition="zcdp") as ledger:
        assert ledger.account().remaining == Spend("1.9")
        shoal.publish(PEOPLE, SCHEMA, out=tmp_path / "a", ledger=ledger, **asked, **spend)
        assert "It uses the budget up" in ledger.judge(tmp_path / "a").notes[0]
        found = ledger.account()
        assert found.total == Spend(**spend, rho=found.total.rho)
        assert found.remaining == Spend()
        with pytest.raises(shoal.Refused) as told:
            shoal.publish(
                PEOPLE, SCHEMA, out=tmp_path / "b", ledger=ledger, epsilon="1/1000", **asked
            )
        assert "use the budget up" in told.value.hint


FITTING = [
    # composition, earlier releases, this one, its form, what the hint says
    ("basic", [], Spend(4), "counts", "publish with a smaller epsilon."),
    ("basic", [], Spend(1, "1e-5"), "counts", "with a smaller delta, or without one."),
    ("basic", [entry(1, delta="1e-6")], Spend(1, "1e-7"), "counts", "publish without a delta."),
    ("basic", [], Spend(4, "1e-5"), "counts", "or without one, and with a smaller epsilon."),
    ("basic", [entry(3)], Spend("1/9"), "counts", "use the budget up"),
    ("basic", [entry(1, delta="1e-5")], Spend("1/9"), "counts", "use the budget up"),
    ("basic", [entry(1, "counts")], Spend(2), "randomised", "publish with a smaller epsilon."),
    ("basic", [entry(2, "counts")], Spend("1/9"), "randomised", "leave the randomised release out"),
    (
        "basic",
        [entry("1/2", "counts", delta="1e-6")],
        Spend("1/9"),
        "randomised",
        "leave the randomised release out",
    ),
    ("basic", [entry(3, "counts")], Spend("1/9"), "randomised", "use the budget up"),
    (
        "basic",
        [entry(1, "counts"), entry(1, "randomised")],
        Spend("1/9"),
        "randomised",
        "use the budget up",
    ),
    (
        "basic",
        [entry(1, "counts"), entry(1, "randomised")],
        Spend("1/9"),
        "counts",
        "use the budget up",
    ),
    ("advanced", [], Spend(1, "1e-5"), "counts", "with a smaller delta, or without one."),
    ("advanced", [entry("1/9")], Spend("1/9", "1e-6"), "counts", "with a smaller delta, or"),
    ("zcdp", [entry("1/9")], Spend(1), "counts", "or with a delta: Gaussian"),
    ("zcdp", [entry("1/9")], Spend(3, "1e-6", "1/5"), "counts", "publish with a smaller epsilon."),
    ("zcdp", [], Spend(3, "1e-3", "1/2"), "counts", "publish with a smaller epsilon or delta."),
    ("zcdp", [entry(2)], Spend("1/9"), "counts", "use the budget up"),
    ("zcdp", [entry("1/2", "counts")], Spend("1/9"), "randomised", "the randomised release out"),
]


@pytest.mark.parametrize(("composition", "earlier", "own", "form", "hint"), FITTING)
def test_the_hint_of_a_refusal_tells_what_helps(composition, earlier, own, form, hint):
    told = {"budget": Spend(3, "1e-6").to_json(), "composition": composition}
    founding = SimpleNamespace(kind="founding", number=1, body=told)
    found = compute_account(own, "people", [founding, *earlier], form)
    assert found.exceeded
    assert hint in suggest_smaller_spend(found)


def test_what_is_not_recorded_would_be_spent_and_what_is_recorded_is(ledger, releases):
    steps = (ledger.judge, ledger.admit, ledger.judge)
    spends = [step(releases / "laplace").spend for step in steps]
    assert [spend.planned for spend in spends] == [True, False, False]
    assert [spend.total for spend in spends] == [Spend("2/3")] * 3
    assert str(ledger.account()) == "ε 2/3 spent of ε 1, δ 1e-06"


def test_why_no_attack_ran_is_told_once_for_all_entries(ledger, releases):
    for i in range(3):
        foreign(ledger, i)
    told = [
        line for line in str(ledger.judge(releases / "gauss")).splitlines() if "not run" in line
    ]
    assert len(told) == 1
    assert told[0].startswith("  not run: every attack, entries 2, 3 and 4: Noise made")


# What is protected


def test_releases_that_protect_different_things_have_totals_of_their_own(tmp_path):
    with shoal.Ledger.init(tmp_path / "a.db", epsilon=3) as ledger:
        entries = [*ledger.entries(), entry(1, "counts"), entry(1)]
    before = compute_account(Spend(1), "people", entries, "synthetic")
    assert [(one.name, one.total) for one in before.units] == [("one person", Spend(3))]
    assert (before.exceeded, before.notes, str(before)) == (False, (), "ε 3 would be spent of ε 3")
    found = compute_account(Spend(1), "people", entries, "randomised")
    person, values = found.units
    assert (person.name, person.total, person.exceeded) == ("one person", Spend(2), False)
    assert (values.name, values.exceeded) == ("one person's sensitive values", True)
    assert found.total == values.total == Spend(5)
    assert found.reason.startswith(
        "The budget is exceeded for one person's sensitive values: one person: ε 2 would be spent "
        "of ε 3; one person's sensitive values: ε 5 would be spent of ε 3."
    )
    assert "counts twice" in found.reason
    told = found.to_json()
    assert (told["unit"], [one["epsilon"] for one in told["units"]]) == (values.name, ["2", "5"])


@pytest.mark.parametrize("composition", ["basic", "advanced", "zcdp"])
def test_the_total_of_values_is_never_below_that_of_the_person(tmp_path, composition):
    where = tmp_path / "a.db"
    with shoal.Ledger.init(where, epsilon=9, delta=1e-5, composition=composition) as ledger:
        entries = ledger.entries()
    entries += [entry("1/2", "counts", delta="1e-7", rho="1/50"), entry("1/3")]
    person, values = compute_account(Spend("1/9"), "people", entries, "randomised").units
    assert person.total.within(values.total)
    assert person.total != values.total
    assert values.remaining.epsilon < person.remaining.epsilon


def test_a_randomised_release_beside_counts_is_refused_where_twice_them_is_too_much(
    ledger, releases
):
    ledger.admit(releases / "laplace")
    with pytest.raises(shoal.Refused, match="for one person's sensitive values: one person: ε 2/3"):
        ledger.admit(releases / "randomised")
    found = ledger.admit(releases / "randomised", accept_risk="once")
    assert "counts twice" in found.notes[0]
    assert "left" not in str(found)
    told = render_composition(CompositionEvidence(found.to_json()).to_json())
    facts = [one for one in told.blocks[1].items if one.label == "privacy budget"]
    assert [one.value for one in facts] == ["ε 2/3", "ε 23/15"]
    assert facts[1].note.endswith("protected: one person's sensitive values")


# What is stated


@pytest.mark.parametrize(
    ("name", "spend", "fact"),
    [
        ("laplace", {"rho": "1/1000000000"}, "that no noise of it bears out"),
        ("randomised", {"rho": "1/1000000000"}, "that no noise of it bears out"),
        ("randomised", {"rho": "1/1000", "delta": "1/10000000"}, "smaller spend"),
        ("cells", {"epsilon": "1", "delta": "1/10000000", "rho": "1/1000"}, "bears out"),
    ],
)
def test_a_rho_that_the_noise_does_not_have_is_refused(releases, tmp_path, name, spend, fact):
    manifest = json.loads((releases / name / "manifest.json").read_text(encoding="utf-8"))
    stated = {**manifest.get("spend", {}), **spend}
    told = {"spend": stated, "privacy": {**manifest.get("privacy", {}), **stated}}
    with pytest.raises(shoal.InputError, match=fact):
        check_noise_spend(releases / name, {**manifest, **told})


def test_nobody_says_less_of_a_release_than_its_manifest(ledger, releases):
    with pytest.raises(shoal.UsageError, match="less than its manifest states: ε 2/3") as told:
        ledger.add_foreign(releases / "laplace", by="us", epsilon="1/100")
    assert "leave" in told.value.hint
    assert ledger.account().total == Spend()
    own = {"epsilon": "1/3", "delta": "1e-7", "rho": "1/500"}
    release = Candidate(SimpleNamespace(manifest={"spend": own}), "")
    for name, less in {"epsilon": 0, "delta": "1e-8", "rho": "1/1000"}.items():
        with pytest.raises(shoal.UsageError, match="less than its manifest states"):
            apply_stated_spend(release, **{**dict.fromkeys(own), name: less})
    assert apply_stated_spend(release, None, None, None).spend == Spend(**own)
    assert apply_stated_spend(release, "1/3", None, None).spend == Spend(**own)
    assert apply_stated_spend(release, "1/2", None, None).spend == Spend("1/2", "1e-7")
    assert apply_stated_spend(release, None, "1e-6", "1/9").spend == Spend("1/3", "1e-6", "1/9")


def test_a_release_that_was_recorded_with_another_spend_is_refused(ledger, releases):
    hash_ = hash_release_table(releases / "laplace")
    body = {"made_by": "us", "table": hash_, "about": "people", "spend": {"epsilon": "1/100"}}
    ledger.book.append({"kind": "foreign", **body})
    with pytest.raises(shoal.InputError, match=r"entry 2, which counts ε 0\.01 for it"):
        ledger.admit(releases / "laplace")
    foreign(ledger, 0)
    with pytest.raises(shoal.InputError, match="entry 3, which counts nothing"):
        foreign(ledger, 0, epsilon=1)


def test_the_account_of_a_recorded_release_is_that_of_its_entry(ledger):
    made = foreign(ledger, 0, epsilon="1/3")
    assert foreign(ledger, 0) == foreign(ledger, 0, epsilon="1/3") == made
    found = ledger.judge(elsewhere(0), schema=ELSEWHERE)
    assert (found.already, found.spend.own, found.spend.total) == (True, Spend("1/3"), Spend("1/3"))


# Releases of noise


def test_counts_are_judged_by_the_budget_alone(ledger, releases):
    first = ledger.admit(releases / "cells", people=PEOPLE)
    found = ledger.admit(releases / "gauss", people=PEOPLE)
    assert found.admitted
    assert not found.weighed
    assert [(entry, name) for entry, name, _ in found.skipped] == [(2, "every attack")]
    assert "spends of the budget" in found.skipped[0][2]
    body = ledger.entry(3).body
    assert (body["form"], body["spend"]["epsilon"]) == ("counts", "1/3")
    assert "classes" not in body
    again = ledger.recheck(people=PEOPLE)
    assert [one.admitted for one in again] == [True, True]
    assert again[1].spend.own == found.spend.own == Spend("1/3", "1e-7", found.spend.own.rho)
    assert not first.spend.own


def test_cells_of_a_randomised_release_are_attacked_and_its_values_are_not(ledger, releases):
    ledger.admit(releases / "cells")
    found = ledger.judge(releases / "randomised")
    assert found.admitted
    assert {one.on for one in found.weighed} <= {""}
    assert (2, "values of ill") in {(entry, name) for entry, name, _ in found.skipped}
    assert found.spend.total == Spend("1/5")
    assert [one.name for one in found.spend.units] == ["one person's sensitive values"]
    assert not found.notes


def test_noise_from_a_seed_is_never_admitted(ledger, releases, tmp_path):
    seeded = changed(releases / "laplace", tmp_path / "copy", releasable=False)
    with pytest.raises((shoal.NotMetError, shoal.InputError)):
        ledger.admit(seeded, accept_risk="no matter")
    shutil.rmtree(tmp_path / "copy.private")  # which would say so too
    with pytest.raises(shoal.NotMetError, match="seed"):
        ledger.add_foreign(seeded, by="another")
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize(
    ("name", "spend"),
    [
        ("laplace", {"epsilon": "1/3", "delta": "0"}),
        ("laplace", {}),
        ("gauss", {"epsilon": "1/3", "delta": "1/10000000", "rho": "1/1000000"}),
        ("randomised", {"epsilon": "1/10", "delta": "0"}),
    ],
)
def test_a_spend_that_was_changed_by_hand_is_refused(ledger, releases, tmp_path, name, spend):
    folder = changed(releases / name, tmp_path / "copy", spend=spend)
    with pytest.raises(shoal.InputError):
        ledger.admit(folder)
    shutil.rmtree(tmp_path / "copy.private")  # which would say so too
    with pytest.raises(shoal.InputError):
        ledger.add_foreign(folder, by="another")


def test_publishing_beyond_the_budget_leaves_nothing(ledger, tmp_path):
    foreign(ledger, 0, epsilon="3/5")
    asked = {"form": "counts", "marginals": 1, "epsilon": "3/5", "ledger": ledger}
    with pytest.raises(shoal.Refused, match=r"budget is exceeded: ε 1\.2 would be spent of ε 1"):
        shoal.publish(PEOPLE, SCHEMA, out=tmp_path / "two", **asked)
    assert not (tmp_path / "two").exists()
    assert ledger.account().total == Spend("3/5")
