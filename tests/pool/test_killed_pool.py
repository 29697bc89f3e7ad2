"""A pool whose commands are killed: the next one works, and no row is left where it should not be.

The rows of a release that is being made say who provided each of them: whatever a killed run leaves
of them is gone after the next command.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.killing import Ended, Killer

import shoal
from shoal.pool import pool_folder
from shoal.pool.verbs import pool_add, pool_init, pool_status

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork and kill")
RULE = "m-privacy m=1 (k-anonymity k=5)"
SCHEMA = shoal.Schema(
    (
        shoal.Column("age", "quasi", "number"),
        shoal.Column("sex", "quasi", "category"),
        shoal.Column("illness", "sensitive", "category"),
    )
)
ILL = ("flu", "cold", "asthma", "angina")
NAMES = ("Harbour", "St Anna")
ADD = ("pool", "add", "POOL", "--provider", "Harbour", "harbour.csv", "--replace")
PUBLISH = ("pool", "publish", "POOL", "-o", "release")
WORKED = [(0, ""), (0, "")]


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    with Killer() as made:
        yield made


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """A folder with a pool to which two hospitals have added their patients."""
    folder, draw = tmp_path_factory.mktemp("pools"), random.Random(1)
    pool_init(folder / "POOL", SCHEMA, RULE, providers=NAMES)
    for name, file in zip(NAMES, ("harbour.csv", "anna.csv"), strict=True):
        rows = [
            f"{draw.randrange(20, 80)},{draw.choice('fm')},{draw.choice(ILL)}" for _ in range(60)
        ]
        (folder / file).write_text("\n".join(("age,sex,illness", *rows, "")), encoding="utf-8")
        pool_add(folder / "POOL", name, folder / file)
    return folder


@pytest.fixture
def copy(begun, tmp_path):
    """A copy of that folder each time it is asked for."""
    numbers = iter(range(10_000))
    return lambda: Path(shutil.copytree(begun, tmp_path / str(next(numbers))))


def find_left_behind(folder: Path) -> set[str]:
    """Files of rows that no partner has or that a partner lacks, hidden and half-written files."""
    listed = {partner.file for partner in pool_folder.load_pool(folder / "POOL").partners}
    rows = {path for path in folder.rglob("*.parquet") if path.parent.name != "release.private"}
    hidden = {path.name for path in folder.iterdir() if path.name.startswith(".")}
    half_written = {path.name for path in folder.rglob(".*.part")}
    return ({path.name for path in rows} ^ listed) | hidden | half_written


def add_and_publish(killer: Killer, folder: Path) -> list[tuple[int, str]]:
    """How the commands end that go on with a pool: exit code and, where it failed, the error."""
    added = killer.shoal(folder, *ADD)
    replace = ("--replace",) if (folder / "release").exists() else ()
    published = killer.shoal(folder, *PUBLISH, *replace)
    return [(ended.code, ended.err if ended.code else "") for ended in (added, published)]


def was_killed(ended: Ended, point: int) -> bool:
    # how many points there are differs a little from run to run
    return ended.code == -9 or ended.points < point


@pytest.mark.parametrize("command", [ADD, PUBLISH], ids=["add", "publish"])
def test_a_killed_command_neither_blocks_the_pool_nor_leaves_rows(killer, copy, command):
    points = killer.shoal(copy(), *command).points
    for point in (points // 2, points - 6):
        folder = copy()
        ended = killer.shoal(folder, *command, point=point)
        assert was_killed(ended, point), ended.err
        assert pool_status(folder / "POOL").awaited == ()
        assert find_left_behind(folder) == set()
        assert add_and_publish(killer, folder) == WORKED
        assert shoal.verify(folder / "release").holds


@pytest.mark.long
@pytest.mark.parametrize("command", [ADD, PUBLISH], ids=["add", "publish"])
def test_a_command_killed_at_every_point(killer, copy, command):
    points = killer.shoal(copy(), *command).points
    assert points >= 10
    for point in range(1, points + 1):
        folder = copy()
        ended = killer.shoal(folder, *command, point=point)
        assert was_killed(ended, point), ended.err
        assert pool_status(folder / "POOL").awaited == ()
        assert find_left_behind(folder) == set()
        assert add_and_publish(killer, folder) == WORKED
        assert shoal.verify(folder / "release").holds
        shutil.rmtree(folder)


@pytest.mark.long
@pytest.mark.parametrize("command", [ADD, PUBLISH], ids=["add", "publish"])
def test_a_command_killed_at_random(killer, copy, command):
    draw = random.Random(7)
    duration = killer.duration(copy(), *command)
    kills = 0
    for _ in range(20):
        folder = copy()
        after = draw.uniform(0, duration) if kills else 0  # the first is killed on any machine
        kills += killer.shoal(folder, *command, after=after).code == -9
        assert pool_status(folder / "POOL").awaited == ()
        assert find_left_behind(folder) == set()
        assert add_and_publish(killer, folder) == WORKED
        assert shoal.verify(folder / "release").holds
        shutil.rmtree(folder)
    assert kills


def test_a_lock_file_without_an_owner_keeps_nobody_out(copy):
    folder = copy()
    (folder / "POOL" / "private" / pool_folder.LOCK).touch()
    assert pool_add(folder / "POOL", "Harbour", folder / "harbour.csv", replace=True).rows == 60
