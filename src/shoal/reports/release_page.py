"""The report of a release of rows: from evidence to a page, where nothing is read or measured.

Its sections follow ISO/IEC 27559:2022, Privacy enhancing data de-identification framework: context,
data, identifiability with adversarial testing, mitigation, governance. What nobody said is left as
a line to fill in.
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
from shoal.reports.sections.collusion import build_collusion_section
from shoal.reports.sections.composition import build_composition_section, list_composition_facts
from shoal.reports.sections.differential_privacy import (
    render_promise,
    render_promise_warnings,
    summarise_promise,
)
from shoal.reports.sections.identifiability import (
    HIGH_CONFIDENCE,
    build_identifiability_section,
    describe_success,
)

TITLE = "Privacy report"


def build_release_page(evidence: Evidence, title: str | None = None, version: str = "") -> Page:
    """The report: for its publisher, or of redacted evidence for everybody."""
    return Page(
        title or TITLE,
        (
            _build_summary(evidence),
            build_context_section(evidence.context),
            _build_data_section(evidence),
            build_identifiability_section(evidence),
            *([] if evidence.promise is None else [render_promise(evidence.promise)]),
            *build_collusion_section(evidence.collusion, evidence.kept_columns),
            *build_composition_section(evidence.composition, evidence.fewest),
            _build_mitigation_section(evidence),
            build_governance_section(
                evidence.context,
                [Fact("Shoal", version), Fact("Seed of sampling", str(evidence.seed))],
                evidence.commands or _list_public_commands(evidence),
            ),
        ),
        lead=write_release_lead(evidence),
        foot=_write_foot(evidence, version),
        data=list_release_facts(evidence),
    )


def list_release_facts(evidence: Evidence) -> dict[str, Any]:
    """The outcome for programs: whether the requirement holds, and what each attack found."""
    verdict = evidence.verdict
    facts: dict[str, Any] = {
        "public": evidence.public,
        "buckets": evidence.in_buckets,
        "holds": None if verdict is None else verdict.holds and evidence.releasable,
        "threshold": evidence.risk.threshold,
        "limit": evidence.limit,
        "exceeded": [finding.attack for finding in evidence.above_limit],
        "kept": list(evidence.kept_columns),
        "sensitive": [_list_column_facts(name, evidence) for name in _rank_columns(evidence)],
        "unjudged": list(evidence.columns_without_rule),
        "skipped": [{"attack": name, "why": why} for name, why in evidence.skipped],
        "composition": list_composition_facts(evidence.composition, evidence.fewest),
        "privacy": evidence.promise,
    }
    if evidence.public:
        return {
            **facts,
            "findings": [list_public_facts(finding, evidence) for finding in evidence.findings],
        }
    return {
        **facts,
        "rows": evidence.rows,
        "classes": evidence.classes,
        "verdict": None if verdict is None else verdict.to_json(),
        "risk": to_json_value(evidence.risk.to_dict()),
        "findings": [finding.to_json() for finding in evidence.findings],
        "knowledge": None if evidence.knowledge is None else evidence.knowledge.to_json(),
        "colluding": None if evidence.collusion is None else evidence.collusion.to_json(),
    }


def _rank_columns(evidence: Evidence) -> list[str]:
    """The sensitive columns and others that are attacked, those that expose most people first."""
    ranked = [finding.on for finding in evidence.by_column]
    return list(dict.fromkeys((*ranked, *evidence.attacked_columns, *evidence.unattacked_columns)))


def _list_column_facts(name: str, evidence: Evidence) -> dict[str, Any]:
    worst = evidence.find_worst(name)
    has_rule = None if evidence.verdict is None else name not in evidence.columns_without_rule
    facts: dict[str, Any] = {"on": name, "judged": has_rule, "attack": worst and worst.attack}
    if evidence.public:
        exposed = None if worst is None else state_count(worst.exposed, evidence.fewest)
        return {**facts, "exposed": exposed}
    keys = ("exposed", "people", "rate", "sure", "guessing")
    return {**facts, **{key: None if worst is None else getattr(worst, key) for key in keys}}


def write_release_lead(evidence: Evidence) -> str:
    """The verdict in a sentence or two."""
    sentences = [
        f"{_state_requirement(evidence)}.",
        "" if evidence.releasable else "It is NOT to be released: a seed drew its noise.",
        f"{EVERYBODY_IDENTIFIED}: it is published in buckets." if evidence.in_buckets else "",
        _state_worst_attack(evidence),
    ]
    return " ".join(filter(None, sentences))


def _state_requirement(evidence: Evidence) -> str:
    verdict = evidence.verdict
    if verdict is None:
        return "No requirement was verified"
    if not verdict.holds:
        missed = [judgement.model for judgement in verdict.judgements if not judgement.holds]
        return f"The published table does NOT meet {join_all_names(missed)}"
    models = [judgement.model for judgement in verdict.judgements]
    exception = ", which leaves the kept columns out" if evidence.kept_columns else ""
    if evidence.promise is not None:  # nothing in the file could show what noise promises
        counted = join_all_names([model for model in models if not model.startswith(DP_PROMISE)])
        spend = Spend.from_json(evidence.manifest["spend"])
        return (
            f"The published table meets {counted}{exception}; its sensitive values were exchanged "
            f"at random, as its publisher states ({spend})"
        )
    exception = ", which is about values alone" if evidence.in_buckets else exception
    if evidence.columns_without_rule:
        without_rule = join_all_names(evidence.columns_without_rule)
        exception += f", but NO requirement is about {without_rule}"
    return f"The published table meets what it promises ({join_all_names(models)}){exception}"


def _state_worst_attack(evidence: Evidence) -> str:
    """What the worst attack found; in its own words where they are not for the public."""
    worst, n_attacks = evidence.worst, len(evidence.findings)
    it = "its values" if evidence.in_buckets else "it"
    if worst is None:
        return f"No attack could be run on {it}."
    if not worst.exposed:
        several = f"None of {n_attacks} attacks on {it} succeeds"
        failure = several if n_attacks > 1 else f"The attack on {it} fails"
        return f"{failure}{_state_remaining_confidence(evidence)}."
    opening = (
        f"The worst of {n_attacks} attacks on {it} by the share of people exposed"
        if n_attacks > 1
        else f"The attack on {it}"
    )
    if evidence.public:
        return f"{opening}, {evidence.name_attack(worst)}, {describe_success(worst, evidence)}."
    return f"{opening} is {worst.attack}: {worst.sentence}"


def _state_remaining_confidence(evidence: Evidence) -> str:
    """That somebody is known with little doubt, though nobody counts as exposed."""
    finding = evidence.most_confident
    if finding is None or not finding.sure >= HIGH_CONFIDENCE:  # in public it is not a number
        return ""
    confidence = format_percent(finding.sure, 1)
    return f", though {evidence.name_attack(finding)} is {confidence} sure of somebody"


def _build_summary(evidence: Evidence) -> Section:
    fewest, smallest = evidence.fewest, min(evidence.sizes, default=0)
    alike = format_real(smallest)
    if evidence.public:
        alike = f"≥{fewest}" if smallest >= fewest else f"<{fewest}"
    suffix = ", alike in kept columns too" if evidence.kept_columns else ""
    suffix = ", alike in bucket and exact columns" if evidence.in_buckets else suffix
    facts = (
        Fact("rows", state_count(evidence.rows, fewest), _describe_rows(evidence)),
        Fact("groups", state_count(evidence.classes, fewest), f"of people who look alike{suffix}"),
        Fact("smallest group", alike, "people in it"),
        _make_worst_attack_fact(evidence),
        *([] if evidence.promise is None else _list_answer_facts(evidence.promise)),
    )
    blocks = (KeyFacts(facts), *_list_callouts(evidence), *_tabulate_columns(evidence))
    return Section("In short", (), blocks)


def _tabulate_columns(evidence: Evidence) -> list[Block]:
    names = _rank_columns(evidence)
    if len(names) < 2:
        return []
    head = ("sensitive column", "required", "worst attack", "succeeds on", "surest of anybody")
    shown = 4 if evidence.public else 5
    table = tuple(_make_column_row(name, evidence)[:shown] for name in names)
    return [Table(head[:shown], table, "Each sensitive column")]


def _make_column_row(name: str, evidence: Evidence) -> tuple[str, ...]:
    requirement = "NOTHING" if name in evidence.columns_without_rule else "a rule on it"
    if evidence.verdict is None:
        requirement = "not known"
    elif evidence.promise is not None:
        requirement = "randomised"
    worst = evidence.find_worst(name)
    if worst is None:
        why = "not tried" if name in evidence.unattacked_columns else "none could be run"
        return name, requirement, why, "–", "–"
    attack = worst.attack if worst.exposed else "none succeeds"
    confidence = max(
        column_finding.sure
        for finding in evidence.findings
        for column_finding in finding.per_column
        if column_finding.on == name
    )
    return (
        name,
        requirement,
        attack,
        state_share(worst.exposed, worst.people, evidence.fewest),
        format_percent(confidence, 1),
    )


def _describe_rows(evidence: Evidence) -> str:
    if "people" in evidence.manifest:
        return "one a person"
    if repeats := evidence.private.get("repeats"):
        return f"taken for one a person. WARNING: {' '.join(map(str, repeats))}"
    return "taken for one a person: no column of the schema says who they are about"


def _list_answer_facts(promise: Mapping[str, Any]) -> list[Fact]:
    true_shares = promise["privacy"]["keep"]
    lowest = min(true_shares.values())
    names = f"of {list_names(list(true_shares))}; the others are exchanged at random"
    return [Fact("true answers", format_percent(lowest, 1), names), summarise_promise(promise)]


def _make_worst_attack_fact(evidence: Evidence) -> Fact:
    worst, label, suffix = evidence.worst, "worst attack", ""
    if evidence.in_buckets:
        label, suffix = "worst attack on values", "; everybody can be found without one"
    if worst is None:
        return Fact(label, "–", f"none could be run{suffix}")
    text = (
        f"{evidence.name_attack(worst)}{bracket_consequence(worst)}"
        if worst.exposed
        else "none succeeds"
    )
    return Fact(label, state_share(worst.exposed, worst.people, evidence.fewest), text + suffix)


def _list_callouts(evidence: Evidence) -> list[Block]:
    blocks: list[Block] = render_promise_warnings(evidence.promise)
    if evidence.in_buckets:
        blocks.append(
            Callout(explain_exact_columns(evidence.kept_columns), "warning", EVERYBODY_IDENTIFIED)
        )
    if evidence.verdict is not None and not evidence.verdict.holds:
        text = "What the table promises does not hold for the file. Do not publish it."
        blocks.append(Callout(text, "danger", "Requirement not met"))
    if evidence.columns_without_rule:
        blocks.append(Callout(_describe_unprotected(evidence), "danger", "Without a requirement"))
    if evidence.above_limit:
        names = join_all_names([evidence.name_attack(finding) for finding in evidence.above_limit])
        text = f"Attacks succeed on more than {100 * (evidence.limit or 0):g}% of people: {names}."
        blocks.append(Callout(text, "danger", "Above the limit"))
    elif evidence.limit is not None and evidence.findings:
        text = f"No attack that ran succeeds on more than {100 * evidence.limit:g}% of people"
        doubt = _state_remaining_confidence(evidence)
        quiet = evidence.public or evidence.in_buckets
        tone = "warning" if doubt else "note" if quiet else "good"
        blocks.append(Callout(f"{text}{doubt}.", tone, "Within the limit"))
    return [*blocks, *_warn_of_kept_columns(evidence)]


def _describe_unprotected(evidence: Evidence) -> str:
    names = evidence.columns_without_rule
    it = "its values" if len(names) == 1 else "their values"
    exposed = [finding for finding in evidence.by_column if finding.on in names and finding.exposed]
    text = (
        f"No requirement is about {join_all_names(names)}: everybody in a class may share one of "
        f"{it}."
    )
    if not exposed:
        return text
    shares = [state_share(each.exposed, each.people, evidence.fewest) for each in exposed]
    learned = [
        f"{finding.on} of {share} ({finding.attack})"
        for finding, share in zip(exposed, shares, strict=True)
    ]
    return f"{text} Attacks learn {join_all_names(learned)} of the people they were tried on."


def _warn_of_kept_columns(evidence: Evidence) -> list[Block]:
    if not evidence.kept_columns or evidence.in_buckets:
        return []
    fewest, smallest = evidence.fewest, min(evidence.sizes, default=0)
    people = "1 person" if smallest == fewest == 1 else f"{state_count(smallest, fewest)} people"
    if evidence.public and smallest >= fewest:
        people = f"at least {fewest:,} people"
    text = (
        f"Some columns are published as they are, and no requirement judges them: "
        f"{join_all_names(evidence.kept_columns)}. Groups and risk are counted here as for "
        f"somebody who knows them too; the smallest group has {people}."
    )
    return [Callout(text, "warning", "Kept columns")]


# Data


def _build_data_section(evidence: Evidence) -> Section:
    public = evidence.public
    head = ("column", "role", "what became of it", "different labels")
    rows = [(column.name, column.role, column.fate, column.labels) for column in evidence.columns]
    table = Table(head[:3] if public else head, tuple(row[: 3 if public else 4] for row in rows))
    facts = [Fact("Rows published", state_count(evidence.rows, evidence.fewest))]
    if "one_row" in evidence.manifest:
        facts.append(Fact("One row a person", str(evidence.manifest["one_row"])))
    if "held_back" in evidence.private:
        facts.append(Fact("Rows held back", f"{evidence.private['held_back']:,}"))
    if "another_original" in evidence.private:
        facts.append(Fact("Note", f"{OTHER_ORIGINAL}."))
    if manifest := evidence.manifest:
        names = [str(manifest[key]) for key in ("file", "values") if key in manifest]
        facts.append(Fact("File" if len(names) == 1 else "Files", list_names(names)))
    facts += [
        Fact(f"SHA-256 of the {what}", f"`{file_hash}`")
        for what, file_hash in evidence.hashes.items()
    ]
    return Section(
        "Data",
        ("What the table holds, and what was left of it (data assessment).",),
        (table, Fields(tuple(facts)), *_draw_distributions(evidence)),
    )


def _draw_distributions(evidence: Evidence) -> list[Block]:
    fewest = evidence.fewest
    required = evidence.risk.min_people_alike
    sizes = charts.chart_class_sizes(evidence.sizes_before, evidence.sizes, required, fewest=fewest)
    blocks: list[Block] = [Chart(sizes)]
    for distribution in evidence.distributions:
        if len(distribution.labels) > 1:
            spec = charts.chart_marginals(
                distribution.column,
                distribution.labels,
                distribution.before,
                distribution.after,
                ordered=bool(distribution.ends),
                fewest=fewest,
                moved=distribution.moved,
            )
            blocks.append(Chart(spec))
    return blocks


# Mitigation


def _build_mitigation_section(evidence: Evidence) -> Section:
    return Section(
        "Mitigation",
        ("What was done to protect the people in the table, and what remains.",),
        (
            Text("What was done"),
            Fields(tuple(_list_protections(evidence))),
            *_tabulate_advice(evidence),
            Text("What remains (residual risk)", tuple(_list_residual_risks(evidence))),
        ),
    )


_SEVERAL = dict.fromkeys(("published as it is", "kept as it is"), "Published as they are")
"""The fates of columns that are put in other words for several columns."""
_BUCKETS = "buckets: everybody with exact columns, values permuted within each class"


def _list_protections(evidence: Evidence) -> list[Fact]:
    manifest = evidence.manifest
    by_fate: dict[str, list[str]] = {}
    for column in evidence.columns:
        label = _SEVERAL.get(column.fate, column.fate.capitalize())
        by_fate.setdefault(label, []).append(column.name)
    items: list[Fact] = []
    if manifest:
        settings = dict(manifest.get("parameters", {}))
        parameters = "".join(f" {key}={value}" for key, value in settings.items())
        items += [
            *([Fact("Form", _BUCKETS)] if evidence.in_buckets else []),
            Fact("Requirement", str(manifest.get("rule", ""))),
            Fact("Method", f"{manifest.get('method', '')}{parameters}"),
            Fact("Order of rows", str(manifest.get("row_order", ""))),
        ]
        if manifest.get("based_on"):
            items.append(Fact("Based on", "an earlier release of the same people"))
        if manifest.get("like"):
            items.append(Fact("Recoding", "that of another release, applied to these people"))
    items += [Fact(label, ", ".join(names)) for label, names in by_fate.items()]
    if "held_back" in evidence.private:
        items.append(Fact("Rows held back", format_real(float(evidence.private["held_back"]))))
    if "loss" in evidence.private:
        scale = "(0: every value is as it was; 1: nothing is left of any)"
        if evidence.in_buckets:
            scale = "(of the exact columns; whose value is which is lost within each bucket)"
        what = "Loss of detail" if evidence.promise is None else "Loss of the quasi-identifiers"
        items.append(Fact(what, format_real(float(evidence.private["loss"])), scale))
    if (moved := evidence.private.get("utility", {}).get("marginals")) is not None:
        scale = "(of what publishing nothing would; values as they are estimated from the answers)"
        items.append(Fact("Columns and pairs moved by", format_percent(moved, 1), scale))
    return items


def _tabulate_advice(evidence: Evidence) -> list[Block]:
    rows = tuple(
        (
            evidence.name_attack(finding),
            state_share(finding.exposed, finding.people, evidence.fewest),
            describe_consequence(finding),
            finding.defence,
        )
        for finding in evidence.findings
        if finding.exposed and finding.defence
    )
    if not rows:
        return []
    head = ("attack", "succeeds on", "which means that", "what helps")
    return [Table(head, rows, "What the findings ask for")]


def _list_residual_risks(evidence: Evidence) -> list[str]:
    risk, fewest = evidence.risk, evidence.fewest
    above = risk.people_above
    limit = f"{100 * risk.threshold:.3g}%"
    texts = (
        [f"{EVERYBODY_IDENTIFIED}, by exact columns: that is public."]
        if evidence.in_buckets
        else []
    )
    if above:
        people = state_count(risk.people, fewest)
        texts.append(
            f"{state_count(above, fewest).capitalize()} of {people} people have a risk above "
            f"{limit}."
        )
    elif not evidence.in_buckets:
        texts.append(f"Nobody's risk of being found is above {limit}.")
    worst = evidence.worst
    if worst is not None and worst.exposed:
        texts.append(
            f"As published, {evidence.name_attack(worst)} {describe_success(worst, evidence)}."
        )
    if evidence.columns_without_rule:
        texts.append(_describe_unprotected(evidence))
    if evidence.unattacked_columns:
        texts.append(f"No attack tried to learn {join_all_names(evidence.unattacked_columns)}.")
    if evidence.skipped:
        names = join_all_names(list(dict.fromkeys(name for name, _ in evidence.skipped)))
        texts.append(f"Not tested: {names}; why is said of each under Identifiability.")
    texts.append(
        "No test shows that a table is safe from what was not tried: releases that others make "
        "later, and knowledge that no attack here assumes, remain."
    )
    return texts


# Governance


def _list_public_commands(evidence: Evidence) -> list[str]:
    """The commands that name no file."""
    limit = "" if evidence.limit is None else f" --limit {evidence.limit:g}"
    options = f"--fewest {evidence.fewest} --threshold {evidence.risk.limit}{limit}"
    verify_command = ["shoal verify RELEASE"] if evidence.manifest else []
    return [*verify_command, f"shoal report RELEASE --public {options} -o report.html"]


def _write_foot(evidence: Evidence, version: str) -> str:
    origin = f"Made by `shoal report` {version}".strip()
    if not evidence.public:
        return f"{origin}. For the publisher: it holds facts that the published table does not."
    answers = (
        "" if evidence.promise is None else " Answers and estimates are as in the published file."
    )
    return (
        f"{origin}. For everybody: counts are rounded to {evidence.fewest}, and nothing is told "
        f"that fewer than {evidence.fewest} people stand behind.{answers}"
    )
