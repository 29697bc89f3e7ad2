"""What an intersection with a release that another has yet to make would find: one file per idea.

``Ours`` and ``Asked`` go in, an ``Estimate`` comes out: of ``paper``, of ``closed_form``, or of
``simulate(…).at(l)``. ``local`` learns who has which values from our table; ``real`` is the truth
that estimates are held against, once both releases are there.
"""

from shoal.forecasts.closed_form import closed_form
from shoal.forecasts.estimate import Estimate
from shoal.forecasts.local_distribution import Local, local, partitions, telling
from shoal.forecasts.our_table import Asked, Ours, tallied
from shoal.forecasts.paper import READINGS, paper
from shoal.forecasts.real_intersection import Theirs, fewest, placed, real, release_of
from shoal.forecasts.simulation import Runs, simulate

__all__ = [
    "READINGS",
    "Asked",
    "Estimate",
    "Local",
    "Ours",
    "Runs",
    "Theirs",
    "closed_form",
    "fewest",
    "local",
    "paper",
    "partitions",
    "placed",
    "real",
    "release_of",
    "simulate",
    "tallied",
    "telling",
]
