"""From evidence to a page. Its parts follow ISO/IEC 27559:2022, Privacy enhancing data
de-identification framework: context, data, identifiability with adversarial testing, mitigation,
governance.

A pure function: nothing is read or measured here. What nobody said is left as a line to fill in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.core.release import DP_PROMISE, to_json_value
from shoal.core.spend import Spend
from shoal.releases.companion import OTHER_ORIGINAL
from shoal.reports.attack_wording import (
    EVERYBODY_IDENTIFIED,
    bracket_consequence,
    describe_consequence,
    explain_exact_columns,
)
from shoal.reports.charts import release as charts
from shoal.reports.context import build_context_section, build_governance_section
from shoal.reports.document import (
    Block,
    Callout,
    Chart,
    Fact,
    Fields,
    KeyFacts,
    Page,
    Section,
    Table,
    Text,
)
from shoal.reports.evidence import Evidence
from shoal.reports.format import (
    format_percent,
    format_real,
    join_all_names,
    list_names,
    state_count,
    state_share,
)
from shoal.reports.redact import list_public_facts
from shoal.reports.sections.collusion import build_collusion_section as insiders
from shoal.reports.sections.composition import build_composition_section as beside
from shoal.reports.sections.composition import list_composition_facts as composed
from shoal.reports.sections.differential_privacy import build_promise_section as noise
from shoal.reports.sections.differential_privacy import render_promise_warnings, summarise_promise
from shoal.reports.sections.identifiability import (
    HIGH_CONFIDENCE,
    build_identifiability_section,
    describe_success,
)

TITLE = "Privacy report"


def build_release_page(evidence: Evidence, title: str | None = None, version: str = "") -> Page:
    """The report: for its publisher, or of evidence that is `publishable` for everybody."""
    return Page(
        title or TITLE,
        (
            _summary(evidence),
            build_context_section(evidence.context),
            _data(evidence),
            build_identifiability_section(evidence),
            *noise(evidence.promised),
            *insiders(evidence.colluding, evidence.kept),
            *beside(evidence.composing, evidence.fewest),
            _mitigation(evidence),
            _governance(evidence, version),
        ),
        lead=write_release_lead(evidence),
        foot=_foot(evidence, version),
        data=list_release_facts(evidence),
    )


def list_release_facts(evidence: Evidence) -> dict[str, Any]:
    """The outcome for programs: whether the requirement holds, and what each attack found."""
    verdict, fewest = evidence.verdict, evidence.fewest
    told: dict[str, Any] = {
        "public": evidence.public,
        "buckets": evidence.buckets,
        "holds": None if verdict is None else verdict.holds and evidence.releasable,
        "threshold": evidence.risk.threshold,
        "limit": evidence.limit,
        "exceeded": [one.attack for one in evidence.exceeded],
        "kept": list(evidence.kept),
        "sensitive": [_column_facts(name, evidence) for name in _columns(evidence)],
        "unjudged": list(evidence.unjudged),
        "skipped": [{"attack": name, "why": why} for name, why in evidence.skipped],
        "composition": composed(evidence.composing, fewest),
        "privacy": evidence.promised,
    }
    if evidence.public:
        return {**told, "findings": [list_public_facts(one, evidence) for one in evidence.findings]}
    return {
        **told,
        "rows": evidence.rows,
        "classes": evidence.classes,
        "verdict": None if verdict is None else verdict.to_json(),
        "risk": to_json_value(evidence.risk.to_dict()),
        "findings": [one.to_json() for one in evidence.findings],
        "knowledge": None if evidence.knowing is None else evidence.knowing.to_json(),
        "colluding": None if evidence.colluding is None else evidence.colluding.to_json(),
    }


def _columns(evidence: Evidence) -> list[str]:
    """The sensitive columns and others that are learnt; those first by which most are exposed."""
    ranked = [one.on for one in evidence.by_column]
    return list(dict.fromkeys((*ranked, *evidence.learnt, *evidence.unlearnt)))


def _column_facts(name: str, evidence: Evidence) -> dict[str, Any]:
    """What is known of one sensitive column: whether a requirement is about it, and the worst that
    an attack found.
    """
    worst = next((one for one in evidence.by_column if one.on == name), None)
    judged = None if evidence.verdict is None else name not in evidence.unjudged
    told: dict[str, Any] = {"on": name, "judged": judged, "attack": worst and worst.attack}
    if evidence.public:
        exposed = None if worst is None else state_count(worst.exposed, evidence.fewest)
        return {**told, "exposed": exposed}
    numbers = ("exposed", "people", "rate", "sure", "guessing")
    return {**told, **{key: None if worst is None else getattr(worst, key) for key in numbers}}


def write_release_lead(evidence: Evidence) -> str:
    """The verdict in a sentence or two."""
    found = f"{EVERYBODY_IDENTIFIED}: it is published in buckets. " if evidence.buckets else ""
    barred = "" if evidence.releasable else "It is NOT to be released: a seed drew its noise. "
    return f"{_requirement(evidence)}. {barred}{found}{_worst(evidence)}"


def _requirement(evidence: Evidence) -> str:
    verdict = evidence.verdict
    if verdict is None:
        return "No requirement was verified"
    if verdict.holds and evidence.promised is not None:
        return f"The published table meets {_counted(evidence)}; {_stated(evidence)}"
    if verdict.holds:
        rules = join_all_names([one.model for one in verdict.judgements])
        apart = ", which leaves the kept columns out" if evidence.kept else ""
        apart = ", which is about values alone" if evidence.buckets else apart
        return (
            f"The published table meets what it promises ({rules}){apart}{_unprotected(evidence)}"
        )
    missed = join_all_names([one.model for one in verdict.judgements if not one.holds])
    return f"The published table does NOT meet {missed}"


def _unprotected(evidence: Evidence) -> str:
    """That sensitive columns are left to chance, to end a sentence with."""
    if not evidence.unjudged:
        return ""
    return f", but NO requirement is about {join_all_names(evidence.unjudged)}"


def _counted(evidence: Evidence) -> str:
    """The requirements that were counted in the file."""
    assert evidence.verdict is not None
    names = [one.model for one in evidence.verdict.judgements]
    apart = ", which leaves the kept columns out" if evidence.kept else ""
    return f"{join_all_names([one for one in names if not one.startswith(DP_PROMISE)])}{apart}"


def _stated(evidence: Evidence) -> str:
    """What noise promises: nothing in the file could show it."""
    spend = Spend.from_json(evidence.manifest["spend"])
    return f"its sensitive values were exchanged at random, as its publisher states ({spend})"


def _worst(evidence: Evidence) -> str:
    """What the worst attack found; in its own words where they are not for the public."""
    worst, tried = evidence.worst, len(evidence.findings)
    it = "its values" if evidence.buckets else "it"
    if worst is None:
        return f"No attack could be run on {it}."
    if not worst.exposed:
        none = f"None of {tried} attacks on {it} succeeds"
        return f"{none if tried > 1 else f'The attack on {it} fails'}{_still_sure(evidence)}."
    most = (
        f"The worst of {tried} attacks on {it} by the share of people exposed"
        if tried > 1
        else f"The attack on {it}"
    )
    if evidence.public:
        return f"{most}, {evidence.named(worst)}, {describe_success(worst, evidence)}."
    return f"{most} is {worst.attack}: {worst.sentence}"


def _still_sure(evidence: Evidence) -> str:
    """That somebody is known with little doubt, though nobody counts as exposed."""
    surest = evidence.surest
    if surest is None or not surest.sure >= HIGH_CONFIDENCE:  # in public nobody's is known
        return ""
    return f", though {evidence.named(surest)} is {format_percent(surest.sure, 1)} sure of somebody"


def _summary(evidence: Evidence) -> Section:
    fewest, smallest = evidence.fewest, min(evidence.sizes, default=0)
    alike = format_real(smallest)
    if evidence.public:
        alike = f"≥{fewest}" if smallest >= fewest else f"<{fewest}"
    kept = ", alike in kept columns too" if evidence.kept else ""
    kept = ", alike in bucket and exact columns" if evidence.buckets else kept
    facts = (
        Fact("rows", state_count(evidence.rows, fewest), _whose(evidence)),
        Fact("groups", state_count(evidence.classes, fewest), f"of people who look alike{kept}"),
        Fact("smallest group", alike, "people in it"),
        _worst_attack(evidence),
        *([] if evidence.promised is None else _of_answers(evidence.promised)),
    )
    blocks = (KeyFacts(facts), *_callouts(evidence), *_by_column(evidence))
    return Section("In short", (), blocks)


def _by_column(evidence: Evidence) -> list[Block]:
    """Each sensitive column: whether a requirement is about it, and the worst that was found."""
    names = _columns(evidence)
    if len(names) < 2:
        return []
    head = ("sensitive column", "required", "worst attack", "succeeds on", "surest of anybody")
    shown = 4 if evidence.public else 5
    table = tuple(_column_row(name, evidence)[:shown] for name in names)
    return [Table(head[:shown], table, "Each sensitive column")]


def _column_row(name: str, evidence: Evidence) -> tuple[str, ...]:
    judged = "NOTHING" if name in evidence.unjudged else "a rule on it"
    if evidence.verdict is None:
        judged = "not known"
    elif evidence.promised is not None:
        judged = "randomised"
    worst = next((one for one in evidence.by_column if one.on == name), None)
    if worst is None:
        why = "not tried" if name in evidence.unlearnt else "none could be run"
        return name, judged, why, "–", "–"
    attack = worst.attack if worst.exposed else "none succeeds"
    sure = max(
        one.sure for found in evidence.findings for one in found.per_column if one.on == name
    )
    return (
        name,
        judged,
        attack,
        state_share(worst.exposed, worst.people, evidence.fewest),
        format_percent(sure, 1),
    )


def _whose(evidence: Evidence) -> str:
    """Whether each row is somebody else's."""
    if "people" in evidence.manifest:
        return "one a person"
    if repeats := evidence.private.get("repeats"):
        return f"taken for one a person. WARNING: {' '.join(map(str, repeats))}"
    return "taken for one a person: no column of the schema says who they are about"


def _of_answers(told: Mapping[str, Any]) -> list[Fact]:
    """How many answers are true, and what they can make anybody believe."""
    true = told["privacy"]["keep"]
    least = min(true.values())
    names = f"of {list_names(list(true))}; the others are exchanged at random"
    return [Fact("true answers", format_percent(least, 1), names), summarise_promise(told)]


def _worst_attack(evidence: Evidence) -> Fact:
    worst, label, also = evidence.worst, "worst attack", ""
    if evidence.buckets:
        label, also = "worst attack on values", "; everybody can be found without one"
    if worst is None:
        return Fact(label, "–", f"none could be run{also}")
    told = (
        f"{evidence.named(worst)}{bracket_consequence(worst)}" if worst.exposed else "none succeeds"
    )
    return Fact(label, state_share(worst.exposed, worst.people, evidence.fewest), told + also)


def _callouts(evidence: Evidence) -> list[Block]:
    blocks: list[Block] = render_promise_warnings(evidence.promised)
    if evidence.buckets:
        blocks.append(
            Callout(explain_exact_columns(evidence.kept), "warning", EVERYBODY_IDENTIFIED)
        )
    if evidence.verdict is not None and not evidence.verdict.holds:
        told = "What the table promises does not hold for the file. Do not publish it."
        blocks.append(Callout(told, "danger", "Requirement not met"))
    if evidence.unjudged:
        blocks.append(Callout(_left_to_chance(evidence), "danger", "Without a requirement"))
    if evidence.exceeded:
        names = join_all_names([evidence.named(one) for one in evidence.exceeded])
        told = f"Attacks succeed on more than {100 * (evidence.limit or 0):g}% of people: {names}."
        blocks.append(Callout(told, "danger", "Above the limit"))
    elif evidence.limit is not None and evidence.findings:
        told = f"No attack that ran succeeds on more than {100 * evidence.limit:g}% of people"
        doubt = _still_sure(evidence)
        quiet = evidence.public or evidence.buckets
        tone = "warning" if doubt else "note" if quiet else "good"
        blocks.append(Callout(f"{told}{doubt}.", tone, "Within the limit"))
    return [*blocks, *_kept(evidence)]


def _left_to_chance(evidence: Evidence) -> str:
    """Which sensitive columns nothing protects, and what attacks find of them."""
    names = evidence.unjudged
    it = "its values" if len(names) == 1 else "their values"
    hit = [one for one in evidence.by_column if one.on in names and one.exposed]
    told = (
        f"No requirement is about {join_all_names(names)}: everybody in a class may share one of "
        f"{it}."
    )
    if not hit:
        return told
    each = join_all_names(
        [
            f"{one.on} of {state_share(one.exposed, one.people, evidence.fewest)} ({one.attack})"
            for one in hit
        ]
    )
    return f"{told} Attacks learn {each} of the people they were tried on."


def _kept(evidence: Evidence) -> list[Block]:
    if not evidence.kept or evidence.buckets:
        return []
    fewest, smallest = evidence.fewest, min(evidence.sizes, default=0)
    people = "1 person" if smallest == fewest == 1 else f"{state_count(smallest, fewest)} people"
    if evidence.public and smallest >= fewest:
        people = f"at least {fewest:,} people"
    told = (
        f"Some columns are published as they are, and no requirement judges them: "
        f"{join_all_names(evidence.kept)}. Groups and risk are counted here as for somebody who "
        "knows "
        f"them too; the smallest group has {people}."
    )
    return [Callout(told, "warning", "Kept columns")]


# Data


def _data(evidence: Evidence) -> Section:
    public = evidence.public
    head = ("column", "role", "what became of it", "different labels")
    rows = [(one.name, one.role, one.fate, one.labels) for one in evidence.columns]
    table = Table(head[:3] if public else head, tuple(row[: 3 if public else 4] for row in rows))
    facts = [Fact("Rows published", state_count(evidence.rows, evidence.fewest))]
    if "one_row" in evidence.manifest:
        facts.append(Fact("One row a person", str(evidence.manifest["one_row"])))
    if "held_back" in evidence.private:
        facts.append(Fact("Rows held back", f"{evidence.private['held_back']:,}"))
    if "another_original" in evidence.private:
        facts.append(Fact("Note", f"{OTHER_ORIGINAL}."))
    if made := evidence.manifest:
        names = [str(made[key]) for key in ("file", "values") if key in made]
        facts.append(Fact("File" if len(names) == 1 else "Files", list_names(names)))
    facts += [Fact(f"SHA-256 of the {what}", f"`{one}`") for what, one in evidence.hashes.items()]
    return Section(
        "Data",
        ("What the table holds, and what was left of it (data assessment).",),
        (table, Fields(tuple(facts)), *_drawn(evidence)),
    )


def _drawn(evidence: Evidence) -> list[Block]:
    """Class sizes and distributions, before and after where the original was given."""
    fewest = evidence.fewest
    needed = _needed_k(evidence)
    sizes = charts.chart_class_sizes(evidence.sizes_before, evidence.sizes, needed, fewest=fewest)
    blocks: list[Block] = [Chart(sizes)]
    for one in evidence.distributions:
        if len(one.labels) > 1:
            spec = charts.chart_marginals(
                one.column,
                one.labels,
                one.before,
                one.after,
                ordered=bool(one.ends),
                fewest=fewest,
                moved=one.moved,
            )
            blocks.append(Chart(spec))
    return blocks


def _needed_k(evidence: Evidence) -> int:
    """The fewest people a class must have by the threshold of risk."""
    return evidence.risk.min_people_alike


# Mitigation


def _mitigation(evidence: Evidence) -> Section:
    return Section(
        "Mitigation",
        ("What was done to protect the people in the table, and what remains.",),
        (
            Text("What was done"),
            Fields(tuple(_done(evidence))),
            *_advised(evidence),
            Text("What remains (residual risk)", tuple(_remaining(evidence))),
        ),
    )


_SEVERAL = dict.fromkeys(("published as it is", "kept as it is"), "Published as they are")
"""The fates of columns that are told in other words of several."""
_BUCKETS = "buckets: everybody with exact columns, values permuted within each class"


def _done(evidence: Evidence) -> list[Fact]:
    made = evidence.manifest
    by_fate: dict[str, list[str]] = {}
    for one in evidence.columns:
        by_fate.setdefault(_SEVERAL.get(one.fate, one.fate.capitalize()), []).append(one.name)
    items = []
    if made:
        items = [
            *([Fact("Form", _BUCKETS)] if evidence.buckets else []),
            Fact("Requirement", str(made.get("rule", ""))),
            Fact("Method", _method(evidence)),
            Fact("Order of rows", str(made.get("row_order", ""))),
        ]
        if made.get("based_on"):
            items.append(Fact("Based on", "an earlier release of the same people"))
        if made.get("like"):
            items.append(Fact("Recoding", "that of another release, applied to these people"))
    items += [Fact(label, ", ".join(names)) for label, names in by_fate.items()]
    if "held_back" in evidence.private:
        items.append(Fact("Rows held back", format_real(float(evidence.private["held_back"]))))
    if "loss" in evidence.private:
        scale = "(0: every value is as it was; 1: nothing is left of any)"
        if evidence.buckets:
            scale = "(of the exact columns; whose value is which is lost within each bucket)"
        what = "Loss of detail" if evidence.promised is None else "Loss of the quasi-identifiers"
        items.append(Fact(what, format_real(float(evidence.private["loss"])), scale))
    return [*items, *_moved(evidence.private.get("utility", {}))]


def _moved(useful: Mapping[str, Any]) -> list[Fact]:
    """How far columns and pairs are from the original's, answers and all."""
    if useful.get("marginals") is None:
        return []
    scale = "(of what publishing nothing would; values as they are estimated from the answers)"
    return [Fact("Columns and pairs moved by", format_percent(useful["marginals"], 1), scale)]


def _method(evidence: Evidence) -> str:
    settings = dict(evidence.manifest.get("parameters", {}))
    told = "".join(f" {key}={value}" for key, value in settings.items())
    return f"{evidence.manifest.get('method', '')}{told}"


def _advised(evidence: Evidence) -> list[Block]:
    rows = tuple(
        (
            evidence.named(one),
            state_share(one.exposed, one.people, evidence.fewest),
            describe_consequence(one),
            one.defence,
        )
        for one in evidence.findings
        if one.exposed and one.defence
    )
    if not rows:
        return []
    head = ("attack", "succeeds on", "which means that", "what helps")
    return [Table(head, rows, "What the findings ask for")]


def _remaining(evidence: Evidence) -> list[str]:
    risk, fewest = evidence.risk, evidence.fewest
    above = risk.people_above
    limit = f"{100 * risk.threshold:.3g}%"
    told = (
        [f"{EVERYBODY_IDENTIFIED}, by exact columns: that is public."] if evidence.buckets else []
    )
    if above:
        people = state_count(risk.people, fewest)
        told.append(
            f"{state_count(above, fewest).capitalize()} of {people} people have a risk above "
            f"{limit}."
        )
    elif not evidence.buckets:
        told.append(f"Nobody's risk of being found is above {limit}.")
    worst = evidence.worst
    if worst is not None and worst.exposed:
        told.append(f"As published, {evidence.named(worst)} {describe_success(worst, evidence)}.")
    if evidence.unjudged:
        told.append(_left_to_chance(evidence))
    if evidence.unlearnt:
        told.append(f"No attack tried to learn {join_all_names(evidence.unlearnt)}.")
    if evidence.skipped:
        names = join_all_names(list(dict.fromkeys(name for name, _ in evidence.skipped)))
        told.append(f"Not tested: {names}; why is said of each under Identifiability.")
    told.append(
        "No test shows that a table is safe from what was not tried: releases that others make "
        "later, and knowledge that no attack here assumes, remain."
    )
    return told


# Governance


def _governance(evidence: Evidence, version: str) -> Section:
    made = [Fact("Shoal", version), Fact("Seed of sampling", str(evidence.seed))]
    return build_governance_section(
        evidence.context, made, evidence.commands or _repeated(evidence)
    )


def _repeated(evidence: Evidence) -> list[str]:
    """The commands that name no file."""
    limit = "" if evidence.limit is None else f" --limit {evidence.limit:g}"
    asked = f"--fewest {evidence.fewest} --threshold {evidence.risk.limit}{limit}"
    verified = ["shoal verify RELEASE"] if evidence.manifest else []
    return [*verified, f"shoal report RELEASE --public {asked} -o report.html"]


def _foot(evidence: Evidence, version: str) -> str:
    made = f"Made by `shoal report` {version}".strip()
    if not evidence.public:
        return f"{made}. For the publisher: it holds facts that the published table does not."
    of = "" if evidence.promised is None else " Answers and estimates are as in the published file."
    return (
        f"{made}. For everybody: counts are rounded to {evidence.fewest}, and nothing is told "
        f"that fewer than {evidence.fewest} people stand behind.{of}"
    )
