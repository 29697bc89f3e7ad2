"""Shoal publishes tables about people so that nobody in them stands out.

Everything a user needs is importable from here; what only one verb needs is loaded by that verb.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "shoal.core.errors": (
        "ExposedError",
        "HierarchyError",
        "InputError",
        "Interrupted",
        "NotMetError",
        "OutputError",
        "SchemaError",
        "ShoalError",
        "UndecidedError",
        "UsageError",
    ),
    "shoal.core.hierarchy": (
        "Hierarchy",
        "dates",
        "equal_frequency",
        "equal_width",
        "flat",
        "from_arx_csv",
        "intervals",
        "ordered",
        "prefixes",
        "to_arx_csv",
        "tree",
    ),
    "shoal.core.model": ("Model", "Rule"),
    "shoal.core.release": ("Finding", "Release", "Verdict"),
    "shoal.core.schema": (
        "Column",
        "Schema",
        "drop",
        "identifier",
        "keep",
        "person",
        "provider",
        "quasi",
        "sensitive",
        "weight",
    ),
    "shoal.core.spend": ("Spend",),
    "shoal.core.theory.collusion": ("Collusion",),
    "shoal.core.theory.worst_case_disclosure": ("max_disclosure",),
    "shoal.core.theory.knowledge": ("Atom", "Implication"),
    "shoal.core.theory.worlds": ("Belief", "belief"),
    "shoal.data": ("Fetched", "datasets", "fetch"),
    "shoal.dp.audit": ("EpsilonAudit", "audit_epsilon"),
    "shoal.dp.semantics": ("SemanticPrivacy", "semantic_privacy"),
    "shoal.engines": ("Frame", "open"),
    "shoal.forecasts.result": ("Forecast",),
    "shoal.forecasts.validation": ("Validation", "validate_forecast"),
    "shoal.ledger": ("Admission", "Ledger", "Refused"),
    "shoal.models": ("rule",),
    "shoal.models.alpha_k": ("AlphaK",),
    "shoal.models.beta_likeness": ("BetaLikeness",),
    "shoal.models.ck_safety": ("CkSafety",),
    "shoal.models.composition": ("Composition",),
    "shoal.models.delta_disclosure": ("DeltaDisclosure",),
    "shoal.models.delta_presence": ("DeltaPresence",),
    "shoal.models.distinct_diversity": ("DistinctDiversity",),
    "shoal.models.entropy_diversity": ("EntropyDiversity",),
    "shoal.models.k_anonymity": ("KAnonymity",),
    "shoal.models.k_map": ("KMap",),
    "shoal.models.m_invariance": ("MInvariance",),
    "shoal.models.m_privacy": ("MPrivacy",),
    "shoal.models.recursive_diversity": ("RecursiveDiversity",),
    "shoal.models.t_closeness": ("TCloseness",),
    "shoal.pool": ("Pooled", "pool_add", "pool_init", "pool_publish", "pool_status"),
    "shoal.reports.demo": ("demo",),
    "shoal.reports.report": ("report",),
    "shoal.studies": ("experiments",),
    "shoal.studies.outcome": ("Study",),
    "shoal.studies.running": ("study", "study_all"),
    "shoal.studies.splits": ("split",),
    "shoal.studies.summary": ("Checked",),
    "shoal.verbs.attack": ("attack",),
    "shoal.verbs.audit": ("Audit", "audit"),
    "shoal.verbs.estimates": ("Estimates", "estimates"),
    "shoal.verbs.forecast": ("forecast",),
    "shoal.verbs.frontier": ("Frontier", "frontier"),
    "shoal.verbs.look": ("Look", "look"),
    "shoal.verbs.m_privacy": ("MPrivate", "m_privacy"),
    "shoal.verbs.publish": ("publish",),
    "shoal.verbs.red_team": ("RedTeam", "red_team"),
    "shoal.verbs.request_check": ("check_request",),
    "shoal.verbs.side_by_side": ("SideBySide", "side_by_side"),
    "shoal.verbs.verify": ("verify",),
}
_HOME = {name: module for module, names in _WHERE.items() for name in names}
__all__ = sorted([*_HOME, "__version__", "bundled"])


def __getattr__(name: str) -> Any:
    if name == "bundled":
        return import_module("shoal.data.bundled")
    if name not in _HOME:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
