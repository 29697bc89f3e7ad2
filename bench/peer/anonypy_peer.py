"""Run by anonypy's own Python: ``TABLE SENSITIVE QUASI...``; prints JSON."""

import json
import sys
import time

import anonypy
import pandas

path, sensitive, *quasi = sys.argv[1:]
table = pandas.read_csv(path)
for name in quasi:
    if table[name].dtype == object:
        table[name] = table[name].astype("category")
began = time.process_time()
rows = anonypy.Preserver(table, quasi, sensitive).anonymize_k_anonymity(k=10)
print(json.dumps({"cpu": time.process_time() - began, "lines": len(rows)}))
