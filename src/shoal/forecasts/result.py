"""What a forecast says: estimates side by side, the classes at risk, and what it supposes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np

from shoal.core.errors import UsageError
from shoal.core.release import EDITION, to_json_value
from shoal.forecasts.estimate import ExposureEstimate
from shoal.forecasts.simulation import MIN_REPEATS
from shoal.reports.document import Page
from shoal.reports.pages.forecast import render_forecast

DEFAULT = "simulation"
"""The estimate that a forecast stands by."""


@dataclass(frozen=True)
class AtRisk:
    """One class of ours, and how likely it is that another release exposes somebody in it."""

    number: int
    """Classes are numbered by their first row."""
    row: int
    """Its first row in the published table, which begins with 1."""
    rows: int
    values: int
    """How many different sensitive values it has."""
    probability: float
    labels: Mapping[str, Any] = field(default_factory=dict)
    """What it publishes, for who asked to see it."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; labels only where they may be shown."""
        labels = {"labels": to_json_value(self.labels)} if self.labels else {}
        return {
            "class": self.number,
            "row": self.row,
            "rows": self.rows,
            "values": self.values,
            "probability": self.probability,
            **labels,
        }


@dataclass(frozen=True, eq=False)
class Forecast:
    """The risk that a release which others have yet to make exposes people of ours."""

    release: str
    on: str
    """The sensitive column that is learnt."""
    rows: int
    classes: int
    estimates: Mapping[str, ExposureEstimate]
    """By name; the default is what the forecast stands by."""
    exposed: tuple[AtRisk, ...]
    """The classes most at risk by the default, the worst first."""
    few: int
    """Classes that have fewer than l values already, whatever others publish."""
    settings: Mapping[str, Any]
    assumptions: tuple[str, ...]
    by_column: tuple[Forecast, ...] = ()
    """Where several columns are learnt: the forecast of each, the worst first, which is this."""

    @property
    def default(self) -> ExposureEstimate:
        """The estimate by simulation."""
        return self.estimates[DEFAULT]

    @property
    def risk(self) -> float:
        """The expected share of our classes that are exposed, by the default."""
        return self.default.risk

    def estimate(self, name: str) -> ExposureEstimate:
        """One of the estimates by its name."""
        if name not in self.estimates:
            raise UsageError(
                f"There is no estimate {name!r}.", f"they are: {', '.join(self.estimates)}."
            )
        return self.estimates[name]

    def assumes(self, name: str) -> str:
        """What sets an estimate apart, in a few words; its assumptions say it in full."""
        publishing = f"{self.settings['method']} under {self.settings['rule']}"
        words = {
            "simulation": f"others publish by {publishing}",
            "closed form": "the others' classes are as large as ours",
            "paper, at least": "columns are independent; the overlap is not known",
            "paper, best subset": "the same, of the likeliest values only",
        }
        return words[name]

    def page(self) -> Page:
        """The forecast as a page: for the publisher."""
        return render_forecast(self.to_json())

    @property
    def sentence(self) -> str:
        """The forecast in one sentence."""
        settings = self.settings
        others = int(settings["others"])
        releases = "one other release" if others == 1 else f"{others} other releases"
        share = f"{settings['overlap']:.1%}" if settings["overlap"] else "none"
        text = (
            f"{self.risk:.1%} of {self.classes:,} classes of {self.release} would be exposed by "
            f"{releases} of {settings['rows']:,} rows, if {share} of our people are in "
            f"{'it' if others == 1 else 'each'}"
        )
        if self.by_column:
            text = f"{text}: by {self.on}, the worst of {len(self.by_column)} sensitive columns"
        if self.default.interval is None:
            return f"{text} (too few repeats for a range: it takes {MIN_REPEATS})."
        low, high = self.default.interval
        return f"{text} (nine times in ten {low:.1%} to {high:.1%})."

    def to_json(self) -> dict[str, Any]:
        """The forecast as JSON; edition 1."""
        return {
            "edition": EDITION,
            "release": self.release,
            "on": self.on,
            "rows": self.rows,
            "classes": self.classes,
            "risk": self.risk,
            "default": DEFAULT,
            "sentence": self.sentence,
            "estimates": [
                {**_estimate_to_json(estimate), "assumes": self.assumes(estimate.name)}
                for estimate in self.estimates.values()
            ],
            "exposed": [at_risk.to_json() for at_risk in self.exposed],
            "classes_with_few_values": self.few,
            "settings": to_json_value(self.settings),
            "assumptions": list(self.assumptions),
            "by_column": [forecast.in_short() for forecast in self.by_column],
        }

    def in_short(self) -> dict[str, Any]:
        """What is forecast of one column, in plain values."""
        return {
            "on": self.on,
            "risk": self.risk,
            "interval": to_json_value(self.default.interval),
            "classes_with_few_values": self.few,
            "rule": self.settings["rule"],
        }

    def __str__(self) -> str:
        lines = [self.sentence]
        lines += [
            f"{'*' if estimate.name == DEFAULT else ' '} {estimate.name:<20} {estimate.risk:8.2%}"
            for estimate in self.estimates.values()
        ]
        lines += [f"  {assumption}" for assumption in self.assumptions]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def select_worst_forecast(each: Sequence[Forecast]) -> Forecast:
    """The forecast of the column by which most classes would be exposed, with all of them."""
    ranked = sorted(each, key=lambda forecast: (forecast.risk, forecast.few), reverse=True)
    return ranked[0] if len(ranked) == 1 else replace(ranked[0], by_column=tuple(ranked))


def _estimate_to_json(estimate: ExposureEstimate) -> dict[str, Any]:
    """An estimate with the distribution of the classes' probabilities, not all of them."""
    counts = np.bincount(np.minimum((estimate.classes * 10).astype(np.int64), 9), minlength=10)
    summary = {k: v for k, v in estimate.to_json().items() if k not in ("edition", "classes")}
    return {**summary, "by_probability": counts.tolist()}
