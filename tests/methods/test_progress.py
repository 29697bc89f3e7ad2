"""Every method tells how far it is: while it works, never backwards, to its end."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.lattices import table

from shoal.core.errors import NotMetError
from shoal.kernels import threads
from shoal.methods import find_kernels, load_methods
from shoal.methods._lattice import node_search as search
from shoal.models import rule
from shoal.testing.checks import _check_progress, check_method
from shoal.testing.random_tables import sample

PLAIN, DIVERSE = "k-anonymity k=3", "k-anonymity k=3 & distinct-diversity l=4"
COALITIONS = "m-privacy m=1 (k-anonymity k=3 & distinct-diversity l=2)"
TOO_STRONG = "ck-safety c=0.4 k=1"
"""The sample as one class does not meet it: rows must be held back."""
OWN_RULE = {
    "invariant": {
        PLAIN: "m-invariance m=2",
        DIVERSE: "m-invariance m=2 & k-anonymity k=3",
        COALITIONS: f"m-invariance m=2 & {COALITIONS}",
        TOO_STRONG: "m-invariance m=4",
    }
}
"""Methods that are made for one rule, and what they are asked for instead of each of the others."""
ROWS = 10_000
"""More than the sample has. Under a rule of their own some rows must be held back."""


def asked(name, model):
    """The rule for a method, and what it may hold back."""
    own = OWN_RULE.get(name)
    return (own[model], {"hold_back": ROWS}) if own else (model, {})


def tellings(method, tally, model, **how):
    """What a method tells, as shares of the whole; checked as for every method."""
    told = []
    method(tally, rule(model), progress=lambda *now: told.append(now), **how)
    _check_progress(told)
    return [done / total for done, total in told]


@pytest.mark.parametrize("name", load_methods())
@pytest.mark.parametrize("model", [PLAIN, DIVERSE, COALITIONS])
def test_every_method_tells_more_than_its_end(name, model):
    model, how = asked(name, model)
    told = tellings(load_methods()[name], sample(0)[0], model, **how)
    assert told[-1] == 1
    assert min(told) < 1


@pytest.mark.parametrize("name", load_methods())
def test_what_a_listener_raises_ends_the_work(name):
    def stop(done, total):
        raise KeyboardInterrupt

    model, how = asked(name, PLAIN)
    with pytest.raises(KeyboardInterrupt):
        load_methods()[name](sample(0)[0], rule(model), progress=stop, **how)


@pytest.mark.parametrize("name", sorted(set(load_methods()) - {"mu-argus"}))
def test_where_rows_are_held_back(name):
    tally, _ = sample(1)
    too_strong, plain = (asked(name, model)[0] for model in (TOO_STRONG, PLAIN))
    with pytest.raises(NotMetError):
        load_methods()[name](tally, rule(too_strong))
    tellings(load_methods()[name], tally, too_strong, hold_back=tally.rows)
    tellings(load_methods()[name], tally, plain, hold_back=tally.rows)


@pytest.mark.parametrize("limit", [{"nodes": 30}, {"nodes": 10_000}, {"seconds": 3600.0}])
@pytest.mark.parametrize("largest", [8, search.LARGEST])
def test_a_search_within_a_limit(monkeypatch, limit, largest):
    monkeypatch.setattr(search, "LARGEST", largest)
    told = tellings(load_methods()["full-domain"], table(3, rows=60), PLAIN, hold_back=4, **limit)
    assert len(set(told)) > 2


def test_all_minimal_combinations_are_part_of_the_work():
    told = tellings(load_methods()["full-domain"], table(3, rows=60), PLAIN, minimal=True)
    assert len(set(told)) > 2


def test_k_similar_and_microaggregation_tell_of_their_blocks(monkeypatch):
    monkeypatch.setattr(threads, "PARTS_PER_REPORT", 1)
    monkeypatch.setattr(threads, "PARTS_PER_THREAD", 1)
    tally, _ = sample(0)
    assert len(set(tellings(load_methods()["k-similar"], tally, PLAIN, block=6))) > 4
    assert len(set(tellings(load_methods()["microaggregation"], tally, PLAIN, block=10))) > 4


@pytest.mark.parametrize("number", [0, 1, 15, 16, 17, 100])
@pytest.mark.parametrize("rows", [1, threads.MIN_SHARED_ROWS])
def test_work_in_stretches_is_all_done_once(number, rows):
    done, told = np.zeros(number, np.int64), []

    def kernel(first, last, into):
        into[first:last] += 1

    threads.share_out(kernel, number, rows, done, progress=lambda *now: told.append(now))
    assert done.tolist() == [1] * number
    assert [now[0] for now in told] == sorted({now[0] for now in told})
    assert not number or told[-1] == (number, number)
    threads.share_out(kernel, number, rows, done)
    assert done.tolist() == [2] * number


@pytest.mark.parametrize("told", [[(2, 3), (1, 3), (3, 3)], [(1, 3), (2, 3)], [(4, 3)]])
def test_progress_that_is_wrong_is_noticed(told):
    def method(tally, model, *, rng, progress):
        """One class. It does not protect anybody; after nobody, 2020."""
        for now in told:
            progress(*now)
        return load_methods()["mondrian"](tally, model, rng=rng)

    with pytest.raises(AssertionError, match="progress"):
        check_method(method)


@pytest.mark.parametrize("name", load_methods())
def test_every_method_names_the_kernels_it_compiles(name):
    compiled = [
        [value for value in vars(module).values() if hasattr(value, "py_func")]
        for module in find_kernels(name)
    ]
    assert compiled
    assert all(compiled)
