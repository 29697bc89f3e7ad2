"""``python -m bench.by_lattice IN SHARE OUT``: search the levels of a Parquet file of nine columns.

Writes as JSON the CPU seconds of reading the file and of the search alone, and what it found.
"""

import json
import sys
import time
from pathlib import Path

from bench import arx
from shoal import KAnonymity
from shoal.methods.full_domain import full_domain

if __name__ == "__main__":
    source, share, out = sys.argv[1:]
    full_domain(arx.nine(), KAnonymity(5), hold_back=1_000)  # warm
    begun = time.process_time()
    tally = arx.tally(source)
    read = time.process_time()
    cut = full_domain(tally, KAnonymity(5), hold_back=int(float(share) * tally.rows))
    searched = time.process_time()
    found = {
        "read": read - begun,
        "search": searched - read,
        "entries": tally.entries,
        "checked": cut.facts["checked"],
        "levels": list(cut.facts["levels"].values()),
        "held_back": cut.suppressed,
        "granularity": arx.granularity(tally, cut),
    }
    Path(out).write_text(json.dumps(found), encoding="utf-8")
