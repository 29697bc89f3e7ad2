"""What the paper's text prints about Adult and IPUMS, and settings by which it may have come.

Ganta et al. 2008 leave open how large their subsets are, whether equal people are divided at a
median, which column is cut first, how codes are read, how far occupations are apart, and the
base of the logarithm: these are `OPEN`, and any of them may be the paper's. What the paper fixes
is `FIXED`: Mondrian, k, all rows of IPUMS, its columns, 5,000 people in common. To change one of
these shows what it does, and cannot be what the paper did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import exp, log, log2
from typing import Any, NamedTuple

from shoal.studies.claims import AGREES, Number
from shoal.studies.ganta.changed_settings import ORDERS, hash_hierarchies
from shoal.studies.ganta.pairs import APPLICABLE, OVERLAP, judge_figure
from shoal.studies.tables import Sample

OPEN, FIXED = "left open by the paper", "fixed by the paper"
BASIS, TWO = "as in the figures", "two changes"
SIZES = (10_000, 15_000, 20_000)
NEARLY_ALL = 0.9
"""Each release draws so much of the table for itself: the people in common are most of it."""
METHODS = ("greedy", "tree-order", "hilbert", "microaggregation")
WORDS = {"pvp_100": "given away", "pvp_25": "four values or fewer left", "": "average class"}
AVERAGES = {"own_class_size": "mean over people", "class_size": "rows / classes"}
GIVEN, SIZE = "given away", "class size"
ASKED: dict[str, dict[str, Any]] = {
    "k = 5": {"k": 5, "rule": ""},
    "k = 10": {"k": 10, "rule": ""},
    "l = 5": {"k": 10, "rule": "entropy-diversity l=5"},
    "t = 0.4": {"k": 10, "rule": "t-closeness t=0.4"},
}
"""Of what the paper prints figures, by k and what is asked beside."""
CONCERNS = {"logarithm": "l = 5", "distance": "t = 0.4"}
"""What changes a single rule: the other figures are as they were."""


class Printed(NamedTuple):
    """One figure of the text."""

    asked: str
    of: str
    """The column; "" for a class size, which has a column for each average."""
    theirs: int
    more: bool = False
    """Whether the text says "more than", not "about"."""

    @property
    def unit(self) -> str:
        """As ours is measured."""
        return " %" if self.of else " rows"

    def met(self, ours: Number) -> bool:
        """Whether ours agrees with it."""
        return (self.more and ours.mean > self.theirs) or judge_figure(ours, self.theirs) == AGREES

    def off(self, ours: Number) -> float:
        """How far ours is from it: the ratio, as a logarithm; above "more than": nothing."""
        if self.more and ours.mean > self.theirs:
            return 0.0
        return abs(log(max(ours.mean, 0.01) / self.theirs))

    def __str__(self) -> str:
        """As a sentence has it.

        >>> str(Printed("k = 5", "pvp_25", 60, more=True)), str(Printed("l = 5", "", 450))
        ('more than 60 %', 'about 450 rows')
        """
        return f"{'more than' if self.more else 'about'} {self.theirs:,}{self.unit}"


class Question(NamedTuple):
    """Figures that one setting should bring about together."""

    part: str
    table: str
    printed: tuple[Printed, ...]
    averages: tuple[str, ...] = ("",)


QUESTIONS = (
    Question(
        GIVEN, "Adult", (Printed("k = 5", "pvp_100", 12), Printed("k = 5", "pvp_25", 60, True))
    ),
    Question(GIVEN, "IPUMS", (Printed("k = 5", "pvp_100", 60), Printed("k = 5", "pvp_25", 95))),
    Question(
        SIZE,
        "IPUMS",
        (
            Printed("k = 5", "", 40),
            Printed("k = 10", "", 45),
            Printed("l = 5", "", 450),
            Printed("t = 0.4", "", 1300),
        ),
        tuple(AVERAGES),
    ),
)


class Setting(NamedTuple):
    """What is changed, to what, and how the functions of `changed_settings` are told so."""

    group: str
    changed: str
    to: str
    how: Mapping[str, Any]


def list_settings(sample: Sample, part: str, asked: str) -> Iterator[Setting]:
    """What is tried: one change at a time, and of those left open two together."""
    yield Setting(OPEN, "nothing", BASIS, {})
    yield from _code_settings(sample)
    for size in (*SIZES, round(NEARLY_ALL * sample.rows)):
        # More than there are people for: some are drawn for both, beside the 5,000.
        group = OPEN if 2 * size - OVERLAP <= sample.rows else FIXED
        yield Setting(group, "size", f"{size:,} rows each", {"size": size})
        to, how = f"ties divided, {size:,} rows each", {"relaxed": True, "size": size}
        if group == OPEN:
            yield Setting(OPEN, TWO, to, how)
    for order in ORDERS[1:]:
        yield Setting(OPEN, "first cut", order, {"order": order})
    yield Setting(OPEN, "ties", "divided at the median", {"relaxed": True})
    yield from _rule_settings(ASKED[asked]["rule"])
    yield from _fixed_settings(sample, part, ASKED[asked]["k"])


def _code_settings(sample: Sample) -> Iterator[Setting]:
    if sample.empty:
        yield Setting(OPEN, "categories", "in no order", {"codes": "flat"})
        return
    yield Setting(OPEN, "categories", "in the order of their names", {"codes": "ordered"})
    if digest := hash_hierarchies(sample):
        yield Setting(OPEN, "categories", "in hierarchies", {"hierarchies": digest})


def _rule_settings(rule: str) -> Iterator[Setting]:
    if rule.startswith("entropy"):
        for to, l in (("bits against ln l", 2 ** log(5)), ("nats against log2 l", exp(log2(5)))):
            yield Setting(OPEN, "logarithm", to, {"rule": f"entropy-diversity l={l:.4f}"})
    if rule.startswith("t-closeness"):
        for values in ("ordered", "hierarchical"):
            yield Setting(OPEN, "distance", values, {"values": values})


def _fixed_settings(sample: Sample, part: str, k: int) -> Iterator[Setting]:
    """What the paper says otherwise."""
    if sample.empty:
        yield Setting(FIXED, "rows", "with an occupation", {"rows_kept": APPLICABLE})
    yield Setting(FIXED, "k", "one fewer", {"k": k - 1})
    for method in METHODS:
        is_in_figure_1 = part == GIVEN and method == "microaggregation"
        to = f"{method} (in figure 1 too)" if is_in_figure_1 else method
        yield Setting(FIXED, "method", to, {"method": method})
    if part == SIZE:
        for name in sample.quasi:
            yield Setting(FIXED, "columns", f"without {name}", {"unknown": name})
