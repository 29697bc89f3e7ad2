"""Differential privacy: the noise of a release, drawn and accounted for by OpenDP.

``noise`` adds whole numbers to counts, ``response`` answers for one value, ``chosen`` picks one of
many; ``bins`` says what is counted, from the schema alone, and ``consistent`` makes noisy counts
agree with each other. With a seed the same distributions are drawn for tests and studies; what
comes of it is not to be released.
"""

from shoal.noise.bins import Bins, all_bins, bins
from shoal.noise.choice import chosen
from shoal.noise.consistency import consistent
from shoal.noise.library import named
from shoal.noise.mechanism import Noise, noise, spent
from shoal.noise.response import Response, response

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
