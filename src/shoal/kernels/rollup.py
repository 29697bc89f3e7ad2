"""Roll a table of classes up along hierarchies: each class's nodes packed into few 64-bit words."""

from __future__ import annotations

import numpy as np
from numba import njit

MIX = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def pack_nodes(nodes, word, shift, words):
    """Codes (columns, entries) as packed keys (entries, words)."""
    columns, entries = nodes.shape
    key = np.zeros((entries, words), dtype=np.uint64)
    for j in range(columns):
        for i in range(entries):
            key[i, word[j]] |= np.uint64(nodes[j, i]) << np.uint64(shift[j])
    return key


@njit(cache=True, nogil=True)
def lift_columns(key, rows, column, word, shift, bits, above, at):
    """Lift some columns by tables of their nodes above, and join the classes that become equal.

    ``above[at[c]:]`` is the table of ``column[c]``. Returns the new keys and rows, and each old
    class's new number, by first appearance.
    """
    lifted = key.copy()
    for c in range(len(column)):
        j = column[c]
        mask = (np.uint64(1) << np.uint64(bits[j])) - np.uint64(1)
        move, w = np.uint64(shift[j]), word[j]
        keep = ~(mask << move)
        for i in range(len(key)):
            node = above[at[c] + np.int64((lifted[i, w] >> move) & mask)]
            lifted[i, w] = (lifted[i, w] & keep) | (np.uint64(node) << move)
    return _join_equal(lifted, rows)


@njit(cache=True)
def _join_equal(key, rows):
    """Equal keys as one: the keys in place, their rows, and each old class's number."""
    classes, words = key.shape
    bits = 4
    while (1 << bits) < 2 * classes:
        bits += 1
    last = (1 << bits) - 1
    slot = np.full(1 << bits, -1, dtype=np.int32)
    number = np.empty(classes, dtype=np.int32)
    total = np.empty(classes, dtype=np.int64)
    n = 0
    for i in range(classes):
        mixed = key[i, 0] * MIX
        for w in range(1, words):
            mixed = ((mixed ^ (mixed >> np.uint64(29))) + key[i, w]) * MIX
        at = np.int64(mixed >> np.uint64(64 - bits))
        while slot[at] >= 0 and not _same(key, slot[at], i):
            at = (at + 1) & last
        if slot[at] < 0:
            slot[at] = n
            for w in range(words):
                key[n, w] = key[i, w]
            total[n] = 0
            n += 1
        number[i] = slot[at]
        total[slot[at]] += rows[i]
    return key[:n].copy(), total[:n].copy(), number


@njit(cache=True)
def _same(key, one, other):
    same = True
    for w in range(key.shape[1]):
        same &= key[one, w] == key[other, w]
    return same


@njit(cache=True, nogil=True)
def sum_prices(key, rows, chosen, word, shift, bits, price, at):
    """Σ over the chosen classes of rows × the prices of their nodes; ``price[at[j]:]`` is j's."""
    total = 0.0
    for i in range(len(key)):
        if not chosen[i]:
            continue
        each = 0.0
        for j in range(len(word)):
            mask = (np.uint64(1) << np.uint64(bits[j])) - np.uint64(1)
            node = np.int64((key[i, word[j]] >> np.uint64(shift[j])) & mask)
            each += price[at[j] + node]
        total += rows[i] * each
    return total


@njit(cache=True, nogil=True)
def sum_entropy(key, rows, chosen, word, shift, bits, size, weight):
    """The weighted bits that it takes to tell the nodes of the chosen rows, column by column.

    Σ over columns of weight × (n log₂ n - Σ over nodes c log₂ c), c the chosen rows of a node.
    """
    count = np.zeros(size, dtype=np.int64)
    people = 0
    for i in range(len(key)):
        if chosen[i]:
            people += rows[i]
    whole = people * np.log2(max(people, 1))
    total = 0.0
    for j in range(len(word)):
        mask = (np.uint64(1) << np.uint64(bits[j])) - np.uint64(1)
        for i in range(len(key)):
            if chosen[i]:
                count[np.int64((key[i, word[j]] >> np.uint64(shift[j])) & mask)] += rows[i]
        own = 0.0
        for i in range(len(key)):
            if chosen[i]:
                node = np.int64((key[i, word[j]] >> np.uint64(shift[j])) & mask)
                if count[node]:
                    own += count[node] * np.log2(count[node])
                    count[node] = 0
        total += weight[j] * (whole - own)
    return total
