"""Sattar and Helal: the risk of composition, estimated from one release."""

from shoal.studies.experiment import Paper

PAPER = Paper(
    "Sattar and Helal 2018",
    "A. H. M. S. Sattar and S. Helal, Privacy risk against composition attack, 2018",
)
