"""Every mutant stands in one place, and keeps it while code is moved and formatted anew."""

from __future__ import annotations

import pytest
from tests.mutants.compiled import calling_lines, compiled_callers, enclosing
from tests.mutants.placing import CannotBePlacedError, Mutant, Source, read_mutants, unplaced

KERNEL = """
from numba import njit

@njit(cache=True)
def _inner(x):
    return x > 1

@njit(cache=True)
def outer(x):
    return _inner(x)
"""
CALLER = """
from house.kernel import outer

def judge(x):
    return outer(x)
"""


def place(tmp_path, code, before="if a >= b:", after="if a > b:", function="Rule.holds"):
    (tmp_path / "module.py").write_text(code, encoding="utf-8")
    return Source(tmp_path).place(Mutant("", function, before, after, ""))


def test_every_mutant_can_be_placed_once():
    assert unplaced() == []


def test_no_mutant_is_listed_twice_or_changes_nothing():
    mutants = read_mutants()
    assert len({(one.function, one.before, one.after) for one in mutants}) == len(mutants)
    assert [one.name for one in mutants if one.before == one.after] == []


@pytest.mark.parametrize("line", ["if a >= b:", "if a>=b:  # a comment"])
def test_spaces_and_comments_do_not_matter(tmp_path, line):
    code = f"class Rule:\n    def holds(self, a, b):\n        {line}\n            return 1\n"
    changed = place(tmp_path, code).changed("if a > b:")
    assert "if a > b:" in changed
    assert len(changed.splitlines()) == len(code.splitlines())


def test_a_line_broken_inside_brackets_is_found(tmp_path):
    code = "def total(x):\n    return sum(\n        x, 1\n    )\n"
    found = place(tmp_path, code, "return sum(x, 1)", "return 0", "total")
    assert found.lines == range(2, 5)
    assert found.changed("return 0") == "def total(x):\n    return 0\n"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def holds(a, b):\n    if a >= b:\n        return 1\n", "no function is called"),
        ("class Rule:\n    def holds(self):\n        pass\n", "nowhere"),
        (
            "class Rule:\n    def holds(self, a, b):\n"
            + 2 * "        if a >= b:\n            a = 1\n",
            "more than once",
        ),
    ],
)
def test_a_mutant_that_has_lost_its_place_is_told(tmp_path, code, why):
    with pytest.raises(CannotBePlacedError, match=why):
        place(tmp_path, code)


def test_a_change_that_is_not_python_is_told(tmp_path):
    code = (
        "class Rule:\n    def holds(self, a, b):\n        if a >= b and a:\n            return 1\n"
    )
    with pytest.raises(CannotBePlacedError, match="not Python"):
        place(tmp_path, code, "if a >= b")


def test_a_line_before_that_is_not_python_is_told(tmp_path):
    code = "class Rule:\n    def holds(self, a, b):\n        return sum(a, b)\n"
    with pytest.raises(CannotBePlacedError, match="the line before is not Python"):
        place(tmp_path, code, "return sum(a, b", "return 0")


def test_a_compiled_line_is_run_by_whoever_calls_it_through_other_kernels(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL, encoding="utf-8")
    (tmp_path / "caller.py").write_text(CALLER, encoding="utf-8")
    source = Source(tmp_path)
    found = source.place(Mutant("", "_inner", "return x > 1", "return x > 2", ""))
    inner = enclosing(source, found.path, found.lines.start)
    assert inner.is_compiled
    assert [one.name for one in compiled_callers(source, inner)] == ["_inner", "outer"]
    assert calling_lines(source, inner) == [(tmp_path / "caller.py", 5)]
