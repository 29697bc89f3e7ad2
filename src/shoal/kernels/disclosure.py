"""How far worst-case knowledge can go: products of chances that no atom of a set is true.

A class of ``n`` people matters by its *signature*: n, and its K largest counts in descending
order. ``fill_refutation_chances`` finds for every class and every j up to K the smallest chance p_j
that j atoms about its people are all false. Of all classes the smallest p_j for each j is enough:

* p_{i+j} ≤ p_i p_j within a class, so to use a class twice is never better than to use it once
  with all the atoms, and for each j only the best class counts (``fill_smallest_products``);
* where a class is cut in two, its p_j is at least the smallest p_i p_{j−i} of its halves, and so
  with the target in it: classes that were cut need not be taken out again (``admit_cuts``).

Martin, Kifer, Machanavajjhala, Gehrke, Halpern: Worst-case background knowledge for
privacy-preserving data publishing, ICDE 2007 (algorithms MINIMIZE1 and MINIMIZE2, corrected: the
numbers of atoms per person must descend, or products arise that no set of atoms attains).
"""

from __future__ import annotations

import numpy as np
from numba import njit

REFUSED, MADE, CLOSE = 0, 1, 2
"""What ``admit_cuts`` decides of a cut; close: too near to the bound for floats to decide."""
LANES = 8
_FACTOR, _OTHER_FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_SHIFT = np.uint64(29)


@njit(cache=True, nogil=True)
def hash_classes(first, last, start, count, marks):
    """Two 64-bit marks per class that its multiset of counts decides, whatever their order.

    Each count is scattered over 64 bits, twice, and the results are added up; zeros add nothing.
    """
    for b in range(first, last):
        first_hash = second_hash = np.uint64(0)
        for i in range(start[b], start[b + 1]):
            x = np.uint64(count[i]) * _FACTOR
            x = (x ^ (x >> _SHIFT)) * _OTHER_FACTOR
            first_hash += x ^ (x >> _SHIFT)
            second_hash += (x ^ (x >> np.uint64(31))) * _FACTOR
        marks[b, 0], marks[b, 1] = first_hash, second_hash


@njit(cache=True)
def number_distinct_hashes(marks):
    """The number of each class's mark, and the first class of each, in order of appearance."""
    slots = 1024
    table = np.full(slots, -1, dtype=np.int64)
    first = np.empty(len(marks), dtype=np.int64)
    number = np.empty(len(marks), dtype=np.int64)
    number_found = 0
    for b in range(len(marks)):
        if 2 * number_found >= slots:
            slots *= 4
            table = np.full(slots, -1, dtype=np.int64)
            for i in range(number_found):
                table[_slot(marks, first, first[i], table)] = i
        at = _slot(marks, first, b, table)
        if table[at] < 0:
            table[at], first[number_found] = number_found, b
            number_found += 1
        number[b] = table[at]
    return number, first[:number_found].copy()


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
def fill_signatures(first, last, classes, start, count, signature):
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
def fill_refutation_chances(first, last, signature, min_chance):
    """Fill ``min_chance[b, j]``: the smallest chance that up to j atoms in class b are all false.

    The i-th person is said to have none of her c_i most common values: (n − i − C_{c_i}) / (n − i)
    with C the cumulative counts and c_0 ≥ c_1 ≥ …; the order is kept by placing large c first.
    Classes are taken ``LANES`` at a time, which the compiler makes into vectors.
    """
    atoms = signature.shape[1] - 1
    part = np.empty((atoms + 1, atoms + 1, LANES))
    people, taken, false, smallest = np.empty((4, LANES))
    for begin in range(first, last, LANES):
        lanes = min(LANES, last - begin)
        part[:] = 2.0  # no chance
        part[0, 0] = 1.0
        people[:], taken[:], smallest[:] = 1.0, 0.0, 1.0
        for b in range(lanes):
            people[b] = signature[begin + b, 0]
            for j in range(atoms):
                taken[b] += signature[begin + b, 1 + j]
        for c in range(atoms, 0, -1):
            for i in range(atoms // c):
                for b in range(LANES):
                    false[b] = max(people[b] - i - taken[b], 0.0) / max(people[b] - i, 1.0)
                for r in range(i * c, atoms - c + 1):
                    for b in range(LANES):
                        chance = part[i, r, b] * false[b]
                        part[i + 1, r + c, b] = min(part[i + 1, r + c, b], chance)
            for b in range(lanes):
                taken[b] -= signature[begin + b, c]
        for j in range(atoms + 1):
            for i in range(j + 1):
                for b in range(LANES):
                    smallest[b] = min(smallest[b], part[i, j, b])
            for b in range(lanes):
                min_chance[begin + b, j] = smallest[b]


@njit(cache=True)
def fill_smallest_products(best, product):
    """Fill ``product[j]``: the smallest product of the ``best`` chances over any j atoms."""
    product[0] = 1.0
    for j in range(1, len(best)):
        product[j] = best[j]
        for i in range(1, j):
            product[j] = min(product[j], best[i] * product[j - i])


@njit(cache=True)
def admit_cuts(best, own, class_, min_chance, odds, bound, slack, decided, taken, at):
    """Try cuts ``at..`` in their order; one is made where the worst case stays above the bound.

    ``best`` and ``own`` (atoms + 1) have the smallest chances of all classes, and the smallest
    divided by that of the target's value; they are brought up to date. Cut ``c`` makes classes
    ``2 c`` and ``2 c + 1`` of ``class_[c]``, of whose cuts the first that is made is the only one
    (``taken``). ``decided`` is filled; where it says something else than CLOSE already, that is
    obeyed. Returns the first cut that is too close to decide, or their number.
    """
    atoms = len(best)
    tried, tried_own, product = np.empty(atoms), np.empty(atoms), np.empty(atoms)
    for c in range(at, len(class_)):
        if taken[class_[c]]:
            decided[c] = REFUSED
        if decided[c] == REFUSED:
            continue
        left, right = 2 * c, 2 * c + 1
        for j in range(atoms):
            tried[j] = min(best[j], min(min_chance[left, j], min_chance[right, j]))
            halves = min(min_chance[left, j] * odds[left], min_chance[right, j] * odds[right])
            tried_own[j] = min(own[j], halves)
        if decided[c] == CLOSE:
            fill_smallest_products(tried, product)
            reached = np.inf
            for j in range(1, atoms):
                reached = min(reached, tried_own[j] * product[atoms - 1 - j])
            if reached > bound * (1 + slack):
                decided[c] = MADE
            elif reached < bound * (1 - slack) or bound == 0:
                decided[c] = REFUSED
            else:
                return c
        if decided[c] == MADE:
            taken[class_[c]] = True
            best[:] = tried
            own[:] = tried_own
    return len(class_)
