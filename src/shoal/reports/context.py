"""The parts of a report that its steward answers for: the context, and who signs.

ISO/IEC 27559:2022 asks for both. Shoal cannot know them; what nobody said is a line to fill in.

What a steward says about a release: who publishes, to whom, for what, and who signs.

Shoal cannot know these things and never invents them; what is not said stays a line to fill in,
and what is said is printed as it is written, in the version for the public too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from shoal.core.errors import InputError, UsageError
from shoal.reports.document import Code, Fact, Fields, Section, Text

# What a steward says about a release: who publishes, to whom, for what, and who signs.


CONTEXT_FIELDS = {
    "publisher": "Publisher",
    "contact": "Contact",
    "recipient": "Recipients",
    "purpose": "Purpose",
    "environment": "Environment",
    "legal_basis": "Legal basis",
    "adversaries": "Adversaries assumed",
    "safeguards": "Other safeguards",
}
"""What the assessment of the context asks, in its order."""
GOVERNANCE_FIELDS = {
    "author": "Prepared by",
    "approver": "Approved by",
    "role": "Role",
    "date": "Date",
    "review": "Review by",
}
"""What governance asks."""
ENVIRONMENTS = {
    "public": "public: anybody may have the table, with no promise",
    "shared": "shared: named recipients have it, under an agreement",
    "controlled": "controlled: it is used in an environment that the publisher guards",
}


def read_context(given: Mapping[str, Any] | str | Path | None) -> dict[str, str]:
    """The context as text by key, from a mapping or a TOML file; empty answers are left out."""
    told = given if isinstance(given, Mapping) else _read(given)
    found = {str(key): _text(str(key), value) for key, value in told.items()}
    found = {key: value for key, value in found.items() if value}
    place = found.get("environment")
    if place is not None and place not in ENVIRONMENTS:
        raise UsageError(
            "The context names an environment that is not known.",
            f'write environment = "{next(iter(ENVIRONMENTS))}", or one of '
            f"{', '.join(list(ENVIRONMENTS)[1:])}.",
        )
    return found


def _read(path: str | Path | None) -> Mapping[str, Any]:
    if path is None:
        return {}
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(
            f"The context cannot be read ({error.strerror}).", "check the path."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise InputError(
            "The context is not TOML.", 'write lines such as publisher = "St. Anna".'
        ) from None


def _text(key: str, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_text(key, one) for one in value)
    if isinstance(value, str | int | float | date | datetime | time):
        return str(value).strip()
    raise InputError(f"The context's {key!r} is no text.", f'write {key} = "…".')


# The parts of a report that its steward answers for: the context, and who signs.


def build_context_section(told: Mapping[str, str]) -> Section:
    """Who publishes, to whom, for what, and against whom: as the steward wrote it."""
    items = [Fact(words, told.get(key, "")) for key, words in CONTEXT_FIELDS.items()]
    place = told.get("environment")
    items = [
        Fact(one.label, ENVIRONMENTS[place])
        if place and one.label == CONTEXT_FIELDS["environment"]
        else one
        for one in items
    ]
    more = [key for key in told if key not in CONTEXT_FIELDS and key not in GOVERNANCE_FIELDS]
    items += [Fact(key.replace("_", " ").capitalize(), told[key]) for key in more]
    return Section(
        "Context",
        (
            "Who publishes the table, to whom and for what, and against whom it is protected "
            "(context assessment). A line without an answer is for the steward to fill in.",
        ),
        (Fields(tuple(items)),),
    )


def build_governance_section(
    told: Mapping[str, str], made: Iterable[Fact], commands: Iterable[str]
) -> Section:
    """Who decided, and how the report is had again: ``made`` by what, with which ``commands``."""
    signed = [Fact(words, told.get(key, "")) for key, words in GOVERNANCE_FIELDS.items()]
    return Section(
        "Governance",
        ("Who answers for the release, until when, and how every number here can be checked.",),
        (
            Text("Decision"),
            Fields((*signed, Fact("Signature", ""))),
            Text("How to repeat this report"),
            Fields(tuple(made)),
            Code("\n".join(commands), "Commands"),
        ),
    )
