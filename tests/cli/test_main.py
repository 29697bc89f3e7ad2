"""The list of verbs, help, and how runs end."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

import shoal as package
from shoal.cli import printing
from shoal.cli.main import VERBS, main
from shoal.core import interruption

ROOM = Path(package.__file__).parent / "cli"
SHARED = {"__init__", "__main__", "main", "options", "printing"}
BESIDE_THE_FRONT = {"shoal.core.interruption", "shoal.data.bundled"}
"""What a door may import that the front of the package does not export; as in test_house.py."""
HEAVY = ("duckdb", "numba", "numpy", "pyarrow", "rich", "scipy", "shoal.verbs", "tomlkit")


def commands():
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        yield name, command
        for below in getattr(command, "commands", {}).values():
            yield f"{name} {below.name}", below


def test_every_file_is_a_verb_and_every_verb_a_file():
    files = {file.stem for file in ROOM.glob("*.py")} - SHARED
    assert files == {verb.replace("-", "_") for verb in VERBS}


def test_the_table_of_verbs_says_what_the_verbs_say():
    for name, command in commands():
        if name in VERBS:
            assert command.help.splitlines()[0] == VERBS[name]


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_help_has_an_example_and_every_option_a_text(name, command, shoal):
    result = shoal(*name.split(), "--help")
    assert result.exit_code == 0
    assert f"Example:\n    shoal {name.split()[0]}" in result.output
    for option in command.params:
        assert isinstance(option, click.Argument) or option.help


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_every_verb_takes_json_and_quiet(name, command):
    if not isinstance(command, click.Group):
        assert {"as_json", "quiet"} <= {parameter.name for parameter in command.params}


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom shoal.cli.main import main\n"
        "try:\n    main(['publish', '--help'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


def test_only_public_names_are_imported():
    for file in ROOM.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shoal"):
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                if not names <= BESIDE_THE_FRONT:
                    assert node.module == "shoal" or node.module.startswith("shoal.cli"), file.name


def test_without_arguments_it_is_the_help(shoal):
    assert shoal().output == shoal("--help").output
    assert shoal().exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["lok"], "'look'"),
        (["xyzzy"], "The verbs are demo, look"),
        (["look", "--quasy", "age"], "--quasi"),
        (["data", "lst"], "'list'"),
        (["publish", "patients.csv", "--format", "docx"], "shoal publish --help"),
        (["look"], "shoal look --help"),
    ],
)
def test_wrong_usage_is_2_with_a_hint(shoal, arguments, hint):
    result = shoal(*arguments)
    assert result.exit_code == 2
    assert hint in result.stderr
    assert result.stdout == ""


def raising(error):
    @click.command("look")
    @click.option("--json", is_flag=True)
    def command(json):
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (package.ShoalError("Fact.", "do."), 1, "Fact.\nHint: do.\n"),
        (package.UsageError("Fact."), 2, "Fact.\n"),
        (package.Interrupted("Fact."), 130, "Fact.\n"),
        (package.NotMetError("Fact."), 3, "Fact.\n"),
        (package.ExposedError("Fact."), 4, "Fact.\n"),
        (package.OutputError("Fact."), 5, "Fact.\n"),
        (MemoryError("Anna"), 5, "There is not enough memory."),
        (ValueError("Anna"), 1, "Internal error: ValueError at "),
    ],
)
def test_an_error_is_a_fact_a_hint_and_a_code(shoal, monkeypatch, error, code, told):
    monkeypatch.setattr("shoal.cli.look.command", raising(error))
    result = shoal("look")
    assert result.exit_code == code
    assert told in result.stderr
    assert "Anna" not in result.output
    assert "Traceback" not in result.output
    document = json.loads(shoal("look", "--json").stdout)
    assert document["edition"] == 1
    assert document["error"]["exit_code"] == code


def test_ctrl_c_says_that_nothing_was_written(shoal, monkeypatch):
    monkeypatch.setattr("shoal.cli.look.command", raising(KeyboardInterrupt()))
    result = shoal("look")
    assert result.exit_code == 130
    assert "Stopped.\nHint: " in result.stderr


def test_debug_shows_the_way_without_the_message(shoal, monkeypatch):
    error = ValueError("Anna")
    error.__cause__ = KeyError("Berta")
    monkeypatch.setattr("shoal.cli.look.command", raising(error))
    monkeypatch.setenv("SHOAL_DEBUG", "1")
    told = shoal("look").stderr
    assert "test_main.py" in told
    assert "builtins.KeyError" in told
    assert "Anna" not in told
    assert "Berta" not in told


def test_an_interrupt_that_a_library_swallowed_is_raised_at_the_next_step():
    interruption.stop_requested.set()
    try:
        with printing.Output(quiet=True).show_progress() as step, pytest.raises(KeyboardInterrupt):
            step("making classes", 1, 2)
    finally:
        interruption.stop_requested.clear()
