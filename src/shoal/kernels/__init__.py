"""The ground floor: functions on arrays, in numpy and numba, that know nothing of tables.

Compiled once per machine and kept in numba's cache: beside this folder, or in the user's cache
folder where this one is read-only.
"""

import os

# Threads that wait must sleep: spinning at every level costs more than the level on a busy machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
