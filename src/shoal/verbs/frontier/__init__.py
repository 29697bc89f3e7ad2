"""Choose for me: methods and strengths side by side, by what an adversary gains and what is lost.

Every method makes a release of the table for every rule, as a dry run. Each is attacked by whoever
knows everybody's quasi-identifiers, and its loss is measured. On the frontier are those than which
no other has less of one without more of the other (Pareto). The comparison goes back to Duncan,
Keller-McNulty and Stokes: Disclosure risk vs. data utility: the R-U confidentiality map, NISS
technical report 121, 2001.

Nothing is published, and nothing chosen for good: the numbers are about this table and these
adversaries. They do not see what a second release adds, nor who knows more than the columns.
"""

from __future__ import annotations

from shoal.verbs.frontier.comparison import Frontier, Point
from shoal.verbs.frontier.verb import frontier

__all__ = ["Frontier", "Point", "frontier"]
