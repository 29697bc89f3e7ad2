"""What a pool promises and tells: no more than is held against partners, no small count."""

from __future__ import annotations

import json
import random
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.core.axis import Axis
from shoal.core.cells import Cells
from shoal.core.tally import Cut, Groups, Tally
from shoal.pool import pool_folder
from shoal.pool.partner_certificate import (
    build_provider_pages,
    count_surviving_classes,
    describe_coalitions,
    find_smallest_shown_count,
    name_page_files,
)
from shoal.pool.verbs import pool_add, pool_init, pool_publish
from shoal.reports.pages.pool import list_open_risks

SCHEMA = shoal.Schema(
    tuple(
        shoal.Column(name, role, kind)
        for name, role, kind in (
            ("age", "quasi", "number"),
            ("diagnosis", "sensitive", "category"),
            ("job", "sensitive", "category"),
        )
    )
)
K, KL = "k-anonymity k=3", "k-anonymity k=3 & distinct-diversity l=2 on=diagnosis"
CK = "ck-safety c=0.99 k=1 on=diagnosis"


def rows(seed: int, number: int = 40) -> pa.Table:
    rng = random.Random(seed)
    return pa.table(
        {
            "age": [rng.randrange(20, 60) for _ in range(number)],
            "diagnosis": [rng.choice(("flu", "cold", "asthma")) for _ in range(number)],
            "job": [rng.choice(("cook", "clerk")) for _ in range(number)],
        }
    )


def begun(folder, rule: str, **settings):
    pool_init(folder / "pool", SCHEMA, rule, **settings)
    for seed, name in enumerate(("A", "B", "C")):
        pool_add(folder / "pool", name, rows(seed))
    return folder / "pool"


@pytest.fixture(scope="module")
def agreed(tmp_path_factory):
    return begun(tmp_path_factory.mktemp("agreed"), f"m-privacy m=1 ({K})")


@pytest.fixture
def pool(agreed, tmp_path):
    """A pool to be changed."""
    return Path(shutil.copytree(agreed, tmp_path / "pool"))


# What is promised


def test_what_is_not_promised_is_said_everywhere(tmp_path):
    pool = begun(tmp_path, f"m-privacy m=1 ({KL}) & {CK}", method="mondrian")
    done = pool_publish(pool, tmp_path / "out")
    assert (done.certificate["beside"], done.certificate["unjudged"]) == ([CK], ["job"])
    said = list_open_risks(done.certificate)
    assert len(said) == 2
    texts = [
        path.read_text(encoding="utf-8") for path in (tmp_path / "out.partners").glob("*.html")
    ]
    assert len(texts) == 4
    for text in (str(done), *texts):
        assert all(sentence in text for sentence in said)
        assert ">Kept<" not in text


@pytest.mark.parametrize(
    ("rule", "k"),
    [
        (K, 3),
        ("k-anonymity k=1", 10),
        ("distinct-diversity l=2", 10),
        (f"{K} & {CK}", 3),
        ("alpha-k alpha=0.5 k=7", 7),
        ("m-privacy m=1 (k-anonymity k=4)", 4),
    ],
)
def test_numbers_are_told_from_the_rule_s_k(rule, k):
    assert find_smallest_shown_count(shoal.rule(rule)) == k


# What a partner could work out


def one_class(*brought: int) -> Groups:
    """One class with so many rows of each provider, half of them with either value."""
    pairs = [(who, v, (n + 1 - v) // 2) for who, n in enumerate(brought) for v in (0, 1)]
    who, value, count = (np.array(one) for one in zip(*(p for p in pairs if p[2]), strict=True))
    zero = np.zeros(len(who), np.int32)
    tally = Tally(
        (Axis.numbered("q", 1),),
        (Axis.numbered("s", 2),),
        zero[np.newaxis],
        value.astype(np.int32)[np.newaxis],
        count,
        Axis("p", "category", "flat", ("A", "B", "C")),
        who.astype(np.int32),
    )
    entry, ends = np.arange(len(who), dtype=np.int32), np.zeros((1, 1), np.int32)
    return Groups.of(tally, Cut(entry, zero, count, Cells(ends, ends)))


RULE = shoal.KAnonymity(5)


@cache
def told(brought: tuple[int, ...], reader: int) -> str | None:
    """What the reader is told of such a class; None where it would not be published."""
    groups = one_class(*brought)
    if not shoal.MPrivacy(1, RULE).holds(groups).all():
        return None
    certificate = describe_coalitions(groups, count_surviving_classes(groups, RULE, 1, 3), 1, 5, 3)
    added, withstood = dict(zip("ABC", brought, strict=True)), certificate["withstood"]
    mine = build_provider_pages(groups, RULE, {"m": 1, "k": 5}, added, withstood)
    return json.dumps((certificate, mine["ABC"[reader]]))


@pytest.mark.parametrize("brought", [(150, 90, 3), (20, 94, 1), (150, 91, 4), (8, 4, 2), (9, 2, 3)])
def test_no_partner_can_work_out_another_s_small_count(brought):
    """Each knows its own rows, those of the class, the certificate and its own page."""
    for reader in range(3):
        others = [n for who, n in enumerate(brought) if who != reader]
        seen, possible = told(brought, reader), set()
        assert seen is not None
        for one in range(sum(others) // 2 + 1):
            world = [one, sum(others) - one]
            world.insert(reader, brought[reader])
            if told(tuple(world), reader) == seen:
                possible.add(one)
        assert min(others) in possible
        assert min(others) >= 5 or len(possible) > 1


def test_no_more_is_exact_than_rows_and_classes():
    """What a coalition leaves, in rows or in values, would lead to another's rows."""
    groups = one_class(8, 6, 6)
    counts = count_surviving_classes(groups, RULE, 1, 3)
    assert counts == {"survive": [1, 1, 1], "of_one_provider": 0}
    assert describe_coalitions(groups, counts, 1, 5, 3) == {
        "withstood": 2,
        "apart": False,
        "worst": {"members": 1, "rows": "at least 5"},
        "beyond": {"members": 2, "rows": "at least 5"},
    }


def test_a_zero_is_plain_where_the_certificate_says_that_all_classes_survive():
    both, added = {"m": 1, "k": 5}, dict(zip("ABC", (8, 6, 6), strict=True))
    for withstood, expected in ((2, [0, 0]), (1, [0, "fewer than 5"])):
        lines = build_provider_pages(one_class(8, 6, 6), RULE, both, added, withstood)["A"]["lines"]
        assert [line["few"] for line in lines] == expected
        assert [line["values"] for line in lines] == ["fewer than 5"] * 2  # not promised


def test_a_page_tells_the_rows_in_classes_of_its_provider_s_own():
    found = build_provider_pages(one_class(9), RULE, {"m": 1, "k": 5}, {"A": 11, "B": 4}, 2)
    assert found["A"]["alone"] == {"rows": 9, "classes": 1}
    assert found["B"]["rows"] == 0
    assert not any(
        "alone" in one
        for one in (
            found["B"],
            *build_provider_pages(
                one_class(8, 6), RULE, {"m": 1, "k": 5}, {"A": 8, "B": 6}, 1
            ).values(),
        )
    )


# Pages and stored rows


def test_every_provider_has_a_page_of_its_own():
    names = ["a b", "a/b", "a-b-3", "a-b-2", "A  B", "a-b", "ß" * 100, "ß" * 99 + "/", "日" * 100]
    files = name_page_files(names)
    assert len({file.casefold() for file in files.values()}) == len(names)
    assert all(len(file.encode()) < 130 for file in files.values())
    assert files["a b"] == "for-a-b.html"
    assert list(name_page_files(["...", "?", "St. Anna.", "-x-"]).values()) == [
        "for-provider.html",
        "for-provider-2.html",
        "for-St.-Anna.html",
        "for-x.html",
    ]


def changed(pool, **to) -> None:
    path = pool / "private/partners.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    told["partners"][0] |= to
    path.write_text(json.dumps(told), encoding="utf-8")


@pytest.mark.parametrize(
    "to", [{"provider": "D"}, {"rows": 41}, {"file": "../pool.json"}, {"sha256": ""}]
)
def test_a_list_of_partners_that_was_changed_is_noticed(pool, tmp_path, to):
    changed(pool, **to)
    with pytest.raises(shoal.InputError, match="changed after they were added"):
        pool_publish(pool, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_agreement_that_was_changed_with_its_hash_is_noticed(pool, tmp_path):
    path, listing = pool / "pool.json", pool / "private/partners.json"
    path.write_text(path.read_text(encoding="utf-8").replace("k=3", "k=2"), encoding="utf-8")
    listed = json.loads(listing.read_text(encoding="utf-8"))
    listed["agreement"] = pool_folder.manifest.hash_file(path)
    listing.write_text(json.dumps(listed), encoding="utf-8")
    with pytest.raises(shoal.InputError, match="under another agreement"):
        pool_publish(pool, tmp_path / "out")


def test_a_release_does_not_lie_in_a_pool(pool, tmp_path):
    for out in ("pool", "pool/out", "pool/private/out", "pool/../pool/out"):
        with pytest.raises(shoal.UsageError, match="folder of a pool"):
            pool_publish(pool, tmp_path / out)
    with pytest.raises(shoal.UsageError, match="folder of a pool"):
        shoal.publish(rows(1), SCHEMA, K, out=pool / "private/out")
