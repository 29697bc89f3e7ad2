"""Sweeney's figures 2 to 5 and her examples."""

from shoal.studies.experiment import Paper

PAPER = Paper(
    "Sweeney 2002",
    "L. Sweeney, k-anonymity: a model for protecting privacy, International Journal of "
    "Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 2002, 557-570",
)
