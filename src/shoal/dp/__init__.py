"""Differential privacy: the noise of a release, drawn and accounted for by OpenDP.

``noise`` adds whole numbers to counts, ``response`` answers for one value, ``chosen`` picks one of
many; ``bins`` says what is counted, from the schema alone, and ``consistent`` makes noisy counts
agree with each other. With a seed the same distributions are drawn for tests and studies; what
comes of it is not to be released.
"""

from shoal.dp.bins import Bins, all_bins, bins
from shoal.dp.consistency import consistent
from shoal.dp.mechanisms import Noise, noise, spent
from shoal.dp.opendp_library import named
from shoal.dp.randomised_response import Response, response
from shoal.dp.selection import chosen

__all__ = [
    "Bins",
    "Noise",
    "Response",
    "all_bins",
    "bins",
    "chosen",
    "consistent",
    "named",
    "noise",
    "response",
    "spent",
]
