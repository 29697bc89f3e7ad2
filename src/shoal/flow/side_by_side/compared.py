"""Classes and noise at about equal loss: under which of the two does being in the tables add more.

Each rule of classes is set beside each form of noise, at the ε whose loss is the nearest to the
rule's. What is compared is what being in both tables adds to the share guessed right, seed by seed:
the halves of a seed are the same people under every guarantee.

Does not give: equal loss, where no ε that was tried comes near; both losses are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shoal.flow.side_by_side.outcome import PARTITIONS, Figure, Outcome


@dataclass(frozen=True)
class Compared:
    """A rule of classes beside a form of noise: the names, losses, and what they add."""

    rule: str
    noise: str
    form: str
    epsilon: str
    losses: tuple[float, float]
    added: tuple[Figure, Figure]
    more: Figure
    """How much more the rule adds than the noise, by seeds."""

    @classmethod
    def of(cls, rule: Outcome, noise: Outcome) -> Compared:
        """Two guarantees that were both made, for the same seeds."""
        assert rule.loss is not None
        assert noise.loss is not None
        assert rule.added is not None
        assert noise.added is not None
        more = [one - other for one, other in zip(rule.gains, noise.gains, strict=True)]
        losses, added = (rule.loss.mean, noise.loss.mean), (rule.added, noise.added)
        return cls(rule.name, noise.name, noise.form, str(noise.epsilon), losses, added,
                   Figure.of(more))  # fmt: skip

    @property
    def worse(self) -> bool:
        """Whether the rule adds more in every seed."""
        return self.more.low > 0

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "worse": self.worse}


def compared(made: Sequence[Outcome]) -> tuple[Compared, ...]:
    """Every rule with every form; the rule that adds most first, and its forms by their losses."""
    rules = [one for one in made if one.school == PARTITIONS]
    forms = dict.fromkeys(one.form for one in made if one.school != PARTITIONS)
    rules.sort(key=lambda rule: -_mean(rule.added))
    return tuple(
        Compared.of(rule, min((one for one in made if one.form == form), key=_far(rule)))
        for rule in rules
        for form in forms
    )


def _far(rule: Outcome) -> Any:
    return lambda one: abs(_mean(one.loss) - _mean(rule.loss))


def _mean(figure: Figure | None) -> float:
    return 0.0 if figure is None else figure.mean
