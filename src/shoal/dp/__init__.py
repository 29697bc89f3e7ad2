"""Differential privacy: the noise of a release, drawn and accounted for by OpenDP.

``calibrate_noise`` adds whole numbers to counts, ``calibrate_response`` answers for one value,
``select_candidate`` picks one of many; ``build_bins`` says what is counted, from the schema alone,
and ``make_consistent`` makes noisy counts agree with each other. With a seed the same
distributions are drawn for tests and studies; what comes of it is not to be released.
"""

from shoal.dp.bins import Bins, build_all_bins, build_bins
from shoal.dp.consistency import make_consistent
from shoal.dp.mechanisms import Noise, calibrate_noise, compute_noise_spend
from shoal.dp.opendp_library import describe_library
from shoal.dp.randomised_response import Response, calibrate_response
from shoal.dp.selection import select_candidate

__all__ = [
    "Bins",
    "Noise",
    "Response",
    "build_all_bins",
    "build_bins",
    "calibrate_noise",
    "calibrate_response",
    "compute_noise_spend",
    "describe_library",
    "make_consistent",
    "select_candidate",
]
