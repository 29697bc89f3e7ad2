"""Run by pycanon's own Python: ``TABLE SENSITIVE QUASI...``; prints JSON."""

import json
import sys
import time

import pandas
from pycanon.report import base

path, sensitive, *quasi = sys.argv[1:]
table = pandas.read_csv(path)
began = time.process_time()
k, alpha, l, entropy, recursive, basic, enhanced, delta, t = base.get_report_values(
    table, quasi, [sensitive]
)
cpu = time.process_time() - began
figures = {
    "k": k,
    "alpha": alpha[0],
    "l": l,
    "entropy_l": entropy,
    "recursive_c": recursive[0],
    "recursive_l": recursive[1],
    "basic_beta": basic,
    "enhanced_beta": enhanced,
    "delta": delta,
    "t": t,
}
print(json.dumps({"cpu": cpu, **{name: float(value) for name, value in figures.items()}}))
