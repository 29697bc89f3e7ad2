"""The pages of a pool: the partners' joint certificate, and one page for each provider.

Both are complete pages, without script or network, to be printed and signed. They are drawn from
plain dicts that JSON can hold. The caller decides what may stand in them: **a count is printed as
it is passed**, so a count of few people must be a text already ("fewer than 10"). The certificate
names a provider only if it signs.

``write_certificate`` reads (those in brackets may be left out):

===================  ==========================================================================
``date``             the day, as text
``providers``        how many have rows in the table
``m``                the most providers who may work together
``rule``             the agreed rule, as text
``inside``           the rule inside m-privacy
``beside``           the parts of the rule that are not inside, so not held against partners
``unjudged``         the sensitive columns that no part inside is about
``method``           how the classes were made
``rows``             published rows
``held_back`` [..]   rows that were handed in and are not published
``classes``          published classes
``loss``             loss of detail, 0 … 1
``withstood``        of so many members every class survives any coalition, by the rule inside
``apart``            whether every class is of one provider
``earlier`` [..]     releases of the same pool that came before
``worst``            the worst that a coalition of m leaves of a class: ``rows`` (text)
``beyond`` [dict]    the same for a coalition of m + 1: ``members`` and ``rows``
``trust``            sentences: who had access to what, and who must be trusted
``agreement``        SHA-256 of the agreement
``release_sha256``   of the published table
``hash``             SHA-256 of the certificate's JSON, in which this line is not
``signers`` [list]   who signs: a line for each; without it, as many lines as there are providers
===================  ==========================================================================

``write_provider_page`` reads ``provider`` (its name), ``date``, ``rows`` (its own, published),
``held_back`` [its own that are not, a number], ``m``, ``k`` (counts below it are given as text),
``rule``, ``inside``, ``beside``, ``unjudged``, ``agreement``, ``release_sha256``, ``trust``, and
``lines``, each a dict of ``members`` (of a coalition of others), ``few`` (its rows that they could
leave in a crowd of fewer than k) and ``values`` [its rows whose sensitive value they would know for
certain]. A number 0 there follows from the rule and the certificate; where up to m others anything
else stands, the page warns. ``alone`` [dict]: its ``rows`` in ``classes`` of its own; ``earlier``
as above. Where ``rows`` is 0 there is nothing to count, and nothing is kept.

Both are of releases that were found to meet the rule: of others there are none.
What others could learn is about the worst coalitions of *other* providers: nothing here says what
they know besides their rows, nor what a release made elsewhere adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.reports.charts.collusion import tabulate_attackers
from shoal.reports.document import (
    Block,
    Callout,
    Fact,
    Fields,
    KeyFacts,
    Page,
    Section,
    Table,
    Text,
)

JsonObject = Mapping[str, Any]


def write_certificate(facts: JsonObject) -> str:
    """Return the certificate that the partners sign, as HTML."""
    page = Page(
        "Joint certificate",
        (_promised(facts), _together(facts), _trusted(facts), _signed(facts)),
        lead=_lead(facts),
        foot="Made by `shoal pool publish`. For the partners of the pool: no provider's rows or "
        "counts are in it.",
    )
    return page.html()


def _lead(facts: JsonObject) -> str:
    breaking = (
        "none of them can break that by taking its"
        if int(facts["m"]) == 1
        else f"no {facts['m']:,} of them together can break that by taking their"
    )
    met = f"Every class meets `{facts['inside']}`, and"
    return f"{facts['providers']:,} providers publish one table. {met} {breaking} own rows away."


def list_open_risks(facts: JsonObject) -> list[str]:
    """What neither the agreed rule nor a single release covers, in sentences.

    >>> list_open_risks({"unjudged": ["job"], "beside": []})
    ['No requirement is about job: a class may share one value.']
    """
    risks, not_inside = [], ", ".join(facts["beside"])
    if columns := ", ".join(facts["unjudged"]):
        which = " that is held against partners" if not_inside else ""
        risks.append(f"No requirement{which} is about {columns}: a class may share one value.")
    if not_inside:
        risks.append(f"Not held against partners: {not_inside}.")
    return risks + _earlier_releases_note(facts)


def _earlier_releases_note(facts: JsonObject) -> list[str]:
    number = int(facts.get("earlier", 0))
    if not number:
        return []
    came = f"{number:,} release{'' if number == 1 else 's'} of this pool came before this one"
    which = "both" if number == 1 else "several of the"
    return [f"{came}: whoever has {which} tables can compare them."]


def warn_of_single_provider(number: int, classes: int) -> list[str]:
    """A warning for the third party where some classes are of one provider.

    >>> warn_of_single_provider(3, 495)
    ['Classes of one provider: 3 of 495; whoever guesses which knows whose people they are.']
    """
    guessed = "whoever guesses which knows whose people they are."
    return [f"Classes of one provider: {number:,} of {classes:,}; {guessed}"] if number else []


def _promised(facts: JsonObject) -> Section:
    numbers = (
        Fact("providers", facts["providers"], "provided rows"),
        Fact("m", facts["m"], "may work together, and the rule inside still holds"),
        Fact("rows", facts["rows"], "one a person"),
        Fact("classes", facts["classes"], "of people who look alike"),
    )
    suppressed = []
    if "held_back" in facts:
        note = "(handed in, and not in the table)"
        suppressed = [Fact("Rows held back", facts["held_back"], note)]
    details = (
        Fact("Rule", f"`{facts['rule']}`"),
        Fact("Method", str(facts["method"])),
        *suppressed,
        Fact("Loss of detail", facts["loss"], "(0: every value is as it was; 1: nothing is left)"),
        Fact("Date", str(facts["date"])),
    )
    blocks: list[Block] = [KeyFacts(numbers), Fields(details)]
    if risks := " ".join(list_open_risks(facts)):
        blocks.append(Callout(risks, "warning", "Not promised"))
    return Section("What is promised", (), tuple(blocks))


def _together(facts: JsonObject) -> Section:
    m, inside = int(facts["m"]), str(facts["inside"])
    whole = " & ".join((inside, *facts["beside"]))
    blocks: list[Block] = [tabulate_attackers(whole, [(m, inside)])]
    worst_by_size = [(m, facts["worst"]), (m + 1, facts.get("beyond"))]
    left = [
        Fact(
            "Left by the worst provider" if size == 1 else f"Left by the worst {size:,}",
            f"fewest rows of others in a class: {worst['rows']}",
        )
        for size, worst in worst_by_size
        if worst
    ]
    withstood = int(facts["withstood"])
    members = "any one provider" if withstood == 1 else f"any {withstood:,} providers together"
    survives = Fact("Every class survives", f"{members}, by `{inside}`")
    blocks.append(Fields((survives, *left)))
    if facts["apart"]:
        blocks.append(Callout(SINGLE_PROVIDER_CLASSES, "warning", "Apart"))
    intro = (
        "Each provider knows its own rows. Those who pool what they know can take their rows away "
        "from every class, and what is left is about the patients of others alone."
    )
    return Section("Who could work together", (intro,), tuple(blocks))


SINGLE_PROVIDER_CLASSES = (
    "Every class is of one provider. m-privacy is met by keeping the providers apart: nobody's "
    "people stand among another's, and each provider knows which classes are its own."
)


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"


def _trusted(facts: JsonObject) -> Section:
    return Section("Whom this rests on", tuple(map(str, facts.get("trust", ()))))


def _hashes(facts: JsonObject) -> list[Fact]:
    labels = {
        "agreement": "SHA-256 of the agreement",
        "release_sha256": "SHA-256 of the table",
        "hash": "SHA-256 of this certificate",
    }
    return [Fact(label, f"`{facts[key]}`") for key, label in labels.items() if facts.get(key)]


def _signed(facts: JsonObject) -> Section:
    unnamed = [f"Provider {number:,}" for number in range(1, int(facts["providers"]) + 1)]
    names = [*map(str, facts.get("signers") or unnamed)]
    lines = tuple(Fact(name, "") for name in (*names, "Trusted third party", "Place and date"))
    return Section(
        "Signatures",
        ("Compare the hashes with your own copies before you sign.",),
        (Fields(tuple(_hashes(facts))), Text("Signed by"), Fields(lines)),
    )


def write_provider_page(facts: JsonObject) -> str:
    """Return the page of what others could learn about one provider's patients, as HTML."""
    m, name, rows = int(facts["m"]), str(facts["provider"]), int(facts["rows"])
    lead = (
        f"What other providers could learn about your {_rows(rows)} if they put theirs "
        f"together. Agreed: `{facts['inside']}`, even if up to {m:,} do so."
        if rows
        else "None of your rows is in the published table: all of them were held back."
    )
    page = Page(
        f"For {name}",
        (_in_short(facts) if rows else _nothing_published(facts), _trusted(facts), _checked(facts)),
        lead=lead,
        foot=f"Made by `shoal pool publish`, for {name} alone. Numbers under {facts['k']} are not "
        "told, but for your rows; no other provider's rows or counts are in it.",
    )
    return page.html()


def _nothing_published(facts: JsonObject) -> Section:
    words = (
        f"{_rows(int(facts.get('held_back', 0)))} of yours could be placed in no class that "
        "meets the rule. The table says nothing about them, and you are not one of its providers. "
        "To be part of it, agree on another rule, or on holding fewer rows back."
    )
    text = " ".join((words, *_earlier_releases_note(facts)))
    return Section("In short", (), (Callout(text, "warning", "Held back"),))


def _in_short(facts: JsonObject) -> Section:
    m, k = int(facts["m"]), facts["k"]
    numbers = (
        Fact("your rows", facts["rows"], "in the published table"),
        *(
            [Fact("held back", facts["held_back"], SUPPRESSED_NOTE)]
            if facts.get("held_back")
            else []
        ),
        Fact("m", m, "others may work together, as agreed"),
        Fact("k", k, "people at least; smaller numbers are not told"),
    )
    intro = (
        "Others know their own rows and can take them away from every class. Those of your "
        f"patients who are left there may be in a crowd of fewer than {k}; or all who are left "
        "share one sensitive value, which the others then know for certain. The rule agreed on is "
        f"`{facts['inside']}`; what it does not limit is counted here all the same."
    )
    blocks = (KeyFacts(numbers), _coalition_table(facts), _verdict(facts), *_own_classes(facts))
    return Section("In short", (intro,), blocks)


SUPPRESSED_NOTE = "of your rows: in no class, and not in the table"


def _own_classes(facts: JsonObject) -> list[Block]:
    if "alone" not in facts:
        return []
    rows, classes = int(facts["alone"]["rows"]), int(facts["alone"]["classes"])
    which = f"{classes:,} class{'' if classes == 1 else 'es'}"
    words = (
        f"{_rows(rows)} of yours {'is' if rows == 1 else 'are'} in {which} of your own, where "
        "nobody else has rows: whoever guesses which they are knows that they are yours."
    )
    return [Callout(words, "note", "Apart")]


def _coalition_table(facts: JsonObject) -> Table:
    lines, m = facts["lines"], int(facts["m"])
    shown = 3 if any("values" in line for line in lines) else 2
    head = ("others together", f"your rows in a crowd under {facts['k']}", "whose value is known")
    rows = tuple(
        (
            f"{line['members']:,}{'' if int(line['members']) <= m else ' (more than agreed)'}",
            line["few"],
            line.get("values"),
        )
        for line in lines
    )
    return Table(
        head[:shown],
        tuple(row[:shown] for row in rows),
        "Against the worst coalitions of so many others",
    )


def _verdict(facts: JsonObject) -> Callout:
    m = int(facts["m"])
    others = "one other" if m == 1 else f"{m:,} others"
    which = "published rows" if facts.get("held_back") else "rows"
    holds = f"Against up to {others} `{facts['inside']}` holds for all your {which}."
    agreed = [line for line in facts["lines"] if int(line["members"]) <= m]
    limited = all(line["few"] == 0 and line.get("values", 0) == 0 for line in agreed)
    open_risks = [] if limited else ["That does not rule out what is counted above."]
    open_risks += list_open_risks(facts)
    if not open_risks:
        return Callout(f"{holds} Against more nothing is promised.", "good", "Kept")
    words = (holds, *open_risks, "Decide whether that is enough before you consent.")
    return Callout(" ".join(words), "warning", "Not all is promised")


def _checked(facts: JsonObject) -> Section:
    signed = (Fact("Seen by", ""), Fact("Date", ""))
    return Section(
        "For your files",
        ("The table and the agreement that this page is about.",),
        (Fields((Fact("Date", str(facts["date"])), *_hashes(facts))), Fields(signed)),
    )
