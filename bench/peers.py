"""The Python peers, each in an environment of its own that pip makes by name.

anonypy 0.2.1: Mondrian, k = 10, 200,000 remixed rows. pycanon 1.3.6: its report (k, three l, t, α,
two β, δ) on Adult, against ``shoal.audit``, with the same values wherever pycanon is right.
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

import shoal
from bench import tallies
from bench.data import CACHE, COLUMNS, NUMBERS, QUASI, SENSITIVE, adult, parquet, remixed
from bench.measure import Line, Unavailable, seconds, spent
from shoal.methods.mondrian import mondrian
from shoal.models import rule

PINS = {
    "anonypy": ("anonypy==0.2.1", "numpy<2.3", "pandas<3"),
    "pycanon": ("pycanon==1.3.6", "numpy<2.3", "pandas<3"),
}
SMALL = {"anonypy": {"rows": 5_000}, "pycanon": {"split": "train"}}
SALARY = "income"
K = "k-anonymity k=10"
DIVERSE = f"{K} & entropy-diversity l=1.2 & t-closeness t=0.3"


def anonypy(rows: int = 200_000) -> Iterator[Line]:
    """From a table in memory to labelled classes; then shoal's Mondrian alone, for comparison."""
    peer = _environment("anonypy")
    schema = shoal.Schema.of(quasi=QUASI, sensitive=SENSITIVE)
    table = pq.read_table(parquet(rows), columns=list(COLUMNS))
    whole = spent(lambda: shoal.publish(table, schema, K, dry_run=True), 3)
    tally = tallies.tally(remixed(rows), sets=True)
    method = spent(lambda: mondrian(tally, rule(K)), 3)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        text = Path(scratch) / "table.csv"
        csv.write_csv(table, text)
        its = _peer(peer, "anonypy", text, QUASI, SENSITIVE)
    for case, own in (("publish, not written", whole), ("Mondrian on codes", method)):
        told = f"{seconds(its['cpu'])} : {seconds(own.cpu)}"
        yield Line(f"anonypy, {rows:,} rows: {case}", told, its["cpu"] / own.cpu, 300, True)


def pycanon(split: str | None = None) -> Iterator[Line]:
    """Raw Adult for the time; a release of it, where the figures say more, for the values."""
    peer = _environment("pycanon")
    schema = shoal.Schema.of(quasi=QUASI, sensitive=SALARY)
    cells = adult(split)
    table = pa.table({n: _typed(n, cells[n]) for n in (*QUASI, SALARY)})
    own = spent(lambda: shoal.audit(table, schema), 3)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        raw, release = Path(scratch) / "adult.csv", Path(scratch) / "release"
        csv.write_csv(table, raw)
        its = _peer(peer, "pycanon", raw, QUASI, SALARY)
        told = f"{seconds(its['cpu'])} : {seconds(own.cpu)}"
        yield Line("pycanon's report on Adult: audit", told, its["cpu"] / own.cpu, 100, True)
        yield from _values("Adult", shoal.audit(table, schema), its)
        shoal.publish(table, schema, DIVERSE, out=release)
        its = _peer(peer, "pycanon", next(release.glob("*.csv")), QUASI, SALARY)
        yield from _values("Adult published", shoal.audit(release), its)


def _typed(name: str, cells: list[str]) -> pa.Array:
    return pa.array([int(cell) for cell in cells] if name in NUMBERS else cells)


def _values(table: str, own: shoal.Audit, its: dict[str, Any]) -> Iterator[Line]:
    """One line per figure: ours, theirs, and whether they differ."""
    for (model, parameters), theirs in _figures(its):
        name = f"{table}: {model}" + "".join(f" {k}={v}" for k, v in parameters.items())
        try:
            mine = own.reached(model, **parameters)
        except shoal.UsageError:
            yield Line(name, f"not measured : {theirs:.6g}")
            continue
        same = math.isclose(mine, theirs, rel_tol=1e-6, abs_tol=1e-9)
        mark = "same" if same else "DIFFERENT (see README)"
        yield Line(name, f"{mine:.6g} : {theirs:.6g}  {mark}")


def _figures(its: dict[str, Any]) -> Iterator[tuple[tuple[str, dict[str, Any]], float]]:
    """pycanon's figures by our names for them."""
    yield ("k-anonymity", {}), its["k"]
    yield ("alpha-k", {}), its["alpha"]
    yield ("distinct-diversity", {}), its["l"]
    yield ("entropy-diversity", {}), its["entropy_l"]
    yield ("recursive-diversity", {"l": int(its["recursive_l"])}), its["recursive_c"]
    yield ("t-closeness", {"distance": "equal"}), its["t"]
    yield ("beta-likeness", {"kind": "basic"}), its["basic_beta"]
    yield ("beta-likeness", {"kind": "enhanced"}), its["enhanced_beta"]
    yield ("delta-disclosure", {}), its["delta"]


def _environment(name: str) -> Path:
    """The peer's own Python, made on first use."""
    home = CACHE / "peers" / name
    python = home / "bin" / "python"
    if not (home / "ready").is_file():
        venv.create(home, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*pip, *PINS[name]], capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(f"pip could not install {PINS[name][0]} (no network?)")
        (home / "ready").touch()
    return python


def _peer(python: Path, name: str, table: Path, quasi: tuple[str, ...], sensitive: str) -> Any:
    """Run a peer's script on a table: its figures and the CPU time of its work alone."""
    script = Path(__file__).with_name("peer") / f"{name}_peer.py"
    command = [str(python), "-W", "ignore", str(script), str(table), sensitive, *quasi]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"{name} failed: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])
