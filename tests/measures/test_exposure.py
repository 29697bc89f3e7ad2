"""Exposure: what an adversary gains, against everybody counted one by one on small tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from shoal import testing
from shoal.attacks.linking import linking
from shoal.core.tally import Cut
from shoal.core.theory.adversary_view import ReleaseView, Targets, View
from shoal.measures.risk import exposure as module
from shoal.measures.risk.exposure import measure_exposure


def overlapping(seed: int) -> tuple:
    """A small table in classes of neighbours whose cells overlap, some of it held back."""
    tally, _ = testing.sample(seed)
    rng = np.random.default_rng(seed)
    block = np.minimum(tally.keys[0], 4) // 2 * 3 + tally.keys[1] // 2
    class_ = np.unique(2 * block + rng.integers(0, 2, tally.entries), return_inverse=True)[1]
    cut = Cut.of(tally, np.arange(tally.entries, dtype=np.int32), class_.astype(np.int32))
    return tally, cut.without(np.arange(cut.classes) == 3) if seed % 2 else cut


def people_of(tally, cut) -> list[tuple]:
    """Everybody who is published: key, class and value, one by one."""
    return [
        (tuple(tally.keys[:, e].tolist()), int(c), int(tally.values[0][e]))
        for e, c, n in zip(cut.entry, cut.class_, cut.count, strict=True)
        for _ in range(n)
        if c >= 0
    ]


def fitting(cut, key) -> list[int]:
    """The classes whose cells contain somebody, cell by cell."""

    def inside(class_: int, column: int) -> bool:
        if column in cut.cells.sets:
            word = int(cut.cells.sets[column][class_][key[column] // 64])
            return bool(word >> key[column] % 64 & 1)
        return cut.cells.low[class_, column] <= key[column] <= cut.cells.high[class_, column]

    columns = range(len(key))
    return [c for c in range(cut.classes) if all(inside(c, column) for column in columns)]


def by_hand(tally, cut) -> tuple[float, ...]:
    """The same risks, person by person."""
    people = people_of(tally, cut)
    fits = {key: fitting(cut, key) for key in {key for key, _, _ in people}}
    rows = Counter(class_ for _, class_, _ in people)
    covered = Counter(c for key, _, _ in people for c in fits[key])
    values = {c: Counter(v for _, own, v in people if own == c) for c in rows}
    blank = tally.sensitive[0].null_code if tally.sensitive[0].unknown else -1
    totals = np.zeros(4)
    for key, own, value in people:
        classes = fits[key]
        totals[0] += 1 / sum(rows[c] for c in classes)
        narrow = min(covered[c] for c in classes)
        several = [c for c in classes if covered[c] == narrow]
        totals[1] += (own in several) / len(several) / rows[own]
        for at, weight in ((2, Counter()), (3, covered)):
            if value == blank:
                continue
            likely = Counter()
            for c in classes:
                for v, n in values[c].items():
                    if v != blank:
                        likely[v] += n / (weight[c] or 1)
            best = [v for v, n in likely.items() if np.isclose(n, max(likely.values()))]
            totals[at] += (value in best) / len(best)
    valued = sum(value != blank for _, _, value in people)
    return tuple(totals / np.array([len(people), len(people), valued, valued]))


@pytest.mark.parametrize("seed", range(6))
def test_risks_are_those_counted_person_by_person(seed):
    tally, cut = overlapping(seed)
    people = people_of(tally, cut)
    assert len({len(fitting(cut, key)) for key, _, _ in people}) > 1  # some fit more than others
    exposure = measure_exposure(tally, cut, 0)
    assert exposure.value is not None
    rates = (
        exposure.identity.even,
        exposure.identity.weighed,
        exposure.value.even,
        exposure.value.weighed,
    )
    assert rates == pytest.approx(by_hand(tally, cut))
    assert exposure.identity.known == pytest.approx(cut.classes / len(people))
    assert exposure.base == max(Counter(v for _, _, v in people).values()) / len(people)
    # Nobody does better than an adversary who knows the class.
    assert exposure.identity.rate <= exposure.identity.known + 1e-12
    assert measure_exposure(tally, cut).identity == exposure.identity
    assert measure_exposure(tally, cut).value is None


def with_blanks(tally, share, seed=0):
    """The same table where some entries have no value that is known."""
    axis = replace(tally.sensitive[0], null=True, unknown=True)
    lost = np.random.default_rng(seed).random(tally.entries) < share
    values = tally.values.copy()
    values[0] = np.where(lost, axis.null_code, values[0])
    return replace(tally, sensitive=(axis, *tally.sensitive[1:]), values=values)


@pytest.mark.parametrize("seed", range(6))
def test_a_missing_value_is_none_that_is_guessed(seed):
    tally, cut = overlapping(seed)
    tally = with_blanks(tally, 0.4, seed)
    exposure, everybody = measure_exposure(tally, cut, 0), people_of(tally, cut)
    assert exposure.value is not None
    rates = (
        exposure.identity.even,
        exposure.identity.weighed,
        exposure.value.even,
        exposure.value.weighed,
    )
    assert rates == pytest.approx(by_hand(tally, cut))
    known = [(c, v) for _, c, v in everybody if v != tally.sensitive[0].null_code]
    assert len(known) < len(everybody)
    assert exposure.base == max(Counter(v for _, v in known).values()) / len(known)
    most = [max(Counter(v for own, v in known if own == c).values()) for c in {c for c, _ in known}]
    assert exposure.value.known == pytest.approx(sum(most) / len(known))


def test_where_every_value_is_missing_nothing_is_guessed():
    tally, cut = overlapping(0)
    assert measure_exposure(with_blanks(tally, 2.0), cut, 0) == measure_exposure(tally, cut)


def test_a_part_at_a_time_gives_the_same(monkeypatch):
    tally, cut = overlapping(2)
    whole = measure_exposure(tally, cut, 0)
    monkeypatch.setattr(module, "CELLS", 1)
    assert measure_exposure(tally, cut, 0).value == pytest.approx(whole.value)


def test_the_even_adversary_is_linking_s_prosecutor():
    tally, cut = overlapping(4)
    entry, class_ = np.repeat(cut.entry, cut.count), np.repeat(cut.class_, cut.count)
    people = Targets(tally.keys[:, entry], np.arange(1, len(entry) + 1))
    finding = linking(View(tally.quasi, (ReleaseView("table", cut.cells, class_),), people=people))
    mean = finding.details["prosecutor"]["even"]["mean"]
    assert measure_exposure(tally, cut).identity.even == pytest.approx(mean)


def test_where_cells_do_not_overlap_all_adversaries_are_one():
    tally, _ = testing.sample(3)
    by_age = tally.keys[0].astype(np.int32)  # one class for each age: nobody fits two
    cut = Cut.of(tally, np.arange(tally.entries, dtype=np.int32), by_age)
    start, _ = cut.cells.contains(tally.keys)
    assert (np.diff(start) == 1).all()
    exposure = measure_exposure(tally, cut, 0)
    for risk in (exposure.identity, exposure.value):
        assert risk.even == pytest.approx(risk.weighed) == pytest.approx(risk.known)


def test_a_wide_class_that_fits_everybody_hides_nobody():
    """Its rows would drown the narrow class that each is in; who weighs classes is not misled."""
    tally, _ = testing.sample(1)
    age, zip_ = tally.keys.astype(np.int64)
    ends = np.isin(age, (age.min(), age.max()))
    _, class_ = np.unique(np.where(ends, -1, 100 * age + zip_), return_inverse=True)
    cut = Cut.of(tally, np.arange(tally.entries, dtype=np.int32), class_.astype(np.int32))
    exposure = measure_exposure(tally, cut, 0)
    assert exposure.identity.weighed > 2 * exposure.identity.even
    assert exposure.value is not None
    assert exposure.value.rate == exposure.value.weighed > exposure.value.even
