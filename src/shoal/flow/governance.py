"""The parts of a report that its steward answers for: the context, and who signs.

ISO/IEC 27559:2022 asks for both. Shoal cannot know them; what nobody said is a line to fill in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shoal.flow.context import ASKED, ENVIRONMENTS, SIGNED
from shoal.pages import Code, Fact, Fields, Section, Text


def context_section(told: Mapping[str, str]) -> Section:
    """Who publishes, to whom, for what, and against whom: as the steward wrote it."""
    items = [Fact(words, told.get(key, "")) for key, words in ASKED.items()]
    place = told.get("environment")
    items = [
        Fact(one.label, ENVIRONMENTS[place]) if place and one.label == ASKED["environment"] else one
        for one in items
    ]
    more = [key for key in told if key not in ASKED and key not in SIGNED]
    items += [Fact(key.replace("_", " ").capitalize(), told[key]) for key in more]
    return Section(
        "Context",
        (
            "Who publishes the table, to whom and for what, and against whom it is protected "
            "(context assessment). A line without an answer is for the steward to fill in.",
        ),
        (Fields(tuple(items)),),
    )


def governance_section(
    told: Mapping[str, str], made: Iterable[Fact], commands: Iterable[str]
) -> Section:
    """Who decided, and how the report is had again: ``made`` by what, with which ``commands``."""
    signed = [Fact(words, told.get(key, "")) for key, words in SIGNED.items()]
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
