"""How likely people are to be re-identified in one table, from its classes.

``assess``        everything below for one table, from the sizes of its classes, ready for JSON
``subset_risks``  how many people each subset of columns singles out

`shoal.measures.risk.exposure` attacks classes by their cells: whose row is picked, whose value
guessed.

Each estimator of population uniqueness has a file and states its assumptions; where it finds no
estimate it gives the reason instead of 0.
"""

from shoal.measures.risk.assessment import Assessment, ClassMembership, assess
from shoal.measures.risk.sizes import ClassSizes, UniquenessEstimate
from shoal.measures.risk.subsets import Subset, rank_revealing_columns, subset_risks

__all__ = [
    "Assessment",
    "ClassMembership",
    "ClassSizes",
    "Subset",
    "UniquenessEstimate",
    "assess",
    "rank_revealing_columns",
    "subset_risks",
]
