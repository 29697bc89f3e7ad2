"""The pages of a pool: they say what was counted, and no more is green than is promised."""

from __future__ import annotations

import pytest

from shoal.reports.pages.pool import list_open_risks, write_certificate, write_provider_page

RULE = "k-anonymity k=5 & distinct-diversity l=3"
HASH = "3f2a" * 16


def certified(**more):
    return {
        "date": "2026-01-02",
        "providers": 10,
        "m": 2,
        "rule": f"m-privacy m=2 ({RULE})",
        "inside": RULE,
        "beside": [],
        "unjudged": [],
        "method": "provider-aware",
        "rows": 45222,
        "classes": 495,
        "loss": 0.14,
        "withstood": 2,
        "apart": False,
        "worst": {"members": 2, "rows": "at least 5"},
        "beyond": {"members": 3, "rows": "fewer than 5"},
        "trust": ["One machine saw all rows."],
        "agreement": HASH,
        "release_sha256": HASH,
        "hash": HASH,
        "signers": ["North", "<South>"],
        **more,
    }


def test_a_certificate_is_one_page_to_sign():
    page = write_certificate(certified())
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    for text in (
        "no 2 of them together",
        "45,222",
        "0.14",
        "One machine saw all rows.",
        "fewest rows of others in a class: at least 5",
        "fewest rows of others in a class: fewer than 5",
        "&lt;South&gt;",
        "any 2 providers together",
    ):
        assert text in page
    assert page.count(HASH) == 3
    assert page.count('class="blank"') == 4  # two providers, the third party, the date
    assert "<South>" not in page
    assert "Not promised" not in page
    assert "keeping the providers apart" not in page
    assert "none of them can break" in write_certificate(certified(m=1))


def test_a_certificate_names_the_rule_that_it_is_about():
    page = write_certificate(certified())
    rule = RULE.replace("&", "&amp;")
    assert f"Every class meets <code>{rule}</code>" in page
    assert f"any 2 providers together, by <code>{rule}</code>" in page


def test_a_certificate_says_what_is_not_promised():
    page = write_certificate(certified(unjudged=["job"]))
    assert "Not promised" in page
    assert "No requirement is about job: a class may share one value." in page
    risks = list_open_risks(certified(unjudged=["job"], beside=["ck-safety c=0.9 k=1"]))
    assert risks == [
        "No requirement that is held against partners is about job: a class may share one value.",
        "Not held against partners: ck-safety c=0.9 k=1.",
    ]
    assert "The rule itself: k &amp; c." in write_certificate(certified(inside="k", beside=["c"]))


def test_a_certificate_says_where_providers_are_kept_apart():
    assert "keeping the providers apart" in write_certificate(certified(apart=True))


@pytest.mark.parametrize(
    ("earlier", "said"),
    [
        (1, "1 release of this pool came before this one: whoever has both tables"),
        (2, "2 releases of this pool came before this one: whoever has several of the tables"),
    ],
)
def test_earlier_releases_of_the_pool_are_told(earlier, said):
    for page in (
        write_certificate(certified(earlier=earlier)),
        write_provider_page(own(earlier=earlier)),
        write_provider_page(own(earlier=earlier, rows=0, held_back=3, lines=[])),
    ):
        assert f"{said} can compare them." in page
        assert "callout tone-good" not in page
    assert "came before" not in write_certificate(certified(earlier=0)) + write_provider_page(
        own(earlier=0)
    )


def own(**more):
    return {
        "provider": "St Anna",
        "date": "2026-01-02",
        "rows": 1234,
        "m": 1,
        "k": 5,
        "rule": f"m-privacy m=1 ({RULE})",
        "inside": RULE,
        "beside": [],
        "unjudged": [],
        "agreement": HASH,
        "release_sha256": HASH,
        "trust": [],
        "lines": [
            {"members": 1, "few": 0, "values": 0},
            {"members": 2, "few": "110 to 114", "values": "fewer than 5"},
        ],
        **more,
    }


def test_a_provider_sees_its_own_rows_and_counts_as_they_were_given():
    page = write_provider_page(own())
    for text in (
        "For St Anna",
        "1,234 rows",
        "110 to 114",
        "fewer than 5",
        ">Kept<",
        "2 (more than agreed)",
        "whose value is known",
        "up to one other",
    ):
        assert text in page
    assert "Not all is promised" not in page


@pytest.mark.parametrize(
    "more",
    [
        {"lines": [{"members": 1, "few": 0, "values": "fewer than 5"}]},
        {"lines": [{"members": 1, "few": "5 to 9"}]},
        {"beside": ["ck-safety c=0.9 k=1"]},
        {"unjudged": ["job"]},
    ],
)
def test_a_provider_is_warned_of_what_is_not_promised(more):
    page = write_provider_page(own(**more))
    assert "Not all is promised" in page
    assert ">Kept<" not in page
    assert all(risk in page for risk in list_open_risks(own(**more)))
    assert ("does not rule out" in page) == ("lines" in more)


@pytest.mark.parametrize(
    ("alone", "said"),
    [
        ({"rows": 12, "classes": 2}, "12 rows of yours are in 2 classes of your own"),
        ({"rows": 1, "classes": 1}, "1 row of yours is in 1 class of your own"),
    ],
)
def test_a_provider_reads_which_of_its_rows_stand_apart(alone, said):
    page = write_provider_page(own(alone=alone))
    assert said in page
    assert "whoever guesses which they are knows that they are yours" in page
    assert "of your own" not in write_provider_page(own())


def test_without_a_sensitive_column_no_value_is_spoken_of():
    page = write_provider_page(own(lines=[{"members": 1, "few": 0}]))
    assert "whose value is known" not in page


def test_one_whose_rows_are_all_held_back_has_no_green_box():
    page = write_provider_page(own(rows=0, held_back=1, lines=[]))
    assert "1 row of yours" in page
    assert "callout tone-good" not in page
