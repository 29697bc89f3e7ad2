"""What an intersection with a release that another has yet to make would find: one file per idea.

``OurTable`` and ``OverlapScenario`` go in, an ``ExposureEstimate`` comes out: of
``estimate_by_paper``, of ``estimate_by_closed_form``, or of ``simulate(…).at(l)``.
``fit_local_distribution`` learns who has which values from our table; ``find_exposed_classes`` is
the truth that estimates are held against, once both releases are there.
"""

from shoal.forecasts.closed_form import estimate_by_closed_form
from shoal.forecasts.estimate import ExposureEstimate
from shoal.forecasts.local_distribution import (
    LocalDistribution,
    fit_local_distribution,
    list_coarse_partitions,
    measure_informativeness,
)
from shoal.forecasts.our_table import OurTable, OverlapScenario, tally_codes
from shoal.forecasts.paper import READINGS, estimate_by_paper
from shoal.forecasts.real_intersection import (
    OtherRelease,
    assign_rows_to_classes,
    build_other_release,
    count_values_left,
    find_exposed_classes,
)
from shoal.forecasts.simulation import SimulationRuns, simulate

__all__ = [
    "READINGS",
    "ExposureEstimate",
    "LocalDistribution",
    "OtherRelease",
    "OurTable",
    "OverlapScenario",
    "SimulationRuns",
    "assign_rows_to_classes",
    "build_other_release",
    "count_values_left",
    "estimate_by_closed_form",
    "estimate_by_paper",
    "find_exposed_classes",
    "fit_local_distribution",
    "list_coarse_partitions",
    "measure_informativeness",
    "simulate",
    "tally_codes",
]
