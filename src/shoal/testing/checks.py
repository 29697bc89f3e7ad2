"""A check for each kind of member: models, methods, measures and attacks.

Each tries a member on small random tables, on the same tables in other words, and on what is left
of tiny classes whoever takes away whichever of their rows; a broken promise is an
``AssertionError`` that names it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, is_dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.cells import Cells
from shoal.core.errors import NotMetError, ShoalError, UsageError
from shoal.core.model import Mask, Model, Rule, list_joint_columns, split_rule, unwrap_rule
from shoal.core.release import Finding
from shoal.core.tally import Cut, Groups, Tally
from shoal.core.theory.collusion import explain_untestable, find_breaches
from shoal.models import registry, rule
from shoal.models.k_anonymity import KAnonymity
from shoal.models.m_privacy import MPrivacy
from shoal.testing.random_tables import (
    double_people,
    join_everybody,
    list_same_tables,
    sample,
    shuffle_entries,
)

_SLACK = 1e-9

CLASSES, ROWS = 9, 6
"""So many classes of so many rows: 2 to the rows remainders of each, all of which are tried."""


# Models


def check_model(model: Model, *, seeds: Sequence[int] = range(4)) -> None:
    """A model is a documented value that judges classes by their numbers alone."""
    for part in split_rule(model):
        _check_value(part)
    for seed in seeds:
        tally, cut = sample(seed, list_needed_columns(model))
        rng = np.random.default_rng(seed)
        judged = _judge(model, tally, cut)
        for what, same in list_same_tables(model, tally, cut, rng):
            check_equal(_judge(model, *same), judged, f"{model}: {what} changes the judgement")
        _check_classes(model, tally, cut, rng)
        _check_needs(model, Groups.of(tally, cut, list_joint_columns(model)))
        _check_merging(model, tally, cut, rng)
        if "provider" in model.needs:
            _check_merging(model, tally, part_by_provider(tally, cut), rng)
        _check_joint(model, tally, cut, rng)
        _check_row_monotone(model, tally, cut, rng)
        _check_coalitions(model, Attempts.of(tally, seed, list_joint_columns(model)))
        after = _judge(model, *double_people(tally, cut))
        check_true(
            after[judged].all(), f"{model}: a table in which all people occur twice breaks it"
        )
        _check_reached(model, Groups.of(tally, cut, list_joint_columns(model)))


def _check_value(model: Model) -> None:
    check_documented(type(model))
    check_true(
        is_dataclass(model) and hash(model) == hash(replace(model)), "a model is a frozen value"
    )
    known = {"sensitive", "provider", "population", "total", "cells"}
    check_true(model.needs <= known, f"{model} needs something unknown")
    if type(model) in registry().values():
        check_true(rule(str(model)) == model, f"{model}: its text reads back as {rule(str(model))}")


def _check_classes(model: Model, tally: Tally, cut: Cut, rng: np.random.Generator) -> None:
    whole = Groups.of(tally, cut, list_joint_columns(model))
    judged = model.holds(whole)
    check_true(judged.dtype == np.bool_ and judged.shape == whole.rows.shape, "one bool per class")
    order = rng.permutation(len(whole))
    check_equal(model.holds(whole.take(order)), judged[order], f"{model}: classes' numbers matter")
    check_equal(model.holds(whole.take(order[:0])), judged[:0], f"{model}: no class at all")
    if model.local:
        one_by_one = [bool(model.holds(whole.take(np.array([i])))[0]) for i in range(len(whole))]
        check_equal(np.array(one_by_one), judged, f"{model}: a class alone is judged otherwise")


def _check_needs(model: Model, whole: Groups) -> None:
    judged, needs = model.holds(whole), model.needs
    bare = whole if "cells" in needs else replace(whole, cells=None)
    if "sensitive" not in needs:
        bare = replace(bare, sensitive=())
    if "provider" not in needs:
        bare = replace(bare, contributions=())
    if "population" not in needs:
        bare = replace(bare, population=None, max_presence=None, uncovered=0)
    if "total" not in needs:
        other = tuple(replace(h, total=h.total[::-1].copy()) for h in bare.sensitive)
        bare = replace(bare, sensitive=other)
    check_equal(model.holds(bare), judged, f"{model}: it reads what it does not say it needs")


def _check_merging(model: Model, tally: Tally, cut: Cut, rng: np.random.Generator) -> None:
    """Merged classes hold where all their parts did; parts that failed decide nothing."""
    if not model.monotone:
        return
    judged = _judge(model, tally, cut)
    for _ in range(10):
        into = rng.integers(0, max(cut.classes // 2, 1), cut.classes)
        number = np.unique(into, return_inverse=True)[1].astype(np.int32)
        merged = Cut.of(tally, cut.entry, number[cut.class_])
        part_failed = np.zeros(merged.classes, dtype=bool)
        np.logical_or.at(part_failed, merged.class_, ~judged[cut.class_])
        after = _judge(model, tally, merged)
        check_true(
            (after | part_failed).all(), f"{model}: merging breaks it, so it is not monotone"
        )


def _check_row_monotone(model: Model, tally: Tally, cut: Cut, rng: np.random.Generator) -> None:
    """Classes of which a part meets a row-monotone rule meet it; against coalitions, merged classes
    do.

    The latter is theorem 2.1 of the m-privacy paper (Goryczka, Xiong and Fung 2011).
    """
    if not getattr(model, "row_monotone", False):
        return
    for counts in (rng.integers(0, cut.count + 1) for _ in range(10)):
        nonzero, classes = counts > 0, np.unique(cut.class_[counts > 0])
        part = Cut(cut.entry[nonzero], cut.class_[nonzero], counts[nonzero], cut.cells)
        fewer = model.holds(Groups.of(tally, part, list_joint_columns(model)).take(classes))
        check_true(
            (_judge(model, tally, cut)[classes] | ~fewer).all(), f"{model}: more rows break it"
        )
    _check_merging(MPrivacy(1, model), tally, cut, rng)


def _check_joint(model: Model, tally: Tally, cut: Cut, rng: np.random.Generator) -> None:
    """A model that is not local admits just the cuts after which all classes together hold."""
    if model.local:
        return
    joint: Any = model
    fine = Groups.of(tally, cut, list_joint_columns(model))
    holds_alone = [bool(model.holds(fine.take(np.array([i])))[0]) for i in range(len(fine))]
    check_equal(
        joint.holds_alone(fine),
        np.array(holds_alone),
        f"{model}: alone is not what holds says of one",
    )
    order = rng.permutation(len(fine))
    pairs = len(fine) // 2
    parent = np.argsort(order) // 2  # the coarse class of each fine one

    def coarse(done: Mask) -> Groups:
        number = np.where(np.append(done, False)[parent], parent + len(fine), parent)
        right = np.append(done, False)[parent] & (np.argsort(order) % 2 == 1)
        number = np.where(right, parent + 2 * len(fine), number)
        numbered = np.unique(number, return_inverse=True)[1].astype(np.int32)
        parted = Cut.of(tally, cut.entry, numbered[cut.class_], cut.count)
        return Groups.of(tally, parted, list_joint_columns(model))

    done = np.zeros(pairs, bool)
    if not model.holds(coarse(done)).all():
        return
    state = joint.start(coarse(done))
    halves = fine.take(np.repeat(order[: 2 * pairs].reshape(-1, 2), 2, axis=0).ravel())
    class_ = np.repeat(np.arange(pairs), 2)  # every cut is offered twice
    admitted = joint.admit(state, class_, halves)[1]
    for i in range(pairs):
        done[i] = True
        done[i] = bool(model.holds(coarse(done)).all())
    check_equal(admitted[::2], done, f"{model}: admits other cuts than those after which it holds")
    check_true(not admitted[1::2][done].any(), f"{model}: a class is cut twice")
    check_equal(
        joint.admit(state, class_, halves)[1], admitted, f"{model}: admit changes the state"
    )


def _check_reached(model: Model, whole: Groups) -> None:
    reached = model.reached(whole)
    check_true(isinstance(reached, float), f"{model}: reached is no float")
    if not isinstance(model, Rule) or not model.parameter:
        return
    each = model.per_class(whole)
    check_true(
        0 <= model.worst_class(whole) < len(whole), f"{model}: the worst class does not exist"
    )
    if type(model).worst_class is Rule.worst_class:
        check_true(
            each[model.worst_class(whole)] == reached,
            f"{model}: the worst class is not the witness",
        )
    sign = 1 if model.strongest == "largest" else -1
    possible = _with_parameter(model, 0.0 if sign > 0 else 1e9, 1.0)
    can = np.ones(len(whole), bool) if possible is None else possible.holds(whole)
    for value in np.unique(each[np.isfinite(each)]).tolist():
        weaker = _with_parameter(
            model, value if _has_whole_parameter(model) else value - sign * _SLACK * max(1, value)
        )
        if weaker is not None:
            expected = (sign * each >= sign * value - _SLACK) & can
            check_equal(weaker.holds(whole), expected, f"{weaker}: classes that reach {value} fail")
        stronger = _with_parameter(
            model, value + sign * (1 if _has_whole_parameter(model) else 1e-6 * max(1, value))
        )
        if stronger is not None:
            missed = stronger.holds(whole) & (sign * each <= sign * value)
            check_true(not missed.any(), f"{stronger}: classes that only reach {value} hold")


def _with_parameter(model: Rule, *values: float) -> Any:
    """The model with the first of these parameters that it allows; None where it allows none."""
    for value in values:
        try:
            return replace(model, **{model.parameter: value})  # type: ignore[type-var]
        except UsageError:
            continue
    return None


def _has_whole_parameter(model: Rule) -> bool:
    return isinstance(getattr(model, model.parameter), int)


def _judge(model: Model, tally: Tally, cut: Cut) -> Mask:
    return model.holds(Groups.of(tally, cut, list_joint_columns(model)))


def part_by_provider(tally: Tally, cut: Cut) -> Cut:
    """The cut with a class for each class and each of its providers."""
    assert tally.providers is not None
    pairs = np.stack((cut.class_, tally.providers[cut.entry]))
    class_and_provider, number = np.unique(pairs, axis=1, return_inverse=True)
    class_ = number.reshape(-1).astype(np.int32)
    return replace(cut, class_=class_, cells=cut.cells.take(class_and_provider[0]))


# Models against coalitions: tiny classes, and all that is left of them


def _check_coalitions(model: Model, attempts: Attempts) -> None:
    """Against coalitions a rule is judged as by trying all of them, and any of their rows."""
    for part in unwrap_rule(model):
        for critical in () if explain_untestable(part) else _list_critical_rules(part, attempts):
            for m in range(3):
                _check_breach(critical, m, attempts)


def _list_critical_rules(part: Model, attempts: Attempts) -> list[Model]:
    """The rule, and as strong as a coalition of one leaves half of the classes or barely not."""
    if not isinstance(part, Rule) or not part.parameter:
        return [part]
    sign = 1 if part.strongest == "largest" else -1
    signed = sign * part.per_class(attempts.left).reshape(attempts.takers.shape)
    worst = np.where(attempts.reached_by(1), signed, np.inf).min(axis=1)
    if not len(worst := worst[np.isfinite(worst)]):
        return [part]
    threshold = sign * float(np.sort(worst)[len(worst) // 2])
    slack = 1 if _has_whole_parameter(part) else _SLACK * max(1, threshold)
    near = (
        int(threshold) if _has_whole_parameter(part) else threshold,
        threshold - sign * slack,
        threshold + sign * slack,
    )
    return [part, *filter(None, (_with_parameter(part, value) for value in near))]


def _check_breach(model: Model, m: int, attempts: Attempts) -> None:
    whole, most, failed = attempts.classes, attempts.max_coalition(m), attempts.failed(model, m)
    broken = np.asarray(failed.any(axis=1))
    breaches, holds_alone = find_breaches(model, whole, most), model.holds(whole)
    check_equal(
        breaches.broken,
        np.asarray(failed.any(axis=1)),
        f"{model}: coalitions of {m} break other classes",
    )
    check_equal(MPrivacy(m, model).holds(whole), ~broken, f"{model}: m-privacy says otherwise")
    for class_ in np.flatnonzero(breaches.broken).tolist():
        coalition = breaches.of(class_) or ()
        check_true(len(coalition) <= most[class_], f"{model}: a coalition is too large")
        able = failed[class_] & attempts.by(class_, coalition)
        check_true(able.any(), f"{model}: the coalition that is named cannot break the class")
        check_true(
            holds_alone[class_] or not coalition,
            f"{model}: what fails by itself needs no coalition",
        )


@dataclass(frozen=True)
class Attempts:
    """Every remainder of each of a few classes, and whose rows it lacks."""

    classes: Groups
    left: Groups
    """The remainders of the first class, then those of the next."""
    takers: NDArray[np.int64]
    """(classes, remainders): the providers who took rows away, a bit for each."""
    present: NDArray[np.int64]
    """Per class its providers, a bit for each."""

    @classmethod
    def of(cls, tally: Tally, seed: int, products: Iterable[str]) -> Attempts:
        """Draw classes of one, two and three providers; even seeds have few different values."""
        assert tally.providers is not None
        rng, products = np.random.default_rng(seed), tuple(products)
        values = tally.values[0] if seed % 2 == 0 else np.zeros_like(tally.providers)
        sampled_entries = [
            rng.choice(np.flatnonzero((values < 3) & (tally.providers < 1 + i % 3)), ROWS)
            for i in range(CLASSES)
        ]
        entry = np.array(sampled_entries, dtype=np.int32)
        remaining = np.arange(1, 1 << ROWS)[:, np.newaxis] >> np.arange(ROWS) & 1 == 1
        provider_bits = np.int64(1) << tally.providers[entry].astype(np.int64)
        takers = np.bitwise_or.reduce(np.where(remaining, 0, provider_bits[:, np.newaxis]), axis=2)
        without_population = replace(tally, population=None)
        whole = _count_remainders(
            without_population, entry[:, np.newaxis], remaining[-1:], products
        )
        fixed = replace(without_population, reference=tuple(h.total for h in whole.sensitive))
        left = _count_remainders(fixed, entry[:, np.newaxis], remaining, products)
        return cls(whole, left, takers, np.bitwise_or.reduce(provider_bits, axis=1))

    def max_coalition(self, m: int) -> NDArray[np.int64]:
        """How many providers of each class can be a coalition that leaves somebody."""
        return np.minimum(m, _count_bits(self.present) - 1)

    def failed(self, model: Model, m: int) -> Mask:
        """(classes, remainders): which fail, of those that m providers of a class can leave."""
        fails = ~model.holds(self.left).reshape(self.takers.shape)
        return np.asarray(fails & self.reached_by(m))

    def reached_by(self, m: int) -> Mask:
        """(classes, remainders): which m providers of a class can leave."""
        return np.asarray(_count_bits(self.takers) <= self.max_coalition(m)[:, np.newaxis])

    def by(self, class_: int, coalition: Iterable[int]) -> Mask:
        """Which remainders of a class this coalition can leave."""
        bits = sum(1 << provider for provider in coalition)
        return np.asarray(self.takers[class_] & ~bits == 0)


def _count_remainders(
    tally: Tally, entry: NDArray[Any], remaining: NDArray[np.bool_], products: Iterable[str]
) -> Groups:
    """One class for each class of entries and each choice of them."""
    shape = (len(entry), *remaining.shape)
    number = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(*shape[:2], 1)
    chosen = np.broadcast_to(remaining, shape)
    entry, class_ = np.broadcast_to(entry, shape)[chosen], np.broadcast_to(number, shape)[chosen]
    cells = join_everybody(tally).cells.take(np.zeros(number.size, np.int64))
    return Groups.of(tally, Cut(entry, class_, np.ones(len(entry), np.int64), cells), products)


def _count_bits(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.bitwise_count(bits).astype(np.int64)


# Methods


def check_method(
    method: Callable[..., Cut],
    model: Model | None = None,
    *,
    seeds: Sequence[int] = range(3),
    promises: bool = True,
    **parameters: Any,
) -> None:
    """A method's cut places everybody, meets the model, and depends on the tally's content only.

    What the method tells of its progress never goes back, and ends where all is done.
    ``promises``: whether the method says so itself; else it is not checked to meet the model.
    """
    model = model or KAnonymity(3)
    promised = model if promises else None
    check_documented(method)
    for seed in seeds:
        tally, before = sample(seed, list_needed_columns(model))
        cut = _run_method(method, tally, model, parameters)
        _check_cut(promised, tally, cut)
        other, _ = shuffle_entries(tally, before, np.random.default_rng(seed))
        again = _run_method(method, other, model, parameters)
        check_true(
            _list_content(other, again) == _list_content(tally, cut), "the order of entries matters"
        )
        double, _ = double_people(tally, before)
        _check_cut(promised, double, _run_method(method, double, model, parameters))
        if not promises:
            continue
        try:
            cut = _run_method(method, tally, KAnonymity(tally.rows + 1), parameters)
        except NotMetError:
            continue
        check_true(cut.suppressed == tally.rows, "a rule that cannot be met is not refused")


def _run_method(method: Callable[..., Cut], tally: Tally, model: Model, parameters: Any) -> Cut:
    reported: list[tuple[int, int]] = []
    arguments = {"rng": np.random.default_rng(0), "progress": lambda *now: reported.append(now)}
    cut = method(tally, model, **arguments, **parameters)
    _check_progress(reported)
    return cut


def _check_progress(reported: Sequence[tuple[int, int]]) -> None:
    shares = [Fraction(done, total) for done, total in reported]
    check_true(
        all(0 <= share <= 1 for share in shares), "progress is more than all, or less than nothing"
    )
    check_true(shares == sorted(shares), "progress goes back")
    check_true(not reported or shares[-1] == 1, "progress ends before all is done")


def _check_cut(model: Model | None, tally: Tally, cut: Cut) -> None:
    total = np.bincount(cut.entry, weights=cut.count, minlength=tally.entries)
    check_equal(total, tally.count, "the pieces of an entry do not add up to its count")
    check_true((cut.count > 0).all(), "a piece without people")
    check_true(cut.class_.max(initial=-1) < cut.classes, "a piece in a class that does not exist")
    groups = Groups.of(tally, cut, list_joint_columns(model) if model else ())
    check_true((groups.rows > 0).all(), "a class without people")
    check_true(not model or model.holds(groups).all(), f"a published class does not meet {model}")
    check_true(len(cut.cells.unique()[0]) == cut.classes, "two classes publish the same cells")
    published = cut.class_ >= 0
    entry, class_ = cut.entry[published], cut.class_[published]
    for j, codes in enumerate(tally.keys):
        check_true(
            _lies_inside(cut.cells, j, class_, codes[entry]).all(),
            "a cell misses one of its people",
        )


def _lies_inside(cells: Cells, column: int, class_: NDArray[Any], code: NDArray[Any]) -> Mask:
    if column in cells.sets:
        words = cells.sets[column][class_, code // 64]
        return np.asarray((words >> (code % 64).astype(np.uint64)) & np.uint64(1) == 1)
    low, high = cells.low[class_, column], cells.high[class_, column]
    return np.asarray((low <= code) & (code <= high))


def _list_content(tally: Tally, cut: Cut) -> list[tuple[Any, ...]]:
    """The cut without any numbering: each piece by its codes and its class's cells."""
    cells = [np.column_stack((cut.cells.low, cut.cells.high)).astype(np.int64)]
    cells += [bits.view(np.int64) for _, bits in sorted(cut.cells.sets.items())]
    each = np.concatenate(cells, axis=1)
    cell = np.vstack((each, np.full((1, each.shape[1]), -1)))[cut.class_]  # the last: suppressed
    codes = np.concatenate([tally.keys, tally.values]).T[cut.entry]
    return sorted(map(tuple, np.column_stack((codes, cut.count, cell)).tolist()))


# Measures


def check_measure(
    measure: Callable[[Tally, Cut], float],
    *,
    root: float | None = 1.0,
    seeds: Sequence[int] = range(3),
) -> None:
    """A measure is 0 for an untouched table, 1 where nothing is left, and between otherwise.

    ``root`` is what one class of everybody should give (1: nothing is left); None: anything.
    """
    check_documented(measure)
    for seed in seeds:
        tally, cut = sample(seed)
        value = measure(tally, cut)
        check_true(0 <= value <= 1, f"{value} lies outside 0 … 1")
        again = measure(*shuffle_entries(tally, cut, np.random.default_rng(seed)))
        check_true(bool(np.isclose(again, value)), "the order of entries matters")
        key = np.unique(tally.keys, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int32)
        untouched = measure(tally, Cut.of(tally, cut.entry, key[cut.entry]))
        check_true(abs(untouched) < _SLACK, f"an untouched table measures {untouched}, not 0")
        joined = measure(tally, join_everybody(tally))
        check_true(0 <= joined <= 1 + _SLACK, f"one class of everybody measures {joined}")
        check_true(
            root is None or abs(joined - root) < _SLACK, f"one class measures {joined}, not {root}"
        )
        all_suppressed = measure(tally, cut.without(np.ones(cut.classes, dtype=bool)))
        check_true(
            abs(all_suppressed - 1) < _SLACK,
            f"a table suppressed whole measures {all_suppressed}, not 1",
        )


# Attacks


def check_attack(
    attack: Callable[..., Finding], view: Any, blind: Any, *, ordered: bool = False
) -> None:
    """An attack returns a full finding for ``view`` and raises for ``blind``, where it cannot run.

    It finds the same whatever the order of rows, people and classes, and whatever the releases
    are called; ``ordered``: the order of rows is what it looks at. Values and labels stay out of
    the finding unless the view lets it show them.
    """
    check_documented(attack)
    finding = attack(view, rng=np.random.default_rng(0))
    _check_finding(finding, attack.__name__.replace("_", "-"))
    _check_values_hidden(finding, view)
    for seed in range(2):
        other = reorder_view(view, np.random.default_rng(seed), rows=not ordered)
        again = attack(other, rng=np.random.default_rng(0))
        for part in ("people", "exposed", "sure", "guessing"):
            same = np.isclose(getattr(again, part), getattr(finding, part))
            check_true(bool(same), f"{part} depends on the order of rows, people or classes")
    try:
        attack(blind, rng=np.random.default_rng(0))
    except ShoalError:
        return
    raise AssertionError("an attack that cannot run must raise, not report that all is safe")


def _check_finding(finding: Finding, name: str) -> None:
    check_true(isinstance(finding, Finding), "an attack returns a Finding")
    check_true(finding.attack == name, "a finding is called like its attack")
    check_true(0 <= finding.exposed <= finding.people, "more people are exposed than were attacked")
    shares = finding.sure, finding.guessing
    check_true(all(0 <= share <= 1 for share in shares), "how sure is a share between 0 and 1")
    texts = finding.sentence, finding.defence, finding.example, *finding.assumptions
    check_true(
        all(texts) and bool(finding.assumptions), "a finding says what it means and what helps"
    )
    check_true(
        finding.table == "targets" or finding.table[:-1] == "release ", "whose rows are worst"
    )
    check_true(all(row > 0 for row in finding.worst), "rows are counted from 1")
    check_true(len(set(finding.worst)) == len(finding.worst), "a row is named once")
    check_true(bool(finding.exposed <= 0 or finding.worst), "whoever is exposed is named by row")
    json.dumps(finding.to_json(), allow_nan=False)


def _check_values_hidden(finding: Finding, view: Any) -> None:
    """Values of the view's columns are words that nothing else in a finding would say."""
    check_true(not view.show, "the view for the check does not let values be shown")
    axes = [*view.axes, *filter(None, (view.sensitive, view.providers))]
    words = {str(leaf) for axis in axes for leaf in axis.leaves if len(str(leaf)) > 3}
    document = json.dumps(finding.to_json(), ensure_ascii=False)
    shown = sorted(word for word in words if word in document)
    check_true(not shown, f"the finding shows {len(shown)} values that nobody asked for")


def reorder_view(view: Any, rng: np.random.Generator, *, rows: bool = True) -> Any:
    """The view with people and classes (and with ``rows`` each release's rows) in another order.

    The releases get other names too.
    """
    people, order = view.people, None
    if people is not None:
        order = rng.permutation(len(people))
        people = replace(
            people,
            keys=people.keys[:, order],
            rows=people.rows[order],
            values=None if people.values is None else people.values[order],
            present=None if people.present is None else people.present[order],
            names=None if people.names is None else tuple(people.names[i] for i in order),
        )
    releases = tuple(
        _reorder_release(replace(release, name=f"table {i}"), rng, order, rows)
        for i, release in enumerate(view.releases)
    )
    return replace(view, people=people, releases=releases)


def _reorder_release(
    release: Any, rng: np.random.Generator, people: NDArray[Any] | None, rows: bool
) -> Any:
    moved = rng.permutation(len(release.cells))
    number = np.argsort(moved).astype(np.int32)  # the new number of each class
    order = rng.permutation(len(release.class_)) if rows else np.arange(len(release.class_))
    true_class = release.true_class
    if true_class is not None and people is not None:
        true_class = np.where(true_class < 0, true_class, number[true_class])[people]
    return replace(
        release,
        cells=release.cells.take(moved),
        class_=number[release.class_[order]],
        values=None if release.values is None else release.values[order],
        shared=None if release.shared is None else release.shared[:, order],
        providers=None if release.providers is None else release.providers[order],
        true_class=true_class,
        labels=None,
    )


# What all checks share


def list_needed_columns(model: Model) -> tuple[str, ...]:
    """The sensitive columns that a table must have for a model to be tried on it."""
    named = (getattr(part, "on", None) for part in unwrap_rule(model))
    columns = dict.fromkeys(name for on in named if on for name in on.split("*"))
    return tuple(columns) or ("sensitive",)


def check_documented(member: Any) -> None:
    """A member cites its source, and says what it does not do."""
    module = sys.modules.get(getattr(member, "__module__", ""))
    text = f"{member.__doc__ or ''}\n{getattr(module, '__doc__', '') or ''}"
    name = getattr(member, "__name__", str(member))
    check_true(bool(re.search(r"\b(19|20)\d\d\b", text)), f"{name}: its docstring cites no source")
    limits = re.search(r"does not\s+(protect|give|see|say)", text, re.IGNORECASE)
    check_true(bool(limits), f"{name}: its docstring does not say what it does not protect")


def check_equal(actual: NDArray[Any], expected: NDArray[Any], promise: str) -> None:
    """Two arrays are the same, or the promise is broken."""
    check_true(np.array_equal(actual, expected), promise)


def check_true(holds: bool | np.bool_, promise: str) -> None:
    """It is so, or the promise is broken."""
    if not holds:
        raise AssertionError(promise)
