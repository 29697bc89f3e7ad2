"""Rules that may heal, against coalitions that take away any of their rows: all of them, tried."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from shoal.core.axis import Axis, Level
from shoal.core.errors import UsageError
from shoal.core.histogram import Histogram
from shoal.core.tally import Cut, Groups, Tally
from shoal.core.theory import collusion as signs
from shoal.core.theory.collusion import count_members, find_heaviest
from shoal.models import entropy_diversity
from shoal.models.alpha_k import AlphaK
from shoal.models.beta_likeness import BetaLikeness
from shoal.models.delta_disclosure import DeltaDisclosure
from shoal.models.entropy_diversity import EntropyDiversity
from shoal.models.recursive_diversity import RecursiveDiversity
from shoal.models.t_closeness import TCloseness

MODELS = [
    *(AlphaK(alpha, k) for alpha in ("1/2", "0.4", "2/3") for k in (1, 7)),
    *(BetaLikeness(beta) for beta in ("1/2", 1, 2)),
    *(BetaLikeness(beta, kind="enhanced") for beta in ("1/2", 1, 2)),
    *(DeltaDisclosure(delta) for delta in ("0.7", 1, "1.5", 1000)),
    *(RecursiveDiversity(c, 1) for c in ("1/2", "2/3")),
    *(RecursiveDiversity(c, l) for c in (1, "3/2", 3) for l in (2, 3)),
    *(EntropyDiversity(l) for l in ("1.5", 2, "2.5", 3)),
    *(TCloseness(t) for t in ("1/4", "0.4", "1/2", "2/3")),
    *(TCloseness(t, distance="ordered") for t in ("1/5", "1/4", "1/3")),
    *(TCloseness(t, distance="hierarchical") for t in ("1/5", "1/3", "1/2")),
]


def axis(size):
    """Leaves in pairs, and null last: every distance can be used."""
    starts = np.arange(0, size - 1, 2, dtype=np.int32)
    level = Level(starts, tuple(f"pair {i}" for i in starts))
    leaves = tuple(f"{i:02}" for i in range(size - 1))
    return Axis("s", "category", "ordered", leaves, True, (level,))


def groups(classes):
    """Classes as arrays of counts (providers, values)."""
    class_, who, value = (np.concatenate(part) for part in zip(*_entries(classes), strict=True))
    count = np.concatenate([counts[counts > 0] for counts in classes])
    values = classes[0].shape[1]
    tally = Tally(
        (Axis.numbered("q", len(classes)),),
        (axis(values),),
        class_[np.newaxis].astype(np.int32),
        value[np.newaxis].astype(np.int32),
        count,
        Axis.numbered("who", max(len(counts) for counts in classes)),
        who.astype(np.int32),
    )
    entry = np.arange(len(count), dtype=np.int32)
    return Groups.of(tally, Cut.of(tally, entry, class_.astype(np.int32)))


def _entries(classes):
    for number, counts in enumerate(classes):
        who, value = np.nonzero(counts)
        yield np.full(len(who), number), who, value


def holding(whole, remainders, model):
    """The model's word on classes of these counts, compared with the whole table as it was."""
    class_, value = np.nonzero(remainders)
    count = np.asarray(remainders)[class_, value]
    h = whole.sensitive[0]
    h = Histogram.of(h.axis, class_, value, count, len(remainders), h.total)
    return model.holds(replace(whole, rows=h.rows, sensitive=(h,), contributions=(), cells=None))


def remainders(counts, coalition):
    """Everything that may be left when a coalition takes away some of its rows."""
    own = counts[list(coalition)].sum(axis=0)
    total = counts.sum(axis=0)
    return list(product(*(range(n - c, n + 1) for n, c in zip(total, own, strict=True))))


def drawn(seed, number, values):
    """Some with rows here and there, some where every provider has nearly the same."""
    rng = np.random.default_rng(seed)
    classes = []
    while len(classes) < number:
        if len(classes) % 2:
            counts = rng.integers(0, 3, (rng.integers(2, 5), values))
            counts[:, rng.integers(values)] *= rng.integers(2)
        else:
            counts = np.ones((rng.integers(3, 6), values), np.int64)
            counts[rng.integers(len(counts)), rng.integers(values)] = rng.integers(0, 3)
        if 0 < counts.sum() <= 20 and counts.any(axis=1).all():
            classes.append(counts)
    return classes


@pytest.fixture(scope="module", params=[(0, 50, 4), (1, 24, 6)], ids=["4 values", "6 values"])
def tried(request):
    """A table, and per m the remainders: which class each is of, and whose work it is."""
    classes = drawn(*request.param)
    return classes, groups(classes), {m: _attempts(classes, m) for m in (0, 1, 2)}


def _attempts(classes, m):
    left = {}
    for c, counts in enumerate(classes):
        for coalition in combinations(range(len(counts)), min(m, len(counts) - 1)):
            for x in remainders(counts, coalition):
                left.setdefault((c, x), []).append(coalition)
    return left


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_all_coalitions_and_all_of_their_rows_agree(tried, model):
    classes, whole, attempts = tried
    for m, left in attempts.items():
        holds = holding(whole, [x for _, x in left], model)
        breaking = {}
        for ((c, _), coalitions), held in zip(left.items(), holds, strict=True):
            if not held:
                breaking.setdefault(c, set()).update(coalitions)
        found = model.broken_by(whole, count_members(whole.contributed, m))
        assert sorted(breaking) == np.flatnonzero(found.broken).tolist()
        for c, coalitions in breaking.items():
            assert any(set(found.of(c)) <= set(one) for one in coalitions)
            assert len(found.of(c)) <= min(m, len(classes[c]) - 1)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_coalition_that_is_named_breaks_the_class(tried, model):
    classes, whole, _ = tried
    found = model.broken_by(whole, count_members(whole.contributed, 2))
    for c in np.flatnonzero(found.broken).tolist():
        assert not holding(whole, remainders(classes[c], found.of(c)), model).all()
        if not holding(whole, [classes[c].sum(axis=0)], model).all():
            assert found.of(c) == ()


DISTANCES = [TCloseness(1, distance=one) for one in ("equal", "ordered", "hierarchical")]
SHARES = [AlphaK(1, 1), BetaLikeness(1), *(RecursiveDiversity(1, l) for l in (1, 2, 3))]


@pytest.mark.parametrize("model", [*DISTANCES, *SHARES], ids=str)
def test_at_the_worst_that_a_coalition_reaches(tried, model):
    classes, whole, attempts = tried
    check_at_the_worst(classes, whole, attempts[1], model)


@pytest.mark.parametrize("model", DISTANCES, ids=str)
def test_at_the_worst_in_tables_of_a_few_rows(model):
    """A difference of one row is large here: no sign may be taken for granted too soon."""
    rng = np.random.default_rng(8)
    for _ in range(60):
        classes = [rng.integers(0, 2, (rng.integers(2, 4), 5)) for _ in range(2)]
        classes = [counts[counts.any(axis=1)] for counts in classes]
        if all(len(counts) > 1 for counts in classes):
            check_at_the_worst(classes, groups(classes), _attempts(classes, 1), model)


def check_at_the_worst(classes, whole, attempts, model):
    """One member at that number, a billionth above it and a billionth below."""
    of, left = (np.array(part) for part in zip(*attempts, strict=True))
    row, value = np.nonzero(left)
    h = whole.sensitive[0]
    h = Histogram.of(h.axis, row, value, left[row, value], len(left), h.total)
    each = model.per_class(
        replace(whole, rows=h.rows, sensitive=(h,), contributions=(), cells=None)
    )
    most, billionth = count_members(whole.contributed, 1), Fraction(1, 10**9)
    for c in range(len(classes)):
        if not np.isfinite(reached := each[of == c].max()):
            continue
        limit = Fraction(reached).limit_denominator(10**6)
        verdicts = {limit - billionth: True, limit: model.strict, limit + billionth: False}
        for asked, broken in verdicts.items():
            if 0 < asked <= (1 if model.parameter in ("t", "alpha") else asked):
                at = replace(model, **{model.parameter: asked})
                found = at.broken_by(whole.take(np.array([c])), most[[c]])
                assert found.broken.tolist() == [broken]


def test_there_is_something_to_decide():
    whole = groups(drawn(0, 60, 4))
    for model in MODELS:
        broken = [
            model.broken_by(whole, count_members(whole.contributed, m)).broken.sum() for m in (0, 1)
        ]
        assert broken[0] < broken[1] < len(whole)


@pytest.mark.parametrize("model", [m for m in MODELS if getattr(m, "k", 1) == 1], ids=str)
def test_a_table_beyond_what_floats_hold_is_judged_alike(model):
    classes = drawn(2, 40, 4)
    few, many = groups(classes), groups([counts * 3 * 10**8 for counts in classes])
    most = count_members(few.contributed, 1)
    assert (model.broken_by(few, most).broken == model.broken_by(many, most).broken).all()


def test_a_frequency_cap_as_a_formula():
    """max n(s) / (n − the m largest of the providers' rows without s)."""
    rng = np.random.default_rng(3)
    classes = [rng.integers(0, 20, (rng.integers(3, 12), 7)) for _ in range(80)]
    whole, alpha = groups(classes), Fraction(1, 3)
    for m in (1, 2, 4):
        found = AlphaK(alpha, 1).broken_by(whole, count_members(whole.contributed, m))
        for counts, broken in zip(classes, found.broken.tolist(), strict=True):
            assert broken == (_highest_share(counts, min(m, len(counts) - 1)) > alpha)


def _highest_share(counts, m):
    total, own = counts.sum(axis=0), counts.sum(axis=1)
    return max(
        Fraction(int(n), int(total.sum() - np.sort(own - counts[:, s])[-m:].sum()))
        for s, n in enumerate(total)
    )


@pytest.mark.parametrize(
    ("model", "barely"),
    [
        (EntropyDiversity(4), EntropyDiversity("4.000000000001")),
        (RecursiveDiversity("1.000000000001", 2), RecursiveDiversity(1, 2)),
        (AlphaK("1/2", 1), AlphaK("0.499999999999", 1)),
        (TCloseness("1/6"), TCloseness("0.166666666666")),
    ],
    ids=str,
)
def test_ties_are_exact(model, barely):
    """Without the tail of one provider (4, 1, 1, 1, 1) is left, of which exp(entropy) is 4."""
    whole = groups([np.array([[2, 1, 1, 1, 1]] * 2)])
    most = np.array([1])
    assert model.holds(whole).all()
    assert barely.holds(whole).all()
    assert model.broken_by(whole, most).of(0) is None
    assert barely.broken_by(whole, most).of(0) in {(0,), (1,)}


@pytest.mark.parametrize(("rows", "broken"), [(183939720585721, True), (183939720585722, False)])
def test_a_logarithm_is_told_from_what_is_close_to_it(rows, broken):
    """1 / 2e is between the two of 10^15: as q is 1/2, there p / q crosses e^−1."""
    counts = np.array([[2 * rows, 10**15 - rows]] * 2)
    whole, half = groups([counts]), np.array([1, 1])
    whole = replace(
        whole,
        sensitive=(replace(whole.sensitive[0], total=half),),
        contributions=(replace(whole.contributions[0], total=half),),
    )
    assert DeltaDisclosure(1).holds(whole).all()
    assert holding(whole, [[2 * rows, 2 * (10**15 - rows)]], DeltaDisclosure(1)).all() != broken
    assert DeltaDisclosure(1).broken_by(whole, np.array([1])).broken.all() == broken


def test_only_as_many_members_as_are_needed():
    counts = np.array([[4, 4, 0], [4, 0, 4], [4, 1, 1], [4, 1, 1]])
    found = AlphaK("3/4", 1).broken_by(groups([counts]), np.array([3]))
    assert found.of(0) == (0, 1)


def test_nothing_is_approximated(monkeypatch):
    even = groups([np.ones((12, 60), np.int64)])
    with pytest.raises(UsageError, match="too many values"):
        RecursiveDiversity(1, 20).broken_by(even, np.array([11]))
    monkeypatch.setattr(signs, "FEW_PATTERNS", 2)
    monkeypatch.setattr(signs, "MAX_PATTERNS", 2)
    with pytest.raises(UsageError, match="Hint: ask for fewer members"):
        TCloseness("0.06").broken_by(even, np.array([2]))
    monkeypatch.setattr(entropy_diversity, "MAX_CLOSE", 0)
    with pytest.raises(UsageError, match="entropy-diversity l=4 exactly"):
        EntropyDiversity(4).broken_by(groups([np.array([[2, 1, 1, 1, 1]] * 2)]), np.array([1]))


def test_more_patterns_than_can_be_kept_still_find_a_coalition(monkeypatch):
    classes = drawn(5, 30, 6)
    whole = groups(classes)
    model, most = TCloseness("1/3"), count_members(whole.contributed, 2)
    all_ = model.broken_by(whole, most).broken
    monkeypatch.setattr(signs, "FEW_PATTERNS", 4)
    monkeypatch.setattr(signs, "MAX_PATTERNS", 8)
    verdicts = [_verdict(model, whole.take(np.array([c])), most[[c]]) for c in range(len(whole))]
    assert {*zip(all_.tolist(), verdicts, strict=True)} >= {(True, True), (False, None)}
    assert all(verdict in (broken, None) for broken, verdict in zip(all_, verdicts, strict=True))


def _verdict(model, one, most):
    try:
        return bool(model.broken_by(one, most).broken[0])
    except UsageError:
        return None


@pytest.mark.parametrize("l", [3, "5.5", 8])
def test_entropy_of_larger_classes_by_every_coalition_and_every_set_of_values(l):
    rng = np.random.default_rng(6)
    classes = [rng.integers(0, rng.integers(2, 9), (5, 9)) for _ in range(8)]
    model, whole = EntropyDiversity(l), groups(classes)
    sets = np.array(list(product((0, 1), repeat=9)))
    for m in (1, 2):
        found = model.broken_by(whole, np.full(len(classes), m)).broken
        for counts, broken in zip(classes, found.tolist(), strict=True):
            own = [counts[list(one)].sum(axis=0) for one in combinations(range(5), m)]
            left = np.concatenate([counts.sum(axis=0) - c * sets for c in own])
            assert broken == (not holding(whole, left, model).all())


def test_no_weights_break_nothing():
    assert find_heaviest(np.zeros((0, 2), np.int64), np.ones((2, 2), np.int64), 1) is None
