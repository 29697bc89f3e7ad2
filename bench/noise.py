"""Noise: what it costs a count, beside theory, and what drawing it costs in time.

Every pair of Adult's nine columns is counted (36 marginals) at ε from 0.1 to 10, with δ = 0. The
mean absolute error over all cells is held against that of the discrete Laplace distribution of the
same scale, 1 / sinh(1 / s), which it must meet: a smaller one would be too little noise, a larger
one too much. Beside it the error of the consistent estimates.

Time: from a Parquet file of 1 M rows to counts with noise that agree, against one group-by of the
same columns in DuckDB and against the counts alone by numpy on codes; randomised response by the
row; a synthetic table of Adult, with the model's fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np

import shoal
from bench.data import COLUMNS, DAYS, NUMBERS, Codes, adult_codes, parquet, remixed
from bench.measure import Line, against, seconds, spent
from shoal.core.errors import UsageError
from shoal.core.schema import Schema
from shoal.core.spend import parse_spend
from shoal.dp.consistency import make_consistent
from shoal.dp.randomised_response import calibrate_response
from shoal.releases.forms._noise.measured import MeasuredTable, tabulate_codes
from shoal.releases.forms._noise.plan import MarginalPlan, settle_kinds
from shoal.releases.forms.counts import Counts, add_noise
from shoal.releases.forms.synthetic import Synthetic
from shoal.releases.reader import open_frame
from shoal.reports.sections.usefulness import mean_noise_size

EPSILONS = ("0.1", "0.3", "1", "3", "10")
NEAR = 1.05
"""How near to theory the mean error must be: of thousands of cells it hardly moves."""
BOUNDS = {"age": (17, 90), "education_num": (1, 16), "hours_per_week": (1, 99)}
STEPS = {"age": 5, "education_num": 1, "hours_per_week": 5}
SMALL = {"noise": {"rows": 100_000}}


def run(rows: int = 1_000_000) -> Iterator[Line]:
    """Error against ε; then time."""
    adult = adult_codes()
    schema = _schema(adult)
    with open_frame(adult.arrow(COLUMNS), kinds=schema.kinds) as frame:
        plan = MarginalPlan.of(schema, frame.fields)
        measured = MeasuredTable.of(frame, plan)
    for epsilon in EPSILONS:
        yield _error(measured, epsilon)
    yield _summed(measured)
    yield from _counted(rows)
    yield _answered(adult)
    yield from _made_up(measured)


def _schema(table: Codes, days: int = 1) -> Schema:
    """Nine columns: numbers in intervals between bounds, categories by what there is."""
    roles = {}
    for name in COLUMNS:
        if name in NUMBERS:
            scale = days if name == "age" else 1
            low, high = (end * scale for end in BOUNDS[name])
            steps = shoal.intervals(STEPS[name] * scale)
            roles[name] = shoal.quasi(steps, bounds=(low, high + scale - 1))
        else:
            roles[name] = shoal.quasi(domain=table.values[name].tolist())
    return settle_kinds(Schema(()).set(roles))


# What it costs a count


def _error(measured: MeasuredTable, epsilon: str) -> Line:
    """The mean absolute error of a count as drawn, of its estimate, and by theory."""
    form = Counts.of(measured.plan, parse_spend(epsilon), 2)
    truth = np.concatenate([t.ravel() for t in measured.tables(form.marginals).values()])
    drawn = form.draft(measured, None)
    counts = drawn.table["count"].to_numpy()
    estimates = np.concatenate([drawn.estimates[one].ravel() for one in form.marginals])
    off, agreed = (float(np.abs(told - truth).mean()) for told in (counts, estimates))
    theory = mean_noise_size(form.noise.name, form.noise.scale)
    told = f"{off:.4g} : {theory:.4g}, consistent {agreed:.4g} ({agreed / off:.2f} of it)"
    apart = max(off / theory, theory / off)
    return Line(
        f"error of a count, ε = {epsilon}, {len(truth):,} cells : theory", told, apart, NEAR
    )


def _summed(measured: MeasuredTable) -> Line:
    """Counts of one column: estimates, in which eight pairs meet, against the sums of one pair."""
    form = Counts.of(measured.plan, parse_spend(1), 2)
    tables = measured.tables(form.marginals)
    counts = add_noise(form.noise, tables, None)
    agreed = make_consistent(counts, measured.plan.sizes)
    off = [
        np.concatenate([np.abs((told[one] - tables[one]).sum(axis=1)) for one in form.marginals])
        for told in (agreed, counts)
    ]
    ours, one = (float(part.mean()) for part in off)
    case = "error of one column's counts, ε = 1, estimates : sums of one pair"
    return Line(case, f"{ours:.4g} : {one:.4g}", ours / one, 1)


# Time


def _counted(rows: int) -> Iterator[Line]:
    """A large table to consistent counts, against a group-by and against counting codes."""
    path, codes = str(parquet(rows)), remixed(rows)
    schema = _schema(codes, DAYS)
    ours, sql = against(lambda: _from_file(path, schema), lambda: _group_by(path), 2)
    wall = f"{seconds(ours.wall)} of wall time"
    told = f"{seconds(ours.cpu)} : {seconds(sql.cpu)}, {wall}"
    yield Line(
        f"36 marginals with noise, {rows:,} rows : DuckDB's group-by", told, ours.cpu / sql.cpu
    )
    bare = spent(_bare(codes), 2)
    told = f"{seconds(ours.cpu)} : {seconds(bare.cpu)}"
    yield Line("the same : counting codes by numpy", told, ours.cpu / bare.cpu)
    yield Line("the same, wall time", wall, ours.wall, 20, unit=" s")


def _from_file(path: str, schema: Schema) -> None:
    with open_frame(path, kinds=schema.kinds) as frame:
        plan = MarginalPlan.of(schema, frame.fields)
        Counts.of(plan, parse_spend(1), 2).draft(MeasuredTable.of(frame, plan), None)


def _group_by(path: str) -> None:
    """The distinct rows with age, like the rest, in the intervals that are counted."""
    import duckdb

    wide = {"age": DAYS * STEPS["age"], "hours_per_week": STEPS["hours_per_week"]}
    columns = ", ".join(f"{name} // {wide[name]}" if name in wide else name for name in COLUMNS)
    duckdb.sql(f"select {columns}, count(*) from '{path}' group by all").to_arrow_table()


def _bare(table: Codes) -> Callable[[], object]:
    """All pairs of columns counted, from codes that are at hand; age by 16 intervals."""
    codes = dict(table.codes)
    codes["age"] = (codes["age"] // (DAYS * STEPS["age"])).astype(np.int32)
    sizes = {name: int(codes[name].max()) + 1 for name in COLUMNS}
    pairs = list(combinations(COLUMNS, 2))
    return lambda: [
        tabulate_codes([codes[one] for one in pair], tuple(sizes[one] for one in pair))
        for pair in pairs
    ]


def _answered(adult: Codes) -> Line:
    """Randomised response of occupation, all of Adult, by the row."""
    codes = adult.codes["occupation"]
    made = calibrate_response(parse_spend(1), len(adult.values["occupation"]))
    ours = spent(lambda: made.answered(codes), 2)
    told = f"{seconds(ours.cpu)}, {1e6 * ours.cpu / len(codes):.3g} µs a row"
    return Line(f"randomised response, {len(codes):,} rows", told)


def _made_up(measured: MeasuredTable) -> Iterator[Line]:
    """A synthetic table of Adult: counts, choice of pairs, fit, people; once warm."""
    try:
        form = Synthetic.of(measured.plan, parse_spend(1))
    except UsageError as reason:
        yield Line("synthetic table of Adult", f"could not run: {reason.fact}")
        return
    ours = spent(lambda: form.draft(measured, None), 1)
    yield Line(
        f"synthetic table of Adult, {measured.rows:,} rows, ε = 1",
        f"{seconds(ours.cpu)} of CPU, {seconds(ours.wall)} of wall time",
    )
