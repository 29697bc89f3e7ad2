"""m-privacy: a rule that holds even against m providers who work together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shoal.core.axis import Axis
from shoal.core.errors import UndecidedError, UsageError
from shoal.core.model import (
    Mask,
    Model,
    Rule,
    min_class_rows,
    parse_whole_number,
    split_rule,
    unwrap_rule,
)
from shoal.core.tally import Groups
from shoal.core.theory.collusion import (
    count_members,
    explain_untestable,
    find_breaches,
    prove_withstanding,
)


@dataclass(frozen=True)
class MPrivacy(Rule):
    """The rule holds in every class, whichever m of its providers take their own rows away.

    Parameters
    ----------
    m : int
        How many providers may work together, 0 or more.
    rule : Model
        What must still hold: in text, in brackets.

    Raises
    ------
    UsageError
        Where m is not a whole number of 0 or more, or coalitions cannot be judged by the rule.

    Notes
    -----
    "T* is m-private with respect to a privacy constraint C if, for any m-adversary, T* without the
    m-adversary's own records fulfils C." A coalition that holds a whole class has nobody to learn
    about, so of a class's n providers at most n − 1 matter. Judged exactly
    (``shoal.core.theory.collusion``): a row-monotone rule by taking all rows of m providers away,
    another by any of their rows. m = 0 is the rule itself.

    Where the rule is row-monotone, merging classes that are m-private gives one that is (theorem
    2.1 of the paper). More rows alone may break it, though: a class of one provider has nobody to
    fear until a single row of another joins. Where the rule is not row-monotone merging may break
    it too: a coalition that held a whole class, and so had nobody to learn about, may keep just
    some of its rows once others have joined them.

    Does not protect: against more than m providers together, nor against what providers know
    besides their own rows; nor does it hide what they contributed from whoever makes the release.

    References
    ----------
    S. Goryczka, L. Xiong and B. C. M. Fung, m-privacy for collaborative data publishing,
    CollaborateCom 2011.

    Examples
    --------
    >>> from shoal.models.k_anonymity import KAnonymity
    >>> print(MPrivacy(2, KAnonymity(5)))
    m-privacy m=2 (k-anonymity k=5)
    """

    m: int
    rule: Model
    parameter: ClassVar[str] = "m"

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", parse_whole_number(self.m, "m", 0))
        if not isinstance(self.rule, Model):
            raise UsageError(
                "m-privacy needs a rule in brackets.", 'write "m-privacy m=2 (k-anonymity k=5)".'
            )
        if reason := explain_untestable(self.rule):
            raise UsageError(
                f"m-privacy cannot be judged: {reason}.",
                "put it beside m-privacy with &, and a rule such as k-anonymity k=5 inside.",
            )

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """What the rule needs, and who contributed the rows."""
        return self.rule.needs | {"provider"}

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Monotone where the rule is row-monotone (theorem 2.1), or where nobody colludes."""
        row_monotone = all(getattr(part, "row_monotone", False) for part in split_rule(self.rule))
        return row_monotone or (self.m == 0 and self.rule.monotone)

    @property
    def identity(self) -> bool:  # type: ignore[override]
        """Whether the rule inside limits re-identification."""
        return any(getattr(part, "identity", False) for part in unwrap_rule(self.rule))

    @property
    def symmetric(self) -> bool:
        """Symmetric where the rule is."""
        return bool(getattr(self.rule, "symmetric", True))

    @property
    def min_rows(self) -> int:
        """As the rule: a class of a single provider has nobody to fear."""
        return min_class_rows(self.rule)

    @classmethod
    def probes(cls, axis: Axis | None) -> list[tuple[Mapping[str, Any], Self]]:
        """None: what m a table reaches depends on the rule inside."""
        return []

    def holds(self, groups: Groups) -> Mask:
        """Which classes meet the rule against every coalition of m of their providers."""
        return ~find_breaches(self.rule, groups, count_members(groups.contributed, self.m)).broken

    def per_class(self, groups: Groups) -> NDArray[np.float64]:
        """The largest m that each class is shown to survive; infinite: all of its coalitions.

        −1 where the rule does not hold by itself. Found by bisection: what a coalition breaks, a
        larger one can break.
        """
        present = groups.contributed.provider_counts
        low, high = np.full(len(groups), -1), present.copy()
        while len(undecided := np.flatnonzero(high - low > 1)):
            middle = (low[undecided] + high[undecided]) // 2
            held = prove_withstanding(self.rule, groups.take(undecided), middle)
            low[undecided] = np.where(held, middle, low[undecided])
            high[undecided] = np.where(held, high[undecided], middle)
        return np.where(high == present, np.inf, low.astype(np.float64))

    def _find_limit(self, groups: Groups) -> tuple[float, Mask]:
        """The largest m that all classes are shown to survive, and which survive the next tried.

        From the rule's own m on, in steps that double: larger coalitions take longer to judge.
        """
        providers = groups.contributed
        n = int(providers.provider_counts.max(initial=1))
        low, high, m, step, held_before = -1, n, min(self.m, n - 1), 1, np.ones(len(groups), bool)
        while low < m < high:
            held = prove_withstanding(self.rule, groups, count_members(providers, m))
            if held.all():
                low, m = m, min(m + step, n - 1) if high == n else (m + 1 + high) // 2
                step *= 2
            else:
                high, held_before, m = m, held, (low + m) // 2
        everybody = max(len(providers.contributors) - 1.0, 0.0)
        return everybody if held_before.all() else float(low), held_before

    def worst_class(self, groups: Groups) -> int:
        """The smallest of the classes that survive the smallest m."""
        if not len(groups):
            return super().worst_class(groups)
        return int(np.lexsort((groups.rows, self._find_limit(groups)[1]))[0])

    def reached(self, groups: Groups) -> float:
        """The largest m that all classes survive: at most all providers of the table but one."""
        return self._find_limit(groups)[0] if len(groups) else super().reached(groups)

    def advice(self, groups: Groups) -> str:
        """The parameters with which the rule inside passes at this m."""
        max_members = count_members(groups.contributed, self.m)
        lines = [
            f"{part.parameter}={value}"
            for part in split_rule(self.rule)
            if isinstance(part, Rule)
            and (value := _find_passing_parameter(part, groups, max_members)) is not None
        ]
        inside = f"at m={self.m} the rule inside passes with {' and '.join(lines)}" if lines else ""
        return f"{inside or 'the rule inside fails'}: weaken it, or ask for a smaller m."

    def witness(self, groups: Groups, class_: int) -> dict[str, Any]:
        """The coalition that breaks a class, or at m + 1 would, and the rows that it leaves."""
        single = groups.take(np.array([class_]))
        for m in (self.m, self.m + 1):
            try:
                coalition = find_breaches(
                    self.rule, single, count_members(single.contributed, m)
                ).of(0)
            except UndecidedError:  # m + 1 is beyond the rule: no witness then
                break
            if coalition is not None:
                h = single.contributed.providers
                left = int(h.count[~np.isin(h.value, coalition)].sum())
                return {"coalition": list(coalition), "left": left}
        return {}

    def __str__(self) -> str:
        return f"m-privacy m={self.m} ({self.rule})"


def _find_passing_parameter(
    part: Rule, groups: Groups, max_members: NDArray[np.int64]
) -> int | None:
    """The largest parameter, up to its own, with which the rule withstands the coalitions."""
    required = getattr(part, part.parameter, None)
    if not part.row_monotone or not isinstance(required, int):
        return None

    def passes(value: int) -> bool:
        weaker: Any = replace(part, **{part.parameter: value})  # type: ignore[type-var]
        return not find_breaches(weaker, groups, max_members).broken.any()

    return bisect_left(range(1, required + 1), True, key=lambda value: not passes(value)) or None
