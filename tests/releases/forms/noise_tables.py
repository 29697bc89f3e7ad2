"""A tiny table of people, and the schema that says what may be counted of it."""

from __future__ import annotations

import pandas as pd

import shoal

PEOPLE = pd.DataFrame(
    {
        "age": [20, 25, 31, 38, 44, 47, 52, 59, 130, 23, 35, 41],
        "sex": ["F", "M"] * 6,
        "disease": ["flu", "cold", None, "flu", "flu", "cold"] * 2,
    }
)
SCHEMA = shoal.Schema(()).set(
    age=shoal.quasi(shoal.intervals(20, 40), bounds=(0, 99)),
    sex=shoal.quasi(domain=["F", "M"]),
    disease=shoal.sensitive(domain=["flu", "cold", "mumps", ""]),
)
SHAPES = {("age", "sex"): (5, 2), ("age", "disease"): (5, 4), ("sex", "disease"): (2, 4)}
"""The pairs of columns, and their bins: nobody has mumps, and somebody is older than the bounds."""
