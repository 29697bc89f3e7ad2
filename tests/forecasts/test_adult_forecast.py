"""Forecasts on Adult: what another release truly exposes is foretold, where the paper's is far off.

A few of the settings that ``python -m bench forecast`` measures in full.
"""

from __future__ import annotations

import pytest

import shoal
from shoal.forecasts.validation import validate_forecast

QUASI = ("age", "sex", "race", "education_num", "native_country")
"""Sattar and Helal's columns, as Adult has them."""


@pytest.fixture(scope="module")
def tried(real_data):
    # the papers' figures count everybody, and who has no occupation as one more value
    occupation = shoal.sensitive(missing="value")
    schema = shoal.Schema.of(quasi=QUASI).set(occupation=occupation)
    table = real_data / "adult.csv.gz"
    return validate_forecast(table, schema, overlaps=(2000,), ks=(5, 10), seeds=1, repeats=6)


def test_the_truth_is_foretold_within_a_percentage_point(tried):
    assert tried.scores["simulation"].mae < 0.008  # .0044 over all settings, which must be < .006
    assert tried.scores["closed form"].mae < 0.008
    for name in ("simulation", "closed form"):
        assert tried.scores[name].correlation > 0.99
        assert tried.scores[name].brier < 0.09


def test_the_paper_s_estimate_is_off_by_tens_of_points(tried):
    least, best = (tried.scores[f"paper, {one}"] for one in ("at least", "best subset"))
    assert best.mae > least.mae > 0.1
    assert least.bias == pytest.approx(least.mae)


def test_chances_mean_what_they_say(tried):
    """Of the classes of a bin with many, about as many are exposed as their chances say."""
    for name in ("simulation", "closed form"):
        for part in tried.scores[name].reliability:
            if part.classes > 200:
                assert part.exposed == pytest.approx(part.expected, abs=0.1)
