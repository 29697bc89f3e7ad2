"""Martin et al.: worst-case background knowledge."""

from shoal.studies.experiment import Paper

PAPER = Paper(
    "Martin et al. 2007",
    "D. J. Martin, D. Kifer, A. Machanavajjhala, J. Gehrke and J. Y. Halpern, Worst-case "
    "background knowledge for privacy-preserving data publishing, ICDE 2007",
)
