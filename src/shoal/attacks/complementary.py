"""Complementary release: two releases of one table, joined on what both publish.

Two generalisations of one table may each be k-anonymous; but the columns that both publish as
they are (the sensitive ones, say) pair their rows, and a paired row has the narrower of its two
cells in every column. A row is resolved if every way to pair all rows gives it the same linked
cell, and unique afterwards if no other row can have that linked cell.

Sweeney: k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002, section 4.2. There a row
is resolved by having one partner; here also by what others' partners leave, to the end.

It does not see columns that only one release publishes as they are, nor who a row is about (that
is linking). Rows are told apart by their linked cells as they stand: another row with a wider cell
that covers the same person is not held against uniqueness.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.attacks.linked import Kinds, Links, Pairs, link, pair_of, said, side, true_of
from shoal.attacks.view import WORST, Needs, View
from shoal.errors import InputError
from shoal.release import Finding

NEEDS = Needs(releases=2, most=2, sensitive=False, relation="same table")

ASSUMPTIONS = (
    "both releases are of one table: every row of one is a row of the other",
    "the columns that both publish as they are have not changed",
    "the adversary knows the quasi-identifiers of the person looked for",
)
DEFENCE = (
    "base the second release on the first, so that each new cell equals or generalises the old "
    "one; or ask for k over the quasi-identifiers and everything released before."
)


def complementary(view: View, *, rng: np.random.Generator | None = None) -> Finding:
    """Pair the rows of two releases of one table, and count who is alone afterwards."""
    one, other = pair_of(view)
    links = link(view)
    lost = [len(release.class_) - links.paired for release in (one, other)]
    if any(lost):
        raise InputError(
            f"The releases cannot be of one table: {lost[0]:,} rows of the first and {lost[1]:,} "
            "of the second find no partner.",
            "use the temporal attack, in which rows may be missing, new or changed.",
        )
    return told("complementary", view, links, ASSUMPTIONS, DEFENCE)


def told(
    name: str, view: View, links: Links, assumptions: Sequence[str], defence: str, **more: Any
) -> Finding:
    """What the joined releases give away, as a finding about the paired rows of the first."""
    exposed = len(links.exposed.kind)
    classes = [release.rows[release.rows > 0] for release in view.releases]
    details = {
        "joined_on": list(view.shared),
        "resolved": links.resolved,
        "unresolved": links.paired - links.resolved,
        "unique_before": [int((rows == 1).sum()) for rows in classes],
        "unique_after": int(links.alone.sum()),
        "k_before": [int(rows.min()) for rows in classes],
        "k_after": links.smallest,
        **more,
    }
    return Finding(
        attack=name,
        people=links.paired,
        exposed=exposed,
        sure=1 / links.smallest,
        guessing=max(len(rows) / int(rows.sum()) for rows in classes),
        sentence=_sentence(view, links, exposed),
        defence=defence,
        example=_example(view, links),
        assumptions=tuple(assumptions),
        worst=tuple(links.numbers(links.exposed)[:WORST].tolist()),
        table="release 1",
        witness=_witness(view, links),
        details=details,
    )


def _sentence(view: View, links: Links, exposed: int) -> str:
    one, other = view.releases
    return (
        f"When {one.name} and {other.name} are joined, {links.resolved:,} of {links.paired:,} rows "
        f"can be told without doubt; {exposed:,} of them are then alone with what both say about "
        "them, though they were alone in neither."
    )


def _worst(links: Links) -> Pairs | None:
    """The first exposed row, or else the settled row that is hidden among fewest."""
    if len(links.exposed.kind):
        return links.exposed.take(np.array([0]))
    if not links.resolved:
        return None
    settled = links.settled
    best = np.lexsort((links.numbers(settled), -settled.crowd, links.could[settled.cell]))
    return settled.take(best[:1])


def _example(view: View, links: Links) -> str:
    pair = _worst(links)
    if pair is None:
        return "No row can be paired without doubt: each could be one of several."
    (one, other), kind, partner = links.kinds, int(pair.kind[0]), int(pair.partner[0])
    hidden = int(links.could[pair.cell[0]])
    fits = f"fits it and agrees on {' and '.join(view.shared)}" if view.shared else "fits it"
    only = "no other could without leaving a row unpaired"
    only = only if pair.sole[0] else "the others that could would say the same"
    return (
        f"{_rows(one, kind).capitalize()} of release 1, in a class of {one.crowd[kind]:,}: "
        f"{_rows(other, partner)} of release 2, in a class of {other.crowd[partner]:,}, {fits}, "
        f"and {only}. What both say together is true of "
        f"{true_of(hidden, _labels(view, links, pair))}"
    )


def _rows(kinds: Kinds, kind: int) -> str:
    """The rows of a kind in words, the first few by number."""
    rows = [f"{row:,}" for row in kinds.rows(kind)]
    if len(rows) == 1:
        return f"row {rows[0]}"
    more = f" and {len(rows) - 3:,} more" if len(rows) > 3 else ""
    return f"one of the rows {', '.join(rows[:3])}{more} (alike in all that is published)"


def _labels(view: View, links: Links, pair: Pairs) -> dict[str, Any]:
    """What both releases say together about a pair, where it may be shown."""
    labels = said(view, links.cells, int(pair.cell[0]))
    values = view.releases[0].values
    if labels and view.sensitive is not None and values is not None:
        row = links.kinds[0].rows(int(pair.kind[0]))[0] - 1
        labels[view.sensitive.name] = view.value(int(values[row]))
    return labels


def _witness(view: View, links: Links) -> dict[str, Any]:
    pair = _worst(links)
    if pair is None:
        return {}
    both = zip(links.kinds, (int(pair.kind[0]), int(pair.partner[0])), strict=True)
    labels = _labels(view, links, pair)
    return {
        "row": int(links.numbers(pair)[0]),
        "releases": [
            side(one.release, int(one.class_[kind]), one.rows(kind)) for one, kind in both
        ],
        "only_partner": bool(pair.sole[0]),
        "linked_rows": int(links.could[pair.cell[0]]),
        **({"labels": labels} if labels else {}),
    }
