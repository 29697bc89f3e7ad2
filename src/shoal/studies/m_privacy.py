"""The experiments of the m-privacy paper: what verification costs, and what privacy costs.

``verification``   a class of 150 and one of 750 rows with 15 providers, k = 50, l = 4, against
                   m = 1 … 14: checks and seconds of every verifier (the paper's Figure 6)
``anonymisation``  10 providers, k = 30, l = 4, against m = 1 … 5, rows split evenly and by an
                   exponential law: loss (NCP) and classes of the provider-aware method and of
                   Mondrian with the same rule

S. Goryczka, L. Xiong and B. C. M. Fung, m-privacy for collaborative data publishing,
CollaborateCom 2011; IEEE TKDE 26(10), 2014. The paper studies Adult's 45,222 complete rows with
occupation as the sensitive column; so does this where ``SHOAL_DATA`` names the folder of Adult,
else a bundled table of a hospital, or any table that is given.

Does not give: the paper's own figures. Its classes, its split and its machine are not known, and
its choice among cuts is an option here (``choice="score"``), not the default.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

import shoal
from shoal import Schema, ShoalError, UsageError
from shoal.axis import Axis
from shoal.pages.studies import checks_chart, loss_chart
from shoal.studies.outcome import Row, Study, prepared
from shoal.studies.splits import KINDS, split
from shoal.studies.tables import Sample, sample
from shoal.tally import Cut, Groups, Tally
from shoal.verifiers import verifiers

VERIFICATION: Row = {
    "class_rows": (150, 750), "providers": 15, "split": "exponential", "k": 50, "l": 4,
    "m": tuple(range(1, 15)),
    "verifiers": ("direct", "top-down", "bottom-up", "binary", "adaptive", "exact"),
}  # fmt: skip
ANONYMISATION: Row = {
    "providers": 10, "splits": KINDS, "k": 30, "l": 4, "m": tuple(range(1, 6)),
    "methods": ("provider-aware", "mondrian"),
}  # fmt: skip
DEFAULT_M = 5
Progress = Callable[[str, int, int], None]


def m_privacy(
    out: str | Path | None = None,
    *,
    data: Any = None,
    schema: Schema | None = None,
    part: str | None = None,
    seeds: int = 3,
    progress: Progress = lambda step, done, total: None,
    **reading: Any,
) -> Study:
    """Run both parts, or one of them, once for each seed; with ``out``, write JSON and SVG there.

    ``data`` is anything ``shoal.open`` takes, with the ``schema`` of its quasi-identifiers and its
    sensitive column; every other column is left aside, and providers are drawn.
    """
    if part is not None and part not in PARTS:
        raise UsageError(f"There is no part {part!r}.", f"the parts are: {', '.join(PARTS)}.")
    if seeds < 1:
        raise UsageError("A study needs a seed at least.", "write for example seeds=3.")
    folder = None if out is None else prepared(out)
    table = sample(data, schema, **reading)
    asked = [part] if part else list(PARTS)
    results: dict[str, list[Row]] = {}
    for name in asked:
        results[name] = []
        for row, total in PARTS[name][1](table, range(seeds)):
            results[name].append(row)
            progress(name, len(results[name]), total)
    found = Study(
        "m-privacy", table.name, table.table.num_rows,
        {"seeds": list(range(seeds)), **{name: PARTS[name][0] for name in asked}}, results,
        {name: PARTS[name][2](results[name]) for name in asked},
        "\n".join(line for name in asked for line in PARTS[name][3](results[name])),
    )  # fmt: skip
    return found if folder is None else replace(found, files=found.write(folder))


# Verification


def verification(table: Sample, seeds: Sequence[int]) -> Iterator[tuple[Row, int]]:
    """Every verifier on classes of rows drawn from the table, and how many measurements come."""
    asked, known = VERIFICATION, verifiers()
    rule = shoal.KAnonymity(asked["k"]) & shoal.DistinctDiversity(asked["l"])
    drawn = [
        (seed, rows, *_class(table, rows, seed))
        for seed, rows in product(seeds, asked["class_rows"])
    ]
    total = len(drawn) * len(asked["m"]) * len(asked["verifiers"])
    for name in asked["verifiers"]:
        known[name](rule, drawn[0][2], 1)  # warm
    for (seed, rows, class_, sizes), m in product(drawn, asked["m"]):
        answers = set()
        for name in asked["verifiers"]:
            begun = time.perf_counter()
            found = known[name](rule, class_, m)
            took = time.perf_counter() - begun
            answers.add(found.coalition is None)
            yield {
                "verifier": name, "class_rows": rows, "m": m, "seed": seed,
                "holds": found.coalition is None, "checks": found.checks, "seconds": took,
                "sizes": sizes,
            }, total  # fmt: skip
        if len(answers) > 1:
            raise ShoalError(f"The verifiers do not agree at m={m} and {rows:,} rows.")


def _class(table: Sample, rows: int, seed: int) -> tuple[Groups, list[int]]:
    """So many rows of the table as one class, and how many of them each provider brought."""
    if table.table.num_rows < rows:
        raise UsageError(
            f"The table has {table.table.num_rows:,} rows, and a class needs {rows:,}.",
            "take a larger table.",
        )
    picked = np.random.default_rng(seed).choice(table.table.num_rows, rows, replace=False)
    codes = table.table[table.sensitive].combine_chunks().dictionary_encode("encode")
    values = codes.indices.to_numpy()[picked].astype(np.int32)
    who = split(rows, VERIFICATION["providers"], VERIFICATION["split"], seed)
    tally = Tally(
        (Axis.numbered("class", 1),), (Axis.numbered(table.sensitive, len(codes.dictionary)),),
        np.zeros((1, rows), np.uint8), values[np.newaxis], np.ones(rows, np.int64),
        Axis.numbered("provider", VERIFICATION["providers"]), who,
    )  # fmt: skip
    cut = Cut.of(tally, np.arange(rows, dtype=np.int32), np.zeros(rows, np.int32))
    return Groups.of(tally, cut), np.bincount(who).tolist()


def _verified(rows: Sequence[Row]) -> Iterator[str]:
    """Of each verifier the mean at m = 5, the paper's default, and the worst m."""
    for size in VERIFICATION["class_rows"]:
        yield f"A class of {size:,} rows, checks of the rule:"
        for name in VERIFICATION["verifiers"]:
            own = [row for row in rows if (row["verifier"], row["class_rows"]) == (name, size)]
            at = [row for row in own if row["m"] == DEFAULT_M]
            most = max(own, key=lambda row: row["checks"])
            took = 1000 * fmean(row["seconds"] for row in at)
            yield (
                f"  {name:10} at m={DEFAULT_M} {fmean(row['checks'] for row in at):,.0f} "
                f"({took:,.3g} ms), at the most {most['checks']:,} "
                f"({1000 * most['seconds']:,.3g} ms) at m={most['m']}"
            )


# Anonymisation


def anonymisation(table: Sample, seeds: Sequence[int]) -> Iterator[tuple[Row, int]]:
    """Both methods with the same rule on the same split, and how many measurements come."""
    asked = ANONYMISATION
    total = len(seeds) * len(asked["splits"]) * len(asked["m"]) * len(asked["methods"])
    for seed, kind in product(seeds, asked["splits"]):
        who = split(table.table.num_rows, asked["providers"], kind, seed)
        brought, schema = table.brought(who)
        for m, method in product(asked["m"], asked["methods"]):
            inner = f"k-anonymity k={asked['k']} & distinct-diversity l={asked['l']}"
            begun = time.perf_counter()
            made = shoal.publish(brought, schema, f"m-privacy m={m} ({inner})", method=method)
            yield {
                "method": method, "split": kind, "m": m, "seed": seed,
                "loss": made.private["loss"], "classes": made.verdict.classes,
                "seconds": time.perf_counter() - begun, "sizes": np.bincount(who).tolist(),
            }, total  # fmt: skip


def _anonymised(rows: Sequence[Row]) -> Iterator[str]:
    """For each split the sizes, and for each m the mean loss and classes of both methods."""
    for kind in ANONYMISATION["splits"]:
        own = [row for row in rows if row["split"] == kind]
        sizes = ", ".join(f"{size:,}" for size in own[0]["sizes"])
        yield f"A table split by the {kind} law (with seed 0: {sizes} rows), loss (classes):"
        for m in ANONYMISATION["m"]:
            told = []
            for method in ANONYMISATION["methods"]:
                some = [row for row in own if (row["m"], row["method"]) == (m, method)]
                loss, classes = (fmean(row[key] for row in some) for key in ("loss", "classes"))
                told.append(f"{method} {loss:.4f} ({classes:,.0f})")
            yield f"  m={m}  {', '.join(told)}"


PARTS: dict[str, tuple[Row, Callable[..., Iterator[tuple[Row, int]]], Any, Any]] = {
    "verification": (VERIFICATION, verification, checks_chart, _verified),
    "anonymisation": (ANONYMISATION, anonymisation, loss_chart, _anonymised),
}
"""For each part its settings, its measurements, its chart and its words."""
