"""How long tests wait for what must happen."""

SECONDS = 900.0
"""After these a process, a thread or a lock is taken to hang, however busy the machine is.

No test is about how long something takes: the bench measures that.
"""
