"""How far worst-case knowledge can go: products of chances that no atom of a set is true.

A class of ``n`` people matters by its *signature*: n, and its K largest counts in descending
order. ``refute`` finds for every class and every j up to K the smallest chance that j atoms about
its people are all false. A *node* (2, atoms + 1) folds these over classes: row 0, *no*, has the
smallest product over j atoms anywhere; row 1, *yes*, the same where one of them is the target's
own, divided by the target's chance. Both are (min, ×) convolutions, so that a tree of nodes over
the classes answers anew after a cut by walking from two leaves to the root.

Martin, Kifer, Machanavajjhala, Gehrke, Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007 (algorithms MINIMIZE1 and MINIMIZE2, corrected: the
numbers of atoms per person must descend, or products arise that no set of atoms attains).
"""

from __future__ import annotations

import numpy as np
from numba import njit

BIG = 1e200
"""A product that nothing attains. Not infinity, which times zero is not a number."""
REFUSED, MADE, CLOSE = 0, 1, 2
"""What ``admit`` decides of a cut; close: too near to the bound for floats to decide."""
_ONE, _TWO = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_SHIFT = np.uint64(29)


@njit(cache=True, nogil=True)
def mark(first, last, start, count, marks):
    """Two 64-bit marks per class that its multiset of counts decides, whatever their order.

    Each count is scattered over 64 bits, twice, and the results are added up; zeros add nothing.
    """
    for b in range(first, last):
        one = two = np.uint64(0)
        for i in range(start[b], start[b + 1]):
            x = np.uint64(count[i]) * _ONE
            x = (x ^ (x >> _SHIFT)) * _TWO
            one += x ^ (x >> _SHIFT)
            two += (x ^ (x >> np.uint64(31))) * _ONE
        marks[b, 0], marks[b, 1] = one, two


@njit(cache=True)
def distinct(marks):
    """The number of each class's mark, and the first class of each, in order of appearance."""
    slots = 1024
    table = np.full(slots, -1, dtype=np.int64)
    first = np.empty(len(marks), dtype=np.int64)
    number = np.empty(len(marks), dtype=np.int64)
    found = 0
    for b in range(len(marks)):
        if 2 * found >= slots:
            slots *= 4
            table = np.full(slots, -1, dtype=np.int64)
            for i in range(found):
                table[_slot(marks, first, first[i], table)] = i
        at = _slot(marks, first, b, table)
        if table[at] < 0:
            table[at], first[found] = found, b
            found += 1
        number[b] = table[at]
    return number, first[:found].copy()


@njit(cache=True)
def _slot(marks, first, b, table):
    """Where a class's mark is in the table, or would be."""
    last = np.int64(len(table) - 1)
    at = np.int64(marks[b, 0] >> np.uint64(8)) & last
    while table[at] >= 0:
        other = first[table[at]]
        if marks[other, 0] == marks[b, 0] and marks[other, 1] == marks[b, 1]:
            break
        at = (at + 1) & last
    return at


@njit(cache=True, nogil=True)
def sign(first, last, classes, start, count, signature):
    """Fill each of the classes' signatures: its people, and its largest counts, descending."""
    for s in range(first, last):
        b, top = classes[s], signature[s, 1:]
        top[:] = 0
        people = np.int64(0)
        for i in range(start[b], start[b + 1]):
            x = count[i]
            people += x
            if x > top[-1]:
                j = len(top) - 1
                while j > 0 and top[j - 1] < x:
                    top[j] = top[j - 1]
                    j -= 1
                top[j] = x
        signature[s, 0] = people


@njit(cache=True, nogil=True)
def refute(first, last, signature, least):
    """Fill ``least[b, j]``: the smallest chance that up to j atoms in class b are all false.

    The i-th person is said to have none of her c_i most common values: (n − i − C_{c_i}) / (n − i)
    with C the cumulative counts and c_0 ≥ c_1 ≥ …; the order is kept by placing large c first.
    """
    atoms = signature.shape[1] - 1
    part = np.empty((atoms + 1, atoms + 1))
    for b in range(first, last):
        n = signature[b, 0]
        part[:] = BIG
        part[0, 0] = 1.0
        taken = np.int64(0)
        for j in range(atoms):
            taken += signature[b, 1 + j]
        for c in range(atoms, 0, -1):
            for i in range(atoms // c):
                false = max(n - i - taken, 0) / max(n - i, 1)
                for r in range(i * c, atoms - c + 1):
                    part[i + 1, r + c] = min(part[i + 1, r + c], part[i, r] * false)
            taken -= signature[b, c]
        least[b, 0] = 1.0
        for j in range(1, atoms + 1):
            smallest = least[b, j - 1]
            for i in range(1, j + 1):
                smallest = min(smallest, part[i, j])
            least[b, j] = smallest


@njit(cache=True)
def eligible(least, odds, slack):
    """Which classes are among the best for a role: j atoms, with the target's among them or not.

    The ``atoms - j + 2`` best of each role, and those within ``slack`` of them; of zeros enough.
    """
    classes, atoms = len(least), least.shape[1] - 1
    best = np.full((2, atoms + 1, atoms + 2), np.inf)
    for b in range(classes):
        for j in range(1, atoms + 1):
            _keep(best[0, j, : atoms - j + 2], least[b, j])
            _keep(best[1, j, : atoms - j + 2], least[b, j] * odds[b])
    zeros = np.zeros((2, atoms + 1), dtype=np.int64)
    kept = np.zeros(classes, dtype=np.bool_)
    for b in range(classes):
        for j in range(1, atoms + 1):
            for role in range(2):
                value = least[b, j] * (odds[b] if role else 1.0)
                number = atoms - j + 2
                if value == 0:
                    kept[b] |= zeros[role, j] < number
                    zeros[role, j] += 1
                else:
                    kept[b] |= value <= best[role, j, number - 1] * (1 + slack)
    return kept


@njit(cache=True)
def _keep(best, value):
    """Put a value into its place among the smallest, in ascending order."""
    if value < best[-1]:
        i = len(best) - 1
        while i > 0 and best[i - 1] > value:
            best[i] = best[i - 1]
            i -= 1
        best[i] = value


@njit(cache=True)
def fold(least, odds, times):
    """``no`` and ``yes`` of all classes together (2, atoms + 1); ``times``: how often each is."""
    atoms = least.shape[1]
    both = np.empty((2, 2, atoms))
    own = np.empty((2, atoms))
    _clear(both[0])
    now = 0
    for b in range(len(least)):
        _set(own, least[b], odds[b])
        for _ in range(times[b]):
            _fold(both[now], own, both[1 - now])
            now = 1 - now
    return both[now]


@njit(cache=True)
def _clear(node):
    """No class at all: atoms that are not used are harmless, and there is no target."""
    for j in range(node.shape[1]):
        node[0, j], node[1, j] = 1.0, BIG


@njit(cache=True)
def _set(node, least, odds):
    """A single class."""
    for j in range(node.shape[1]):
        node[0, j], node[1, j] = least[j], least[j] * odds if j else BIG


@njit(cache=True)
def _fold(node, other, into):
    """Two sets of classes as one: the best way to share the atoms out between them."""
    for j in range(node.shape[1]):
        no, yes = BIG, BIG
        for i in range(j + 1):
            no = min(no, node[0, i] * other[0, j - i])
            if i:
                yes = min(yes, min(node[1, i] * other[0, j - i], node[0, j - i] * other[1, i]))
        into[0, j], into[1, j] = no, yes


@njit(cache=True)
def rest(least):
    """Per class ``no`` of all the others (classes, atoms + 1)."""
    classes, atoms = least.shape
    before, after = np.ones((classes + 1, atoms)), np.ones((classes + 1, atoms))
    for b in range(classes):
        _share(before[b], least[b], before[b + 1])
        _share(after[classes - b], least[classes - 1 - b], after[classes - 1 - b])
    out = np.empty((classes, atoms))
    for b in range(classes):
        _share(before[b], after[b + 1], out[b])
    return out


@njit(cache=True)
def _share(no, other, into):
    for j in range(len(no)):
        smallest = BIG
        for i in range(j + 1):
            smallest = min(smallest, no[i] * other[j - i])
        into[j] = smallest


@njit(cache=True)
def plant(least, odds, size):
    """A tree over ``size`` places for classes (a power of two), of which these take the first.

    Node ``i`` folds nodes ``2 i`` and ``2 i + 1``; the root is 1 and the places come last.
    """
    tree = np.empty((2 * size, 2, least.shape[1]))
    for b in range(size):
        if b < len(least):
            _set(tree[size + b], least[b], odds[b])
        else:
            _clear(tree[size + b])
    for i in range(size - 1, 0, -1):
        _fold(tree[2 * i], tree[2 * i + 1], tree[i])
    return tree


@njit(cache=True)
def _climb(tree, i):
    while i > 1:
        i //= 2
        _fold(tree[2 * i], tree[2 * i + 1], tree[i])


@njit(cache=True)
def admit(tree, class_, least, odds, bound, slack, decided, taken, at, used):
    """Try cuts ``at..`` in their order; one stays where the root's ``yes`` is above the bound.

    Cut ``c`` makes of class ``class_[c]`` the two of rows ``2 c`` and ``2 c + 1``: the left keeps
    its place, the right takes place ``used``. Of a class's cuts the first that stays is the only
    one (``taken``). ``decided`` is filled; where it says something else than CLOSE already, that
    is obeyed. Returns the cut that is too close to decide (or their number), and ``used``.
    """
    size = len(tree) // 2
    old = np.empty(tree.shape[1:])
    for c in range(at, len(class_)):
        b = class_[c]
        if taken[b] or decided[c] == REFUSED:
            decided[c] = REFUSED
            continue
        old[:] = tree[size + b]
        _set(tree[size + b], least[2 * c], odds[2 * c])
        _climb(tree, size + b)
        _set(tree[size + used], least[2 * c + 1], odds[2 * c + 1])
        _climb(tree, size + used)
        reached = tree[1, 1, -1]
        if decided[c] == CLOSE:
            if reached > bound * (1 + slack):
                decided[c] = MADE
            elif reached < bound * (1 - slack) or bound == 0:
                decided[c] = REFUSED
        if decided[c] == MADE:
            taken[b] = True
            used += 1
            continue
        tree[size + b] = old
        _climb(tree, size + b)
        _clear(tree[size + used])
        _climb(tree, size + used)
        if decided[c] == CLOSE:
            return c, used
    return len(class_), used
