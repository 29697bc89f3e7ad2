"""What other providers could learn about one provider's rows, against brute force."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.tally import Cut, Groups, Tally
from shoal.pool.partner_certificate import (
    count_certain_rows,
    count_own_classes,
    count_rows_in_small_classes,
    count_rows_left,
    round_to_steps,
)


def tiny(seed: int) -> tuple[Groups, list[tuple[int, int, int]]]:
    """Random rows as (class, provider, value), and their groups."""
    rng = random.Random(seed)
    found = [(rng.randrange(3), rng.randrange(4), rng.randrange(2)) for _ in range(14)]
    found += [(c, rng.randrange(4), rng.randrange(2)) for c in range(3)]  # no class is empty
    return grouped(found), found


def grouped(found: list[tuple[int, int, int]]) -> Groups:
    """The groups of such rows."""
    counts = Counter(found)
    class_, who, value = (np.array(one, np.int32) for one in zip(*counts, strict=True))
    count = np.array(list(counts.values()), np.int64)
    axis, entry = Axis.numbered("q", 3), np.arange(len(count), dtype=np.int32)
    tally = Tally(
        (axis,),
        (Axis.numbered("s", 2),),
        class_[np.newaxis],
        value[np.newaxis],
        count,
        Axis.numbered("p", 4),
        who,
    )
    ends = np.arange(3, dtype=np.int32)[:, np.newaxis]
    return Groups.of(tally, Cut(entry, class_, count, Cells(ends, ends)))


def by_hand(found, p: int, s: int, bad) -> int:
    """Rows of p in classes of which some s others leave rows that are bad."""
    total = 0
    for c in {c for c, who, _ in found if who == p}:
        here = [(who, value) for cc, who, value in found if cc == c]
        for size in range(s + 1):
            for gone in itertools.combinations(sorted({w for w, _ in here} - {p}), size):
                if bad([value for who, value in here if who not in gone]):
                    total += sum(who == p for who, _ in here)
                    break
            else:
                continue
            break
    return total


@pytest.mark.parametrize("seed", range(12))
def test_exposed_rows_are_those_that_some_coalition_exposes(seed):
    groups, found = tiny(seed)
    brought = groups.contributions[0].providers
    for s in range(4):
        for k in (2, 3, 5):
            expected = [by_hand(found, p, s, lambda kept, k=k: len(kept) < k) for p in range(4)]
            assert count_rows_in_small_classes(brought, s, k).tolist() == expected
        expected = [by_hand(found, p, s, lambda kept: len(set(kept)) == 1) for p in range(4)]
        assert count_certain_rows(groups, s).tolist() == expected
        fewest = min(
            sum(cc == c and who not in gone for cc, who, _ in found)
            for c in range(3)
            for gone in itertools.combinations(range(4), s)
            if any(cc == c and who not in gone for cc, who, _ in found)
        )
        assert count_rows_left(brought, s).min() == fewest


@pytest.mark.parametrize("seed", range(6))
def test_rows_of_a_provider_s_own_classes_are_counted(seed):
    groups, found = tiny(seed)
    found = [(c, who % 2 + c if c < 2 else 3, v) for c, who, v in found] if seed % 2 else found
    who = {c: {w for cc, w, _ in found if cc == c} for c in range(3)}
    groups = groups if not seed % 2 else grouped(found)
    rows, classes = count_own_classes(groups.contributions[0].providers)
    for p in range(4):
        own = {c for c in range(3) if who[c] == {p}}
        assert classes[p] == len(own)
        assert rows[p] == sum(c in own for c, _, _ in found)
    assert classes.sum() or not seed % 2


def test_steps_hide_every_small_difference():
    for k in (2, 5, 10):
        told = [round_to_steps(n, k) for n in range(5 * k)]
        assert all(told.count(one) == k for one in told)
