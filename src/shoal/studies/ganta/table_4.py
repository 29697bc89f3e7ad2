"""Table 4: how much there is to learn, the entropy of the sensitive columns of IPUMS.

Ganta et al. 2008, Table 4: the entropy of industry, occupation and income. Measured over all 70,187
rows, over those to whom the column applies, and, to see what a subset would change, over subsets of
the size that each release has in the figures.

What is known of the table gives neither the base of the logarithm nor the rows. Bits over all rows
are judged; how many of the three figures come out by this reading and by the others is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from shoal.studies.claims import (
    AGREES,
    DIFFERS,
    FOUND,
    Claim,
    Number,
    Row,
    Rows,
    compute_mean,
    select_rows,
)
from shoal.studies.entropy import compute_entropy
from shoal.studies.experiment import Experiment, Spec
from shoal.studies.ganta.pairs import ALL, APPLICABLE, OVERLAP, WORDS, draw_subsets, keep_rows
from shoal.studies.ganta.table_3 import PRINTED as SIZES
from shoal.studies.laboratory import Lab
from shoal.studies.pages.bars import draw_bars
from shoal.studies.tables import Sample

IPUMS, PART = "ipums-1970", "a subset of all"
PRINTED = {"ind1950": 4.35, "occ1950": 4.30, "inctot": 5.56}
LAST = 0.01
"""Bits: one in the last digit that is printed. An entropy is counted, not drawn."""
NATS = math.log(2)
"""A bit in natural units."""
NAMED = {APPLICABLE: "where it applies", PART: "subsets of all rows", ALL: "all rows"}
LABELS = {"column": "Column", "bits": "Entropy (bits)", "rows_kept": "Rows"}


def measure_entropies(sample: Sample, *, rows_kept: str, seed: int) -> list[Row]:
    """Of each column that may be the sensitive one, over these rows."""
    return [
        _entropy(sample.on(name), rows_kept, seed) for name in (sample.sensitive, *sample.others)
    ]


def _entropy(sample: Sample, rows_kept: str, seed: int) -> Row:
    people = keep_rows(sample, ALL if rows_kept == PART else rows_kept)
    encoded = people.table[people.sensitive].dictionary_encode().combine_chunks()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    if rows_kept == PART:
        each = draw_subsets(people.rows, releases=2, overlap=OVERLAP, size=0, seed=seed)
        codes = codes[each[0]]
    name = people.sensitive
    return {
        "column": WORDS.get(name, name),
        "bits": compute_entropy(np.bincount(codes)),
        "rows": len(codes),
        "values": len(np.unique(codes)),
    }


def measure(lab: Lab) -> list[Row]:
    """All rows, those that apply, and a subset for each seed."""
    once = [(ALL, 0), (APPLICABLE, 0)]
    cells = [
        {"data": data, "rows_kept": rows, "seed": seed}
        for data in lab.samples
        for rows, seed in [*once, *((PART, seed) for seed in lab.seeds)]
    ]
    return lab.measure_cells(measure_entropies, cells)


def claims(rows: Rows) -> Sequence[Claim]:
    """Each entropy; by which readings they come out; and whether all rows were kept."""
    return [
        *(_entropy_claim(rows, column) for column in PRINTED),
        _readings_claim(rows),
        _rows_kept_claim(rows),
    ]


def _entropy_claim(rows: Rows, column: str) -> Claim:
    ours, part, work = (_number(rows, column, rows_kept) for rows_kept in (ALL, PART, APPLICABLE))
    theirs, word = PRINTED[column], WORDS[column]
    because: tuple[Number, ...]
    off = _digits_off(ours.mean, theirs)
    if off > 1:
        verdict, why, because = DIFFERS, _explain_difference(ours, part, work, theirs), (part, work)
    else:
        verdict, why, because = AGREES, _explain_last_digit(ours, theirs) if off else "", ()
    return Claim(
        f"The {word} of IPUMS has an entropy of {theirs:.2f} bits.",
        f"{theirs:.2f}",
        (ours,),
        verdict,
        why,
        because,
    )


def _digits_off(ours: float, theirs: float) -> int:
    """How many in the last digit ours, rounded as the paper's is, differs from it."""
    return abs(round(ours / LAST) - round(theirs / LAST))


def _explain_last_digit(ours: Number, theirs: float) -> str:
    """What is off in the last digit, and whether it was cut off."""
    cut = abs(math.floor(ours.mean / LAST) * LAST - theirs) < LAST / 2
    also = "; cut off, it is what is printed" if cut else ""
    return f"{ours.mean:.3f} is rounded to {ours.mean:.2f}, one off in the last digit{also}."


def _explain_difference(ours: Number, part: Number, work: Number, theirs: float) -> str:
    tried = {
        f"over all rows in bits {ours.mean:.3f}": (ours.mean, ours.mean),
        f"in natural units {ours.mean * NATS:.3f}": (ours.mean * NATS, ours.mean * NATS),
        f"in subsets of half of the rows {part.least:.3f} to {part.most:.3f}": (
            part.least,
            part.most,
        ),
        f"where it applies {work.mean:.3f}": (work.mean, work.mean),
    }
    fits = [
        reading for reading, (least, most) in tried.items() if least - LAST <= theirs <= most + LAST
    ]
    outcome = f"It comes out {', '.join(fits)}" if fits else "The reason was not found"
    return f"{outcome}. Tried: {'; '.join(tried)}."


def _number(rows: Rows, column: str, rows_kept: str, of: str = "bits") -> Number:
    word, unit = WORDS[column], " bits" if of == "bits" else " values"
    return compute_mean(
        rows,
        of,
        said=f"{word}, {NAMED[rows_kept]}",
        unit=unit,
        data=IPUMS,
        column=word,
        rows_kept=rows_kept,
    )


def _readings_claim(rows: Rows) -> Claim:
    descriptions = {ALL: "over all rows", APPLICABLE: "over the rows to which it applies"}
    counts = {
        f"{unit} {words}": sum(
            _digits_off(_number(rows, column, kind).mean * size, theirs) <= 1
            for column, theirs in PRINTED.items()
        )
        for unit, size in (("bits", 1.0), ("natural units", NATS))
        for kind, words in descriptions.items()
    }
    ours = tuple(_number(rows, column, kind) for kind in descriptions for column in PRINTED)
    parts = ", ".join(f"{count} in {how}" for how, count in counts.items())
    return Claim(
        f"Of the {len(PRINTED)} entropies printed for IPUMS come out, within one in the last "
        f"digit: {parts}.",
        "",
        ours,
        FOUND,
    )


def _rows_kept_claim(rows: Rows) -> Claim:
    ways = {
        kind: {column: _number(rows, column, kind, "values") for column in PRINTED}
        for kind in (ALL, APPLICABLE)
    }
    same = {
        kind: sum(number.mean == SIZES[column] for column, number in ways[kind].items())
        for kind in ways
    }
    return Claim(
        f"Of the {len(PRINTED)} numbers of values printed for these columns {same[ALL]} are those "
        f"of all rows and {same[APPLICABLE]} those of the rows to which the column applies"
        f"{': the paper kept all rows' if same[ALL] > same[APPLICABLE] == 0 else ''}.",
        "",
        tuple(number for way in ways.values() for number in way.values()),
        FOUND,
    )


def charts(rows: Rows) -> Mapping[str, Spec]:
    """Columns side by side, by the rows that were kept."""
    shown = [
        {**row, "rows_kept": words}
        for kind, words in NAMED.items()
        for row in select_rows(rows, rows_kept=kind)
    ]
    there = {row["column"]: row["bits"] for row in select_rows(rows, rows_kept=ALL)}
    theirs = [
        {
            "column": WORDS[column],
            "bits": value,
            "rows_kept": NAMED[ALL],
            "said": f"paper: {value:.2f}",
        }
        for column, value in PRINTED.items()
        if WORDS[column] in there
    ]
    parts = ", ".join(f"{column} {value:.2f}" for column, value in there.items())
    return {
        "entropies": draw_bars(
            shown,
            x="column",
            y="bits",
            by="rows_kept",
            labels=LABELS,
            theirs=theirs,
            title=f"Bits to learn over all rows: {parts}",
            about="Entropy of the sensitive columns in bits: over all rows, over those to whom the "
            "column applies, and over subsets as large as one release's.",
        )
    }


EXPERIMENT = Experiment(
    shows="Table 4: entropy of the sensitive columns of IPUMS",
    measure=measure,
    claims=claims,
    charts=charts,
    data=(IPUMS,),
    seeds=5,
    notes=(
        "An entropy is counted and not drawn, so that it agrees only if, rounded to the two digits "
        "that are printed, it is at most one off in the last: it may have been cut off.",
        "That bits over all rows are meant is inferred from what comes out.",
    ),
)
