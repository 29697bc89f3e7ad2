"""The adversary who counts: values weighed by how often each release has them.

Over the values s that all J releases leave possible for a person,

    posterior(s)  ∝  Π_j n_j(s) / |e_j|  /  π(s)^(J-1)

with n_j(s) the rows with value s among the |e_j| rows of all the classes the person could be in by
release j, and π(s) the value's share of all published rows. It is Bayes' rule where the person is
equally likely to be any row of each e_j and the releases are independent given the value.

They are not quite, so the posterior is too sure of itself. It is called a confidence only after it
was calibrated by temperature (Guo, Pleiss, Sun, Weinberger: On calibration of modern neural
networks, ICML 2017): posterior^(1/T), renormalised, T by maximum likelihood on a random half of
the people whose values are known, judged on the other half. People who are alike fall in one half.

A missing value may be any. It adds none to the values left; a release whose classes have nothing
but missing values says nothing of who is in them (``find_silent_releases``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from shoal.attacks._shared.candidate_classes import Located
from shoal.core.histogram import Histogram
from shoal.core.theory.adversary_view import UNKNOWN
from shoal.kernels.grouping import collect_code_sets
from shoal.kernels.narrowing import count_possible_values, weigh_possible_values
from shoal.kernels.threads import share_out

MIN_PEOPLE = 20
"""With fewer people in either half there is nothing to calibrate on."""
MAX_LEARNERS, MAX_JUDGED = 10_000, 100_000
"""So many people settle one temperature, and how good it is; more only take longer."""
TEMPERATURES = 0.05, 50.0
BINS = 10
MAX_BITSET_VALUES = 1024
"""Up to so many sensitive values are counted as bitsets; more would be mostly empty words."""


@dataclass(frozen=True)
class WeighedValues:
    """What is left for some people, one entry each; ``prior`` is (releases, people)."""

    prior: NDArray[np.int32]
    posterior: NDArray[np.int32]
    likeliest: NDArray[np.int32]
    """The likeliest value; the only one where ``posterior`` is 1; -1 where none is left."""
    stated: NDArray[np.float64]
    """The likeliest value's posterior."""
    chance: NDArray[np.float64]
    """The true value's posterior; 0 where it is not among the values left, or not known."""


@dataclass(frozen=True)
class ValueEvidence:
    """What each release says of each distinct key, and the people who have these keys."""

    located: Sequence[Located]
    histograms: Sequence[Histogram]
    truth: NDArray[np.int32]
    """Of each person; see ``Targets.values``."""
    key: NDArray[np.int64]
    """The number of each person's key in ``located``."""
    fitting: Sequence[Located] | None = None
    """The classes that fit each key, where ``located`` has one of anything in their place."""
    nothing_known: NDArray[np.bool_] | None = None
    """Of whom no release says anything, where values are missing; None: of nobody."""

    @classmethod
    def of_known(cls, plain: ValueEvidence) -> ValueEvidence:
        """The same by known values; what says nothing of somebody leaves every value there is."""
        values, keys = plain.histograms, len(plain.located[0][0]) - 1
        if not any(histogram.all_blanks for histogram in values):
            return plain
        known = plain.without_blanks
        every = np.arange(keys)
        sets = np.stack([replace(known, key=every).possible_values(j) for j in range(len(values))])
        may_lack_value = np.stack(
            [replace(plain, key=every).may_lack_value(j) for j in range(len(values))]
        )
        silent = find_silent_releases(sets, may_lack_value)
        total = np.flatnonzero(known.total)
        anything = total.astype(np.int32), known.total[total]
        return replace(
            known,
            located=[
                _move_to_class(located, len(h.distinct), flags)
                for located, h, flags in zip(plain.located, values, silent, strict=True)
            ],
            histograms=[_add_class(histogram, *anything) for histogram in known.histograms],
            fitting=plain.located,
            nothing_known=np.asarray(silent.all(axis=0))[plain.key],
        )

    @property
    def without_blanks(self) -> ValueEvidence:
        """The evidence of the known values alone."""
        if not any(histogram.all_blanks for histogram in self.histograms):
            return self
        null = self.histograms[0].axis.null_code
        return replace(
            self,
            histograms=[histogram.without_blanks for histogram in self.histograms],
            truth=np.where(self.truth == null, np.int32(UNKNOWN), self.truth),
        )

    def may_lack_value(self, release: int) -> NDArray[np.bool_]:
        """Whether a row without a value may be somebody's by one of the releases."""
        start, classes = self.located[release]
        before = np.concatenate(([0], np.cumsum(self.histograms[release].blanks[classes])))
        return np.asarray((before[start[1:]] > before[start[:-1]])[self.key])

    @cached_property
    def total(self) -> NDArray[np.int64]:
        """How many rows of all releases together have each value."""
        return np.asarray(np.sum([h.total for h in self.histograms], axis=0, dtype=np.int64))

    @cached_property
    def _stacked_classes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All releases' classes one after the other: start (releases, keys + 1), classes."""
        class_at = np.cumsum([0, *(len(h.distinct) for h in self.histograms)])
        found_at = np.cumsum([0, *(len(classes) for _, classes in self.located)])
        start = [begins + at for (begins, _), at in zip(self.located, found_at, strict=False)]
        classes = [numbers + at for (_, numbers), at in zip(self.located, class_at, strict=False)]
        return np.stack(start), np.concatenate(classes)

    @cached_property
    def _stacked_histograms(self) -> tuple[NDArray[Any], ...]:
        """All releases' histograms one after the other: begin (classes + 1), value, count."""
        distinct = np.concatenate([h.distinct for h in self.histograms])
        begin = np.concatenate(([0], np.cumsum(distinct)))
        value = np.concatenate([h.value for h in self.histograms])
        return begin, value, np.concatenate([h.count for h in self.histograms])

    def classes(self, release: int, person: int) -> NDArray[np.int64]:
        """The classes that a person could be in by one of the releases."""
        start, classes = self.located[release]
        return classes[start[self.key[person]] : start[self.key[person] + 1]]

    def classes_fitting(self, release: int, person: int) -> NDArray[np.int64]:
        """The classes that fit a person in one of the releases, whatever they say."""
        start, classes = (self.located if self.fitting is None else self.fitting)[release]
        return classes[start[self.key[person]] : start[self.key[person] + 1]]

    def count_values_left(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """How many values each release leaves everybody, (releases, people), and all together; 0 of
        whom nothing is known."""
        prior, posterior = self._count_values()
        if self.nothing_known is not None:
            posterior[self.nothing_known] = 0
        return prior, posterior

    def _count_values(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        (start, classes), (begin, value, _), size = (
            self._stacked_classes,
            self._stacked_histograms,
            len(self.total),
        )
        keys = start.shape[1] - 1
        if size > MAX_BITSET_VALUES:
            each = self._weigh_keys(np.arange(keys), np.full(keys, UNKNOWN, np.int32))
            return each.prior[:, self.key], each.posterior[self.key]
        class_ = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
        sets = collect_code_sets(
            value, np.arange(len(value)), class_, len(begin) - 1, (size + 63) // 64
        )
        prior = np.zeros((len(start), keys), dtype=np.int32)
        posterior = np.zeros(keys, dtype=np.int32)
        share_out(count_possible_values, keys, len(classes), start, classes, sets, prior, posterior)
        return prior[:, self.key], posterior[self.key]

    def possible_values(self, release: int) -> NDArray[np.uint64]:
        """The values that one of the releases leaves everybody, as bits (people, words)."""
        start, classes = self.located[release]
        sets = collect_class_values(self.histograms[release])
        left = np.zeros((len(start) - 1, sets.shape[1]), np.uint64)
        is_found = np.diff(start) > 0
        if is_found.any():
            left[is_found] = np.bitwise_or.reduceat(sets[classes], start[:-1][is_found], axis=0)
        return left[self.key]

    def weigh(self, people: NDArray[np.int64], temperature: float = 1.0) -> WeighedValues:
        """The values left for these people, weighed at a temperature."""
        return self._weigh_keys(self.key[people], self.truth[people], temperature)

    def _weigh_keys(
        self, key: NDArray[np.int64], truth: NDArray[np.int32], temperature: float = 1.0
    ) -> WeighedValues:
        prior = np.zeros((len(self.located), len(key)), dtype=np.int32)
        posterior, best = np.zeros((2, len(key)), dtype=np.int32)
        stated, chance = np.zeros((2, len(key)), dtype=np.float64)
        filled = prior, posterior, best, stated, chance
        share = self.total / max(int(self.total.sum()), 1)
        start, classes = self._stacked_classes
        ends = np.stack((start[:, key], start[:, key + 1]), axis=2).reshape(len(start), -1)
        every_other = np.arange(0, ends.shape[1], 2)  # where each one's classes begin, and end
        known = ends, classes, *self._stacked_histograms, share, np.repeat(truth, 2), temperature
        share_out(weigh_possible_values, len(key), prior.size, every_other, *known, *filled)
        return WeighedValues(*filled)


def collect_class_values(values: Histogram) -> NDArray[np.uint64]:
    """The values that each class has, as bits (classes, words)."""
    pairs, words = np.arange(len(values.value)), (values.axis.size + 63) // 64
    sets = collect_code_sets(values.value, pairs, values.class_, len(values.distinct), words)
    return np.asarray(sets)


def summarise_drop(prior: NDArray[np.int32], posterior: NDArray[np.int32]) -> dict[str, Any]:
    """Effective anonymity of the people found before and after an intersection (Ganta et al. 2008).

    ``prior`` (releases, people) and ``posterior`` are numbers of values left.
    """
    is_found = posterior > 0
    before, after = prior[:, is_found].min(axis=0), posterior[is_found]
    vulnerable = int((before > after).sum())
    return {
        "candidates_before": _count_by_number(before),
        "candidates_after": _count_by_number(after),
        "prior": [float(candidates[is_found].mean()) for candidates in prior],
        "posterior": float(after.mean()),
        "mean_drop": float((before - after).mean()),
        "vulnerable": vulnerable,
    }


def count_absent(
    prior: NDArray[np.int32],
    posterior: NDArray[np.int32],
    outside: NDArray[np.bool_],
    nothing_known: NDArray[np.bool_] | None = None,
) -> dict[str, Any]:
    """Who was not found in all of the releases; ``outside``: who is known not to be in them."""
    missing = prior == 0
    unknown = np.zeros(len(posterior), np.bool_)
    if nothing_known is not None:
        unknown = nothing_known & ~outside
    lost = (posterior == 0) & ~unknown
    return {
        "asked": len(posterior),
        "absent": int(lost.sum()),
        "absent_by_release": missing.sum(axis=1).tolist(),
        "known_absent": int(outside.sum()),
        "no_value_left": int((lost & ~missing.any(axis=0) & ~outside).sum()),
        **({} if nothing_known is None else {"nothing_known": int(unknown.sum())}),
    }


def _count_by_number(numbers: NDArray[Any]) -> dict[int, int]:
    distinct, count = np.unique(numbers, return_counts=True)
    return dict(zip(distinct.tolist(), count.tolist(), strict=True))


def find_silent_releases(
    sets: NDArray[np.uint64],
    may_lack_value: NDArray[np.bool_],
    joined: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Which releases say nothing of somebody who is there, because values are missing.

    ``sets`` (releases, people, words) are the known values that each leaves, ``may_lack_value``
    (releases, people) whether a row without a value may be theirs. One that leaves no known value
    says nothing. Where the others have none in common, somebody's value must be missing somewhere:
    those say nothing where it may be. ``joined``: whose releases are intersected at all.
    """
    known = sets.any(axis=2)
    silent = may_lack_value & ~known
    without_silent = np.where(silent[:, :, None], ~np.uint64(0), sets)
    at_odds = (may_lack_value | known).all(axis=0) & ~np.bitwise_and.reduce(
        without_silent, axis=0
    ).any(axis=1)
    if joined is not None:
        at_odds &= joined
    return np.asarray(silent | (at_odds & may_lack_value))


def _move_to_class(located: Located, class_: int, moved: NDArray[np.bool_]) -> Located:
    """The same where some keys are in one class alone."""
    start, classes = located
    length = np.where(moved, 1, np.diff(start))
    there = np.repeat(moved, length)
    classes_after = np.full(len(there), class_, np.int64)
    classes_after[~there] = classes[np.repeat(~moved, np.diff(start))]
    return np.concatenate(([0], np.cumsum(length))), classes_after


def _add_class(values: Histogram, value: NDArray[np.int32], count: NDArray[np.int64]) -> Histogram:
    return replace(
        values,
        start=np.append(values.start, values.start[-1] + len(value)),
        value=np.concatenate((values.value, value)),
        count=np.concatenate((values.count, count)),
    )


def calibrate(
    evidence: ValueEvidence, people: NDArray[np.int64], keys: NDArray[Any], rng: np.random.Generator
) -> dict[str, Any]:
    """What weighing gains over counting values: calibrated where true values are known.

    ``people`` are those with a value left; ``keys`` (columns, people) is what is known of all.
    """
    known = people[evidence.truth[people] != UNKNOWN]
    learn, judge = _split_in_halves((*keys, evidence.truth), known, rng)
    if min(len(learn), len(judge)) < MIN_PEOPLE:
        few = "too few true values are known" if len(known) else "no true values are known"
        return {
            "calibrated": False,
            "reason": few,
            "raw_posterior": _summarise_uncalibrated(evidence, people, keys),
        }
    temperature = _fit_temperature(evidence, learn)
    return {
        "calibrated": True,
        "temperature": temperature,
        "learned_on": len(learn),
        **_judge_calibration(evidence, judge, temperature),
    }


def _summarise_uncalibrated(
    evidence: ValueEvidence, people: NDArray[np.int64], keys: NDArray[Any]
) -> dict[str, Any]:
    """The likeliest value's posterior, which nothing says is a confidence."""
    some = _take_smallest_hashes(
        people, _hash_people(keys, people, np.random.default_rng(0)), MAX_JUDGED
    )
    stated = evidence.weigh(some).stated
    return {
        "people": len(some),
        "mean": _round_short(stated.mean()),
        "highest": _round_short(stated.max()),
    }


def _split_in_halves(
    columns: Sequence[NDArray[Any]], known: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two random halves of the people, to learn on and to judge on, neither too large."""
    mixed = _hash_people(columns, known, rng)
    half = mixed >> np.uint64(63) == 0
    learn, judge = _take_smallest_hashes(known[half], mixed[half], MAX_LEARNERS), known[~half]
    return learn, _take_smallest_hashes(judge, mixed[~half], MAX_JUDGED)


def _hash_people(
    columns: Iterable[NDArray[Any]], people: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.uint64]:
    """A random hash of what is known of each person.

    Drawn so, neither the order of the people matters nor is anybody judged by a twin's value.
    """
    mixed = np.zeros(len(people), dtype=np.uint64)
    for column in columns:
        mixed ^= column[people].astype(np.uint64)
        mixed *= np.uint64(int(rng.integers(1 << 63)) * 2 + 1)
        mixed ^= mixed >> np.uint64(31)
    return mixed * np.uint64(int(rng.integers(1 << 63)) * 2 + 1)


def _take_smallest_hashes(
    people: NDArray[np.int64], mixed: NDArray[np.uint64], most: int
) -> NDArray[np.int64]:
    """About ``most`` of the people, those with the smallest hashes."""
    edge = np.partition(mixed, most)[most] if len(people) > most else mixed.max(initial=0)
    return np.asarray(people[mixed <= edge])


def _fit_temperature(evidence: ValueEvidence, learn: NDArray[np.int64]) -> float:
    """The temperature under which the true values are likeliest; 1 if it makes no difference."""

    def loss(logarithm: float) -> float:
        return _log_loss(evidence.weigh(learn, math.exp(logarithm)).chance)

    low, high = (math.log(t) for t in TEMPERATURES)
    best = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-3})
    return _round_short(math.exp(best.x)) if best.fun < loss(0.0) else 1.0


def _log_loss(chance: NDArray[np.float64]) -> float:
    """The mean of -log of the true values' chances, over people whose value is not ruled out."""
    left = chance[chance > 0]
    return float(-np.log(left).mean()) if len(left) else 0.0


def _judge_calibration(
    evidence: ValueEvidence, judge: NDArray[np.int64], temperature: float
) -> dict[str, Any]:
    before, after = evidence.weigh(judge), evidence.weigh(judge, temperature)
    truth, left = evidence.truth[judge], after.chance > 0
    right = after.likeliest == truth
    return {
        "judged_on": len(judge),
        "ruled_out": int((~left).sum()),
        "log_loss_before": _round_short(_log_loss(before.chance)),
        "log_loss_after": _round_short(_log_loss(after.chance)),
        "right": float(right.mean()),
        "right_uniform": _round_short((left / after.posterior).mean()),
        "right_guessing": float((truth == evidence.total.argmax()).mean()),
        "confidence": {
            "mean": _round_short(after.stated.mean()),
            "highest": _round_short(after.stated.max()),
        },
        "reliability": _measure_reliability(after.stated, right),
    }


def _measure_reliability(
    stated: NDArray[np.float64], right: NDArray[np.bool_]
) -> list[dict[str, Any]]:
    bins = np.minimum((stated * BINS + 1e-9).astype(np.int64), BINS - 1)
    people = np.bincount(bins, minlength=BINS)
    says = np.bincount(bins, weights=stated, minlength=BINS)
    hits = np.bincount(bins, weights=right, minlength=BINS)
    return [
        {
            "from": b / BINS,
            "to": (b + 1) / BINS,
            "stated": _round_short(says[b] / people[b]),
            "right": float(hits[b] / people[b]),
            "people": int(people[b]),
        }
        for b in np.flatnonzero(people).tolist()
    ]


def _round_short(number: Any) -> float:
    """Six digits: sums of floats differ in the last ones with the order of the people."""
    return float(f"{float(number):.6g}")
