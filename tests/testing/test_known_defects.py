"""The field's known defects, made in our own code: the checks must notice every one."""

from __future__ import annotations

import inspect
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.oracles import plain_models as oracle

from shoal import testing
from shoal.attacks.homogeneity import homogeneity
from shoal.core import histogram as histogram_module
from shoal.core import tally as tally_module
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.tally import Cut, Groups
from shoal.core.theory.adversary_view import ReleaseView, View
from shoal.core.theory.collusion import Collusion, try_all_coalitions
from shoal.methods.mondrian import mondrian
from shoal.models import rule
from shoal.models.m_privacy import MPrivacy


def mutate(monkeypatch, module, old, new, where):
    """Rewrite one line of a module and put the changed method or function in place."""
    module = sys.modules[module] if isinstance(module, str) else module
    source = inspect.getsource(module)
    assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in {module.__name__}"
    changed = {"__name__": module.__name__}
    exec(compile(source.replace(old, new), module.__file__, "exec"), changed)
    owner, _, name = where.rpartition(".")
    if owner:
        monkeypatch.setattr(getattr(module, owner), name, vars(changed[owner])[name])
    else:
        monkeypatch.setattr(module, name, changed[name])


def check_against_oracle(model):
    """``check_model``'s neighbour: the verdict on random tables, by plain Python."""
    testing.check_model(model)
    name = type(model).name().replace("-", "_")
    given = {f: getattr(model, f) for f in vars(model) if f not in ("on", "distance")}
    for seed in range(4):
        tally, cut = testing.sample(seed)
        table = [[] for _ in range(cut.classes)]
        for entry, class_, count in zip(cut.entry, cut.class_, cut.count, strict=True):
            table[class_] += [int(tally.values[0, entry])] * int(count)
        expected = [getattr(oracle, name)(table, i, **given) for i in range(len(table))]
        assert model.holds(Groups.of(tally, cut)).tolist() == expected


MODELS = "shoal.models."
NOT_GROWING = (
    "alpha-k alpha=0.6 k=1",
    "entropy-diversity l=2",
    "recursive-diversity c=2 l=2",
    "beta-likeness beta=1",
    "t-closeness t=0.4",
)
MUTANTS = {
    "index labels as positions": (
        tally_module,
        "Groups.of",
        "codes[cut.entry], cut.count, cut.classes, total)",
        "codes[: len(cut.entry)], cut.count, cut.classes, total)",
        "distinct-diversity l=3",
    ),
    "nulls dropped": (
        histogram_module,
        "Histogram.of",
        "        start, values, counts = tabulate(",
        "        class_ = np.where(value == axis.null_code, -1, class_)\n"
        "        start, values, counts = tabulate(",
        "t-closeness t=0.2",
    ),
    "null inside an interval": (
        MODELS + "t_closeness",
        "_coarsen",
        "node[codes == h.axis.null_code] = len(starts)",
        "pass",
        "t-closeness t=0.15 distance=hierarchical",
    ),
    "unused values counted": (
        MODELS + "t_closeness",
        "_ordered",
        "occurs = h.total > 0",
        "occurs = h.total >= 0",
        "t-closeness t=0.2 distance=ordered",
    ),
    "off by one in k": (
        MODELS + "k_anonymity",
        "KAnonymity.holds",
        "groups.rows >= self.k",
        "groups.rows > self.k",
        "k-anonymity k=4",
    ),
    "off by one in l": (
        MODELS + "distinct_diversity",
        "DistinctDiversity.holds",
        "distinct >= self.l",
        "distinct >= self.l - 1",
        "distinct-diversity l=3",
    ),
    "recursive counts sorted upwards": (
        MODELS + "recursive_diversity",
        "RecursiveDiversity._first_and_tail",
        "np.lexsort((-h.count, h.class_))",
        "np.lexsort((h.count, h.class_))",
        "recursive-diversity c=1 l=3",
    ),
    "recursive inequality not strict": (
        MODELS + "recursive_diversity",
        "RecursiveDiversity.holds",
        "[tail], Fraction(self.c), strict=True",
        "[tail], Fraction(self.c)",
        "recursive-diversity c=1 l=2",
    ),
    "entropy truncated": (
        MODELS + "entropy_diversity",
        "EntropyDiversity.per_class",
        "np.exp(entropy)",
        "np.floor(np.exp(entropy))",
        "entropy-diversity l=2.5",
    ),
    "missing values forgiven": (
        MODELS + "delta_disclosure",
        "_per_class",
        "np.where(has_all, h.largest(np.where(known, change, 0.0)), np.inf)",
        "h.largest(np.where(known, change, 0.0))",
        "delta-disclosure delta=1",
    ),
    "frequency cap strict": (
        MODELS + "alpha_k",
        "AlphaK.holds",
        "[groups.rows], Fraction(self.alpha))",
        "[groups.rows], Fraction(self.alpha), strict=True)",
        "alpha-k alpha=0.5 k=2",
    ),
    "distance to the class's own values only": (
        MODELS + "t_closeness",
        "_equal",
        "inside + rows * (everybody - h.sum(reference)), 2",
        "inside, 2",
        "t-closeness t=0.2",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_noticed(name, monkeypatch):
    module, where, old, new, text = MUTANTS[name]
    model = rule(text)
    check = testing.check_model if "distance=" in text else check_against_oracle
    check(model)
    mutate(monkeypatch, module, old, new, where)
    if where in ("_equal", "_ordered"):
        distances = sys.modules[module].DISTANCES
        monkeypatch.setitem(distances, where[1:], vars(sys.modules[module])[where])
    with pytest.raises(AssertionError):
        check(model)


def all_rows_only(self, groups, most):
    """As if to take all of its rows away were the worst that a coalition can do."""
    return try_all_coalitions(self, groups, most)


def nobody_colludes(self, groups, most):
    """As if the rule were judged without coalitions."""
    return Collusion.from_coalitions([None if held else () for held in self.holds(groups).tolist()])


def one_fewer(self, groups, most):
    """As if a coalition had one member less."""
    return type(self).honest(self, groups, np.maximum(most - 1, 0))


def the_first(self, groups, most):
    """As if whoever comes first were to blame."""
    found, who = type(self).honest(self, groups, most), groups.contributed
    first = [who.matrix(c)[0][: most[c]].tolist() for c in range(len(groups))]
    told = [one and tuple(first[c][:1]) for c, one in enumerate(map(found.of, range(len(first))))]
    return Collusion.from_coalitions(told)


@pytest.mark.parametrize("mutant", [all_rows_only, nobody_colludes, one_fewer, the_first])
@pytest.mark.parametrize("text", NOT_GROWING)
def test_a_rule_that_underrates_coalitions_is_noticed(text, mutant, monkeypatch):
    model = rule(text)
    testing.check_model(model)
    kind = type(model)
    monkeypatch.setattr(kind, "honest", kind.broken_by, raising=False)
    monkeypatch.setattr(kind, "broken_by", mutant)
    with pytest.raises(AssertionError, match="coalition"):
        testing.check_model(model)


@pytest.mark.parametrize("text", NOT_GROWING)
def test_m_privacy_that_merging_may_break_is_not_called_monotone(text, monkeypatch):
    model = MPrivacy(1, rule(text))
    assert not model.monotone
    testing.check_model(model)
    monkeypatch.setattr(MPrivacy, "monotone", True)
    with pytest.raises(AssertionError, match="merging breaks it"):
        testing.check_model(model)


@pytest.mark.parametrize("text", ["k-anonymity k=3", "distinct-diversity l=2", *NOT_GROWING])
def test_a_coalition_that_leaves_nobody_is_noticed(text, monkeypatch):
    everybody = sys.modules[MPrivacy.__module__]
    monkeypatch.setattr(
        everybody, "count_members", lambda shares, m: np.minimum(m, shares.provider_counts)
    )
    with pytest.raises((AssertionError, IndexError)):
        testing.check_model(rule(text))


def grouped_by_neighbours(class_, value, count, classes, size):
    """A group-by that only joins neighbours, as one without sorting does."""
    order = np.argsort(class_, kind="stable")
    order = order[class_[order] >= 0]
    class_, value, count = class_[order], value[order], count[order]
    first = np.append(True, (class_[1:] != class_[:-1]) | (value[1:] != value[:-1]))
    at = np.flatnonzero(first)
    start = np.concatenate(([0], np.cumsum(np.bincount(class_[at], minlength=classes))))
    return start, value[at], np.add.reduceat(count, at)


@pytest.mark.parametrize("text", ["distinct-diversity l=3", "entropy-diversity l=3"])
def test_order_dependent_grouping_is_noticed(text, monkeypatch):
    monkeypatch.setattr(histogram_module, "tabulate", grouped_by_neighbours)
    with pytest.raises(AssertionError):
        testing.check_model(rule(text))


def drops_nulls(tally, model, **how):
    """After nobody: drops rows with a missing quasi-identifier, as peers do; 2020."""
    cut = mondrian(tally, model, **how)
    kept = tally.keys[0, cut.entry] != tally.quasi[0].null_code
    return replace(cut, entry=cut.entry[kept], class_=cut.class_[kept], count=cut.count[kept])


def by_position(tally, model, **how):
    """After nobody: classes are neighbours in the file; 2020."""
    entry = np.arange(tally.entries, dtype=np.int32)
    return Cut.of(tally, entry, np.minimum(entry // 10, tally.entries // 10 - 1).astype(np.int32))


def ignores_the_rule(tally, model, **how):
    """After nobody: publishes every key as it is; 2020."""
    key = np.unique(tally.keys, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int32)
    return Cut.of(tally, np.arange(tally.entries, dtype=np.int32), key)


def narrow_cells(tally, model, **how):
    """After nobody: labels that do not cover their people; 2020."""
    cut = mondrian(tally, model, **how)
    return replace(cut, cells=replace(cut.cells, high=cut.cells.low))


@pytest.mark.parametrize("method", [drops_nulls, by_position, ignores_the_rule, narrow_cells])
def test_a_broken_method_is_noticed(method, monkeypatch):
    monkeypatch.setattr(
        method, "__doc__", method.__doc__ + " It does not protect anybody.", raising=False
    )
    with pytest.raises(AssertionError) as error:
        testing.check_method(method)
    assert "docstring" not in str(error.value)


@pytest.mark.parametrize("parameters", [{}, {"relaxed": True}, {"hold_back": True}])
@pytest.mark.parametrize("text", ["k-anonymity k=3", "k-anonymity k=2 & t-closeness t=0.6"])
def test_mondrian_keeps_the_contract(text, parameters):
    testing.check_method(mondrian, rule(text), **parameters)


def constant(tally, cut):
    """A measure that sees nothing; does not say what it does not protect. 2020."""
    return 0.5


def share_held_back(tally, cut):
    """Rows held back; 2020. It does not say how coarse the rest is."""
    return cut.suppressed / tally.rows


def test_a_broken_measure_is_noticed():
    with pytest.raises(AssertionError, match="untouched"):
        testing.check_measure(constant)
    testing.check_measure(share_held_back, root=0.0)
    with pytest.raises(AssertionError, match="one class"):
        testing.check_measure(share_held_back)


def town(sensitive: bool = True) -> View:
    """A table of two uniform classes and one mixed."""
    axis = Axis("zip", "code", "ordered", ("north", "middle", "south"))
    value = Axis("illness", "category", "flat", ("influenza", "asthma"))
    class_, values = np.array([[0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1, 1]], np.int32)
    low = np.arange(3, dtype=np.int32)[:, np.newaxis]
    return View(
        (axis,),
        (ReleaseView("town", Cells(low, low), class_, values),),
        value if sensitive else None,
    )


def safe_where_blind(view):
    if view.sensitive is None:
        return replace(homogeneity(town()), exposed=0)
    return homogeneity(view)


def first_row_only(view):
    return replace(homogeneity(view), exposed=int(view.releases[0].values[0]))


def talkative(view):
    return replace(homogeneity(view), witness={"value": view.format_sensitive(0)})


def nameless(view):
    return replace(homogeneity(view), worst=())


ATTACKS = {
    "must raise": safe_where_blind,
    "depends on the order": first_row_only,
    "shows 1 values": talkative,
    "named by row": nameless,
}


@pytest.mark.parametrize("promise", ATTACKS)
def test_a_broken_attack_is_noticed(promise):
    def attack(view, *, rng):
        """Somebody's own; 2020. It does not see anything else."""
        return ATTACKS[promise](view)

    attack.__name__ = "homogeneity"
    testing.check_attack(homogeneity, town(), town(sensitive=False))
    with pytest.raises(AssertionError, match=promise):
        testing.check_attack(attack, town(), town(sensitive=False))


def test_a_member_without_documentation_is_noticed():
    with pytest.raises(AssertionError, match="cites no source"):
        testing.check_measure(lambda tally, cut: 0.0)
