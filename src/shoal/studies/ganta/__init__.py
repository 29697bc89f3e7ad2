"""Ganta et al.: composition attacks on independent releases."""

from shoal.studies.experiment import Paper

PAPER = Paper(
    "Ganta et al. 2008",
    "S. R. Ganta, S. P. Kasiviswanathan and A. Smith, Composition attacks and auxiliary "
    "information in data privacy, KDD 2008",
)
