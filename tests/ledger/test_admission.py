"""Admission: a release judged together with the recorded ones, and recorded once."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.adversary.context import build_context
from shoal.kernels import assignment
from shoal.ledger.admission_options import AdmissionOptions
from shoal.ledger.chain.keys import Keys
from shoal.ledger.pair_judgement import JudgedFinding, judge_finding
from shoal.ledger.sealed_release import hash_table_content, pack_release, unpack_release
from shoal.releases.published_table import read_published_tables


@pytest.fixture
def ledger(tmp_path):
    with shoal.Ledger.init(tmp_path / "releases.db") as made:
        yield made


@pytest.fixture(scope="module")
def town(standing):
    """A town with two releases: of its people, and based on that with twenty more."""
    rows = standing.people(160, 3)
    standing.first_rows, standing.more_rows = rows[:100], rows[:120]
    standing.everybody = standing.write(standing.folder / "everybody.csv", rows)
    standing.first = published(standing, "first", rows[:100])
    standing.based = published(standing, "based", rows[:120], based_on=standing.first)
    standing.careless = published(standing, "careless", rows[:120])
    standing.other = published(standing, "other", rows[60:])
    return standing


def published(town, name, rows, rule="k-anonymity k=4", **more):
    source = town.write(town.folder / f"{name}.csv", rows)
    return town.publish(rule, source=source, out=town.folder / name, **more)


def refused(ledger, release, **asked):
    with pytest.raises(shoal.Refused) as told:
        ledger.admit(release, **asked)
    assert told.value.exit_code == 4
    return told.value.admission


def attacks(admission):
    return {one.finding.attack for one in admission.weighed}


# What is kept


def test_what_is_kept_reads_back_as_it_was(town):
    (seen,) = read_published_tables([town.first], None, lambda *_: None)
    again = unpack_release(pack_release(seen))
    assert again.roles == seen.roles
    assert (again.name, again.rows, again.manifest) == (seen.name, seen.rows, seen.manifest)
    for name, listing in seen.listings.items():
        values = np.array(listing.values, object)[listing.codes]
        assert (
            np.array(again.listings[name].values, object)[again.listings[name].codes] == values
        ).all()
    hidden = seen.companion.folder / "rows.parquet"
    assert again.keyed.person.to_pylist() == pa.parquet.read_table(hidden)["person"].to_pylist()
    assert hash_table_content(again) == hash_table_content(seen)


def test_nulls_and_numbers_are_kept(tmp_path):
    table = pa.table({"age": ["1", None, "2", "1"], "pay": [1.5, None, 2.0, 1.5]})
    schema = shoal.Schema.of(quasi=["age"], sensitive=["pay"])
    (seen,) = read_published_tables([table], schema, lambda *_: None)
    again = unpack_release(pack_release(seen))
    for name, one in seen.listings.items():
        assert again.listings[name].values == one.values
        assert again.listings[name].codes.tolist() == one.codes.tolist()


def test_nobody_s_name_and_no_original_row_is_kept(ledger, town):
    ledger.admit(town.first)
    kept = told(ledger.book.sealed(2))
    assert "asthma" in kept  # a value that is published
    assert not any(row[name] in kept for row in town.first_rows for name in ("patient", "born"))
    body = str(dict(ledger.entry(2).body))
    ledger.close()  # what is in the log goes into the file
    stored = b"".join(path.read_bytes() for path in ledger.where.parent.glob("releases.db*"))
    assert ledger.entry(2).hash.encode() in stored
    assert b"published.arrow" in ledger.book.sealed(2)
    assert b"published.arrow" not in stored
    for text in (body.encode(), stored):
        assert town.first.manifest["sha256"].encode() in text
        assert b"asthma" not in text


def told(content):
    """All words of a sealed content, which is compressed as it lies."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        words = [archive.read("about.json").decode()]
        for name in ("published.arrow", "rows.arrow"):
            words.append(str(pa.ipc.open_stream(archive.read(name)).read_all().to_pylist()))
    return " ".join(words)


def test_a_release_that_was_read_is_taken_as_it_is(town):
    (seen,) = read_published_tables([town.first], None, lambda *_: None)
    known = build_context([unpack_release(pack_release(seen)), town.other], targets=town.everybody)
    assert [one.name for one in known.releases] == ["first", "other"]
    fresh = shoal.attack("intersection", [town.first, town.other], targets=town.everybody)
    kept = shoal.attack(
        "intersection", [unpack_release(pack_release(seen)), town.other], targets=town.everybody
    )
    assert kept == fresh


# Relations and defences


def test_a_release_based_on_another_is_compared_person_by_person(ledger, town):
    ledger.admit(town.first)
    found = ledger.admit(town.based, people=town.everybody)
    (beside,) = found.judged_with
    assert (beside.relation, beside.how) == (
        "over time",
        "its manifest says that it is based on it",
    )
    assert any("all 100 people in both equal or generalise" in one for one in found.defences)
    assert found.admitted
    assert ledger.entry(3).body["based_on"] == town.first.manifest["sha256"]


def test_a_careless_second_release_is_refused(ledger, town):
    ledger.admit(town.first)
    told = refused(ledger, town.careless, people=town.everybody)
    assert any("have a finer cell than they had" in one for one in told.lacking)
    assert {"temporal", "intersection"} <= attacks(told)
    assert not any(one.defence for one in told.weighed)
    assert "risk" in str(shoal.Refused(told))
    assert len(ledger.entries()) == 2


def test_a_release_after_another_is_defended_by_its_rule(ledger, town):
    after = published(town, "after", town.first_rows, after=[town.first])
    ledger.admit(town.first)
    found = ledger.admit(after, relation="same table")
    assert any("holds over the quasi-identifiers" in one for one in found.defences)
    assert found.admitted
    assert found.judged_with[0].how == "declared"


def test_a_rule_that_leaves_people_alone_is_no_defence(ledger, tmp_path):
    schema = shoal.Schema.of(quasi=["age"], sensitive=["ill"])
    one = pa.table({"age": ["1-2", "1-2", "3-4", "3-4"], "ill": ["a", "b", "c", "d"]})
    two = pa.table({"age": ["1", "2-3", "2-3", "4"], "ill": ["a", "b", "c", "d"]})
    ledger.admit(one, schema=schema)
    told = ledger.judge(two, schema=schema)
    assert not told.defences
    assert not told.admitted


def test_the_relation_may_be_declared_for_each_entry(ledger, town):
    ledger.admit(town.first)
    told = ledger.judge(town.careless, relation={2: "overlapping"})
    assert [tuple(one[:3]) for one in told.judged_with] == [(2, "overlapping", "declared")]
    assert attacks(told) == {"worst-pair"}


def test_values_that_agree_by_chance_are_not_one_table(ledger):
    """As many of each value, but in cells that do not meet: rows cannot be the same."""
    schema = shoal.Schema.of(quasi=["age", "sex"], sensitive=["ill"])
    one = {"age": ["1-2"] * 4 + ["3-4"] * 4, "sex": ["*"] * 8, "ill": list("aabbccdd")}
    two = {"age": ["1-2"] * 4 + ["3-4"] * 4, "sex": ["*"] * 8, "ill": list("bbccaadd")}
    ledger.add_foreign(pa.table(one), schema=schema, by="us")
    told = ledger.judge(pa.table(two), schema=schema)
    assert told.judged_with[0].relation == "overlapping"
    assert "not every row" in told.judged_with[0].how
    assert [one.beyond for one in told.weighed] == [8]


def test_others_about_whom_it_is_not_are_left_out(ledger, town):
    ledger.admit(town.first, about="patients")
    assert ledger.judge(town.careless, about="staff").judged_with == ()
    based = ledger.judge(town.based, about="staff")  # whatever it is said to be about
    assert [one.entry for one in based.judged_with] == [2]


# People


def test_two_samples_that_share_people_are_refused(ledger, town):
    ledger.admit(town.first)
    known = refused(ledger, town.other, people=town.everybody)
    assert attacks(known) == {"intersection"}
    (found,) = known.weighed
    details = found.finding.details
    assert found.beyond == found.finding.exposed - details["exposed_before"] > 0
    assert found.finding.people == 40
    worst = refused(ledger, town.other)
    assert attacks(worst) == {"worst-pair"}
    assert "worst" in worst.weighed[0].finding.sentence
    share = found.beyond / found.finding.people
    assert ledger.judge(town.other, people=town.everybody, limit=share).admitted
    assert not ledger.judge(town.other, people=town.everybody, limit=share - 1e-9).admitted


def test_three_releases_say_together_what_no_two_do(ledger):
    """a is in all; b in the first two, c in the outer two, d in the last two."""
    schema = shoal.Schema.of(quasi=["age"], sensitive=["ill"])
    tables = [
        pa.table({"age": ["20-29"] * 3 + ["30-39"] * 3, "ill": [*some, "x", "y", "z"]})
        for some in ("abc", "abd", "acd")
    ]
    people = pa.table({"age": [25]})
    for i, one in enumerate(tables[:2]):
        ledger.add_foreign(one, schema=schema, by=f"hospital {i}")
    told = ledger.judge(tables[2], schema=schema, people=people, relation="overlapping")
    by_entries = {(one.finding.attack, one.entries): one.beyond for one in told.weighed}
    assert by_entries == {
        ("intersection", (2,)): 0,
        ("intersection", (3,)): 0,
        ("intersection", (2, 3)): 1,
        ("worst-pair", (2,)): 0,
        ("worst-pair", (3,)): 0,
        ("worst-pair", (2, 3)): 3,
    }
    assert not told.admitted
    assert ledger.judge(tables[2], schema=schema, people=people, l=3).reasons


def test_more_values_left_may_be_asked_for():
    finding = shoal.Finding(
        attack="intersection",
        people=10,
        exposed=2,
        sure=1,
        guessing=0,
        sentence="",
        defence="",
        details={"candidates_after": {1: 2, 2: 3, 5: 5}, "candidates_before": {1: 1, 2: 1, 6: 8}},
    )
    assert [judge_finding(finding, (2,), AdmissionOptions(l=l)).beyond for l in (2, 3, 4)] == [
        1,
        3,
        3,
    ]
    assert not JudgedFinding(finding, (2,), 1, 0.1).exceeds
    assert JudgedFinding(finding, (2,), 2, 0.1).exceeds


# The budget


def spending(release, **spend):
    path = release.folder / "manifest.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**told, "spend": spend}), encoding="utf-8")
    return release.folder


def test_two_spends_that_exceed_the_budget_together_are_refused(town, tmp_path):
    with shoal.Ledger.init(tmp_path / "dp.db", epsilon=1.0, delta=1e-6) as ledger:
        elsewhere = pa.table({"age": ["1", "2"], "diagnosis": ["flu", "cold"]})  # children
        schema = shoal.Schema.of(quasi=["age"], sensitive=["diagnosis"])
        ledger.add_foreign(elsewhere, schema=schema, by="another", epsilon=0.4)
        shutil.copytree(town.other.folder, tmp_path / "copy")
        shutil.copytree(town.other.companion, tmp_path / "copy.private")
        copy = shoal.Release(town.other.manifest, town.other.verdict, tmp_path / "copy")
        release = spending(copy, epsilon=0.6)
        assert ledger.judge(release).spend.total == shoal.Spend(1.0)
        assert ledger.judge(release).admitted
        release = spending(copy, epsilon=0.61)
        told = refused(ledger, release)
        assert told.reasons == ("The budget is exceeded: ε 1.01 would be spent of ε 1, δ 1e-06.",)
        assert ledger.judge(release, about="others").admitted
        found = ledger.admit(release, accept_risk="once")
        assert ledger.entry(found.entry.number).body["spend"] == {"epsilon": "61/100", "delta": "0"}


# Recording


def test_a_release_is_recorded_once(ledger, town):
    first = ledger.admit(town.first, to="the public")
    again = ledger.admit(town.first.folder)
    assert (first.already, again.already) == (False, True)
    assert again.entry == first.entry
    assert len(ledger.entries()) == 2
    assert "recorded already" in str(again)
    place = ledger.position(town.first)
    assert (place.entry, place.hash, place.head) == (2, first.entry.hash, ledger.head())
    assert ledger.position(town.other) is None


def test_what_came_meanwhile_is_judged_before_recording(ledger, town):
    ledger.admit(town.first)
    steps = []

    def meanwhile(step, done, total):
        if step == "judging with earlier releases":
            steps.append((done, total))
            if len(steps) == 1:
                with shoal.Ledger(ledger.where) as colleague:
                    colleague.admit(town.other, accept_risk="agreed")

    found = ledger.admit(town.careless, accept_risk="agreed", progress=meanwhile)
    assert [one.entry for one in found.judged_with] == [2, 3]
    assert found.entry.number == 4
    assert steps == [(0, 1), (0, 2), (1, 2)]
    assert ledger.check() == ()


def test_what_came_meanwhile_may_speak_against_it(ledger, town):
    def meanwhile(step, done, total):
        if step.startswith("reading releases") and len(ledger.entries()) == 1:
            with shoal.Ledger(ledger.where) as colleague:
                colleague.admit(town.first)

    assert refused(ledger, town.careless, progress=meanwhile).judged_with[0].entry == 2


def test_publishers_at_once_each_judge_with_all_before(ledger, town):
    def admit(release):
        with shoal.Ledger(ledger.where) as own:
            return own.admit(release, accept_risk="agreed")

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(admit, (town.first, town.careless, town.other)))
    for one in found:
        before = [beside.entry for beside in one.judged_with]
        assert before == list(range(2, one.entry.number))
    assert sorted(one.entry.number for one in found) == [2, 3, 4]
    assert ledger.check() == ()


def test_recheck_judges_every_release_with_those_before(ledger, town):
    ledger.admit(town.first)
    ledger.admit(town.other, accept_risk="agreed")
    told = ledger.recheck()
    assert [one.entry.number for one in told] == [2, 3]
    assert [one.admitted for one in told] == [True, True]
    assert told[1].overridden
    # intersection was not among what was accepted
    known = ledger.recheck(people=town.everybody)
    assert [one.admitted for one in known] == [True, False]


def test_withdrawn_releases_are_judged_with_still(ledger, town):
    ledger.admit(town.first)
    entry = ledger.withdraw(2, "a mistake")
    assert (entry.body["number"], entry.body["reason"]) == (2, "a mistake")
    assert ledger.judge(town.careless).judged_with[0].entry == 2
    for number, reason in ((2, "again"), (1, "no release"), (2, " ")):
        with pytest.raises(shoal.UsageError):
            ledger.withdraw(number, reason)


def test_a_trusted_publisher_adds_and_opens(ledger, town, tmp_path):
    ledger.admit(town.first)
    keys = ledger.keys.sibling("Harbour")
    keys.write(tmp_path / "harbour.key")
    ledger.trust("Harbour", keys.public)
    with shoal.Ledger(ledger.where, tmp_path / "harbour.key") as theirs:
        found = theirs.admit(town.other, accept_risk="agreed")
    assert found.judged_with[0].entry == 2
    assert ledger.entry(4).body["by"] == "Harbour"


# What cannot be done


def test_buckets_cannot_be_judged_and_are_not_let_through(ledger, town):
    buckets = published(town, "buckets", town.first_rows, "distinct-diversity l=2", form="buckets")
    ledger.admit(town.first)
    told = refused(ledger, buckets)
    assert told.unjudged[0][0] == 2
    assert "buckets" in told.reasons[0]
    assert ledger.admit(buckets, accept_risk="few will see it").overridden


def test_buckets_are_not_let_through_with_people_either(ledger, town):
    buckets = published(town, "bucket", town.first_rows, "distinct-diversity l=2", form="buckets")
    ledger.admit(town.first)
    for relation in (None, "same table", "over time", "overlapping"):
        told = ledger.judge(buckets, people=town.everybody, relation=relation)
        assert (told.admitted, [number for number, _ in told.unjudged]) == (False, [2])


def test_centroids_are_judged_by_people_or_not_at_all(ledger, town):
    made = published(
        town, "centroids", town.first_rows, form="centroids", method="microaggregation"
    )
    ledger.admit(town.other)
    told = ledger.judge(made)
    assert (told.admitted, told.weighed, told.unjudged[0][0]) == (False, (), 2)
    known = ledger.judge(made, people=town.everybody)
    assert attacks(known) == {"intersection"}
    for relation in ("same table", "over time"):
        said = ledger.judge(made, people=town.everybody, relation=relation)
        assert (said.weighed, said.judged_with[0].relation) == (known.weighed, "overlapping")
        assert not ledger.judge(made, relation=relation).admitted


ILL = shoal.Schema.of(quasi=["age"], sensitive=["ill"])
BOTH = shoal.Schema.of(quasi=["age"], sensitive=["ill", "pay"])
AGES = ["1-2", "1-2", "3-4", "3-4"]


def beside(ledger, first, second, *, schemas=(ILL, ILL), **asked):
    """What is said of a second table after a first, by somebody else, about the same people."""
    ledger.add_foreign(pa.table(first), schema=schemas[0], by="another")
    return ledger.judge(pa.table(second), schema=schemas[1], **asked)


def not_let_through(told):
    """Why a second table was not judged with the first, and so not admitted."""
    assert not told.admitted
    ((number, reason),) = told.unjudged
    assert number == 2
    assert reason in " ".join(told.reasons)
    return reason


@pytest.mark.parametrize("relation", [None, "same table", "over time", "overlapping"])
def test_tables_without_a_column_in_common_are_not_judged(ledger, relation):
    schemas = ILL, shoal.Schema.of(quasi=["Age"], sensitive=["illness"])
    second = {"Age": AGES, "illness": list("abcd")}
    told = beside(
        ledger, {"age": AGES, "ill": list("abcd")}, second, schemas=schemas, relation=relation
    )
    assert "no column in common" in not_let_through(told)


def test_tables_without_a_sensitive_column_in_common_are_not_judged(ledger):
    schemas = ILL, shoal.Schema.of(quasi=["age"], sensitive=["drug"])
    second = {"age": AGES[:3], "drug": list("xyz")}
    told = beside(ledger, {"age": AGES, "ill": list("abcd")}, second, schemas=schemas)
    assert "share no sensitive column" in not_let_through(told)


def test_values_that_are_spelt_differently_are_not_judged(ledger):
    told = beside(ledger, {"age": AGES, "ill": list("abcd")}, {"age": AGES[:3], "ill": list("ABC")})
    assert "no value of ill in common" in not_let_through(told)


def test_one_of_several_sensitive_columns_that_cannot_be_told_is_enough(ledger):
    """By the first nobody can be in both; the second is spelt differently."""
    first = {"age": AGES, "ill": list("aabb"), "pay": list("1234")}
    second = {"age": AGES, "ill": list("bbaa"), "pay": ["one", "two", "three", "four"]}
    told = beside(ledger, first, second, schemas=(BOTH, BOTH), relation="overlapping")
    assert "no value of pay in common" in not_let_through(told)


def test_what_one_calls_sensitive_and_the_other_generalises_is_not_judged(ledger):
    schemas = BOTH, shoal.Schema.of(quasi=["age", "pay"], sensitive=["ill"])
    first = {"age": AGES, "ill": list("abab"), "pay": list("1234")}
    second = {"age": AGES, "ill": list("abab"), "pay": ["1-2", "1-2", "3-4", "3-4"]}
    told = beside(ledger, first, second, schemas=schemas, relation="overlapping")
    assert "'pay' is sensitive in one release" in not_let_through(told)


@pytest.mark.parametrize("relation", ["same table", "over time"])
def test_a_declared_relation_that_the_rows_refute_is_not_believed(ledger, relation):
    """Its rule would be a defence, if they were of one table."""
    second = {"age": AGES, "ill": ["a", "a", "e", "e"]}
    if relation == "over time":
        second = {"age": AGES, "ill": ["b", "b", "a", "a"]}
    first = {"age": AGES, "ill": ["a", "f", "b", "g"]}
    told = beside(ledger, first, second, relation=relation)
    assert told.judged_with[0][1:3] == ("overlapping", "declared; but their rows say otherwise")
    assert not told.defences


def test_other_ages_cannot_be_the_same_people(ledger):
    second = {"age": ["5-6", "5-6", "7-8"], "ill": list("abc")}
    told = beside(ledger, {"age": AGES, "ill": list("abcd")}, second)
    assert (told.admitted, told.unjudged) == (True, ())
    assert [one[1] for one in told.skipped] == ["worst-pair"]


def test_only_what_was_never_out_is_left_out(ledger, town, tmp_path):
    ledger.admit(town.first, place=tmp_path / "unmoved" / "release")
    ledger.withdraw(2, "the folder could not be moved", never_out=True)
    assert ledger.admit(town.careless).judged_with == ()
    ledger.withdraw(4, "a mistake")
    assert [one.entry for one in ledger.judge(town.other).judged_with] == [4]


def test_a_search_cut_short_does_not_count_as_safe(ledger, town, monkeypatch):
    ledger.admit(town.first)
    whole = ledger.judge(town.based, people=town.everybody)
    assert (whole.admitted, whole.unjudged) == (True, ())
    monkeypatch.setattr(assignment, "MAX_STEPS", -1)
    told = ledger.judge(town.based, people=town.everybody)
    cut = [one.finding for one in told.weighed if one.finding.details.get("limits")]
    assert cut
    assert all(one.exposed == 0 and "cut short" in one.sentence for one in cut)
    assert f"The search of {cut[0].attack} was cut short" in not_let_through(told)


def test_wrong_keys_are_told(ledger, town, tmp_path):
    Keys.new("somebody").write(tmp_path / "wrong.key")
    with pytest.raises(shoal.InputError, match="not the key"):
        shoal.Ledger(ledger.where, tmp_path / "wrong.key")
    with pytest.raises(shoal.InputError, match="no key file"):
        shoal.Ledger(ledger.where, tmp_path / "missing.key")
    ledger.key.rename(tmp_path / "away.key")
    with shoal.Ledger(ledger.where) as locked:
        assert len(locked.entries()) == 1
        assert locked.check(locked.head()) == ()
        with pytest.raises(shoal.InputError, match="key is not at hand"):
            locked.admit(town.first)


def test_the_environment_names_the_key(ledger, town, tmp_path, monkeypatch):
    ledger.key.rename(tmp_path / "away.key")
    monkeypatch.setenv("SHOAL_LEDGER_KEY", str(tmp_path / "away.key"))
    with shoal.Ledger(ledger.where) as again:
        assert again.admit(town.first).admitted


def test_a_ledger_is_not_begun_twice(ledger, tmp_path):
    with pytest.raises(shoal.OutputError):
        shoal.Ledger.init(ledger.where)
    with pytest.raises(shoal.OutputError):
        shoal.Ledger.init(ledger.where, tmp_path / "new.key")
    assert not (tmp_path / "new.key").exists()


def test_a_missing_companion_is_told(ledger, town, tmp_path):
    shutil.copytree(town.first.folder, tmp_path / "alone")
    with pytest.raises(shoal.InputError, match="companion of 'alone' is missing") as told:
        ledger.admit(tmp_path / "alone")
    assert "add-foreign" in told.value.hint
    with pytest.raises(shoal.InputError, match="companion of 'alone' is missing"):
        ledger.admit(tmp_path / "alone", schema=town.schema())
    assert ledger.add_foreign(tmp_path / "alone", by="another").body["made_by"] == "another"


def test_a_changed_table_is_refused(ledger, town, tmp_path):
    shutil.copytree(town.first.folder, tmp_path / "first")
    shutil.copytree(town.first.companion, tmp_path / "first.private")
    with (tmp_path / "first" / "table.csv").open("a", encoding="utf-8") as file:
        file.write("1,f,01301,flu\n")
    with pytest.raises(shoal.InputError, match="was changed"):
        ledger.admit(tmp_path / "first")


def test_a_foreign_table_needs_a_schema(ledger, town):
    with pytest.raises(shoal.UsageError, match="what the columns are"):
        ledger.add_foreign(town.first.path, by="another")
    with pytest.raises(shoal.UsageError, match="Nobody is said"):
        ledger.add_foreign(town.first.folder, by=" ")
    schema = shoal.Schema.of(quasi=["age", "sex"], keep=["diagnosis"])
    entry = ledger.add_foreign(town.first.path, by="another", schema=schema, on="diagnosis")
    assert entry.body["columns"] == {"age": "quasi", "sex": "quasi", "diagnosis": "sensitive"}
    assert refused(ledger, town.other).judged_with[0].by == "another"


@pytest.mark.parametrize(
    "asked",
    [{"l": 1}, {"limit": 2}, {"relation": "cousins"}, {"accept_risk": " "}, {"on": "weight"}],
)
def test_what_cannot_be_asked_is_told(ledger, town, asked):
    with pytest.raises(shoal.UsageError):
        ledger.admit(town.first, **asked)
    assert len(ledger.entries()) == 1


def test_no_defence_answers_a_search_cut_short(ledger, monkeypatch):
    """The rule holds over everything released before; that is no answer to who came later."""
    first = {"age": ["1-4"] * 4 + ["5-8"] * 4, "ill": list("aabbaabb")}
    second = {"age": ["1-2"] * 6 + ["3-6"] * 6 + ["7-8"] * 6, "ill": list("aaaaaabbbbbbaaaaaa")}
    told = beside(ledger, first, second, relation="over time")
    assert (told.admitted, len(told.defences)) == (True, 1)
    monkeypatch.setattr(assignment, "MAX_STEPS", -1)
    again = ledger.judge(pa.table(second), schema=ILL, relation="over time")
    assert "cut short" in not_let_through(again)


def test_people_who_cannot_be_read_are_an_error(ledger, town, tmp_path):
    people = town.write(tmp_path / "people.csv", [{"colour": "red"}])
    with pytest.raises(shoal.InputError, match="none of the releases"):
        ledger.admit(town.first, people=people)
