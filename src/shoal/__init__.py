"""Shoal publishes tables about people so that nobody in them stands out.

Everything a user needs is importable from here; what only one verb needs is loaded by that verb.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "shoal.collusion": ("Collusion",),
    "shoal.disclosure": ("max_disclosure",),
    "shoal.errors": (
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
    "shoal.flow.asking": ("check_request",),
    "shoal.flow.attack": ("attack",),
    "shoal.flow.audit": ("Audit", "audit"),
    "shoal.flow.demo": ("demo",),
    "shoal.flow.fetch": ("Fetched", "datasets", "fetch"),
    "shoal.flow.forecast": ("Forecast", "Validation", "forecast", "validate_forecast"),
    "shoal.flow.frontier": ("Frontier", "frontier"),
    "shoal.flow.ledger": ("Admission", "Ledger", "Refused"),
    "shoal.flow.look": ("Look", "look"),
    "shoal.flow.m_privacy": ("MPrivate", "m_privacy"),
    "shoal.flow.noisy.estimates": ("Estimates", "estimates"),
    "shoal.flow.pool": ("Pooled", "pool_add", "pool_init", "pool_publish", "pool_status"),
    "shoal.flow.publish": ("publish",),
    "shoal.flow.red_team": ("RedTeam", "red_team"),
    "shoal.flow.report": ("report",),
    "shoal.flow.side_by_side": ("SideBySide", "side_by_side"),
    "shoal.flow.verify": ("verify",),
    "shoal.frames": ("Frame", "open"),
    "shoal.hierarchy": (
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
    "shoal.knowledge": ("Atom", "Implication"),
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
    "shoal.noise.auditing": ("EpsilonAudit", "audit_epsilon"),
    "shoal.noise.semantics": ("SemanticPrivacy", "semantic_privacy"),
    "shoal.release": ("Finding", "Release", "Verdict"),
    "shoal.model": ("Model", "Rule"),
    "shoal.schema": (
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
    "shoal.spend": ("Spend",),
    "shoal.studies": ("experiments",),
    "shoal.studies.outcome": ("Study",),
    "shoal.studies.running": ("study", "study_all"),
    "shoal.studies.splits": ("split",),
    "shoal.studies.summary": ("Checked",),
    "shoal.worlds": ("Belief", "belief"),
}
_HOME = {name: module for module, names in _WHERE.items() for name in names}
__all__ = sorted([*_HOME, "__version__", "bundled"])


def __getattr__(name: str) -> Any:
    if name == "bundled":
        return import_module("shoal.bundled")
    if name not in _HOME:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
