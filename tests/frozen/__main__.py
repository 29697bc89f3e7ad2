"""``python -m tests.frozen replay`` and ``record``: what Shoal does, held against what it did."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from tests.frozen.recording import RUNS, play_all, record, replay
from tests.frozen.scenes import SCENES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.frozen", description=__doc__)
    parser.add_argument("task", choices=("replay", "record", "play"))
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help="all unless named")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument(
        "--runs", type=int, default=RUNS, help=f"record: what differs between so many ({RUNS})"
    )
    parser.add_argument("--out", type=Path, help="play: the file for what the scenes gave")
    given = parser.parse_args()
    if unknown := sorted(set(given.scenes) - set(SCENES)):
        parser.error(f"no scene {', '.join(unknown)}; the scenes are {', '.join(SCENES)}")
    began = time.monotonic()
    if given.task == "play":
        played = play_all(given.scenes or list(SCENES), given.jobs)
        given.out.write_text(json.dumps(played, ensure_ascii=False), encoding="utf-8")
        return 0
    if given.task == "record":
        lines, code = record(given.scenes, jobs=given.jobs, runs=given.runs), 0
    else:
        lines = replay(given.scenes, jobs=given.jobs)
        code = int(bool(lines))
    print(*lines, sep="\n", end="\n" if lines else "")
    changed = f"{len(lines)} values changed" if lines else "nothing changed"
    print(f"{given.task}: {changed}, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
