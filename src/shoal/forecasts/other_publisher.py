"""The other publisher, as a forecast supposes it: its method and its rule.

Nobody knows what others will do. Unless stated, they are taken to publish as our release
was made: by the same method, under the same rule, as far as both can be applied to a table of the
quasi-identifiers and one sensitive column. Else it is Mondrian, with classes as small as our
smallest. How many of our people it shares is the overlap: a share of them, or a number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from shoal.core.errors import NotMetError, ShoalError, UsageError
from shoal.core.model import Model, unwrap_rule
from shoal.core.tally import Cut, Tally
from shoal.forecasts.local_distribution import CoarsePartition, list_coarse_partitions
from shoal.forecasts.our_table import OurTable, tally_codes
from shoal.methods import find_method as method_of
from shoal.methods import list_method_names, publishes_levels
from shoal.models import rule as parse_rule
from shoal.models.k_anonymity import KAnonymity
from shoal.releases.options import DEFAULT_METHOD, parse_method_parameters
from shoal.releases.published_table import PublishedTable

MANY = 10**10
"""More are no number of people."""


def parse_overlap(overlap: float | str) -> float:
    """A share from 0 to 1, or a whole number of people from 2 on; as a number or as text.

    >>> parse_overlap("5%"), parse_overlap("500"), parse_overlap(0.25)
    (0.05, 500, 0.25)
    """
    number = _parse_number(overlap) if isinstance(overlap, str) else overlap
    real = isinstance(number, int | float) and not isinstance(number, bool)
    if real and 0 <= number <= 1:
        return number
    if real and 1 < number < MANY and number == int(number):
        return int(number)
    raise UsageError(
        f"{repr(overlap) if isinstance(overlap, str) else 'That'} is no overlap: it is a share of "
        "our people, or how many they are.",
        "write for example 0.1, 10% or 500.",
    )


def _parse_number(text: str) -> float:
    """The number that a text is, as a share where it ends in %; else none."""
    word = text.strip()
    try:  # as decimals, so that 0.1% is the 0.001 that somebody else writes
        if not word.endswith("%"):
            return float(Decimal(word))
        share = float(Decimal(word[:-1]) / 100)
    except (ArithmeticError, ValueError):
        return math.nan
    return share if share <= 1 else math.nan


UNKNOWABLE_NEEDS = frozenset({"provider", "population"})
"""What rules may ask for that nobody knows of another's table."""


@dataclass(frozen=True)
class OtherPublisher:
    """A method with a rule and parameters: what another makes of a table."""

    method: str
    rule: Model
    parameters: Mapping[str, Any] = field(default_factory=dict)
    suppositions: tuple[str, ...] = ()

    def __call__(self, tally: Tally, rng: np.random.Generator) -> Cut:
        """The other's cut of its table."""
        try:
            return method_of(self.method)(
                tally, self.rule, rng=rng, progress=None, hold_back=0, **self.parameters
            )
        except NotMetError as error:
            raise NotMetError(
                f"Another's table could not be published by {self.method} under {self.rule}: "
                f"{error.fact}",
                "suppose another rule with -m, or another method with --method.",
            ) from None


def suppose_publisher(
    published: PublishedTable,
    ours: OurTable,
    method: str | None,
    rule: Model | str | None,
    several: bool = False,
) -> OtherPublisher:
    """The other publisher as stated, else as our release was made.

    Of a rule that is stated, parts about other columns are left out where ``several`` columns
    are forecast one after the other: others then make finer classes, which tell more.
    """
    own_rule, suppositions = (
        _same_rule(published, ours) if rule is None else _parse_asked_rule(rule, ours, several)
    )
    if method is not None:
        return OtherPublisher(method, own_rule, parse_method_parameters(method, {}), suppositions)
    same_method, parameters = _same_method(published)
    if same_method is not None:
        publisher = OtherPublisher(same_method, own_rule, parameters, suppositions)
        if _can_publish(publisher, ours):
            return publisher
    stated = (published.manifest or {}).get("method")
    changed = stated is not None and stated != DEFAULT_METHOD
    note = (f"others are taken to publish by {DEFAULT_METHOD}: {stated} cannot be run here",)
    return OtherPublisher(DEFAULT_METHOD, own_rule, {}, (*suppositions, *(note if changed else ())))


def _parse_asked_rule(
    rule: Model | str, ours: OurTable, several: bool
) -> tuple[Model, tuple[str, ...]]:
    model = parse_rule(rule) if isinstance(rule, str) else rule
    parts = [part for part in unwrap_rule(model) if _concerns_column(part, ours)]
    for part in unwrap_rule(model):
        if part.needs & UNKNOWABLE_NEEDS:
            raise UsageError(
                f"Of another's table nobody knows what {part} asks for.",
                "suppose a rule on classes and values.",
            )
        if part not in parts and not several:
            raise UsageError(
                f"The rule {part} is about another column than {ours.sensitive.name!r}.",
                f"name the column that is forecast: --on {getattr(part, 'on', None)}.",
            )
    if len(parts) == len(unwrap_rule(model)):
        return model, ()
    kept_rule: Model = reduce(and_, parts) if parts else _smallest_class(ours)
    return kept_rule, (
        f"of the rule asked for others keep {kept_rule}: the rest is about other columns",
    )


def _concerns_column(part: Model, ours: OurTable) -> bool:
    return getattr(part, "on", None) in (None, ours.sensitive.name)


def _smallest_class(ours: OurTable) -> KAnonymity:
    return KAnonymity(int(np.bincount(ours.class_).min()))


def _same_rule(published: PublishedTable, ours: OurTable) -> tuple[Model, tuple[str, ...]]:
    """The release's own rule as far as it can be asked of another's table; else its smallest k."""
    smallest = _smallest_class(ours)
    promised = (published.manifest or {}).get("rule")
    if not promised:
        return smallest, (f"others are taken to publish under {smallest}, our smallest class",)
    try:
        stated = unwrap_rule(parse_rule(str(promised)))
    except UsageError:  # a model of the user's own
        stated = ()
    parts = [
        part
        for part in stated
        if not part.needs & UNKNOWABLE_NEEDS and _concerns_column(part, ours)
    ]
    if not parts:
        return smallest, (f"others are taken to publish under {smallest}, our smallest class",)
    rule: Model = reduce(and_, parts)
    left_out = str(rule) != str(promised)
    return rule, (f"of our rule others keep {rule}",) if left_out else ()


def _same_method(published: PublishedTable) -> tuple[str | None, dict[str, Any]]:
    """The release's own method and parameters, where it is one of ours and has what it needs."""
    manifest = published.manifest or {}
    name = str(manifest.get("method"))
    if name not in list_method_names() or manifest.get("like"):
        return None, {}
    if publishes_levels(name) and not any(column.hierarchy for column in published.schema.quasi):
        return None, {}  # a release does not tell its hierarchies, only its companion does
    return name, dict(manifest.get("parameters", {}))


def _can_publish(publisher: OtherPublisher, ours: OurTable) -> bool:
    """Whether the method can make anything of our own table: some need what is not there."""
    table, _ = tally_codes(ours.quasi, ours.sensitive, ours.keys, ours.values)
    try:
        publisher(table, np.random.default_rng(0))
    except ShoalError:
        return False
    return True


def cut_coarse_partitions(ours: OurTable) -> list[CoarsePartition]:
    """Partitions of our people into nodes of at least so many, by Mondrian."""
    return list_coarse_partitions(
        ours, lambda tally, size: method_of(DEFAULT_METHOD)(tally, KAnonymity(size))
    )
