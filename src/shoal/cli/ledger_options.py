"""The options that verbs of the ledger share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from shoal.cli.options import FILE, SHARE, option

Function = Callable[..., Any]


def add_ledger_options(command: Function) -> Function:
    """Options for the ledger and its key; the command gets the two as ``location``."""

    @functools.wraps(command)
    def with_location(*args: Any, **options: Any) -> Any:
        return command(*args, location=(options.pop("ledger"), options.pop("key")), **options)

    ledger = option(
        "--ledger",
        default="releases.db",
        show_default=True,
        metavar="PATH-OR-URL",
        help="A file, or a shared database: postgresql://…",
    )
    key = option(
        "--key",
        type=FILE,
        metavar="FILE",
        help="The publisher's key; else the file beside the ledger that ends in .key, or "
        "what SHOAL_LEDGER_KEY names.",
    )
    decorated: Function = ledger(key(with_location))
    return decorated


RELATIONS = {
    "overlapping": "It is of another table, about some of the same people.",
    "over time": "It is of their table, grown.",
    "same table": "It is of the same table as the earlier ones.",
}


def add_relation_options(command: Function, make_option: Callable[..., Any] = option) -> Function:
    """Options for what a release is to the earlier ones, where that is known."""
    for words, text in RELATIONS.items():
        flag = make_option(f"--{words.replace(' ', '-')}", "relation", flag_value=words, help=text)
        command = flag(command)
    return command


def add_budget_options(command: Function) -> Function:
    """Options for what differential privacy spends, or may."""
    epsilon = option("--epsilon", metavar="NUMBER", help="Differential privacy's ε: 1, 0.1 or 1/3.")
    delta = option("--delta", metavar="NUMBER", help="And its δ.")
    decorated: Function = epsilon(delta(command))
    return decorated


RHO = option(
    "--rho", metavar="NUMBER", help="And its ρ, beside a δ: what zcdp composition adds up."
)
ABOUT = option(
    "--about",
    default="people",
    show_default=True,
    metavar="TEXT",
    help="Whom it is about: releases about others are not judged together.",
)
TO = option("--to", default="", metavar="TEXT", help="Who gets it.")
ON = option("--on", metavar="COL", help="A further column to learn, beside every sensitive one.")
PEOPLE = option(
    "--people", metavar="FILE", help="Whom the releases are about; without, the worst is assumed."
)
LIMIT = option(
    "--limit",
    type=SHARE,
    default=0.0,
    metavar="SHARE",
    help="Share of people whom an attack may expose; nobody unless given.",
)
MIN_VALUES = option(
    "--l",
    "l",
    type=click.IntRange(2),
    default=2,
    show_default=True,
    metavar="N",
    help="The fewest values that anybody is to be left with.",
)
SHOW = option(
    "--show", "labels", is_flag=True, help="Let findings name values; for your eyes only."
)
