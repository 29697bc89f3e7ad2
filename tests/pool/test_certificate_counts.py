"""What a partner cannot work out from a pool's certificate by taking its own classes away."""

from __future__ import annotations

import json

import numpy as np
import pytest

import shoal
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.tally import Cut, Groups, Tally
from shoal.pool.partner_certificate import count_surviving_classes, describe_coalitions

RULE, K = shoal.KAnonymity(5), 5
OWN = [(20, 0, 0)] * 3
"""Classes of the reader's own; everybody's classes are given by the rows of each provider."""


def classes(*brought: tuple[int, ...]) -> Groups:
    parts = [(c, who, n) for c, one in enumerate(brought) for who, n in enumerate(one) if n]
    class_, who, count = (np.array(column) for column in zip(*parts, strict=True))
    tally = Tally(
        (Axis.numbered("q", len(brought)),),
        (Axis.numbered("s", 1),),
        class_.astype(np.int32)[np.newaxis],
        np.zeros((1, len(parts)), np.int32),
        count,
        Axis("p", "category", "flat", ("A", "B", "C")),
        who.astype(np.int32),
    )
    ends = np.arange(len(brought), dtype=np.int32)[:, np.newaxis]
    entries = np.arange(len(parts), dtype=np.int32)
    return Groups.of(tally, Cut(entries, class_.astype(np.int32), count, Cells(ends, ends)))


def told(groups: Groups) -> str:
    """The numbers of the certificate that depend on who provided the rows."""
    return json.dumps(
        describe_coalitions(groups, count_surviving_classes(groups, RULE, 1, 3), 1, K, 3)
    )


def test_classes_of_one_provider_cannot_be_found_by_subtraction():
    """Others have 0 to 4 classes of their own: the reader's certificate is the same."""
    worlds = [[*OWN, *[(0, 20, 0)] * n, *[(0, 10, 10)] * (4 - n), (2, 10, 10)] for n in range(5)]
    assert [
        count_surviving_classes(classes(*one), RULE, 1, 3)["of_one_provider"] for one in worlds
    ] == [
        3,
        4,
        5,
        6,
        7,
    ]
    assert len({told(classes(*one)) for one in worlds}) == 1


def test_classes_that_break_cannot_be_found_by_subtraction():
    """The reader knows in how many classes its own rows are few; not in how many others' are."""
    own = [(3, 10, 10)] * 2
    worlds = [[*own, *[(10, 10, 2)] * n, *[(10, 10, 10)] * (4 - n)] for n in range(5)]
    broken = [count_surviving_classes(classes(*one), RULE, 1, 3)["survive"][2] for one in worlds]
    assert len(set(broken)) == 5
    assert len({told(classes(*one)) for one in worlds}) == 1


@pytest.mark.parametrize(("brought", "apart"), [([*OWN, (0, 20, 0)], True), ([(9, 9, 0)], False)])
def test_a_certificate_says_whether_every_class_is_of_one_provider(brought, apart):
    assert json.loads(told(classes(*brought)))["apart"] is apart
