"""A missing sensitive value may be any: rules are judged on the completion that is worst."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import shoal
import shoal.testing
from shoal.core.axis import Axis, Level
from shoal.core.errors import UsageError
from shoal.core.histogram import Histogram, ProviderValuePairs
from shoal.core.model import Rule
from shoal.core.tally import Groups
from shoal.models import registry, rule

PAIRS = Level(np.array([0, 2], np.int32), ("ab", "cd"))
WHOLE = Level(np.array([0], np.int32), ("all",))
LEAVES = ("a", "b", "c", "d")
RULES = {
    "distinct-diversity l=2": "flat",
    "entropy-diversity l=1.5": "flat",
    "recursive-diversity c=2 l=2": "flat",
    "recursive-diversity c=2 l=3": "flat",
    "recursive-diversity c=2 l=1": "flat",
    "alpha-k alpha=0.6 k=2": "flat",
    "t-closeness t=0.4": "flat",
    "t-closeness t=0.4 distance=ordered": "ordered",
    "t-closeness t=0.3 distance=hierarchical": "tree",
    "beta-likeness beta=1": "flat",
    "beta-likeness beta=1 kind=enhanced": "flat",
    "delta-disclosure delta=1": "flat",
    "ck-safety c=0.9 k=1": "flat",
    "ck-safety c=0.9 k=2": "flat",
    "ck-safety c=0.9 k=1 gamma=0.3": "flat",
    "composition l=2 alpha=0.5": "flat",
    "composition l=3 alpha=0.5": "flat",
    "m-invariance m=2": "flat",
}


def grouped(classes, shape="flat", unknown=True, total=None):
    """Classes of values; None is a value that nobody knows."""
    levels = (PAIRS, WHOLE) if shape == "tree" else ()
    null = any(value is None for rows in classes for value in rows)
    axis = Axis("s", "category", shape, LEAVES, null, levels, unknown=null and unknown)
    class_ = np.repeat(np.arange(len(classes)), [len(rows) for rows in classes])
    codes = axis.codes([value for rows in classes for value in rows])
    ones = np.ones(len(codes), np.int64)
    h = Histogram.of(axis, class_, codes, ones, len(classes), total)
    return Groups(np.array([len(rows) for rows in classes]), (h,))


def completions(classes):
    """Every table that the classes may be: unknown values take values that occur."""
    values = sorted({value for rows in classes for value in rows if value is not None})
    blanks = sum(value is None for rows in classes for value in rows)
    for chosen in product(values, repeat=blanks):
        fill = iter(chosen)
        yield [[next(fill) if value is None else value for value in rows] for rows in classes]


def random_classes(rng, size=3):
    values = np.array(["a", "b", "c", "d", None], dtype=object)
    odds = rng.dirichlet([1, 1, 1, 0.5, 0.8])
    classes = [list(rng.choice(values, rng.integers(1, 6), p=odds)) for _ in range(size)]
    blanks = [(i, j) for i, rows in enumerate(classes) for j, v in enumerate(rows) if v is None]
    for i, j in blanks[4:]:
        classes[i][j] = "a"
    return classes


def worst_by_hand(model, classes, shape):
    """The weakest parameter, and the fewest that hold, over all completions."""
    tables = [grouped(complete, shape) for complete in completions(classes)]
    each = np.array([model.per_class(groups) for groups in tables])
    weakest = each.min(axis=0) if model.strongest == "largest" else each.max(axis=0)
    return weakest, np.all([model.holds(groups) for groups in tables], axis=0)


@pytest.mark.parametrize("text", RULES)
def test_each_rule_is_judged_on_its_worst_completion(text):
    rng = np.random.default_rng(11)
    model, compared = rule(text), 0
    while compared < 40:
        classes = random_classes(rng)
        if not any(v is not None for rows in classes for v in rows):
            continue
        weakest, held = worst_by_hand(model, classes, RULES[text])
        groups = grouped(classes, RULES[text])
        assert model.holds(groups).tolist() == held.tolist(), classes
        if text != "m-invariance m=2":  # 0 stands for every class that some completion breaks
            assert model.per_class(groups) == pytest.approx(weakest, abs=1e-9), classes
        compared += any(v is None for rows in classes for v in rows)


@pytest.mark.long
@pytest.mark.parametrize("text", RULES)
def test_each_rule_on_many_random_tables(text):
    rng = np.random.default_rng(5)
    model = rule(text)
    for _ in range(600):
        classes = random_classes(rng, int(rng.integers(1, 5)))
        if any(v is not None for rows in classes for v in rows):
            weakest, held = worst_by_hand(model, classes, RULES[text])
            groups = grouped(classes, RULES[text])
            assert model.holds(groups).tolist() == held.tolist(), classes
            if text != "m-invariance m=2":
                assert model.per_class(groups) == pytest.approx(weakest, abs=1e-9), classes


def test_every_rule_about_sensitive_values_is_compared():
    named = {text.split()[0] for text in RULES} | {"m-privacy"}
    about = {name for name, kind in registry().items() if _needs(kind) & {"sensitive", "total"}}
    assert about <= named


def _needs(kind: type[Rule]) -> frozenset[str]:
    return frozenset() if isinstance(kind.needs, property) else kind.needs


def test_three_alike_and_a_blank_are_not_two_values():
    classes = [["a", "a", "a", None]]
    assert rule("distinct-diversity l=2").per_class(grouped(classes)).tolist() == [1]
    as_value = grouped(classes, unknown=False)
    assert rule("distinct-diversity l=2").per_class(as_value).tolist() == [2]


def test_a_table_of_nothing_but_blanks_has_one_value():
    groups = grouped([[None, None], [None]])
    assert rule("distinct-diversity l=1").per_class(groups).tolist() == [1, 1]
    assert rule("t-closeness t=0").holds(groups).all()
    assert rule("beta-likeness beta=1").per_class(groups).tolist() == [0, 0]


@pytest.mark.parametrize("text", [text for text in RULES if rule(text).monotone])
def test_merging_classes_never_breaks_what_was_monotone(text):
    rng = np.random.default_rng(3)
    model, shape = rule(text), RULES[text]
    for _ in range(120):
        classes = random_classes(rng, 4)
        apart = model.holds(grouped(classes, shape))
        merged = model.holds(grouped([classes[0] + classes[1], *classes[2:]], shape))
        if apart.all():
            assert merged.all(), classes


def test_large_counts_do_not_overflow():
    axis = Axis("s", "category", "flat", LEAVES, True, unknown=True)
    count = np.array([3, 2, 1, 2, 2, 1], np.int64) * 2**31
    h = Histogram.of(axis, np.repeat([0, 1], 3), np.array([0, 1, 4, 0, 2, 4]), count, 2)
    small = Histogram.of(axis, np.repeat([0, 1], 3), np.array([0, 1, 4, 0, 2, 4]), count >> 31, 2)
    for text in ("t-closeness t=1", "t-closeness t=1 distance=hierarchical"):
        large_, small_ = (Groups(x.rows, (x,)) for x in (h, small))
        assert rule(text).per_class(large_) == pytest.approx(rule(text).per_class(small_))


# Several providers


def provided(classes):
    """Classes of (provider, value) rows."""
    flat = [row for rows in classes for row in rows]
    axis = Axis("s", "category", "flat", LEAVES, True, unknown=True)
    provider = np.array([p for p, _ in flat], np.int32)
    codes = axis.codes([value for _, value in flat])
    class_ = np.repeat(np.arange(len(classes)), [len(rows) for rows in classes])
    ones = np.ones(len(flat), np.int64)
    h = Histogram.of(axis, class_, codes, ones, len(classes))
    pairs, number = ProviderValuePairs.of(Axis.numbered("p", 4), provider, axis, codes)
    counted = Histogram.of(Axis.numbered("n", pairs.size), class_, number, ones, len(classes))
    shares = pairs.contributions(counted.start, counted.value, counted.count, h.total)
    return Groups(h.rows, (h,), (shares,))


def test_coalitions_cannot_hide_behind_blanks():
    model = rule("m-privacy m=1 (distinct-diversity l=2)")
    rng = np.random.default_rng(8)
    values = [*LEAVES[:3], None]
    for _ in range(300):
        rows = [(int(rng.integers(4)), values[rng.integers(4)]) for _ in range(rng.integers(1, 9))]
        if all(value is None for _, value in rows):
            continue
        providers = {p for p, _ in rows}
        left = [rows, *([r for r in rows if r[0] != p] for p in providers if len(providers) > 1)]
        fewest = min(len({v for _, v in rows if v is not None}) for rows in left)
        assert model.holds(provided([rows])).tolist() == [fewest >= 2], rows


def test_a_rule_without_a_test_against_coalitions_says_so():
    groups = provided([[(0, "a"), (1, "b"), (2, None)]])
    for inside in ("entropy-diversity l=2", "t-closeness t=0.5", "alpha-k alpha=0.9 k=1"):
        with pytest.raises(UsageError, match="where sensitive values are missing"):
            rule(f"m-privacy m=1 ({inside})").holds(groups)


def test_joint_columns_are_unknown_where_either_is():
    from shoal.core.tally import join_sensitive as joint

    axis = Axis("s", "category", "flat", LEAVES, True, unknown=True)
    other = replace(axis, name="t", null=False, unknown=False)
    both, codes = joint([(axis, np.array([0, 4, 1, 0])), (other, np.array([2, 2, 3, 2]))])
    assert both.unknown
    assert codes.tolist() == [0, both.null_code, 1, 0]
    assert both.size == 3


# Through the door


SCHEMA = """edition = 1
[columns]
age = "quasi"
town = "quasi"
[columns.illness]
role = "sensitive"
"""


def table(folder, rows):
    path = folder / "people.csv"
    lines = [f"{age},{town},{illness or ''}" for age, town, illness in rows]
    path.write_text("\n".join(["age,town,illness", *lines, ""]), encoding="utf-8")
    return path


def people(seed=0, size=200, missing=0.3):
    rng = np.random.default_rng(seed)
    ill = ["hiv", "flu", "cold"]
    return [
        (
            int(rng.integers(20, 60)),
            "AB"[int(rng.integers(2))],
            None if rng.random() < missing else ill[int(rng.choice(3, p=[0.6, 0.3, 0.1]))],
        )
        for _ in range(size)
    ]


ALIKE = [(20, "A", "hiv")] * 3 + [(20, "A", None)]


def test_a_table_of_three_alike_and_a_blank_is_not_published_as_diverse(tmp_path):
    source = table(tmp_path, ALIKE)
    schema = shoal.Schema.parse(SCHEMA)
    with pytest.raises(shoal.NotMetError):
        shoal.publish(source, schema, "distinct-diversity l=2", out=tmp_path / "release")
    own = shoal.Schema.parse(SCHEMA + 'missing = "value"\n')
    release = shoal.publish(source, own, "distinct-diversity l=2", out=tmp_path / "release")
    assert shoal.verify(release.folder).holds
    manifest = json.loads((release.folder / "manifest.json").read_text("utf-8"))
    assert manifest["missing"] == {"illness": {"rows": 1, "judged": "value"}}


@pytest.mark.parametrize(
    "text",
    [
        "distinct-diversity l=2",
        "t-closeness t=0.5",
        "entropy-diversity l=1.3",
        "ck-safety c=0.95 k=1",
    ],
)
@pytest.mark.parametrize("method", ["mondrian", "full-domain", "microaggregation"])
def test_methods_make_releases_that_meet_the_rule_however_blanks_are_filled(tmp_path, text, method):
    source, schema = table(tmp_path, people()), shoal.Schema.parse(SCHEMA)
    rule = f"k-anonymity k=3 & {text}"
    release = shoal.publish(
        source, schema, rule, method=method, hold_back=0.5, out=tmp_path / "release"
    )
    verdict = shoal.verify(release.folder)
    assert verdict.holds
    assert verdict.missing["illness"] > 0
    manifest = json.loads((release.folder / "manifest.json").read_text("utf-8"))
    assert manifest["missing"]["illness"] == {
        "rows": verdict.missing["illness"],
        "judged": "worst completion",
    }
    with (release.folder / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    classes: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        classes.setdefault((row["age"], row["town"]), []).append(row["illness"])
    filled = [["hiv" if value == "" else value for value in values] for values in classes.values()]
    groups = shoal.testing.groups(filled)
    assert shoal.rule(text).holds(groups).all()


def test_an_audit_counts_rows_without_a_value_apart(tmp_path):
    source = table(tmp_path, [*ALIKE, *[(50, "B", "flu"), (50, "B", "cold"), (50, "B", None)]])
    audit = shoal.audit(source, shoal.Schema.parse(SCHEMA))
    assert audit.missing == {"illness": 2}
    assert audit.reached("distinct-diversity") == 1
    assert audit.to_json()["missing"] == {"illness": 2}
    assert "rows without illness" in str(audit)
    own = shoal.Schema.parse(SCHEMA + 'missing = "value"\n')
    assert shoal.audit(source, own).reached("distinct-diversity") == 2


def test_the_schema_keeps_what_it_says_of_missing_values():
    schema = shoal.Schema.parse(SCHEMA + 'missing = "value"\n')
    again = shoal.Schema.parse(schema.to_toml())
    assert again.column("illness").missing == "value"
    assert again == schema
    by_hand = shoal.Schema.of(quasi="age").set(illness=shoal.sensitive(missing="value"))
    assert by_hand.column("illness") == replace(again.column("illness"), kind="")


@pytest.mark.parametrize(
    "line",
    [
        '[columns.x]\nrole = "quasi"\nmissing = "value"',
        '[columns.x]\nrole = "sensitive"\nmissing = "any"',
    ],
)
def test_what_is_not_understood_of_missing_values_is_refused(line):
    with pytest.raises(shoal.SchemaError, match="missing values"):
        shoal.Schema.parse(f"edition = 1\n{line}\n")


def test_homogeneity_and_skewness_learn_nothing_from_a_blank(tmp_path):
    rows = [*[(20, "A", None)] * 4, *[(30, "A", "hiv")] * 3, (30, "A", None)]
    rows += [(40, "B", "flu"), (40, "B", "cold")] * 2
    source, schema = table(tmp_path, rows), shoal.Schema.parse(SCHEMA)
    finding = shoal.attack("homogeneity", source, schema=schema)
    assert (finding.exposed, finding.sure) == (0, 0.75)
    assert finding.details["missing"] == 5
    skewed = shoal.attack("skewness", source, schema=schema)
    assert skewed.exposed == 3 + 4
    assert sum(skewed.details["rows_by_gain"].values()) == 7
    assert skewed.details["missing"] == 5


def test_m_invariance_refuses_missing_values_with_the_reason(tmp_path):
    rows = [(20 + i, "A", ["hiv", "flu"][i % 2]) for i in range(8)] + [(30, "A", None)]
    source, schema = table(tmp_path, rows), shoal.Schema.parse(SCHEMA)
    with pytest.raises(shoal.ShoalError) as refused:
        shoal.publish(source, schema, "m-invariance m=2", method="invariant", out=tmp_path / "r")
    assert "missing" in f"{refused.value.fact} {refused.value.hint}"


def test_the_worst_case_of_knowledge_takes_blanks_for_the_most_common_value(tmp_path):
    rows = [(20, "A", "hiv"), (20, "A", "flu"), (20, "A", "flu"), (20, "A", None)]
    finding = shoal.attack(
        "background", table(tmp_path, rows), schema=shoal.Schema.parse(SCHEMA), pieces=0
    )
    assert finding.sure == 0.75
    assert any("1 rows have no illness" in assumption for assumption in finding.assumptions)


def test_what_was_judged_so_is_printed(tmp_path):
    source = table(tmp_path, people(1, 60))
    release = shoal.publish(
        source, shoal.Schema.parse(SCHEMA), "k-anonymity k=3", out=tmp_path / "release"
    )
    from shoal.cli.printing import describe_verdict

    rows = release.verdict.missing["illness"]
    assert f"{rows} rows have no illness" in describe_verdict(release.verdict)
    assert f"{rows} rows have no illness" in str(release.verdict)


# Values that are left: a blank is none of them


def published(folder, name, classes):
    """A table as it is published: rows of a class each, with their values."""
    path = folder / f"{name}.csv"
    rows = [f"{label},A,{value or ''}" for label, values in classes.items() for value in values]
    path.write_text("\n".join(["age,town,illness", *rows, ""]), encoding="utf-8")
    return path


FIRST = {"20": ["hiv", "flu", None], "30": [None, None, None], "40": ["cold", "flu"]}
SECOND = {"20": ["hiv", "cold", None], "30": ["cold", "flu"], "40": ["cold", "flu"]}


def both_ways(attack, folder, **options):
    """The attack on two tables with blanks: where a blank may be any value, and where it is one."""
    tables = [published(folder, "one", FIRST), published(folder, "other", SECOND)]
    for text in (SCHEMA, SCHEMA + 'missing = "value"\n'):
        yield shoal.attack(attack, tables, schema=shoal.Schema.parse(text), **options)


def test_a_blank_in_two_classes_is_no_second_value_that_they_leave(tmp_path):
    unknown, valued = both_ways("worst-pair", tmp_path)
    assert (unknown.exposed, unknown.sure, valued.exposed) == (3, 1, 0)
    assert (unknown.details["missing"], unknown.details["in_classes_of_missing"]) == (5, 3)
    assert "missing" not in valued.details


def test_an_intersection_counts_known_values_and_whom_nothing_is_known_of(tmp_path):
    targets = tmp_path / "targets.csv"
    targets.write_text("age,town\n20,A\n30,A\n40,A\n", encoding="utf-8")
    unknown, valued = both_ways("intersection", tmp_path, targets=targets)
    assert unknown.details["candidates_after"] == {1: 1, 2: 2}  # hiv; a class of blanks bars none
    assert (unknown.exposed, unknown.worst[0]) == (1, 1)
    assert unknown.details["nothing_known"] == 0
    assert valued.exposed == 0
    assert unknown.details["missing"] == 5
    silent = published(tmp_path, "silent", {"30": [None, None], "20": ["hiv", "flu"]})
    finding = shoal.attack(
        "intersection",
        [tmp_path / "one.csv", silent],
        schema=shoal.Schema.parse(SCHEMA),
        targets=targets,
    )
    assert (finding.people, finding.exposed, finding.details["nothing_known"]) == (1, 0, 1)


def test_a_ledger_refuses_a_release_that_leaves_one_value_and_blanks(tmp_path):
    tables = [published(tmp_path, "one", FIRST), published(tmp_path, "other", SECOND)]
    for name, text in (("any", SCHEMA), ("own", SCHEMA + 'missing = "value"\n')):
        schema = shoal.Schema.parse(text)
        with shoal.Ledger.init(tmp_path / f"{name}.db") as ledger:
            ledger.add_foreign(tables[0], schema=schema, by="another")
            judged = ledger.judge(tables[1], schema=schema, relation="overlapping")
        assert any(judgement.exceeds for judgement in judged.weighed) == (name == "any")


def test_a_forecast_counts_known_values_alone(tmp_path):
    rows = people(2, 120, missing=0.5)
    forecasts = {}
    for name, more in (("any", ""), ("own", 'missing = "value"\n')):
        schema = shoal.Schema.parse(SCHEMA + more)
        release = shoal.publish(
            table(tmp_path, rows), schema, "k-anonymity k=4", out=tmp_path / name
        )
        forecasts[name] = shoal.forecast(release.folder, overlap=0.5, repeats=5)
    assert forecasts["any"].risk > forecasts["own"].risk
    assumptions = [
        assumption
        for estimate in forecasts["any"].estimates.values()
        for assumption in estimate.assumptions
    ]
    assert any("have no illness: it may be any" in assumption for assumption in assumptions)


def test_a_frontier_guesses_no_missing_value(tmp_path):
    rows = [(20 + i, "A", "flu" if i % 4 == 0 else None) for i in range(40)]
    frontier = shoal.frontier(
        table(tmp_path, rows),
        shoal.Schema.parse(SCHEMA),
        ["k-anonymity k=4"],
        methods=["mondrian"],
        risk="value",
    )
    assert {point.base for point in frontier.points} == {1.0}
    assert any("people whose value is missing" in assumption for assumption in frontier.assumptions)
