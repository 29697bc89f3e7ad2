"""A study's claims in words: verdicts, numbers with their spread, and which rows they are of.

Claims and numbers are as a study's JSON has them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shoal.studies.pages.series import format_exactly

Claim = Mapping[str, Any]
VERDICTS = {
    "agrees": ("✓", "good"),
    "partly": ("≈", "warning"),
    "differs": ("≠", "danger"),
    "corrected": ("→", "note"),
}
"""A sign, which reads without colour, and a tone."""
PLURAL = {
    "agrees": "agree",
    "partly": "agree in part",
    "differs": "differ",
    "corrected": "correct a mistake in print",
}
SINGULAR = {
    "agrees": "agrees",
    "partly": "agrees in part",
    "differs": "differs",
    "corrected": "corrects a mistake in print",
}


def format_digits(value: float) -> str:
    """As people read it: to three digits below 10, one behind the point below 100, none above.

    >>> [format_digits(value) for value in (4.3829, 12.34, 1300.4, 3, 0.0712, 0.000123)]
    ['4.38', '12.3', '1,300', '3', '0.07', '0.00012']
    """
    finer = 2 if 1 <= abs(value) < 10 else _decimals(value)
    return f"{value:,.0f}" if value == round(value) else f"{value:,.{finer}f}"


def _decimals(value: float) -> int:
    size = abs(value)
    if size >= 0.01 or size == 0:
        return 0 if size >= 100 else 1 if size >= 1 else 2
    return min(9, 1 - math.floor(math.log10(size)))


def format_spread(mean: float, spread: float) -> str:
    """A mean and its spread, to the same digit: the first of the spread's at the least.

    >>> format_spread(5.44, 0.41), format_spread(12, 1.414)
    ('5.4 ± 0.4', '12.0 ± 1.4')
    >>> format_spread(0.8671, 0.0012), format_spread(1300.4, 12.3)
    ('0.867 ± 0.001', '1,300 ± 12')
    >>> format_spread(3, 0)
    '3 ± 0'
    """
    if spread == 0:
        return f"{format_digits(mean)} ± 0"
    finer = _choose_decimals(mean, spread)
    return f"{mean:,.{finer}f} ± {spread:,.{finer}f}"


def _choose_decimals(mean: float, spread: float) -> int:
    """So many decimals that the spread is seen."""
    return max(_decimals(mean), min(9, math.ceil(-math.log10(spread) - 1e-9)))


def format_range(mean: float, unit: str, least: float, most: float) -> str:
    """A mean, and from where to where what it is of lies.

    >>> format_range(1.32, "", 1, 1.6), format_range(7.5, " %", 5, 10)
    ('1.3 (1.0 to 1.6)', '7.5 % (5 to 10)')
    >>> format_range(3, " people", 3, 3)
    '3 people'
    """
    if least == most:
        return f"{format_digits(mean)}{unit}"
    finer = _choose_decimals(mean, most - least)
    ends = 0 if least == round(least) and most == round(most) else finer
    return f"{mean:,.{finer}f}{unit} ({least:,.{ends}f} to {most:,.{ends}f})"


def format_figure(number: Mapping[str, Any]) -> str:
    """A number with how far its runs are apart; or, within one run, how far its settings are.

    >>> format_figure({"mean": 5.44, "spread": 0.41, "unit": " %", "runs": 5})
    '5.4 ± 0.4 %'
    >>> format_figure({"mean": 1.3, "least": 1, "most": 1.6, "unit": " %", "runs": 1, "rows": 4})
    '1.3 % (1.0 to 1.6)'
    """
    mean, unit = number["mean"], number["unit"]
    if number["runs"] > 1:
        return f"{format_spread(mean, number['spread'])}{unit}"
    if _count_settings(number) > 1:
        return format_range(mean, unit, number["least"], number["most"])
    return f"{format_digits(mean)}{unit}"


def _count_settings(number: Mapping[str, Any]) -> int:
    """How many settings a number takes together: the rows of each of its runs."""
    return max(1, round(int(number.get("rows", 1)) / int(number["runs"])))


def end_sentence(text: str) -> str:
    """With one full stop at its end."""
    return f"{text.rstrip('. ')}."


def format_verdict(word: str) -> str:
    """The verdict with its sign."""
    return f"{VERDICTS[word][0]} {word}"


def describe_runs(numbers: Sequence[Mapping[str, Any]]) -> str:
    """How often these were measured, and how many settings they take together; nothing for once.

    >>> describe_runs([{"runs": 5}, {"runs": 5}]), describe_runs([{"runs": 1}])
    ('5 runs', '')
    >>> describe_runs([{"runs": 3}, {"runs": 5}])
    '3 to 5 runs'
    >>> describe_runs([{"runs": 3, "rows": 51}]), describe_runs([{"runs": 1, "rows": 17}])
    ('3 runs of 17 settings', 'least to most over 17 settings')
    """
    often = _format_counts(int(number["runs"]) for number in numbers)
    settings = _format_counts(_count_settings(number) for number in numbers)
    if not often:
        return f"least to most over {settings} settings" if settings else ""
    return f"{often} runs of {settings} settings" if settings else f"{often} runs"


def _format_counts(numbers: Iterable[int]) -> str:
    """From the least to the most; nothing where none is more than one."""
    distinct = sorted(set(numbers))
    if not distinct or distinct[-1] == 1:
        return ""
    return f"{distinct[0]:,}" if len(distinct) == 1 else f"{distinct[0]:,} to {distinct[-1]:,}"


def describe_condition(number: Mapping[str, Any]) -> str:
    """What the rows of a number have in common.

    >>> describe_condition({"where": {"data": "adult", "k": 5}})
    'data = adult, k = 5'
    """
    return (
        ", ".join(f"{key} = {_format_value(value)}" for key, value in number["where"].items())
        or "all"
    )


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format_exactly(value) if isinstance(value, int | float) else str(value)


def count_verdicts(claims: Sequence[Claim]) -> dict[str, int]:
    """How many claims have each verdict, those that none has left out."""
    verdicts = [claim["verdict"] for claim in claims]
    return {word: verdicts.count(word) for word in VERDICTS if word in verdicts}


def summarise_verdicts(claims: Sequence[Claim]) -> str:
    """The verdicts on what a paper claims in one sentence.

    >>> summarise_verdicts([{"verdict": "agrees"}, {"verdict": "agrees"}, {"verdict": "differs"}])
    '2 of 3 claims agree, 1 differs.'
    """
    number_by_verdict = count_verdicts(claims)
    if not claims:
        return "No claim of the paper is compared here."
    if len(claims) == 1:
        return f"The one claim {SINGULAR[claims[0]['verdict']]}."
    parts = [
        f"{n:,} {(SINGULAR if n == 1 else PLURAL)[word]}" for word, n in number_by_verdict.items()
    ]
    first, _, rest = parts[0].partition(" ")
    if first == f"{len(claims):,}":
        return f"{'Both' if len(claims) == 2 else f'All {first}'} claims {rest}."
    return f"{', '.join([f'{first} of {len(claims):,} claims {rest}', *parts[1:]])}."


def make_unbreakable(text: str) -> str:
    """A figure that no line breaks."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")
