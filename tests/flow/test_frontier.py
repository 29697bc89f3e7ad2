"""The frontier: honest risks, by hand on small tables; kept points; nothing published."""

from __future__ import annotations

import json
import stat
from collections import Counter

import numpy as np
import pytest

import shoal
from shoal import testing
from shoal.attacks.linking import linking
from shoal.attacks.view import People, Published, View
from shoal.flow.frontier import Frontier, Point, verb
from shoal.flow.frontier.points import marked
from shoal.flow.frontier.risk import exposure
from shoal.methods.mondrian import mondrian
from shoal.models import rule
from shoal.pages import Page
from shoal.tally import Cut

METHODS = ("mondrian", "chain")


@pytest.fixture
def undrawn(monkeypatch):
    """The page without its charts: only what is kept is looked at."""
    monkeypatch.setattr(verb, "frontier_page", lambda facts: Page("Frontier", ()))


# Risk


def overlapping(seed: int) -> tuple:
    """A small table in classes whose cells overlap, some of it held back."""
    tally, _ = testing.sample(seed)
    rng = np.random.default_rng(seed)
    entry = np.arange(tally.entries, dtype=np.int32)
    class_ = rng.integers(0, 4, tally.entries).astype(np.int32)
    cut = Cut.of(tally, entry, class_)
    return tally, cut.without(np.arange(cut.classes) == 3) if seed % 2 else cut


def people_of(tally, cut) -> list[tuple]:
    """Everybody who is published: key, class and value, one by one."""
    return [
        (tuple(tally.keys[:, e].tolist()), int(c), int(tally.values[0][e]))
        for e, c, n in zip(cut.entry, cut.class_, cut.count, strict=True)
        for _ in range(n)
        if c >= 0
    ]


def by_hand(tally, cut) -> tuple[float, ...]:
    """The same risks, person by person."""
    people = people_of(tally, cut)
    fits = {}
    for key in {key for key, _, _ in people}:
        _, found = cut.cells.contains(np.array(key)[:, np.newaxis])
        fits[key] = found.tolist()
    rows = Counter(class_ for _, class_, _ in people)
    covered = Counter(c for key, _, _ in people for c in fits[key])
    values = {c: Counter(v for _, own, v in people if own == c) for c in rows}
    totals = np.zeros(4)
    for key, own, value in people:
        classes = fits[key]
        totals[0] += 1 / sum(rows[c] for c in classes)
        narrow = min(covered[c] for c in classes)
        several = [c for c in classes if covered[c] == narrow]
        totals[1] += (own in several) / len(several) / rows[own]
        for at, weight in ((2, Counter()), (3, covered)):
            likely = Counter()
            for c in classes:
                for v, n in values[c].items():
                    likely[v] += n / (weight[c] or 1)
            best = [v for v, n in likely.items() if np.isclose(n, max(likely.values()))]
            totals[at] += (value in best) / len(best)
    return tuple(totals / len(people))


@pytest.mark.parametrize("seed", range(6))
def test_risks_are_those_counted_person_by_person(seed):
    tally, cut = overlapping(seed)
    found = exposure(tally, cut, 0)
    assert found.value is not None
    told = (found.identity.even, found.identity.weighed, found.value.even, found.value.weighed)
    assert told == pytest.approx(by_hand(tally, cut))
    people = people_of(tally, cut)
    assert found.identity.known == pytest.approx(cut.classes / len(people))
    assert found.base == max(Counter(v for _, _, v in people).values()) / len(people)
    assert found.identity.rate <= found.identity.known + 1e-12  # nobody beats who knows the class
    assert exposure(tally, cut).identity == found.identity
    assert exposure(tally, cut).value is None


def test_a_part_at_a_time_gives_the_same(monkeypatch):
    tally, cut = overlapping(2)
    whole = exposure(tally, cut, 0)
    monkeypatch.setattr("shoal.flow.frontier.risk.CELLS", 1)
    assert exposure(tally, cut, 0).value == pytest.approx(whole.value)


def test_the_even_adversary_is_linking_s_prosecutor():
    tally, cut = overlapping(4)
    entry, class_ = np.repeat(cut.entry, cut.count), np.repeat(cut.class_, cut.count)
    people = People(tally.keys[:, entry], np.arange(1, len(entry) + 1))
    found = linking(View(tally.quasi, (Published("table", cut.cells, class_),), people=people))
    mean = found.details["prosecutor"]["mean"]
    assert exposure(tally, cut).identity.even == pytest.approx(mean)


def test_where_cells_do_not_overlap_all_adversaries_are_one():
    tally, _ = testing.sample(3)
    cut = mondrian(tally, rule("k-anonymity k=3"))
    start, _ = cut.cells.contains(tally.keys)
    if (np.diff(start) == 1).all():
        found = exposure(tally, cut).identity
        assert found.even == pytest.approx(found.weighed) == pytest.approx(found.known)


def test_a_wide_class_that_fits_everybody_hides_nobody():
    """Its rows would drown the narrow class that each is in; who weighs classes is not misled."""
    tally, _ = testing.sample(1)
    age, zip_ = tally.keys.astype(np.int64)
    ends = np.isin(age, (age.min(), age.max()))
    _, class_ = np.unique(np.where(ends, -1, 100 * age + zip_), return_inverse=True)
    cut = Cut.of(tally, np.arange(tally.entries, dtype=np.int32), class_.astype(np.int32))
    found = exposure(tally, cut, 0)
    assert found.identity.weighed > 2 * found.identity.even
    assert found.value is not None
    assert found.value.rate == found.value.weighed > found.value.even


# The frontier


def point(loss, identity, **more):
    return Point("m", "r", loss, identity, **more)


def test_the_frontier_has_whom_nobody_beats():
    points = [point(0.1, 0.5), point(0.2, 0.3), point(0.2, 0.4), point(0.3, 0.3), point(0.2, 0.3)]
    points += [Point("m", "r", reason="it cannot be")]
    assert [one.on_frontier for one in marked(points, "identity")] == [
        True, True, False, False, True, False,
    ]  # fmt: skip


def test_the_best_within_a_bound():
    points = [point(0.1, 0.5), point(0.2, 0.3), point(0.4, 0.1), point(0.5, 0.2)]
    found = Frontier(marked(points, "identity"), 100)
    assert found.best(loss=0.3).risk_identity == 0.3
    assert found.best(risk=0.2).loss == 0.4
    with pytest.raises(shoal.NotMetError, match=r"the least is 0\.1"):
        found.best(risk=0.05)
    with pytest.raises(shoal.NotMetError, match=r"the least is 0\.1"):
        found.best(loss=0.05)
    with pytest.raises(shoal.UsageError):
        found.best()
    with pytest.raises(shoal.UsageError):
        found.best(loss=0.1, risk=0.1)
    with pytest.raises(shoal.NotMetError, match="no release could be made"):
        Frontier((), 100).best(loss=1)


def compare(town, rules=("k-anonymity k=2", "k-anonymity k=8"), **more):
    asked = {"methods": METHODS, "out": town.folder / "frontier", **more}
    source, schema = asked.pop("source", town.table), asked.pop("schema", town.schema())
    return shoal.frontier(source, schema, rules, **asked)


def test_points_are_what_a_dry_run_publishes(town, undrawn):
    found = compare(town)
    assert [(one.method, one.rule) for one in found.points] == [
        (name, f"k-anonymity k={k}") for name in METHODS for k in (2, 8)
    ]
    for one in found.points:
        release = town.publish(one.rule, method=one.method, dry_run=True)
        assert one.loss == pytest.approx(release.private["loss"])
        assert (one.classes, one.rows) == (release.verdict.classes, release.verdict.rows)
        assert 0 < one.risk_identity <= one.known_identity + 1e-12
        assert 0 <= one.risk_value <= 1
        assert 0 < one.base < 1
    assert found.frontier
    assert town.names() == {"people.csv", "frontier"}  # nothing was published
    assert {path.name for path in found.folder.iterdir()} == {"frontier.json", "frontier.html"}


def test_it_holds_no_cell_and_is_for_its_owner(town):
    found = compare(town)
    cells = {row[name] for row in town.rows for name in ("name", "patient", "zip", "diagnosis")}
    for path in found.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        text = path.read_text(encoding="utf-8")
        assert [cell for cell in cells if cell in text] == []
    assert "Person" not in str(found)


def test_without_rules_k_grows_and_values_differ(town):
    found = compare(town, None, methods="mondrian", out=None)
    assert [one.rule for one in found.points] == [
        f"k-anonymity k={k} & distinct-diversity l=2" for k in (2, 5, 10, 25, 50)
    ]
    risks = [one.risk_identity for one in found.points]
    assert risks == sorted(risks, reverse=True)
    plain = compare(town, None, schema=town.schema(diagnosis=shoal.identifier), strengths=[4],
                    methods="mondrian", out=None)  # fmt: skip
    (one,) = plain.points
    assert (one.rule, one.risk_value, one.base) == ("k-anonymity k=4", None, None)
    assert "mondrian" in str(plain)


def test_what_is_not_met_is_listed_with_its_reason(town):
    found = compare(town, ["k-anonymity k=4", "k-anonymity k=1000"], methods=["mondrian"])
    good, bad = found.points
    assert good.on_frontier
    assert bad.loss is None
    assert not bad.on_frontier
    assert bad.reason
    assert f"not made: mondrian, k-anonymity k=1000: {bad.reason}" in str(found)
    assert "Not made" in (found.folder / "frontier.html").read_text(encoding="utf-8")
    nothing = compare(town, ["k-anonymity k=1000"], methods=["mondrian"], out=None)
    assert str(nothing).startswith("0 of 1 releases")


def test_all_methods_are_compared_unless_some_are_named(town, monkeypatch):
    known = verb.known_methods()
    monkeypatch.setattr(verb, "known_methods", lambda: {n: known[n] for n in METHODS})
    found = compare(town, ["k-anonymity k=4"], methods=None, out=None)
    assert {one.method for one in found.points} == set(METHODS)


# Going on


@pytest.fixture
def made(undrawn, monkeypatch):
    """The methods that were run, in their order."""
    ran = []
    make = verb.make

    def counted(tally, request):
        ran.append((request.method, str(request.rule)))
        return make(tally, request)

    monkeypatch.setattr(verb, "make", counted)
    return ran


def test_a_stopped_run_keeps_its_points_and_goes_on(town, made):
    def stop(step, done, total):
        if step == verb.STEP and done >= 2 * verb.FINE:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(town, progress=stop)
    kept = json.loads((town.folder / "frontier" / "frontier.json").read_text(encoding="utf-8"))
    assert len(kept["points"]) == len(made) == 2
    found = compare(town)
    assert len(made) == 4
    assert len(found.points) == 4
    assert [one.to_json() for one in found.points[:2]] == [
        {**one, "on_frontier": found.points[i].on_frontier} for i, one in enumerate(kept["points"])
    ]


def test_a_later_run_adds_methods_and_rules(town, made):
    compare(town, ["k-anonymity k=2"], methods=["mondrian"])
    found = compare(town, ["k-anonymity k=2", "k-anonymity k=4"], risk="value")
    assert len(made) == len(found.points) == 4
    again = compare(town, ["k-anonymity k=4"], source=_shuffled(town))
    assert len(made) == 4  # the same people in another order are the same table
    assert {one.rule for one in again.points} == {"k-anonymity k=2", "k-anonymity k=4"}


def _shuffled(town):
    return town.write(town.folder / "other.csv", town.rows[::-1])


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ({"source": "fewer"}, "another table"),
        ({"schema": "weights"}, "another schema"),
        ({"hold_back": 0.1}, "another hold back"),
    ],
)
def test_another_table_or_setting_is_refused(town, made, what, said):
    compare(town)
    if "source" in what:
        what = {"source": town.write(town.folder / "fewer.csv", town.rows[:-1])}
    if "schema" in what:
        what = {"schema": town.schema(age=shoal.quasi(weight=2))}
    with pytest.raises(shoal.UsageError, match=said) as error:
        compare(town, **what)
    assert "--replace" in error.value.hint
    assert len(made) == 4
    assert len(compare(town, ["k-anonymity k=3"], replace=True, **what).points) == len(METHODS)


def test_a_folder_of_others_is_left_alone(town, undrawn):
    (town.folder / "frontier").mkdir()
    compare(town, ["k-anonymity k=2"], methods=["mondrian"])  # an empty one will do
    (town.folder / "frontier" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(shoal.UsageError, match="not a comparison's"):
        compare(town, replace=True)
    release = town.publish()
    with pytest.raises(shoal.UsageError, match="is not a comparison"):
        compare(town, out=release.folder)
    with pytest.raises(shoal.UsageError, match="release, which is public"):
        compare(town, out=release.folder / "frontier")


def test_a_damaged_file_is_not_gone_on_with(town, undrawn):
    found = compare(town, ["k-anonymity k=2"], methods=["mondrian"])
    (found.folder / "frontier.json").write_text("{", encoding="utf-8")
    with pytest.raises(shoal.InputError, match="cannot be read"):
        compare(town)
    assert compare(town, ["k-anonymity k=2"], replace=True).made


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"methods": "mondrain"}, "no method 'mondrain'"),
        ({"methods": []}, "No method"),
        ({"risk": "harm"}, "no risk 'harm'"),
        ({"on": "age"}, "no sensitive column 'age'"),
        ({"strengths": [3]}, "alternatives"),
        ({"rules": ["t-closeness t=0.2 on=job"]}, "job"),
        ({"rules": ["k-map k=2"]}, "population"),
        ({"schema": "two"}, "2 columns are sensitive"),
        ({"schema": "none", "risk": "value"}, "no sensitive value"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_work(town, made, asked, said):
    schemas = {
        "two": town.schema(born=shoal.sensitive),
        "none": town.schema(diagnosis=shoal.identifier),
    }
    asked = {k: schemas.get(v, v) if k == "schema" else v for k, v in asked.items()}
    with pytest.raises(shoal.UsageError, match=said):
        compare(town, asked.pop("rules", ["k-anonymity k=2"]), **asked)
    assert made == []
    assert town.names() == {"people.csv"}


def test_kept_columns_must_be_accepted(town, undrawn):
    schema = town.schema(born=shoal.keep)
    with pytest.raises(shoal.NotMetError, match="born"):
        compare(town, schema=schema)
    assert compare(town, schema=schema, accept_keep=True).made
