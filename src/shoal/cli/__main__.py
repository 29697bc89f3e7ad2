"""``shoal`` and ``python -m shoal.cli``: signals are taken care of before anything is loaded."""

import os
import signal


def run() -> None:
    """Run the command line, and end as it says; when stopped, at once and with nothing left."""
    for name in ("SIGINT", "SIGTERM"):
        signal.signal(getattr(signal, name), _leave)
    from shoal.core import interruption

    interruption.install_handlers()
    from shoal.cli.main import main

    try:
        main(prog_name="shoal")
    finally:
        if interruption.stop_requested.is_set():
            interruption.announce_and_leave()
        # All is done: what Python does yet is not to be disturbed.
        interruption.ignore_signals()


def _leave(number: int, frame: object) -> None:
    """Before there is anything to undo."""
    os.write(2, b"Stopped.\n")
    os._exit(128 + number)


if __name__ == "__main__":
    run()
