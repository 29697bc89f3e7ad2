"""A tiny table of people, and a release of it of each kind that spends something or nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import shoal

ROWS = 24
PEOPLE = pa.table(
    {
        "age": [20 + i for i in range(ROWS)],
        "sex": ["fm"[i % 2] for i in range(ROWS)],
        "ill": ["abc"[i % 3] for i in range(ROWS)],
    }
)
SCHEMA = shoal.Schema.parse("""
edition = 1
[columns.age]
role = "quasi"
kind = "number"
bounds = [20, 60]
[columns.sex]
role = "quasi"
domain = ["f", "m"]
[columns.ill]
role = "sensitive"
domain = ["a", "b", "c"]
""")


def published(folder: Path) -> Path:
    """Two releases of counts, one randomised, and cells, each in a folder of its name."""
    counts = {"form": "counts", "marginals": 1}
    asked = {
        "laplace": {**counts, "epsilon": "2/3"},
        "gauss": {**counts, "epsilon": "1/3", "delta": "1e-7"},
        "randomised": {"form": "randomised", "epsilon": "1/5", "rule": "k-anonymity k=5"},
        "cells": {"rule": "k-anonymity k=5"},
    }
    for name, one in asked.items():
        shoal.publish(PEOPLE, SCHEMA, out=folder / name, **one)
    return folder
