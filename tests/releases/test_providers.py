"""Rules about providers: judged with the private companion, which tells whose rows are whose."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import defaultdict
from dataclasses import replace
from itertools import combinations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.core.axis import Axis
from shoal.core.tally import Groups
from shoal.releases.judgement import can_judge_in_parts, find_unjudged_columns
from shoal.releases.manifest import published_schema
from shoal.releases.providers import check_providers, read_row_providers
from shoal.releases.reader import open_labels
from shoal.releases.recount import recount
from shoal.releases.successors.after import treat_published_as_quasi

RULE = "m-privacy m=1 (k-anonymity k=2 & distinct-diversity l=2)"
SITES = ("North", "South", "East")


def hospitals(town):
    """The town with three hospitals, one of which has half of the people."""
    for i, row in enumerate(town.rows):
        row["hospital"] = SITES[min(i % 4, 2)]
    town.write(town.table, town.rows)
    return town


@pytest.fixture
def three(town):
    return hospitals(town)


@pytest.fixture(scope="module")
def standing_release(standing):
    """A release that tests read and leave as it is."""
    return hospitals(standing).publish(RULE)


@pytest.fixture
def release(standing_release, tmp_path):
    """A copy of it, with its companion, that a test may spoil."""
    out, private = tmp_path / "copy", tmp_path / "copy.private"
    shutil.copytree(standing_release.folder, out)
    shutil.copytree(standing_release.companion, private)
    return replace(standing_release, folder=out, companion=private)


def survives(town, release, m, k, diverse, quasi=None):
    """Brute force over every coalition, on the published file beside the companion's rows."""
    rows = town.published(release)
    who = pq.read_table(release.companion / "rows.parquet")["provider"].to_pylist()
    classes = defaultdict(list)
    for row, provider in zip(rows, who, strict=True):
        classes[tuple(row[n] for n in quasi or town.quasi)].append((provider, row["diagnosis"]))
    for people in classes.values():
        present = {provider for provider, _ in people}
        for some in combinations(present, min(m, len(present) - 1)):
            left = [value for provider, value in people if provider not in some]
            if len(left) < k or len(set(left)) < diverse:
                return False
    return True


def hidden(release):
    return pq.read_table(release.companion / "rows.parquet")


def tampered(release, **columns):
    table = hidden(release)
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    pq.write_table(table, release.companion / "rows.parquet")


# Published and verified


def test_rows_of_a_workbook_are_in_the_companion_s_order(three):
    release = three.publish(RULE, format="xlsx")
    found = shoal.verify(release.folder)
    assert found == release.verdict
    assert found.holds
    assert found.how == "counted with the private companion"


def test_what_is_published_survives_every_provider(standing, release):
    assert survives(standing, release, 1, 2, 2)
    assert release.verdict.classes > 3
    assert shoal.verify(release.folder) == release.verdict


def test_verify_agrees_with_brute_force_for_every_m(three):
    release = three.publish("k-anonymity k=5")
    answers = set()
    for m in (0, 1, 2):
        for k in (2, 4):
            asked = f"m-privacy m={m} (k-anonymity k={k} & distinct-diversity l=2)"
            expected = survives(three, release, m, k, 2)
            assert shoal.verify(release, rule=asked).holds == expected
            answers.add(expected)
    assert answers == {True, False}


def test_nobody_outside_learns_of_the_providers(standing, release):
    public = (release.folder / "manifest.json").read_text(encoding="utf-8")
    assert json.loads(public)["rule"] == RULE
    assert not [word for word in (*SITES, "hospital", "coalition") if word in public]
    assert set(standing.manifest(release)["columns"]) == {"age", "sex", "zip", "diagnosis"}
    assert sorted(path.name for path in release.folder.iterdir()) == ["manifest.json", "table.csv"]


def test_the_companion_s_providers_are_tallied_as_a_column_would_be(standing, release):
    schema = published_schema(standing.schema())
    with open_labels(release.path, schema, exact=True) as frame:
        found = recount(frame, schema, read_row_providers(release, release.path))
    named = hidden(release)["provider"].to_pylist()
    rows = [
        r | {"hospital": who} for r, who in zip(standing.published(release), named, strict=True)
    ]
    beside = standing.write(release.folder / "beside.csv", rows)
    with open_labels(beside, standing.schema(), exact=True, partial=True) as frame:
        expected = recount(frame, standing.schema())
    assert counts(found) == counts(expected)
    assert found.tally.provider.leaves == tuple(sorted(SITES))


def counts(count):
    """How many rows each provider has of each value, class by class."""
    (shares,) = Groups.of(count.tally, count.cut).contributions
    cells = zip(shares.class_.tolist(), shares.contributor, shares.value, shares.count, strict=True)
    return {
        (*count.labels(c).values(), shares.provider.leaves[who], shares.axis.leaves[value]): int(n)
        for c, who, value, n in cells
    }


def test_providers_may_be_numbers(three):
    rows = [row | {"hospital": str(SITES.index(row["hospital"]))} for row in three.rows]
    release = three.publish(RULE, source=three.write(three.folder / "numbers.csv", rows))
    assert shoal.verify(release).holds
    assert read_row_providers(release, release.path).axis.leaves == ("0", "1", "2")


def test_a_companion_elsewhere_is_found_by_the_release(three):
    release = three.publish(RULE, companion=three.folder / "vault")
    assert shoal.verify(release) == release.verdict
    with pytest.raises(shoal.InputError, match=r"companion of 'release' is missing"):
        shoal.verify(release.folder)


@pytest.mark.parametrize("as_", ["absent", "starred"])
def test_rows_held_back_leave_the_rest_private(three, as_):
    rule = "m-privacy m=2 (k-anonymity k=3 & distinct-diversity l=2)"
    release = three.publish(rule, hold_back=0.4, held_back_as=as_)
    assert shoal.verify(release).holds
    assert survives(three, release, 2, 3, 2)


def test_a_dry_run_judges_providers_too(three):
    outcome = three.publish(RULE, dry_run=True)
    assert outcome.verdict.holds
    assert outcome.verdict.how == "by construction"


def test_a_release_may_be_based_on_an_earlier_one(three):
    first = three.publish(RULE)
    more = [r | {"patient": "N" + r["patient"]} for r in three.people(30, seed=4)]
    for i, row in enumerate(more):
        row["hospital"] = SITES[i % 3]
    grown = three.write(three.folder / "grown.csv", three.rows + more)
    second = three.publish(RULE, source=grown, based_on=first, out=three.folder / "second")
    assert second.verdict.rows == 110
    assert shoal.verify(second) == second.verdict
    assert survives(three, second, 1, 2, 2)


# The witness


def test_a_failing_class_has_a_coalition_whose_names_are_shown_on_demand(three):
    release = three.publish("k-anonymity k=4")
    asked = "m-privacy m=2 (k-anonymity k=4)"
    (quiet,) = shoal.verify(release, rule=asked).judgements
    assert not quiet.holds
    assert set(quiet.worst) == {"rows", "members", "left"}
    assert 0 < quiet.worst["left"] < 4
    (shown,) = shoal.verify(release, rule=asked, show=True).judgements
    assert shown.worst["members"] == quiet.worst["members"] == len(shown.worst["coalition"])
    labels = tuple(shown.worst["class"].values())
    named = zip(three.published(release), hidden(release)["provider"].to_pylist(), strict=True)
    inside = [who for row, who in named if tuple(row[n] for n in three.quasi) == labels]
    assert len(inside) == shown.worst["rows"]
    assert sum(who not in shown.worst["coalition"] for who in inside) == shown.worst["left"]
    json.dumps(shoal.verify(release, rule=asked, show=True).to_json())


# What was changed, or is not there


def test_swapped_rows_and_edited_providers_are_noticed(release):
    who = hidden(release)["provider"].to_pylist()
    other = next(i for i, one in enumerate(who) if one != who[0])
    swapped = [who[other], *who[1:other], who[0], *who[other + 1 :]]
    for changed in (swapped, ["East", *who[1:]] if who[0] != "East" else ["West", *who[1:]]):
        tampered(release, provider=changed)
        with pytest.raises(shoal.InputError, match="rows were changed since"):
            shoal.verify(release)


def sealed(standing, release, seal):
    """The release with another seal of its companion's rows; None: without one."""
    told = standing.companion(release) | {"rows_sha256": seal}
    told = {name: value for name, value in told.items() if value is not None}
    (release.companion / "companion.json").write_text(json.dumps(told), encoding="utf-8")


@pytest.mark.parametrize("seal", [None, ""])
def test_providers_without_a_seal_are_refused(standing, release, seal):
    assert len(standing.companion(release)["rows_sha256"]) == 64
    sealed(standing, release, seal)
    with pytest.raises(shoal.InputError, match=r"rows_sha256 in companion\.json"):
        shoal.verify(release)


def test_rows_that_are_not_the_table_s_are_refused_whatever_the_seal(standing, release):
    path = release.companion / "rows.parquet"
    pq.write_table(hidden(release).slice(1), path)
    sealed(standing, release, hashlib.sha256(path.read_bytes()).hexdigest())
    with pytest.raises(shoal.InputError, match=r"80 rows and its private companion 79"):
        shoal.verify(release)


def test_a_companion_whose_rows_are_gone_is_not_whole(release):
    (release.companion / "rows.parquet").unlink()
    with pytest.raises(shoal.InputError, match=r"lacks its file rows\.parquet") as caught:
        shoal.verify(release)
    assert "take a whole copy of the companion." in caught.value.hint


def test_people_s_rows_of_an_old_release_have_no_seal(three):
    release = three.publish()
    sealed(three, release, None)
    second = three.publish(based_on=release, out=three.folder / "second")
    assert second.verdict.holds


def test_people_s_rows_are_sealed_as_well(three):
    release = three.publish()
    tampered(release, person=hidden(release)["person"].to_pylist()[::-1])
    with pytest.raises(shoal.InputError, match="rows were changed since"):
        three.publish(based_on=release, out=three.folder / "second")


def test_without_the_companion_the_rule_inside_can_be_verified(standing, release):
    release.companion.rename(release.folder / "gone")
    with pytest.raises(shoal.InputError) as caught:
        shoal.verify(release.folder)
    assert "is missing" in caught.value.fact
    assert "copy.private" in caught.value.hint
    assert "-m 'k-anonymity k=2 & distinct-diversity l=2'" in caught.value.hint
    assert shoal.verify(release.folder, rule="k-anonymity k=2 & distinct-diversity l=2").holds


def test_a_changed_table_is_not_judged_with_the_companion(standing, release):
    rows = standing.published(release)
    standing.write(release.path, [rows[1], rows[0], *rows[2:]])
    with pytest.raises(shoal.InputError, match="was changed after it was published"):
        shoal.verify(release)


def test_a_companion_that_knows_no_provider_is_refused(three):
    release = three.publish(schema=three.schema(hospital=shoal.identifier))
    with pytest.raises(shoal.InputError, match="does not say who provided the rows"):
        shoal.verify(release, rule=RULE)
    rows = [
        row | {"hospital": "" if i < 2 else row["hospital"]} for i, row in enumerate(three.rows)
    ]
    some = three.write(three.folder / "some.csv", rows)
    release = three.publish(source=some, out=three.folder / "other")
    with pytest.raises(shoal.InputError, match="2 rows of the release came without a provider"):
        shoal.verify(release, rule=RULE)


def test_a_table_by_hand_is_no_release(standing, release):
    with pytest.raises(shoal.NotMetError, match=r"never published: .*hospital"):
        shoal.verify(standing.table, standing.schema(), RULE)
    with pytest.raises(shoal.UsageError, match="does not tell"):
        shoal.verify(release.path, published_schema(standing.schema()), RULE)


# What is refused before anything is made


def sited(town, sites):
    rows = [row | {"hospital": sites(i)} for i, row in enumerate(town.rows)]
    return town.write(town.folder / "sited.csv", rows)


@pytest.mark.parametrize(
    ("sites", "error", "said"),
    [
        (lambda i: SITES[i % 3] if i > 8 else "", shoal.InputError, "9 rows have no provider"),
        (lambda i: ("North", "NORTH", "South")[i % 3], shoal.InputError, "2 providers in column"),
        (lambda i: SITES[i % 2], shoal.UsageError, "m=2 of 2 providers"),
    ],
)
def test_providers_who_cannot_collude_are_refused(town, sites, error, said):
    with pytest.raises(error) as caught:
        town.publish("m-privacy m=2 (k-anonymity k=2)", source=sited(town, sites))
    assert said in caught.value.fact
    assert not [name for name in (*SITES, "NORTH") if name in str(caught.value)]
    assert not (town.folder / "release").exists()


@pytest.mark.parametrize(
    ("names", "null", "said"),
    [
        (("North",), False, r"All rows are of one provider \(column 'site'\)"),
        (("North", "South"), True, "A row has no provider"),
        (("St Anna", "StAnna", "X"), False, "2 providers in column 'site'"),
        (("Orl\u00e9ans", "orle\u0301ans\u00a0", "Nantes"), False, "2 providers"),
    ],
)
def test_names_that_tell_no_providers_apart(names, null, said):
    with pytest.raises(shoal.InputError, match=said):
        check_providers(Axis("site", "category", "flat", names, null))
    check_providers(Axis("site", "category", "flat", ("A", "B")), 1)


def test_a_provider_of_the_domain_has_rows(town):
    stated = '[columns.hospital]\nrole = "provider"\ndomain = ["North", "South", "West"]'
    listed = shoal.Schema.parse(stated).columns
    others = (column for column in town.schema().columns if column.role != "provider")
    schema = shoal.Schema((*others, *listed))
    with pytest.raises(shoal.InputError, match=r"1 provider of the declared domain .* has no rows"):
        town.publish(RULE, schema=schema)
    assert town.publish("k-anonymity k=4", schema=schema).verdict.holds


def test_other_rules_do_not_mind_who_provided_the_rows(town):
    assert town.publish(source=sited(town, lambda i: "" if i % 2 else "north")).verdict.holds


def test_a_column_must_say_who_provided_the_rows(town):
    with pytest.raises(shoal.UsageError, match='role "provider"'):
        town.publish(RULE, schema=town.schema(hospital=shoal.identifier))


def test_buckets_belong_to_no_provider(town):
    rule = "m-privacy m=1 (distinct-diversity l=2)"
    with pytest.raises(shoal.UsageError, match="belong to no provider"):
        town.publish(rule, form="buckets")
    release = town.publish("distinct-diversity l=2", form="buckets")
    with pytest.raises(shoal.UsageError, match="belong to no provider"):
        shoal.verify(release, rule=rule)


# The rule inside


def test_what_the_rule_inside_judges_is_judged(town):
    rule = shoal.rule("m-privacy m=1 (k-anonymity k=2 & distinct-diversity l=2 on=a)")
    assert find_unjudged_columns(rule, ["a", "b"]) == ["b"]
    assert not can_judge_in_parts(rule)
    assert can_judge_in_parts(shoal.rule("k-anonymity k=2"))
    earlier = town.publish(schema=town.schema(diagnosis=shoal.keep), accept_keep=True)
    with pytest.raises(shoal.UsageError, match="distinct-diversity l=2 judges columns"):
        treat_published_as_quasi(town.schema(), shoal.rule(RULE), earlier)
