"""What a release of noise says of its privacy, in the words of public deployment registries.

Such a registry (Dwork, Kohli, Mulligan: Differential privacy in practice: expose your epsilons!,
2019) names the unit that is protected, the neighbour relation, the parameters, the mechanism and
how several are composed. The section adds what is *not* protected, which no number says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from shoal.noise.library import SOURCE, randomness
from shoal.spend import Spend, in_words

PERSON = "one person: everything that the table says of them"
ADDED = "tables that differ by adding or removing one person's row"
SEEDED = "seeded: not to be released"
NOT_PROTECTED = (
    "what is the same with and without any one person, such as that a disease is common where "
    "somebody lives",
    "several people together: for a group of n the epsilon is n times as large",
    "somebody who has several rows in the table: one row is one person here",
)
"""What differential privacy of one row says nothing about."""


def privacy_section(
    spend: Spend, *, unit: str, neighbours: str, mechanism: str, scale: float | None,
    sensitivity: str, composition: str, seed: int | None, post_processing: Sequence[str] = (),
    not_protected: Sequence[str] = NOT_PROTECTED, **more: Any,
) -> dict[str, Any]:  # fmt: skip
    """The manifest's section on privacy; ``more`` stands at its end.

    >>> privacy_section(Spend(1), unit=PERSON, neighbours=ADDED, mechanism="discrete Laplace",
    ...     scale=1.0, sensitivity="1", composition="none", seed=3)["randomness"]
    'seeded: not to be released'
    """
    kind = "approximate" if spend.delta else "pure"
    return {
        "definition": f"{kind} differential privacy",
        "model": "central",
        "unit": unit,
        "neighbours": neighbours,
        **spend.to_json(),
        "mechanism": mechanism,
        "scale": scale,
        "sensitivity": sensitivity,
        "composition": composition,
        "randomness": randomness() if seed is None else SEEDED,
        "post_processing": list(post_processing),
        "not_protected": list(not_protected),
        **more,
    }


def is_random(told: Any, releasable: Any) -> bool:
    """Whether a manifest names a source of noise that there is, and the one that its mark says.

    Of the library any version will do: it need not be the one that is installed here.

    >>> is_random("dice", True), is_random(SEEDED, True), is_random(SEEDED, False)
    (False, False, True)
    """
    if releasable is True:
        return re.fullmatch(rf"{re.escape(SOURCE)} \(OpenDP \d+(\.\d+)*\)", str(told)) is not None
    return releasable is False and told == SEEDED


def promise(spend: Spend) -> str:
    """The promise as a judgement names it: the model and its parameters.

    >>> promise(Spend("1/3", 1e-6))
    'differential-privacy epsilon=1/3 delta=1e-06'
    """
    delta = f" delta={in_words(spend.delta)}" if spend.delta else ""
    return f"differential-privacy epsilon={in_words(spend.epsilon)}{delta}"
