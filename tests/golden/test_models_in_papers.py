"""Goryczka et al. (m-privacy) and Martin et al. (worst-case knowledge): what today's models say.

Their own guarantees are for later models; here are the parts that k-anonymity and diversity give.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import pytest

import shoal


def without(rows, coalition):
    """What the others see of the rows: without the coalition's, and without who and whose."""
    seen = [row for row in rows if row["Provider"] not in coalition]
    return [{k: v for k, v in row.items() if k not in ("Provider", "Name")} for row in seen]


@pytest.mark.parametrize(
    "case", [f"{name},m={m},k={k},l=2" for name in ("Ta", "Tb") for m in (0, 1, 2) for k in (2, 3)]
)
def test_m_privacy_by_its_definition(golden, table, case):
    """m-private: the rule holds for what is left without any coalition of up to m providers."""
    given = golden("mprivacy_table1")
    name, m, k, l = (part.split("=")[-1] for part in case.split(","))
    schema = shoal.Schema.of(quasi=given["qi"], sensitive=[given["sensitive"]])
    rule = shoal.KAnonymity(int(k)) & shoal.DistinctDiversity(int(l))
    private = all(
        shoal.verify(table("rest", without(given[name], coalition)), schema, rule).holds
        for size in range(int(m) + 1)
        for coalition in combinations(given["providers"], size)
    )
    assert private == given["expected"]["is_m_private"][case]


@pytest.fixture
def martin(golden, table):
    given = golden("martin_fig1_3")
    rows = [
        {**{key: bucket[key] for key in ("Zip", "Age", "Sex")}, "Disease": disease}
        for bucket in given["fig2_buckets"]
        for disease in bucket["Disease"]
    ]
    schema = shoal.Schema.of(quasi=["Zip", "Age", "Sex"], sensitive=["Disease"])
    return given, shoal.audit(table("buckets", rows), schema)


def test_martin_s_buckets_are_as_diverse_as_their_counts(martin):
    given, audit = martin
    counts = given["buckets_sorted_counts"]
    assert audit.classes == len(counts)
    assert audit.reached("k-anonymity") == min(map(sum, counts))
    assert audit.reached("distinct-diversity") == min(map(len, counts))
    entropy = min(-sum(c / sum(n) * math.log(c / sum(n)) for c in n) for n in counts)
    assert audit.reached("entropy-diversity") == pytest.approx(math.exp(entropy))
    for l in (2, 3):
        ratio = max(Fraction(n[0], sum(n[l - 1 :])) for n in counts)
        assert audit.reached("recursive-diversity", l=l) == pytest.approx(float(ratio))


def test_martin_s_disclosure_without_knowledge_is_the_largest_share(martin):
    """With k = 0 pieces of background knowledge (c,k)-safety is (α,k)-anonymity's α."""
    given, audit = martin
    expected = float(Fraction(given["expected"]["max_disclosure_by_k"][0]))
    assert audit.reached("alpha-k") == pytest.approx(expected)
