"""Made-up people in the shape of the papers' data sets: the same columns, kinds and domain sizes.

Nobody in these tables exists, and nothing about the papers follows from them: they are there so
that every study can be run, looked at and tested where the data is not. About as many rows as the
real tables have are drawn from a fixed seed, a column after another, each given earlier ones, so
that figures have a shape: marriage and education go with age, country of birth with race,
occupation with education and sex, income with all of these. To about 44 % of the people in the
shape of IPUMS occupation and industry do not apply (children, and most of the old), and to children
under 14 income does not. Shares and trends are round numbers, chosen by hand; the codes of
birthplaces, occupations and industries are invented.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import UsageError
from shoal.data.catalogue import NOT_APPLICABLE

SEED = 2008
FEWEST = 10
PLANTED = 100
"""One row in so many may get a value that nobody else has, so that every value occurs."""
Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


def draw_stand_in(name: str, rows: int) -> pa.Table:
    """So many made-up people in the shape of a data set, the same ones each time."""
    if rows < FEWEST:
        raise UsageError(f"A stand-in of {rows} rows shows nothing.", f"take {FEWEST} or more.")
    crowd = MadeUpPeople(np.random.default_rng([SEED, 0]), np.random.default_rng([SEED, 1]), rows)
    if name.startswith("adult"):
        return _draw_adult(crowd)
    return _draw_ipums(crowd, stacked=name == "ipums-stacked")


@dataclass
class MadeUpPeople:
    """People, of whom one column after another is drawn."""

    law: np.random.Generator
    """Draws how values go together: the same for any number of people."""
    rng: np.random.Generator
    rows: int
    columns: dict[str, pa.Array] = field(default_factory=dict)

    def make_one_group(self) -> Codes:
        """One group of all."""
        return np.zeros(self.rows, dtype=np.int64)

    def draw(self, weights: Floats, group: Codes) -> Codes:
        """For each person a value, drawn by the weights (groups × values) of her group."""
        groups, values = weights.shape
        ends = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
        ends[:, -1] = 1.0
        steps = (ends + np.arange(groups)[:, np.newaxis]).ravel()
        at = np.searchsorted(steps, group + self.rng.random(len(group)), side="right")
        codes: Codes = np.clip(at - group * values, 0, values - 1)
        return self._plant_missing(codes, values)

    def _plant_missing(self, codes: Codes, values: int) -> Codes:
        missing = np.setdiff1d(np.arange(values), codes)[: len(codes) // PLANTED]
        codes[self.rng.choice(len(codes), len(missing), replace=False)] = missing
        return codes

    def tilt(self, shares: Floats, groups: int, strength: float) -> Floats:
        """The shares of values (one row for all, or one a group), different from group to group."""
        size = (groups, shares.shape[-1])
        tilted: Floats = shares * np.exp(strength * self.law.standard_normal(size))
        return tilted

    def rank_shares(self, values: int, slope: float) -> Floats:
        """Shares that fall by rank as in Zipf's law, in no order."""
        falling = 1.0 / np.arange(1, values + 1) ** slope
        return self.law.permutation(falling / falling.sum())

    def share_births(self, here: Sequence[float], elsewhere: int) -> Floats:
        """By race the shares of birthplaces: one where ``here`` are born, and so many others."""
        others = self.tilt(self.rank_shares(elsewhere, 0.8), len(here), 1.0)
        home = np.array(here)[:, np.newaxis]
        return np.hstack([home, others / others.sum(axis=1, keepdims=True) * (1 - home)])

    def put(self, name: str, values: list[str] | Codes, codes: Codes) -> None:
        """Keep a column."""
        self.columns[name] = pa.array(values).take(pa.array(codes))

    def table(self) -> pa.Table:
        """All columns so far."""
        return pa.table(self.columns)


def _follow_trends(shares: Floats, trends: Floats, at: Floats) -> Floats:
    """Shares of values for each step ``at`` of something ordered: some rise with it, some fall."""
    trended: Floats = shares * np.exp(np.outer(at, trends))
    return trended


# Adult

WORK = {
    "Private": 74,
    "Self-emp-not-inc": 8,
    "Local-gov": 7,
    "State-gov": 4,
    "Self-emp-inc": 4,
    "Federal-gov": 3,
    "Without-pay": 0.05,
}
SCHOOL = {
    "Preschool": 0.2,
    "1st-4th": 0.5,
    "5th-6th": 1,
    "7th-8th": 2,
    "9th": 1.5,
    "10th": 3,
    "11th": 4,
    "12th": 1.5,
    "HS-grad": 32,
    "Some-college": 22,
    "Assoc-voc": 4.5,
    "Assoc-acdm": 3.5,
    "Bachelors": 16,
    "Masters": 5.5,
    "Prof-school": 2,
    "Doctorate": 1,
}
MARRIED = {
    "Never-married": (28, -1.1),
    "Married-civ-spouse": (49, 0.1),
    "Divorced": (14, 0.3),
    "Separated": (3, 0.1),
    "Widowed": (2, 1.2),
    "Married-spouse-absent": (1.2, 0.1),
    "Married-AF-spouse": (0.1, -0.3),
}
"""Shares, and how they go with age."""
RACE = {"White": 86, "Black": 9, "Asian-Pac-Islander": 3, "Amer-Indian-Eskimo": 1, "Other": 1}
COUNTRIES = (
    "Mexico Philippines Germany Puerto-Rico Canada El-Salvador India Cuba England China Jamaica "
    "South Italy Dominican-Republic Japan Guatemala Vietnam Columbia Poland Haiti Portugal Iran "
    "Taiwan Greece Nicaragua Peru Ecuador Ireland France Thailand Hong Cambodia Trinadad&Tobago "
    "Yugoslavia Outlying-US(Guam-USVI-etc) Laos Scotland Honduras Hungary Holand-Netherlands"
).split()
JOBS = {
    "Craft-repair": 13,
    "Prof-specialty": 13,
    "Exec-managerial": 13,
    "Adm-clerical": 12,
    "Sales": 12,
    "Other-service": 11,
    "Machine-op-inspct": 6.5,
    "Transport-moving": 5,
    "Handlers-cleaners": 4.5,
    "Farming-fishing": 3.3,
    "Tech-support": 3.1,
    "Protective-serv": 2.2,
    "Priv-house-serv": 0.5,
    "Armed-Forces": 0.03,
}


def _list_weights(weights: Mapping[str, float]) -> Floats:
    return np.array(list(weights.values()), dtype=float)


def _draw_adult(crowd: MadeUpPeople) -> pa.Table:
    ages = np.arange(17, 91)
    likely = np.exp(-(((ages - 36) / np.where(ages < 36, 19, 22)) ** 2)) + 0.0004
    age = crowd.draw(likely[np.newaxis], crowd.make_one_group())
    band = age // 8
    sex = crowd.draw(np.array([[33.0, 67.0]]), crowd.make_one_group())
    race = crowd.draw(_list_weights(RACE)[np.newaxis], crowd.make_one_group())
    shares, trends = (np.array(list(both)) for both in zip(*MARRIED.values(), strict=True))
    by_age = _follow_trends(shares, trends, np.repeat(np.arange(10) / 2 - 1.2, 2))
    marital = crowd.draw(crowd.tilt(by_age, 20, 0.3), band * 2 + sex)
    school = crowd.draw(crowd.tilt(_list_weights(SCHOOL), 50, 0.35), band * 5 + race)
    work = crowd.draw(crowd.tilt(_list_weights(WORK), 160, 0.35), school * 10 + band)
    country = crowd.draw(crowd.share_births([0.94, 0.93, 0.3, 0.97, 0.5], len(COUNTRIES)), race)
    job = crowd.draw(crowd.tilt(_list_weights(JOBS), 96, 0.9), (school * 2 + sex) * 3 + band // 4)
    crowd.put("age", ages, age)
    crowd.put("workclass", list(WORK), work)
    crowd.put("education", list(SCHOOL), school)
    crowd.put("marital_status", list(MARRIED), marital)
    crowd.put("race", list(RACE), race)
    crowd.put("sex", ["Female", "Male"], sex)
    crowd.put("native_country", ["United-States", *COUNTRIES], country)
    crowd.put("occupation", list(JOBS), job)
    return crowd.table()


# IPUMS

RACES = np.array([[85.0, 11.0, 0.4, 0.8, 1.5, 0.8, 0.5]])
AT_HOME = [0.4, 0.45, 0.6, 0.25, 0.5, 0.3, 0.3]
"""By race the share of people who were born where they live."""
IDLE = {
    False: (
        [0, 13, 14, 16, 20, 25, 55, 65, 75, 100],
        [1, 1, 0.9, 0.6, 0.1, 0.03, 0.07, 0.3, 0.75, 0.95],
    ),
    True: (
        [0, 13, 14, 16, 20, 25, 55, 65, 75, 100],
        [1, 1, 0.92, 0.65, 0.15, 0.2, 0.3, 0.5, 0.85, 0.97],
    ),
}
"""By age the share of men, and of women (True), who have no work and never had."""
CHILD = 14
"""From this age on people are asked for their income."""


def _draw_ipums(crowd: MadeUpPeople, stacked: bool) -> pa.Table:
    ages = np.arange(101)
    age = crowd.draw(
        1 / (1 + np.exp((ages - 58.0) / 11))[np.newaxis] + 5e-5, crowd.make_one_group()
    )
    sex = crowd.draw(np.array([[49.0, 51.0]]), crowd.make_one_group())
    race = crowd.draw(RACES, crowd.make_one_group())
    band = np.minimum(age // 10, 8)
    places = 136 if stacked else 113
    place = crowd.draw(crowd.share_births(AT_HOME, places - 1), race)
    usual = np.clip((ages - 4) / 2, 0, 7) - np.clip((ages - 40) / 25, 0, 2)
    spread = np.where(ages < 18, 0.8, 2.0)[:, np.newaxis]
    school = crowd.draw(np.exp(-(((np.arange(10) - usual[:, np.newaxis]) / spread) ** 2)), age)
    marital = crowd.draw(_marriage_shares(crowd), age * 2 + sex)
    class_ = crowd.draw(_class_of_worker_shares(), age * 2 + sex)
    crowd.put("age", ages, age)
    crowd.put("classwkg", np.arange(3), class_)
    crowd.put("educrec", np.arange(10), school)
    crowd.put("marst", np.arange(1, 7), marital)
    crowd.put("raceg", np.arange(1, 8), race)
    crowd.put("sex", np.arange(1, 3), sex)
    crowd.put("bplg", _spread_codes(1, 900, places), place)
    _draw_work(crowd, (school * 2 + sex) * 3 + class_, np.flatnonzero(class_ > 0), stacked)
    _draw_income(crowd, age, class_, (band * 2 + sex) * 10 + school, stacked)
    return crowd.table()


def _spread_codes(low: int, high: int, values: int) -> Codes:
    codes: Codes = np.linspace(low, high, values).astype(np.int64)
    return codes


def _marriage_shares(crowd: MadeUpPeople) -> Floats:
    """By age and sex: married, spouse away, separated, divorced, widowed, never married."""
    years = np.repeat(np.arange(101) / 20 - 1.5, 2)
    trends = np.array([0.2, 0.1, 0.2, 0.4, 1.6, -1.6])
    shares = _follow_trends(np.array([62.0, 1.5, 3, 7, 3, 20]), trends, years)
    shares[: 2 * 15, :5] = 1e-9
    return crowd.tilt(shares, 202, 0.1)


def _class_of_worker_shares() -> Floats:
    """By age and sex: no work, works for herself, works for others."""
    shares = np.empty((202, 3))
    for woman, (at, share) in IDLE.items():
        idle = np.interp(np.arange(101), at, share)
        own = (1 - idle) * (0.05 if woman else 0.1)
        shares[int(woman) :: 2] = np.stack([idle, own, 1 - idle - own], axis=1)
    return shares + 1e-9 * np.array([1, 0, 0])


def _draw_work(crowd: MadeUpPeople, group: Codes, working: Codes, stacked: bool) -> None:
    """Occupation by education, sex and class of worker, industry by occupation; some have none."""
    jobs, trades = 251 if stacked else 246, 144
    job = crowd.draw(crowd.tilt(crowd.rank_shares(jobs, 0.9), 60, 1.0), group[working])
    trade = crowd.draw(crowd.tilt(crowd.rank_shares(trades, 0.6), jobs, 1.3), job)
    for name, values, codes in (
        ("occ1950", _spread_codes(0, 970, jobs), job),
        ("ind1950", _spread_codes(105, 936, trades), trade),
    ):
        column = np.full(crowd.rows, NOT_APPLICABLE[name], dtype=np.int64)
        column[working] = values[codes]
        crowd.columns[name] = pa.array(column)


def _draw_income(
    crowd: MadeUpPeople, age: Codes, class_: Codes, group: Codes, stacked: bool
) -> None:
    """Income by age, sex and education: of children not asked, of many without work none."""
    steps, step = (17_288, 5) if stacked else (469, 100)
    values = step * np.arange(1, steps + 1) - step // 2
    band, sex, school = np.arange(9)[:, None, None], np.arange(2)[:, None], np.arange(10)
    middle = 8.3 - 0.06 * (band - 4) ** 2 - 0.6 * sex + 0.12 * school + 0.9 * stacked
    away = (np.log(values) - middle.reshape(180, 1)) / 0.75
    asked = age >= CHILD
    some = np.flatnonzero(asked & (crowd.rng.random(crowd.rows) > np.where(class_ > 0, 0.04, 0.75)))
    column = np.where(asked, 0, NOT_APPLICABLE["inctot"])
    column[some] = values[crowd.draw(np.exp(-(away**2) / 2) / values, group[some])]
    crowd.columns["inctot"] = pa.array(column)
