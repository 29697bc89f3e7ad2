"""OpenDP, the library that draws all noise privacy rests on and accounts for it.

It is imported when it is first used, for it takes half a second to load. Its mechanisms come with a
map from how far two tables are apart to how far their answers may be; Shoal states nothing about
privacy that such a map does not (Gaboardi, Hay, Vadhan: A programming framework for OpenDP, 2020).

Its random bits are those of OpenSSL's generator (AES-256 in counter mode, NIST SP 800-90A), which
the library brings with it, and which the operating system seeds when it is first used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from typing import Any

from shoal.core.errors import ShoalError, UsageError


@cache
def load_opendp() -> Any:
    """The library, ready for use."""
    import opendp.prelude as library

    library.enable_features("contrib")
    return library


@contextmanager
def translate_refusals() -> Iterator[None]:
    """Around every call of the library: what it refuses is said in a user's words."""
    try:
        yield
    except ShoalError:
        raise
    except _library_error():
        raise UsageError(
            "The noise for this epsilon and delta cannot be drawn.",
            "choose an epsilon between 0.01 and 10, and no delta or one such as 1e-6.",
        ) from None


def _library_error() -> type[Exception]:
    from opendp.mod import OpenDPException

    exception: type[Exception] = OpenDPException
    return exception


def describe_library() -> str:
    """The library with its version, as a manifest names it."""
    return f"OpenDP {version('opendp')}"


SOURCE = "OpenSSL's generator, seeded by the operating system"


def describe_randomness() -> str:
    """Where the noise that privacy rests on comes from, as a manifest says it."""
    return f"{SOURCE} ({describe_library()})"


def round_down(number: Fraction) -> float:
    """The largest float that is not above a number: a limit for what the library searches.

    >>> round_down(Fraction(1, 10)) <= Fraction(1, 10) < 0.1, round_down(Fraction(1, 2))
    (True, 0.5)
    """
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, -math.inf)


def round_root_up(number: int) -> float:
    """The smallest float that is not below a number's square root.

    >>> round_root_up(4), Fraction(round_root_up(3)) ** 2 >= 3
    (2.0, True)
    """
    near = math.sqrt(number)
    return near if Fraction(near) ** 2 >= number else math.nextafter(near, math.inf)
