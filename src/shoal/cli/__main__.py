"""``shoal`` and ``python -m shoal.cli``: signals are taken care of before anything is loaded."""

import os
import signal


def run() -> None:
    """Run the command line, and end as it says; when stopped, at once and with nothing left."""
    for name in ("SIGINT", "SIGTERM"):
        signal.signal(getattr(signal, name), _leave)
    from shoal.core import interruption

    interruption.install()
    from shoal.cli.main import main

    try:
        main(prog_name="shoal")
    finally:
        if interruption.requested.is_set():
            interruption.end()
        interruption.ignore()  # all is done and told: what Python does yet is not to be disturbed


def _leave(number: int, frame: object) -> None:
    """Before there is anything to undo."""
    os.write(2, b"Stopped.\n")
    os._exit(128 + number)


if __name__ == "__main__":
    run()
