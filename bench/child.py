"""Run a program and print its CPU time, wall time and peak memory as JSON."""

import json
import os
import sys
import time

UNIT = 1 if sys.platform == "darwin" else 1024

began = time.perf_counter()
pid = os.posix_spawn(
    sys.argv[1],
    sys.argv[1:],
    os.environ,
    file_actions=[
        (os.POSIX_SPAWN_DUP2, 2, 1),
    ],
)
_, status, usage = os.wait4(pid, 0)
wall = time.perf_counter() - began
print(
    json.dumps(
        {
            "cpu": usage.ru_utime + usage.ru_stime,
            "wall": wall,
            "peak": usage.ru_maxrss * UNIT,
        }
    )
)
sys.exit(os.waitstatus_to_exitcode(status))
