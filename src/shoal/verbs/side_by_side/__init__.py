"""Both schools side by side: classes under rules, and noise under differential privacy.

Two overlapping halves of a table are published under each guarantee, and the same attack joins each
pair of releases; what an adversary gains stands against what is lost. It is the conclusion of S. R.
Ganta, S. P. Kasiviswanathan and A. Smith, Composition attacks and auxiliary information in data
privacy, KDD 2008, measured: guarantees of single releases need not survive a second one, and
differential privacy does.

Nothing is published. The numbers are about this table, these two halves and this adversary, who
knows quasi-identifiers and how common each value is, and no more.
"""

from __future__ import annotations

from shoal.verbs.side_by_side.result import Figure, GuaranteeOutcome, RuleComparison, SideBySide
from shoal.verbs.side_by_side.verb import side_by_side

__all__ = ["Figure", "GuaranteeOutcome", "RuleComparison", "SideBySide", "side_by_side"]
