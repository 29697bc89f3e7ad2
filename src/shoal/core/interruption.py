"""Stop when asked to: Ctrl-C, a request to terminate, a terminal that is closed.

The command line installs this before it loads anything else. A signal is first an interrupt of the
main thread, which unwinds and so undoes what it was at; engines are told to give up their queries.
Whoever does not come to an end so within `GRACE_SECONDS` (a library that swallows the interrupt, a
kernel that does not look up) is ended by another thread, after it has removed what would be left.
A program that uses Shoal as a library keeps its own handlers: for it Ctrl-C is KeyboardInterrupt.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Protocol

from shoal.core import temporary_files

GRACE_SECONDS = 0.5
"""Seconds that the main thread has to come to an end by itself."""
SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Interruptible(Protocol):
    """An engine that another thread may tell to give up what it is at."""

    def interrupt(self) -> None:
        """Give up the running query, if there is any."""


running_engines: weakref.WeakSet[Any] = weakref.WeakSet()
"""The engines that may be at work."""
stop_requested = threading.Event()
"""Set when the user asked to stop: a library may swallow the interrupt itself."""

_received = 0
_installed = False
_announced = threading.Lock()
_announce: Callable[[int], object] | None = None


def exit_code() -> int:
    """How a run ends that was asked to stop: 130 for Ctrl-C, 143 for a request to terminate."""
    return 128 + (_received or signal.SIGINT)


def claim_announcement() -> bool:
    """Whether the user does not know yet that the run was stopped; true once."""
    return _announced.acquire(blocking=False)


def install_handlers() -> None:
    """Take signals from now on, for the whole life of this process."""
    global _installed
    _installed = True
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in SIGNALS:
        if number != getattr(signal, "SIGHUP", None) or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)  # under nohup a closed terminal is no matter
    threading.Thread(target=_watch, args=(reading,), name="shoal-stopping", daemon=True).start()
    # An interrupt that comes while something is being collected cannot be raised there.
    sys.unraisablehook = lambda lost: stop_requested.is_set() or sys.__unraisablehook__(lost)
    threading.excepthook = lambda lost: stop_requested.is_set() or threading.__excepthook__(lost)


def announce_with(announce: Callable[[int], object]) -> None:
    """Announce a stop in this way, once everything is loaded; from now on work is undone."""
    global _announce
    _announce = announce


@contextmanager
def handle_signals() -> Iterator[None]:
    """Take signals for a while, where nobody has installed this: as interrupts of this thread."""
    if _installed or threading.current_thread() is not threading.main_thread():
        yield
        return
    _forget()
    before = {number: signal.signal(number, _stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ignore_signals() -> None:
    """Take no more signals: the work is done."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def leave_process() -> None:
    """End this process now, as one that was asked to stop; nothing of it is left.

    Not by way of the interpreter, which takes down libraries whose threads are still at work.
    """
    temporary_files.remove_everything()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(exit_code())


def _forget() -> None:
    global _received
    _received = 0
    stop_requested.clear()
    if _announced.locked():
        _announced.release()


def _stop(number: int, frame: FrameType | None) -> None:
    """In the main thread, as soon as it looks up."""
    global _received
    if stop_requested.is_set():  # a second Ctrl-C does not disturb the first one's clearing up
        return
    _received = number
    stop_requested.set()
    if _installed and (_announce is None or _is_importing(frame)):
        # Nothing but loading has been done, or a library is half loaded: whoever asked for it
        # would ask again while unwinding, and some end the process when they are loaded twice.
        announce_and_leave()
    raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None


def _watch(reading: int) -> None:
    """In a thread of its own, which the system wakes even where the main thread is in a library."""
    global _received
    while (number := os.read(reading, 1)[0]) not in SIGNALS:
        pass
    _received = _received or number
    for _ in range(5):
        for engine in list(running_engines):
            with suppress(Exception):  # closed meanwhile
                engine.interrupt()
        threading.Event().wait(GRACE_SECONDS / 5)
    stop_requested.set()
    announce_and_leave()


def announce_and_leave() -> None:
    """Say that the run was stopped, unless that is said already, and leave."""
    if claim_announcement():
        if _announce is None:
            os.write(2, b"Stopped.\n")
        else:
            with suppress(Exception):
                _announce(exit_code())
    leave_process()
