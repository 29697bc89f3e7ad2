"""Points as they are read: those at one place together, reasons once each, and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from shoal.flow.frontier.points import Point

NAMED = 3
"""So many methods are named at one place; of more, the first and how many others."""


def named(names: Sequence[str]) -> str:
    """Names in a row, the last of many only counted.

    >>> named(["chain", "local", "greedy"]), named(["chain", "local", "greedy", "hilbert"])
    ('chain, local, greedy', 'chain, local and 2 more')
    """
    if len(names) <= NAMED:
        return ", ".join(names)
    first = names[: NAMED - 1]
    return f"{', '.join(first)} and {len(names) - len(first)} more"


def together(points: Iterable[Point]) -> list[Point]:
    """The points that were made by their loss, those with the same loss and risks as one.

    It has the last of the rules that the first of the methods comes there by, and with it the
    methods that come there by this rule too.
    """
    groups: dict[tuple[float | None, ...], list[Point]] = {}
    for one in (one for one in points if one.loss is not None):
        groups.setdefault((one.loss, one.risk_identity, one.risk_value), []).append(one)
    found = []
    for some in groups.values():
        last = [one for one in some if one.method == some[0].method][-1]
        methods = [one.method for one in some if one.rule == last.rule]
        found.append(replace(last, method=named(methods)))
    return sorted(found, key=lambda one: (one.loss, one.method))


def not_made(points: Iterable[Point]) -> list[tuple[str, str, str]]:
    """Why other points were not made, each reason once: methods, rules, reason."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for one in (one for one in points if one.loss is None):
        reasons.setdefault(one.reason, {}).setdefault(one.rule, []).append(one.method)
    found = []
    for reason, rules in reasons.items():
        sharing: dict[tuple[str, ...], list[str]] = {}
        for rule, methods in rules.items():
            sharing.setdefault(tuple(methods), []).append(rule)
        found += [(", ".join(who), "; ".join(some), reason) for who, some in sharing.items()]
    return found


def lines(points: Sequence[Point]) -> list[str]:
    """A table of the points, the frontier first, then why the others were not made."""
    some = together(points)
    front = [one for one in some if one.on_frontier]
    rest = sorted((one for one in some if not one.on_frontier), key=lambda one: one.method)
    rows = _aligned([_HEAD, *map(_row, (*front, *rest))]) if some else []
    reasons = [f"not made: {who}, {rules}: {why}" for who, rules, why in not_made(points)]
    return [*rows, *reasons]


_HEAD = ("", "method", "rule", "identity", "value (guessing)", "loss", "classes", "held back",
         "seconds")  # fmt: skip
_WORDS = 3
"""How many of the columns hold words; the others hold numbers."""


def _row(one: Point) -> tuple[str, ...]:
    """A point as the table has it."""
    value = "" if one.risk_value is None else f"{one.risk_value:.1%} ({one.base:.1%})"
    value += f" {one.column}" if one.column else ""
    return (
        "*" if one.on_frontier else "", one.method, one.rule, f"{one.risk_identity:.2%}", value,
        f"{one.loss:.4f}", f"{one.classes:,}", f"{one.held_back:,}", f"{one.seconds:.2f}",
    )  # fmt: skip


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [str.ljust if at < _WORDS else str.rjust for at in range(len(widths))]
    return [
        "  ".join(side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True))
        .rstrip()
        for row in rows
    ]  # fmt: skip
