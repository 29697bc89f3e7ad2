"""The ground floor: functions on arrays, in numpy and numba, that know nothing of tables.

Compiled once per machine and kept in numba's cache: beside this folder, or in the user's cache
folder where this one is read-only.
"""
