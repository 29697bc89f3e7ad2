"""Charts and pages about providers who work together: what they say follows from the numbers."""

from __future__ import annotations

import json

import pytest

from shoal.pages import pooled
from shoal.pages.colluding import scenarios, survive, survive_title, withstood
from shoal.pages.drawing import headline, svg, table
from shoal.pages.experiments import checks_chart, loss_chart

RULE = "k-anonymity k=5 & distinct-diversity l=3"
HASH = "3f2a" * 16


def values(spec):
    return spec["data"]["values"]


def text(spec) -> str:
    return json.dumps(spec, ensure_ascii=False)


# Classes that survive


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([9, 9, 9, 4], "Any 2 providers can be withstood in every class; 3 working together"),
        ([9, 9, 4], "Any one provider can be withstood in every class; 2 working together"),
        ([9, 2, 0], "A single provider, without any other, breaks 7 of 9 classes"),
        ([8, 2, 0], "By itself, with no coalition, the rule fails in 1 of 9 classes"),
        ([9, 9, 9], "However many of the 3 providers work together, every class survives"),
    ],
)
def test_the_title_says_how_many_can_be_withstood(counts, said):
    assert survive_title(counts, 9).startswith(said)
    assert headline(survive(counts, 9)).startswith(said)


def test_every_column_has_its_number_and_the_table_behind_has_both():
    spec = survive([120, 120, 106, 90], 120, 1, RULE)
    assert [one["text"] for one in values(spec)] == ["120", "120", "106", "90"]
    heads, rows = table(spec)
    assert heads == ("Members", "Classes that survive", "Classes that break")
    assert rows == ((0, 120, 0), (1, 120, 0), (2, 106, 14), (3, 90, 30))
    assert svg(spec).startswith("<svg")


def test_what_is_promised_is_tinted_and_only_then():
    assert "promised: up to m = 2" in text(survive([5, 5, 5, 1], 5, 2))
    assert '"datum": 2.5' in text(survive([5, 5, 5, 1], 5, 2))
    assert "promised" not in text(survive([5, 5, 5, 1], 5))
    assert len(values(survive([5] * 9, 5, 6))) >= 7  # drawn up to what is promised


def test_two_hundred_providers_are_drawn_to_where_nothing_changes():
    spec = survive([50, 50, 40, *[30] * 197], 50)
    assert [one["survive"] for one in values(spec)] == [50, 50, 40, 30, 30]
    long = survive([200 - i for i in range(200)], 200, 3)
    assert sum(bool(one["text"]) for one in values(long)) <= 15
    assert svg(long).startswith("<svg")


def test_where_nothing_is_published_nothing_is_drawn():
    assert headline(survive([], 0)) == "No class was published"


# Scenarios


def test_three_attackers_and_what_protects_against_each():
    outside, making, together = scenarios(RULE, [(2, RULE)]).rows
    assert RULE in outside[2]
    assert "trusted third party" in making[2]
    assert "secure multi-party" in making[2]
    assert together[2] == withstood(2, RULE)
    assert "NOT" not in text([outside, making, together])


def test_what_is_not_promised_or_not_kept_is_said():
    nothing = scenarios(RULE, [], "Measured: a single provider breaks 3 of 9 classes.").rows[2][2]
    assert nothing == "Nothing is promised. Measured: a single provider breaks 3 of 9 classes."
    rows = scenarios(RULE, [(1, RULE)], broken=("inside",)).rows
    assert ["NOT hold" in row[2] for row in rows] == [False, False, True]


# The experiments


def runs():
    for size in (150, 750):
        for name, base in (("direct", 3.0), ("binary", 2.0), ("exact", 0.0)):
            for m in range(1, 5):
                yield {"verifier": name, "class_rows": size, "m": m, "checks": base**m,
                       "seconds": 1e-4 * max(base, 1) ** m}  # fmt: skip


def test_checks_are_drawn_by_verifier_for_each_class_size():
    spec = checks_chart(list(runs()))
    assert headline(spec) == "For one class exact takes 0.1 ms at the most, direct 8.1 ms"
    titles = [panel["title"]["text"] for panel in spec["vconcat"][0]["hconcat"]]
    assert titles == ["a class of 150 rows", "a class of 750 rows"]
    assert len(spec["vconcat"]) == 2  # checks above time
    assert all(one["drawn"] >= 1 for one in values(spec))  # no logarithm of nothing
    assert {row[3] for row in table(spec)[1] if row[0] == "exact"} == {0.0}  # told as it is
    assert svg(spec).startswith("<svg")


def losses(factor: float):
    for split in ("exponential", "uniform"):
        for method, of in (("provider-aware", factor), ("mondrian", 1.0)):
            for m in (1, 2):
                for seed in (-1, 1):
                    yield {"method": method, "split": split, "m": m, "classes": 100,
                           "loss": of * (0.1 * m + 0.01 * seed)}  # fmt: skip


@pytest.mark.parametrize(("factor", "said"), [(0.88, "12% less"), (1.25, "25% more")])
def test_losses_are_means_over_seeds_and_compared(factor, said):
    spec = loss_chart(list(losses(factor)))
    assert headline(spec) == f"Against 2 providers provider-aware loses {said} than mondrian"
    assert len(values(spec)) == 8
    first = values(spec)[0]
    assert (first["m"], first["loss"]) == (1, pytest.approx(0.1 * factor))
    assert [panel["title"]["text"] for panel in spec["hconcat"]] == [
        "exponential split",
        "uniform split",
    ]
    assert svg(spec).startswith("<svg")


def test_one_method_alone_is_compared_with_nothing():
    rows = [row for row in losses(1) if row["method"] == "mondrian"]
    assert headline(loss_chart(rows)).startswith("Loss of detail of mondrian")
    assert headline(loss_chart([])) == "No release was made"
    assert headline(checks_chart([])) == "No verifier was run"


# The pool's pages


def certified(**more):
    return {
        "date": "2026-01-02", "providers": 10, "m": 2, "rule": f"m-privacy m=2 ({RULE})",
        "inner": RULE, "beside": [], "unjudged": [], "method": "provider-aware", "rows": 45222,
        "classes": 495, "loss": 0.1435, "survive": [495, 495, 495, 430, 90], "alone": 3,
        "worst": {"members": 2, "rows": "at least 5", "values": 3},
        "beyond": {"members": 3, "rows": "fewer than 5"}, "trust": ["One machine saw all rows."],
        "agreement": HASH, "release_sha256": HASH, "hash": HASH, "signers": ["North", "<South>"],
        **more,
    }  # fmt: skip


def test_a_certificate_is_one_page_to_sign():
    page = pooled.certificate(certified())
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    for said in ("no 2 of them together", "45,222", "0.143", "One machine saw all rows.",
                 "fewest rows of others in a class: at least 5; fewest sensitive values: 3",
                 "fewest rows of others in a class: fewer than 5", "&lt;South&gt;",
                 "3 of 495"):  # fmt: skip
        assert said in page
    assert page.count(HASH) == 3
    assert page.count('class="blank"') == 4  # two providers, the third party, the date
    assert "<South>" not in page
    assert "Not promised" not in page
    assert "keeping the providers apart" not in page
    assert "none of them can break" in pooled.certificate(certified(m=1))


def test_a_certificate_names_the_rule_that_it_is_about():
    page = pooled.certificate(certified())
    told = RULE.replace("&", "&amp;")
    assert f"Every class meets <code>{told}</code>" in page
    assert f"For {told}: any 2 providers can be withstood" in page


def test_a_certificate_says_what_is_not_promised():
    page = pooled.certificate(certified(unjudged=["job"]))
    assert "Not promised" in page
    assert "No requirement is about job: a class may share one value." in page
    beside = pooled.left_open(certified(unjudged=["job"], beside=["ck-safety c=0.9 k=1"]))
    assert beside == [
        "No requirement that is held against partners is about job: a class may share one value.",
        "Not held against partners: ck-safety c=0.9 k=1.",
    ]
    assert "The rule itself: k &amp; c." in pooled.certificate(certified(inner="k", beside=["c"]))


def test_a_certificate_says_where_providers_are_kept_apart():
    assert "keeping the providers apart" in pooled.certificate(certified(alone=495))


def own(**more):
    return {
        "provider": "St Anna", "date": "2026-01-02", "rows": 1234, "m": 1, "k": 5,
        "rule": f"m-privacy m=1 ({RULE})", "inner": RULE, "beside": [], "unjudged": [],
        "agreement": HASH, "release_sha256": HASH, "trust": [],
        "lines": [{"m": 1, "few": 0, "values": 0},
                  {"m": 2, "few": "110 to 114", "values": "fewer than 5"}], **more,
    }  # fmt: skip


def test_a_provider_sees_its_own_rows_and_counts_as_they_were_given():
    page = pooled.provider_page(own())
    for said in ("For St Anna", "1,234 rows", "110 to 114", "fewer than 5", ">Kept<",
                 "2 (more than agreed)", "whose value is known", "up to one other"):  # fmt: skip
        assert said in page
    assert "Not all is promised" not in page


@pytest.mark.parametrize(
    "more",
    [
        {"lines": [{"m": 1, "few": 0, "values": "fewer than 5"}]},
        {"lines": [{"m": 1, "few": "5 to 9"}]},
        {"beside": ["ck-safety c=0.9 k=1"]},
        {"unjudged": ["job"]},
    ],
)
def test_a_provider_is_warned_of_what_is_not_promised(more):
    page = pooled.provider_page(own(**more))
    assert "Not all is promised" in page
    assert ">Kept<" not in page
    assert all(said in page for said in pooled.left_open(own(**more)))
    assert ("does not rule out" in page) == ("lines" in more)


def test_without_a_sensitive_column_no_value_is_spoken_of():
    page = pooled.provider_page(own(lines=[{"m": 1, "few": 0}]))
    assert "whose value is known" not in page
