"""How a comparison of both schools is told: losses, shares, points, and its sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from shoal.reports.format import format_percent

JsonObject = Mapping[str, Any]
CAP = 1 - 1e-9
"""From this loss on it is cut off at 1: what was worse than nothing is told as 1."""


def format_exact_share(share: float) -> str:
    """A share with one digit, which says nobody and everybody only where it is so.

    >>> format_exact_share(0.1234), format_exact_share(0), format_exact_share(0.9999)
    ('12.3%', '0%', '>99.9%')
    """
    return format_percent(share, 1) if share < 0.0995 or share > 0.995 else f"{share:.1%}"


def format_loss(loss: JsonObject) -> str:
    """A loss; at 1 it may be more.

    >>> format_loss({"mean": 0.25}), format_loss({"mean": 1.0})
    ('0.250', '≥ 1')
    """
    return "≥ 1" if loss["mean"] >= CAP else f"{loss['mean']:.3f}"


def format_gain(added: JsonObject, seeds: int) -> str:
    """A difference of shares in points, give or take half of the way from least to most.

    >>> format_gain({"mean": 0.123, "low": 0.1, "high": 0.14}, seeds=3)
    '12.3 ± 2.0'
    >>> format_gain({"mean": -0.01}, seeds=1)
    '−1.0'
    """
    mean = f"{100 * added['mean']:.1f}".replace("-", "−")
    return f"{mean} ± {50 * (added['high'] - added['low']):.1f}" if seeds > 1 else mean


def format_epsilon_each(epsilon: str) -> str:
    """The ε of each of the two releases.

    >>> format_epsilon_each("1/2")
    'ε = 0.5 each'
    """
    return f"ε = {float(Fraction(epsilon)):.6g} each"


def summarise_comparison(facts: JsonObject) -> str:
    """What the chart shows, in a sentence: the rule that adds most, and noise at about its loss."""
    found = facts["compared"]
    if not found:
        return f"{facts['column']} guessed right from two overlapping releases, and what they lose"
    first, seeds = found[0], facts["seeds"]
    same_rule = [one for one in found if one["rule"] == first["rule"]]
    return (
        f"{first['rule']}, loss {first['losses'][0]:.3f}: being in both tables adds "
        f"{format_gain(first['added'][0], seeds)} points to {facts['column']} guessed right; at "
        f"about that loss {describe_noise_at_equal_loss(same_rule, seeds)}"
    )


def describe_noise_at_equal_loss(found: Sequence[JsonObject], seeds: int) -> str:
    """What each form of noise adds, with its loss."""
    told = [
        f"{one['form']} at {format_epsilon_each(one['epsilon'])} "
        f"(loss {format_loss({'mean': one['losses'][1]})}) "
        f"{format_gain(one['added'][1], seeds)}"
        for one in found
    ]
    return ", ".join(told)


def shorten_rule_names(rules: Sequence[str]) -> dict[str, str]:
    """Rules by what not all of them ask.

    >>> list(shorten_rule_names(["k-anonymity k=5", "k-anonymity k=5 & alpha-k k=5"]).values())
    ['k-anonymity k=5', '+ alpha-k k=5']
    """
    parts = {rule: rule.split(" & ") for rule in rules}
    shared = set.intersection(*map(set, parts.values())) if len(parts) > 1 else set()
    own = {rule: [one for one in some if one not in shared] for rule, some in parts.items()}
    return {
        rule: f"+ {' & '.join(some)}" if some and some != parts[rule] else rule
        for rule, some in own.items()
    }


def join_rules(rules: Sequence[str]) -> str:
    """Names in a sentence, each as it is typed."""
    told = [f"`{rule}`" for rule in rules]
    return " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
