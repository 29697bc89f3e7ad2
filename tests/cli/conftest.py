from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from shoal.cli.main import main
from shoal.data import bundled

ROLES = (
    "--identifier patient --identifier name --quasi age --quasi sex --quasi zip "
    "--quasi admitted --sensitive diagnosis"
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a table of 400 patients, as the working folder."""
    monkeypatch.chdir(tmp_path)
    lines = bundled.path("st_anna.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "patients.csv").write_text("".join(lines[:401]), encoding="utf-8")
    return tmp_path


@pytest.fixture
def shoal(here: Path) -> Callable[..., Result]:
    """Run a command line in that folder."""
    return lambda *arguments: CliRunner().invoke(main, [str(word) for word in arguments])


@pytest.fixture
def roles() -> list[str]:
    """The roles of the table's columns, as flags."""
    return ROLES.split()
