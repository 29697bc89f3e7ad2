"""Goryczka et al.: publishing together, m-privacy."""

from shoal.studies.experiment import Paper

PAPER = Paper(
    "Goryczka et al. 2014",
    "S. Goryczka, L. Xiong and B. C. M. Fung, m-privacy for collaborative data publishing, "
    "CollaborateCom 2011; IEEE Transactions on Knowledge and Data Engineering 26(10), 2014, "
    "2520-2533",
)
