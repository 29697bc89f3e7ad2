"""``shoal meaning``: what an epsilon and a delta mean for what anybody believes of a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from shoal.cli.options import SHARE, Verb, add_output_options, format_examples, option
from shoal.cli.printing import Output


@click.command(
    "meaning",
    cls=Verb,
    epilog=format_examples(
        "shoal meaning --epsilon 1 --prior 10%",
        "shoal meaning --epsilon 0.5 --delta 1e-9 --people 1000",
        "shoal meaning --epsilon 1 --prior flu=70% --prior other=30% --presence",
    ),
)
@option("--epsilon", required=True, metavar="E", help="The promise: 1, 0.1 or 1/3.")
@option("--delta", default="0", show_default=True, metavar="D", help="Its delta: 1e-6.")
@option(
    "--people",
    type=click.IntRange(1),
    metavar="N",
    help="How many people it is for at once; one unless given.",
)
@option(
    "--prior",
    "priors",
    multiple=True,
    metavar="SHARE|VALUE=SHARE",
    help="What is believed of a person before: 10%, or a share for each value.",
)
@option(
    "--presence",
    is_flag=True,
    help="Neighbours add or remove a person, as for counts and synthetic tables.",
)
@add_output_options
def command(
    epsilon: str,
    delta: str,
    people: int | None,
    priors: Sequence[str],
    presence: bool,
    output: Output,
) -> None:
    """Say what a promise of differential privacy means.

    How far a release can move what anybody believes of a person, whatever else they know, because
    of that person's row: in a sentence, and last by the tightest bound and by the paper's. With
    --prior also what a belief can become. A bound of 1 or more says nothing, and is told as such.
    """
    import shoal

    neighbours = "add or remove" if presence else "change"
    meaning = shoal.semantic_privacy(epsilon, delta, people, _parse_prior(priors), neighbours)
    output.show(meaning)


def _parse_prior(texts: Sequence[str]) -> Any:
    """One probability, or one for each value; None where nothing is given."""
    from shoal import UsageError

    if not texts:
        return None
    split = [text.rpartition("=") for text in texts]
    if len(split) == 1 and not split[0][1]:
        return _share(split[0][2])
    if not all(equals for _, equals, _ in split):
        raise UsageError(
            "A belief is one share, or a share for each value.",
            "write --prior 10%, or --prior flu=70% --prior other=30%.",
        )
    values = [value for value, _, _ in split]
    if twice := next((value for value in values if values.count(value) > 1), None):
        raise UsageError(f"{twice} is given twice.", "give each value one share.")
    return {value: _share(share) for value, _, share in split}


def _share(text: str) -> float:
    return SHARE.convert(text, None, None)
