"""Plays scenes, keeps what they gave, and says what has changed since.

One file a scene lies in ``recordings/``, and ``keys.json`` beside them with every key of every JSON
document by what wrote it. What differs between runs of one program is kept as ``<varies>``.
"""

from __future__ import annotations

import gzip
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.frozen import calls, normal, program
from tests.frozen.comparing import ABSENT, count_varying, differences, keep_varying, merge
from tests.frozen.scenes import SCENES, TEXTS, Scene

import shoal

RUNS = 3
FEW = 3
"""So many scenes take less time than to prepare for many."""
RECORDINGS = Path(__file__).parent / "recordings"
KEYS = RECORDINGS / "keys.json"
LONGEST = ("demo", "adult", "report", "publish-noise", "attack-two-releases", "ledger")
PARTS = ("ledger", "pool", "data", "attack")
"""Verbs whose next word says what they print."""

Played = dict[str, Any]
"""A scene's steps by their lines, and the keys of its documents by what wrote them."""


def play_all(names: Iterable[str], jobs: int = 2) -> dict[str, Played]:
    """Play scenes, each in a folder that is thrown away; longest first."""
    order = [*LONGEST, *SCENES]
    names = sorted(filter(can_play, names), key=order.index)
    program.load(is_warm=len(names) > FEW)
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        return dict(zip(names, pool.map(play, names), strict=True))


def can_play(name: str) -> bool:
    """Whether what the scene needs is here: Adult is in the folder that SHOAL_DATA names."""
    return not SCENES[name].is_secret or _adult().is_file()


def play(name: str) -> Played:
    """Run a scene's lines in order."""
    scene = SCENES[name]
    with tempfile.TemporaryDirectory(prefix="frozen") as place:
        folder = Path(place).resolve()
        steps: dict[str, Any] = {}
        keys: dict[str, set[str]] = {}
        for line in expand(scene.lines):
            before = files_in(folder)
            step = _step(line, folder, scene, keys)
            if line.startswith("% ") and not line.startswith("% python"):
                continue
            step |= _written(folder, before, scene, keys)
            again = sum(1 for other in steps if other.split(" (again)")[0] == line)
            steps[line + " (again)" * again] = step
        return {"steps": steps, "keys": {kind: sorted(keys[kind]) for kind in sorted(keys)}}


def expand(lines: str) -> Iterator[str]:
    """The lines that run."""
    for line in filter(None, map(str.strip, lines.splitlines())):
        if line.startswith("both "):
            yield line.removeprefix("both ")
            yield line.removeprefix("both ") + " --json"
        else:
            yield line


def _step(line: str, folder: Path, scene: Scene, keys: dict[str, set[str]]) -> dict[str, Any]:
    words = shlex.split(line)
    entropy = None if scene.is_drawn else program.Entropy(line)
    if words[0] == "%":
        if words[1] != "python":
            prepare(words[1], words[2:], folder)
            return {}
        ended = program.run_forked(getattr(calls, words[2]), folder, entropy)
        kind = f"python {words[2]}"
    else:
        ended = program.run_command(words, folder, entropy)
        kind = " ".join(words[: 2 if words[0] in PARTS else 1])
    step: dict[str, Any] = {"exit": ended.code}
    document = normal.read_json(ended.out)
    if document is None:
        step["out"] = _lines(ended.out, folder, scene)
    else:
        if "error" in document:
            kind = "error"
        keys.setdefault(kind, set()).update(normal.key_paths(document))
        plain = normal.normalise_json(document, folder)
        step["json"] = normal.figures(plain) if scene.is_secret else normal.shorten(plain)
    step["err"] = normal.normalise_lines(ended.err, folder)  # it never shows a cell
    return {key: value for key, value in step.items() if value != []}


def _lines(text: str, folder: Path, scene: Scene) -> Any:
    lines = normal.normalise_lines(text, folder)
    if scene.is_secret:
        return {"lines": len(lines)} if lines else []
    return lines if len(lines) <= 60 else normal.shorten(lines)


def _written(
    folder: Path, before: dict[str, Any], scene: Scene, keys: dict[str, set[str]]
) -> dict[str, Any]:
    """The files that a step wrote, and those that it took away."""
    after = files_in(folder)
    written = {}
    for name in sorted(after):
        if after[name] != before.get(name):
            path = folder / name
            written[name] = normal.describe_file(path, folder, is_secret=scene.is_secret)
            if path.suffix == ".json" and isinstance(
                document := normal.read_json(path.read_text(encoding="utf-8")), dict
            ):
                keys.setdefault(path.name, set()).update(normal.key_paths(document))
    removed = sorted(set(before) - set(after))
    return ({"files": written} if written else {}) | ({"removed": removed} if removed else {})


def files_in(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every file below a folder, with what changes when it is written."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file() and ".home" not in path.parts:
            status = path.stat()
            name = path.relative_to(folder).as_posix()
            found[name] = (status.st_ino, status.st_mtime_ns, status.st_size)
    return found


# What scenes need


def prepare(what: str, given: list[str], folder: Path) -> None:
    """Make a file of a scene's folder."""
    if what == "write":
        (folder / given[0]).write_text(TEXTS[given[1]].lstrip("\n"), encoding="utf-8")
    elif what == "table":
        rows = _bundled(given[1])
        first, last = int(given[2]), int(given[3])
        text = "".join([rows[0], *rows[1 + first : 1 + last]])
        (folder / given[0]).write_text(text, encoding="utf-8")
    elif what == "pooled":
        (folder / given[0]).write_text("".join(_pooled()), encoding="utf-8")
    elif what == "adult":
        rows = gzip.decompress(_adult().read_bytes()).decode().splitlines(keepends=True)
        some = [f"{number},{row}" for number, row in enumerate(rows[1 :: int(given[1])], 1)]
        text = "".join([f"person,{rows[0]}", *some])
        (folder / given[0]).write_text(text, encoding="utf-8")
    elif what == "copy" and (folder / given[0]).is_dir():
        shutil.copytree(folder / given[0], folder / given[1])
    elif what == "copy":
        shutil.copy(folder / given[0], folder / given[1])
    else:
        raise ValueError(what)


def _bundled(name: str) -> list[str]:
    return shoal.bundled.path(name).read_text(encoding="utf-8").splitlines(keepends=True)


def _pooled() -> Iterator[str]:
    header, *anna = _bundled("st_anna.csv")
    harbour = _bundled("harbour.csv")[1:]
    yield header.rstrip() + ",hospital\n"
    shares = {"Anna": anna[:400], "Harbour": harbour[:300], "Lake": harbour[300:500]}
    for name, rows in shares.items():
        yield from (f"{row.rstrip()},{name}\n" for row in rows)


def _adult() -> Path:
    return Path(os.environ.get("SHOAL_DATA", "")) / "adult.csv.gz"


# Keeping and comparing


def record(names: Iterable[str] = (), jobs: int = 2, runs: int = RUNS) -> list[str]:
    """Play scenes several times and keep what they have in common; the values that changed."""
    names = list(names) or list(SCENES)
    played = _play_apart(names, jobs)
    for _ in range(runs - 1):
        again = _play_apart(names, jobs)
        played = {name: merge(one, again[name]) for name, one in played.items()}
    lines = []
    for name, one in played.items():
        lines += _changes(name, one["steps"])
        steps = keep_varying(_read(_path(name)), one["steps"])
        _path(name).write_text(_as_text(steps), encoding="utf-8")
        if varying := count_varying(steps):
            print(f"{name}: {varying} values vary from run to run")
    lines += _keep_keys(played, is_whole=set(names) == set(SCENES))
    return lines


def _play_apart(names: list[str], jobs: int) -> dict[str, Played]:
    """Play scenes in a new interpreter, whose sets have another order."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "played.json"
        line = [sys.executable, "-m", "tests.frozen", "play", *names, "--jobs", str(jobs)]
        subprocess.run([*line, "--out", str(out)], cwd=program.ROOT, check=True)
        return _read(out)


def replay(names: Iterable[str] = (), jobs: int = 2) -> list[str]:
    """Play scenes and say each value that is not what was kept."""
    played = play_all(list(names) or list(SCENES), jobs)
    lines = [line for name, one in played.items() for line in _changes(name, one["steps"])]
    kept = _read(KEYS)
    for name, one in played.items():
        for kind, found in one["keys"].items():
            new = set(found) - set(kept.get(kind, []))
            lines += [f"{name}: {kind} has a new key {key}" for key in sorted(new)]
    return lines


def _changes(name: str, steps: dict[str, Any]) -> list[str]:
    kept = _read(_path(name))
    if not kept:
        return [f"{name}: recorded for the first time"]
    return [
        f"{name}: {at}\n    - {_shown(old)}\n    + {_shown(new)}"
        for at, old, new in differences(kept, steps)
    ]


def _shown(value: Any) -> str:
    if value == ABSENT:
        return ABSENT
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 1000 else f"{text[:1000]} …"


def _keep_keys(played: dict[str, Played], *, is_whole: bool) -> list[str]:
    """Keep the keys of documents; of a part of the scenes, beside those that were kept."""
    before = {kind: set(found) for kind, found in _read(KEYS).items()}
    after = {} if is_whole else {kind: set(found) for kind, found in before.items()}
    for one in played.values():
        for kind, found in one["keys"].items():
            after.setdefault(kind, set()).update(found)
    KEYS.write_text(
        _as_text({kind: sorted(after[kind]) for kind in sorted(after)}), encoding="utf-8"
    )
    lines = []
    for kind in sorted({*before, *after}):
        old, new = before.get(kind, set()), after.get(kind, set())
        lines += [f"keys: {kind} lost {key}" for key in sorted(old - new)]
        lines += [f"keys: {kind} gained {key}" for key in sorted(new - old)]
    return lines


def _path(name: str) -> Path:
    return RECORDINGS / f"{name}.json"


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return read


def _as_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"
