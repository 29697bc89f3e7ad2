"""A ``shoal`` that starts at once: a process that has loaded it forks for every call.

Pages of the documentation call it more than a hundred times, and most of each call would be spent
on loading the same libraries. What runs is the command line itself, with the caller's arguments,
folder, environment and files; or Python's, which knows no names yet and takes warnings for errors
(``python-block``). Other tests start both as users do.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import socket
import sys
import tempfile
import traceback
import types
import warnings
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

LOADED = (
    "pandas",
    "shoal.verbs.attack",
    "shoal.verbs.audit",
    "shoal.verbs.forecast",
    "shoal.verbs.frontier",
    "shoal.ledger",
    "shoal.pool",
    "shoal.verbs.publish",
    "shoal.reports.report",
    "shoal.verbs.verify",
)
LARGEST = 1 << 20


def serve(address: str) -> None:
    """Fork for every caller, until killed."""
    import importlib

    from shoal.cli.main import main

    for name in LOADED:
        importlib.import_module(name)
    warm()
    server = socket.socket(socket.AF_UNIX)
    server.bind(f"{address}.new")
    server.listen()
    os.rename(f"{address}.new", address)  # whoever sees it can connect
    while True:
        caller, _ = server.accept()
        if os.fork() == 0:
            server.close()
            answer(caller, main)
        caller.close()
        with suppress(ChildProcessError):  # those that are done; there may be none
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def warm() -> None:
    """Make a release and a report once, so that forks have the compiled kernels in memory."""
    import shoal
    from shoal.reports.demo import make_hospital_schema

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        table = shoal.bundled.path("st_anna.csv")
        rule = "k-anonymity k=5 & entropy-diversity l=2"
        release = shoal.publish(table, make_hospital_schema(), rule, out=Path(folder) / "release")
        shoal.report(release, original=table)
        shoal.attack(
            "intersection", [release, release], targets=table, schema=make_hospital_schema()
        )
    gc.collect()  # closes connections, whose threads no fork would have
    gc.freeze()  # a collection in a fork need not look at, and so copy, all that is loaded


def answer(caller: socket.socket, main) -> NoReturn:
    """Run what a caller asks, and tell the caller how it ended; a crash says nothing, which is 1.

    The caller may end before this process: whatever is written is on its way by then.
    """
    asked, files, *_ = socket.recv_fds(caller, LARGEST, 3)
    for place, file in enumerate(files):
        os.dup2(file, place)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = (
        open(place, mode, closefd=False)  # noqa: SIM115
        for place, mode in enumerate("rww")
    )  # what is known of the old ones, such as where they stand, is not so of these
    code = run(json.loads(asked), main)
    caller.sendall(str(code).encode())
    os._exit(code)


def run(asked, main) -> int:
    """The command line, as its caller would have started it; its exit code."""
    code = 1
    try:
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        if asked["program"] == "python-block":
            block(*asked["args"])
        else:
            sys.argv = ["shoal", *asked["args"]]
            main(prog_name="shoal")
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def block(code: str) -> None:
    """What ``python -W error -c CODE`` does, but for the loading."""
    sys.argv, sys.warnoptions[:] = ["-c"], ["error"]
    warnings.simplefilter("error")
    sys.path.insert(0, "")
    sys.modules["__main__"] = module = types.ModuleType("__main__")
    exec(compile(code, "<string>", "exec"), vars(module))


if __name__ == "__main__":
    serve(sys.argv[1])
