"""A release based on an m-invariant one: signatures stay, and counterfeits stand for who left."""

from __future__ import annotations

import csv
import hashlib
import json
import random
import shutil
from collections import Counter, defaultdict

import pyarrow.parquet as pq
import pytest

import shoal
from shoal.data import bundled
from shoal.releases.companion import hash_counterfeit_person, hash_person_values, read_companion
from shoal.releases.manifest import published_schema
from shoal.releases.reader import open_frame
from shoal.releases.successors.counterfeits import FILE
from shoal.releases.successors.earlier import read_classified_rows, read_earlier_release
from shoal.releases.successors.m_invariance import check_signatures

ILL = ("flu", "cold", "asthma", "angina", "gout", "ulcer", "migraine", "otitis")
SCHEMA = shoal.Schema.of(
    person="patient", quasi=["age", "sex", "zip"], sensitive="diagnosis", identifier="name"
)
RULE = "m-invariance m=3"


def hospital(rows: int, seed: int = 1, first: int = 0, ill=ILL) -> list[dict]:
    rng = random.Random(seed)
    return [
        {
            "patient": f"P{first + i:04d}",
            "name": f"Person {i}",
            "age": rng.randrange(18, 90),
            "sex": rng.choice("fm"),
            "zip": f"0{rng.choice(['1301', '1302', '2138', '2139'])}",
            "diagnosis": rng.choice(ill),
        }
        for i in range(rows)
    ]


class Years:
    """Releases of a hospital's table, year by year."""

    def __init__(self, folder):
        self.folder, self.tables, self.releases = folder, [], []

    def write(self, rows, name):
        with (self.folder / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return self.folder / name

    def publish(self, rows, rule=RULE, method="invariant", schema=SCHEMA, **settings):
        number = len(self.releases)
        if number:
            settings.setdefault("based_on", self.releases[-1].folder)
        table, out = self.write(rows, f"{number}.csv"), self.folder / f"release{number}"
        release = shoal.publish(table, schema, rule, method=method, out=out, **settings)
        self.tables.append(table)
        self.releases.append(release)
        return release


@pytest.fixture
def years(tmp_path):
    return Years(tmp_path)


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """A hospital of 120 people with a first release, which tests leave as it is."""
    found = Years(tmp_path_factory.mktemp("hospital"))
    found.publish(hospital(120))
    return found


@pytest.fixture(scope="module")
def left(standing):
    """The year after, when 20 of them have left and 30 have come."""
    standing.publish(hospital(150)[20:])
    return standing.releases[1]


@pytest.fixture(scope="module")
def plain(standing, left):
    """The same people as then, by classes that are 3-diverse and keep nothing."""
    rule, out = "k-anonymity k=3 & distinct-diversity l=3", standing.folder / "plain"
    return shoal.publish(standing.tables[1], SCHEMA, rule, out=out)


@pytest.fixture
def copied(left, tmp_path):
    """A copy of that release, with its companion beside it, to be altered."""
    for folder in (left.folder, left.companion):
        shutil.copytree(folder, tmp_path / folder.name)
    return tmp_path / left.folder.name


def attempt(standing, rows, rule=RULE, schema=SCHEMA, **settings):
    """A second release that is not written."""
    settings = {"based_on": standing.releases[0].folder, "method": "invariant"} | settings
    table = standing.write(rows, "later.csv")
    return shoal.publish(table, schema, rule, dry_run=True, **settings)


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cells(row):
    return row["age"], row["sex"], row["zip"]


def counterfeits(release):
    return {cells(row): int(row["counterfeits"]) for row in read(release.folder / FILE)}


def signatures(release, people) -> tuple[dict, int]:
    """By the companion alone: the values of everybody's class, and how many rows are nobody's."""
    key = read_companion(release, release.path).key
    who = pq.read_table(release.companion / "rows.parquet")["person"].to_pylist()
    rows, values = read(release.path), defaultdict(list)
    for row in rows:
        values[cells(row)].append(row["diagnosis"])
    for some in values.values():  # even, by the test's own count
        assert len({*Counter(some).values()}) == 1
        assert len({*some}) >= 3
    names = dict(zip(hash_person_values(people, key).to_pylist(), people, strict=True))
    there = [(names[w], cells(row)) for w, row in zip(who, rows, strict=True) if w in names]
    return {name: frozenset(values[one]) for name, one in there}, who.count(
        hash_counterfeit_person(key)
    )


def test_three_years_tell_no_more_than_the_first(years, standing, left, plain):
    everybody = hospital(190)
    table = [everybody[:120], everybody[20:150], everybody[40:190]]
    years.releases = [standing.releases[0], left]
    years.publish(table[2])
    names = [row["patient"] for row in everybody]
    found = [signatures(release, names) for release in years.releases]
    for year in (1, 2):
        (one, _), (other, nobody), rows = *found[year - 1 : year + 1], table[year]
        release = years.releases[year]
        both = one.keys() & other.keys()
        assert len(both) == 90 + 10 * year
        assert all(one[person] == other[person] for person in both)
        assert other.keys() == {row["patient"] for row in rows}
        assert release.private["counterfeits"] == nobody
        assert release.private["rows_signature_kept"] == len(both)
        assert release.verdict.rows == len(rows) + nobody
    stay = years.write(everybody[40:120], "stay.csv")
    folders = [release.folder for release in years.releases]
    safe = shoal.attack("intersection", folders, targets=stay, schema=SCHEMA)
    assumed = safe.details["assumed"]
    assert (safe.exposed, assumed["vulnerable"], assumed["mean_drop"]) == (0, 0, 0)
    assert assumed["posterior"] == assumed["prior"][0] >= 3
    found = shoal.attack("intersection", [folders[0], plain.folder], targets=stay, schema=SCHEMA)
    assert found.details["exposed_before"] == 0
    assert found.exposed > safe.exposed
    assert found.details["mean_drop"] > 0.3


def test_counterfeits_are_counted_published_and_sealed(left, copied):
    assert 0 < (made := left.private["counterfeits"]) <= 60
    assert any(f"{made} counterfeits" in note for note in left.private["notes"])
    told, have = counterfeits(left), Counter(map(cells, read(left.path)))
    assert sum(told.values()) == made
    assert all(0 < count < have[one] for one, count in told.items())
    public = left.manifest["counterfeits"]
    assert (public["rows"], public["classes"]) == (made, len(told))
    assert left.manifest["rows"] == 130 + made
    path = copied / FILE
    path.write_text(path.read_text().replace(",1\n", ",2\n", 1))
    with pytest.raises(shoal.InputError, match=FILE):
        shoal.verify(copied)
    path.unlink()
    with pytest.raises(shoal.InputError, match=FILE):
        shoal.verify(copied)


def test_a_value_that_nobody_has_any_more_stays_in_the_signature(years):
    rows = [row | {"diagnosis": ILL[i % 3]} for i, row in enumerate(hospital(90))]
    years.publish(rows)
    release = years.publish([row for row in rows if row["diagnosis"] != ILL[2]])
    assert release.private["counterfeits"] == 30
    assert {row["diagnosis"] for row in read(release.path)} == {*ILL[:3]}
    # those who had the third come back, and are new; all with one value they cannot have classes
    with pytest.raises(shoal.NotMetError, match="Of 15 new rows more than one in 3"):
        years.publish(rows[:45])
    told = attempt(years, rows[:45], based_on=release.folder, hold_back=0.34).private
    facts = ("held_back", "rows_waiting", "rows_new", "counterfeits", "rows_gone")
    assert [told[fact] for fact in facts] == [15, 15, 0, 15, 30]
    assert any("15 new rows are held back" in note for note in told["notes"])


def test_values_of_every_kind_can_be_counterfeit(years):
    values = (1, 2.5, "", 4)
    schema = SCHEMA.set(diagnosis=shoal.sensitive(missing="value"))
    rows = [row | {"diagnosis": values[i % 4]} for i, row in enumerate(hospital(60))]
    years.publish(rows, schema=schema, format="parquet")
    fewer = [row for i, row in enumerate(rows) if i % 4 not in (1, 2) or i < 8]
    release = years.publish(fewer, schema=schema, format="parquet")
    values = Counter(pq.read_table(release.path)["diagnosis"].to_pylist())
    assert release.private["counterfeits"] == 26
    assert values == {1: 15, 2.5: 15, None: 15, 4: 15}
    assert shoal.verify(release.folder).holds


def test_a_dry_run_tells_the_counterfeits(standing, left):
    release = attempt(standing, hospital(150)[20:])
    assert 0 < release.private["counterfeits"] == release.verdict.rows - 130
    assert release.private["counterfeits"] == left.private["counterfeits"]


def test_people_whose_value_changed_are_refused_with_their_number(standing):
    changed, other = hospital(120), dict(zip(ILL, (*ILL[1:], ILL[0]), strict=True))
    changed[:7] = [row | {"diagnosis": other[row["diagnosis"]]} for row in changed[:7]]
    with pytest.raises(shoal.InputError, match="7 people have another value") as error:
        attempt(standing, changed)
    assert not any(word in str(error.value) for word in ILL)


REFUSED = {
    "another method": ({"method": "mondrian"}, shoal.UsageError, "needs the method invariant"),
    "a larger m": ({"rule": "m-invariance m=5"}, shoal.NotMetError, "do not meet m-invariance m=5"),
    "kept columns": (
        {"schema": SCHEMA.set(name=shoal.keep), "accept_keep": True},
        shoal.UsageError,
        "one sensitive column",
    ),
    "another word": ({"newcomers": "first"}, shoal.UsageError, "apart or fill"),
    "another rule": (
        {"rule": "k-anonymity k=3", "based_on": None},
        shoal.NotMetError,
        "the rule is k-anonymity",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_not_keep_signatures_is_refused(standing, case):
    settings, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        attempt(standing, hospital(120), **settings)


def test_a_release_that_is_not_m_invariant_has_no_signatures_to_keep(standing, plain):
    with pytest.raises(shoal.NotMetError, match="classes of the earlier release do not meet"):
        attempt(standing, hospital(150)[20:], based_on=plain.folder)


def test_a_value_too_frequent_is_refused_or_held_back(standing):
    rows = [row | {"diagnosis": "flu"} for row in hospital(30)] + hospital(60)[30:]
    with pytest.raises(shoal.NotMetError, match="may be held back"):
        attempt(standing, rows, based_on=None)
    release = attempt(standing, rows, based_on=None, hold_back=0.4)
    assert 0 < release.private["held_back"] < 24


def test_other_signatures_are_found_in_what_was_written(standing, plain):
    """The check before a release is moved into place: by the files and companions alone."""
    with open_frame(standing.tables[1]) as frame:
        schema, first = SCHEMA.fit(frame.fields), standing.releases[0]
        before, key = (
            read_earlier_release(first.folder, schema),
            read_earlier_release(plain.folder, schema).key,
        )
        now = read_classified_rows(plain.path, published_schema(SCHEMA), plain.companion)
        with pytest.raises(shoal.NotMetError, match="people have other values in their class"):
            check_signatures(frame, schema, before, now, key, 0)
        with pytest.raises(shoal.InputError, match="changed while it was published"):
            check_signatures(frame, schema, before, now, key, 1)


def test_a_class_of_k_rows_has_k_values(standing):
    rule = "m-invariance m=3 & k-anonymity k=5"
    release = attempt(standing, hospital(120), rule, based_on=None)
    assert [part.reached for part in release.verdict.judgements] == [5, 5]


def by_class(release):
    """Of each class its rows' numbers and values, as anybody reads them."""
    found = defaultdict(list)
    for number, row in enumerate(read(release.path)):
        found[cells(row)].append((number, row["diagnosis"]))
    return found


def worked_out(first, second) -> tuple[int, int]:
    """The minimality attack: of how many classes the real values are told rightly, and wrongly.

    The adversary supposes that newcomers fill gaps. Then no value of a class of newcomers alone is
    counterfeit anywhere: there was a newcomer who would have filled the gap.
    """
    old = {frozenset(v for _, v in rows) for rows in by_class(first).values()}
    nobody, classes = counterfeits(second), by_class(second)
    sets = {one: frozenset(v for _, v in rows) for one, rows in classes.items()}
    over = {v for one, some in sets.items() if some not in old and one not in nobody for v in some}
    who = pq.read_table(second.companion / "rows.parquet")["person"].to_pylist()
    mark, right, wrong = hash_counterfeit_person(read_companion(second, second.path).key), 0, 0
    for one, made in nobody.items():
        rows, sure = classes[one], sets[one] & over
        if len(rows) == len(sets[one]) and len(sure) >= len(rows) - made:
            real = {value for number, value in rows if who[number] != mark}
            right, wrong = right + (real == sure), wrong + (real != sure)
    return right, wrong


def test_counterfeits_are_worked_out_only_where_newcomers_fill_gaps(years):
    rows, schema = read(bundled.path("st_anna.csv"))[:1000], SCHEMA.set(admitted=shoal.identifier)
    asked = {"rule": "m-invariance m=2", "schema": schema}
    first = years.publish(rows[:800], **asked)
    for newcomers in ("apart", "fill"):
        second = years.publish(rows[360:], newcomers=newcomers, based_on=first.folder, **asked)
        right, wrong = worked_out(first, second)
        leak = any("minimality attack" in note for note in second.private["notes"])
        assert leak == (newcomers == "fill")
        assert (right > 20, wrong > 60) == ((True, False) if leak else (False, True))
        assert min(right, wrong) == 0


def test_other_requirements_count_people_and_not_counterfeits(years):
    rows = hospital(400, ill=ILL[:4])
    release = years.publish(rows[:200], "m-invariance m=3 & k-anonymity k=3")
    assert [part.reached for part in release.verdict.judgements] == [3, 3]
    with pytest.raises(shoal.NotMetError, match="people of the earlier release would have to be"):
        years.publish(rows[160:300], "m-invariance m=3 & k-anonymity k=3", hold_back=0.5)
    second = years.publish(rows[100:300], "m-invariance m=3 & k-anonymity k=2")
    assert second.private["counterfeits"] > 0
    people = Counter(map(cells, read(second.path)))
    people = min(count - counterfeits(second).get(one, 0) for one, count in people.items())
    assert [part.reached for part in second.verdict.judgements] == [3, people]
    assert people >= 2
    assert shoal.verify(second.folder) == second.verdict
    assert not shoal.verify(second.folder, rule=f"k-anonymity k={people + 1}").holds
    dry = shoal.publish(
        years.tables[1],
        SCHEMA,
        "m-invariance m=3 & k-anonymity k=2",
        method="invariant",
        based_on=release.folder,
    )
    assert [part.reached for part in dry.verdict.judgements] == [3, people]
    with pytest.raises(shoal.UsageError, match="distinct-diversity l=2 judges values"):
        shoal.verify(second.folder, rule="distinct-diversity l=2")
    with pytest.raises(shoal.UsageError, match="for its own classes alone"):
        shoal.verify(second.folder, SCHEMA.set(zip=shoal.keep), "k-anonymity k=2", accept_keep=True)


def test_values_are_judged_besides_only_while_there_are_no_counterfeits(standing):
    rule = "m-invariance m=3 & entropy-diversity l=2"
    assert attempt(standing, hospital(120), rule).verdict.holds
    with pytest.raises(shoal.UsageError, match="judges values, and of"):
        attempt(standing, hospital(120)[20:], rule)


def test_the_file_of_counterfeits_is_of_this_table_and_of_this_companion(copied):
    path, manifest = copied / FILE, copied / "manifest.json"
    text, about = path.read_text(), json.loads(manifest.read_text())
    first = text.splitlines()[1]

    def altered(content, **told):
        path.write_text(content)
        sealed = hashlib.sha256(path.read_bytes()).hexdigest()
        changed = {**about["counterfeits"], "sha256": sealed, **told}
        manifest.write_text(json.dumps({**about, "counterfeits": changed}))

    altered(text.replace(first, "7" + first))
    with pytest.raises(shoal.InputError, match="classes that the table does not have"):
        shoal.verify(copied)
    made = int(first.rpartition(",")[2])
    altered(text.replace(first, f"{first[:-1]}9"), rows=about["counterfeits"]["rows"] + 9 - made)
    with pytest.raises(shoal.InputError, match="or has nobody else in"):
        shoal.verify(copied)
    path.unlink()
    manifest.write_text(json.dumps({**about, "counterfeits": {"rows": 0, "classes": 0}}))
    with pytest.raises(shoal.InputError, match="do not agree on: counterfeits"):
        shoal.verify(copied)


def test_whoever_stays_is_never_held_back(years):
    """With few cells to choose from, newcomers wait; over three years all keep their values."""
    everybody = hospital(260, seed=5)
    for row in everybody:
        row.update(age=30 + row["age"] % 4, zip="01301")
    for rows in (everybody[:90], everybody[:130], everybody[:170]):
        years.publish(rows, hold_back=0.6)
    names = [row["patient"] for row in everybody]
    one, two, three = (signatures(release, names)[0] for release in years.releases)
    assert years.releases[1].private["held_back"] > 0
    assert one.keys() <= two.keys() <= three.keys()
    assert all(two[name] == one[name] for name in one)
    assert all(three[name] == two[name] for name in two)
    with pytest.raises(shoal.NotMetError, match="people of the earlier release would have to be"):
        years.publish(everybody, hold_back=0.6)


WORDS = [("=gout +ve - flu", "csv"), ("cold ulcer flu '=x", "csv"), ("=gout +ve - '=x", "parquet")]


@pytest.mark.parametrize(("words", "format_"), WORDS)
def test_values_that_look_like_formulas_are_what_they_were(years, words, format_):
    words = words.split()
    rows = [row | {"diagnosis": words[i % 4]} for i, row in enumerate(hospital(40))]
    years.publish(rows, format=format_)
    release = years.publish(rows[1:], format="csv")
    assert (release.private["rows_signature_kept"], release.private["counterfeits"]) == (39, 1)
    written = Counter(row["diagnosis"] for row in read(release.path))
    assert written == {f"'{word}" if word[0] in "=+-" else word: 10 for word in words}
