"""The contract of models, methods, measures and attacks, as checks that anybody can run.

Each ``check_*`` takes one member of a room and raises ``AssertionError`` with the broken promise.
Shoal runs them on its own members; run them on yours:

>>> from shoal.models.k_anonymity import KAnonymity
>>> check_model(KAnonymity(3))
"""

from shoal.testing.checks import check_attack, check_measure, check_method, check_model
from shoal.testing.random_tables import groups, sample

__all__ = ["check_attack", "check_measure", "check_method", "check_model", "groups", "sample"]
