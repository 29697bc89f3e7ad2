"""Why a method refuses a table: nothing to generalise, or a rule that no table of it can meet."""

from __future__ import annotations

import math

from shoal.core.errors import NotMetError, UsageError
from shoal.core.model import Model, split_rule
from shoal.core.release import format_reached
from shoal.core.tally import Groups, Tally


def check_quasi(tally: Tally) -> None:
    """Refuses a table in which there is nothing to generalise."""
    if not tally.quasi:
        raise UsageError(
            "There is no quasi-identifier to generalise.", 'give a column the role "quasi".'
        )
    if not tally.rows:
        raise UsageError("There are no rows to publish.", "check that the table is the right one.")


def explain_not_met(model: Model, whole: Groups, hold_back: int = 0) -> NotMetError:
    """Why a table cannot meet a rule even as one class: what fails, and what it reaches."""
    failed = [part for part in split_rule(model) if not part.holds(whole).all()]
    partial = any(h.total.sum() > whole.rows.sum() for h in whole.sensitive)
    table = "that part of it" if partial else "the whole table"
    advice = [str(part.advice(whole)) if hasattr(part, "advice") else "" for part in failed]
    pairs = zip(failed, advice, strict=True)
    failures = "; ".join(
        f"{part}{_describe_reached(part, whole, table, bool(own))}" for part, own in pairs
    )
    return NotMetError(
        f"{'A part of the table' if partial else 'The table'} as a single class does not meet the "
        f"rule: {failures}.",
        " ".join(filter(None, advice))
        or "weaken the rule to what the whole table reaches"
        + (
            ", or, where some parts of it could meet the rule, allow rows to be held back "
            "(--hold-back SHARE)."
            if not hold_back
            else "."
        ),
    )


def _describe_reached(part: Model, whole: Groups, table: str, advised: bool) -> str:
    """What a table reaches, in brackets; where the rule asks for less than its parameter, that too.

    Nothing where no parameter would do.
    """
    value = part.reached(whole)
    if not math.isfinite(value) or value < 0:
        return ""
    if advised or not getattr(part, "strict", False):
        return f" ({table} reaches {format_reached(value)})"
    return f" ({table} reaches {format_reached(value)}, and {part.parameter} must be above that)"  # type: ignore[attr-defined]
