"""The models in plain Python, row by row: slow, obvious, exact. Nothing here uses numpy.

A table is a list of classes, a class a list of sensitive values. ``order`` lists all values in
their order; ``paths`` gives for each value its nodes from fine to coarse, without the root.
"""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction


def frequencies(rows):
    return {value: Fraction(n, len(rows)) for value, n in Counter(rows).items()}


def whole(table):
    return [value for rows in table for value in rows]


def k_anonymity(table, i, k):
    return len(table[i]) >= k


def distinct_diversity(table, i, l):
    return len(set(table[i])) >= l


def entropy_diversity(table, i, l):
    """−Σ p log p >= log l, without a logarithm: n^n >= l^n Π c^c."""
    counts, n = Counter(table[i]).values(), len(table[i])
    return Fraction(n) ** n >= Fraction(l) ** n * math.prod(c**c for c in counts)


def recursive_diversity(table, i, c, l):
    r = sorted(Counter(table[i]).values(), reverse=True)
    return r[0] < c * sum(r[l - 1 :])


def alpha_k(table, i, alpha, k):
    return len(table[i]) >= k and max(frequencies(table[i]).values()) <= alpha


def logarithm(x):
    with localcontext() as context:
        context.prec = 80
        return Decimal(x.numerator).ln() - Decimal(x.denominator).ln()


def beta_likeness(table, i, beta, kind="basic"):
    p, q = frequencies(table[i]), frequencies(whole(table))
    for value in q:
        gain = (p.get(value, 0) - q[value]) / q[value]
        if gain > beta:
            return False
        if kind == "enhanced" and gain > 0:
            bound = -logarithm(q[value])
            if gain.numerator > bound * gain.denominator:
                return False
    return True


def delta_disclosure(table, i, delta):
    p, q = frequencies(table[i]), frequencies(whole(table))
    return all(
        value in p and abs(logarithm(p[value] / q[value])) * delta.denominator < delta.numerator
        for value in q
    )


def t_closeness(table, i, t, distance="equal", order=(), paths=None):
    p, q = frequencies(table[i]), frequencies(whole(table))
    if distance == "equal":
        return equal(p, q) <= t
    if distance == "ordered":
        return ordered(p, q, [value for value in order if value in q]) <= t
    return hierarchical(p, q, paths) <= t


def equal(p, q):
    return sum(abs(p.get(v, 0) - q.get(v, 0)) for v in {*p, *q}) / 2


def ordered(p, q, order):
    """Earth moved along a line: each step carries what is left over so far."""
    carried, work = Fraction(0), Fraction(0)
    for value in order[:-1]:
        carried += p.get(value, 0) - q.get(value, 0)
        work += abs(carried)
    return work / max(len(order) - 1, 1)


def hierarchical(p, q, paths):
    """Li, Li, Venkatasubramanian: each inner node evens out what it can among its children.

    cost(N) = height(N) / H × min(Σ positive extra, Σ negative extra) over the children's extra.
    """
    height = 1 + max(len(path) for path in paths.values())
    extra = {("leaf", v): p.get(v, Fraction(0)) - q.get(v, Fraction(0)) for v in paths}
    parent = {("leaf", v): path[0] if path else "root" for v, path in paths.items()}
    above = {}
    for path in paths.values():
        above.update(zip(path, [*path[1:], "root"], strict=True))
    work = Fraction(0)
    for level in range(1, height + 1):
        moved, up = {}, {}
        for node, amount in extra.items():
            moved.setdefault(parent[node], []).append(amount)
        for node, amounts in moved.items():
            surplus = sum(a for a in amounts if a > 0)
            lack = -sum(a for a in amounts if a < 0)
            work += Fraction(level, height) * min(surplus, lack)
            up[node] = sum(amounts)
        extra = up
        parent = {node: above.get(node, "root") for node in extra}
    return work


def k_map(population, i, k):
    return population[i] >= k


def delta_presence(table, population, i, low, high):
    return low * population[i] <= len(table[i]) <= high * population[i]
