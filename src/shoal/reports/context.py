"""The sections that a steward answers for: the context (who publishes, to whom, for what), and
governance (who signs).

ISO/IEC 27559:2022 asks for both. Shoal cannot know them and never invents them: what is not said
stays a line to fill in, and what is said is printed as it is written, in public too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from shoal.core.errors import InputError, UsageError
from shoal.reports.document import Code, Fact, Fields, Section, Text

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


def read_context(source: Mapping[str, Any] | str | Path | None) -> dict[str, str]:
    """The context as text by key, from a mapping or a TOML file; empty answers are left out."""
    answers = source if isinstance(source, Mapping) else _read_toml(source)
    texts = {str(key): _to_text(str(key), value) for key, value in answers.items()}
    context = {key: text for key, text in texts.items() if text}
    place = context.get("environment")
    if place is not None and place not in ENVIRONMENTS:
        raise UsageError(
            "The context names an environment that is not known.",
            f'write environment = "{next(iter(ENVIRONMENTS))}", or one of '
            f"{', '.join(list(ENVIRONMENTS)[1:])}.",
        )
    return context


def _read_toml(path: str | Path | None) -> Mapping[str, Any]:
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


def _to_text(key: str, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_to_text(key, part) for part in value)
    if isinstance(value, str | int | float | date | datetime | time):
        return str(value).strip()
    raise InputError(f"The context's {key!r} is no text.", f'write {key} = "…".')


def build_context_section(context: Mapping[str, str]) -> Section:
    """Who publishes, to whom, for what, and against whom: as the steward wrote it."""
    answers = dict(context)
    if environment := context.get("environment"):
        answers["environment"] = ENVIRONMENTS[environment]
    items = [Fact(label, answers.get(key, "")) for key, label in CONTEXT_FIELDS.items()]
    more = [key for key in context if key not in CONTEXT_FIELDS and key not in GOVERNANCE_FIELDS]
    items += [Fact(key.replace("_", " ").capitalize(), context[key]) for key in more]
    return Section(
        "Context",
        (
            "Who publishes the table, to whom and for what, and against whom it is protected "
            "(context assessment). A line without an answer is for the steward to fill in.",
        ),
        (Fields(tuple(items)),),
    )


def build_governance_section(
    context: Mapping[str, str], provenance: Iterable[Fact], commands: Iterable[str]
) -> Section:
    """Who decided, and how to repeat the report: the versions and the commands that made it."""
    signed = [Fact(label, context.get(key, "")) for key, label in GOVERNANCE_FIELDS.items()]
    return Section(
        "Governance",
        ("Who answers for the release, until when, and how every number here can be checked.",),
        (
            Text("Decision"),
            Fields((*signed, Fact("Signature", ""))),
            Text("How to repeat this report"),
            Fields(tuple(provenance)),
            Code("\n".join(commands), "Commands"),
        ),
    )
