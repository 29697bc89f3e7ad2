"""m-privacy in plain Python, coalition by coalition: slow, obvious, exact.

A class is a list of rows (provider, value); a rule is a function of a Counter of values. Nothing
here uses the code under test.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product


def k_anonymous(k):
    return lambda values: sum(values.values()) >= k


def diverse(l):
    return lambda values: sum(n > 0 for n in values.values()) >= l


def capped(alpha):
    return lambda values: (
        max(values.values()) <= Fraction(str(alpha)) * sum(values.values())  # exact, as written
    )


def both(*rules):
    return lambda values: all(rule(values) for rule in rules)


def coalitions(rows, m):
    """All coalitions of at most m of the class's providers that leave a row of somebody else."""
    present = sorted({provider for provider, _ in rows})
    for size in range(min(m, len(present) - 1) + 1):
        yield from combinations(present, size)


def left(rows, coalition):
    """The values of the rows that the coalition did not bring."""
    return Counter(value for provider, value in rows if provider not in coalition)


def breaking(rows, m, rule):
    """Every coalition that breaks the rule by taking away all of its rows."""
    return [one for one in coalitions(rows, m) if not rule(left(rows, one))]


def breaking_by_some(rows, m, rule):
    """Every coalition that breaks the rule by taking away any of its rows: all, some or none."""
    return [one for one in coalitions(rows, m) if _can_break(rows, one, rule)]


def _can_break(rows, coalition, rule):
    others = left(rows, coalition)
    own = Counter(value for provider, value in rows if provider in coalition)
    kept = product(*(range(count + 1) for count in own.values()))
    return any(not rule(others + Counter(dict(zip(own, some, strict=True)))) for some in kept)


def survives(rows, rule, breaks=breaking):
    """The largest m that the class survives; −1: it fails by itself; None: it survives all."""
    n = len({provider for provider, _ in rows})
    return next((m - 1 for m in range(n) if breaks(rows, m, rule)), None)
