"""How the series of a chart are told apart: by colour and by shape, also on a grey printer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.reports.charts.theme import COLOUR, WIDTH, Spec
from shoal.studies.pages.series import Columns, Rows, is_ordered, list_series_names

TONES = ("after", "before", "alarm", "quiet", "ink", "rest")
STEPS = ("step-1", "step-2", "step-3", "step-4", "step-5", "step-6")
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")
DASHES = ([1, 0], [5, 3], [2, 2])
"""Once every colour is used, the lines are broken."""
LARGEST, SMALLEST = 104, 46
"""Square pixels of the first series' marks and of the last one's: of two that fall together both
are seen."""
PADDING = 18
INNER = WIDTH - 2 * PADDING
LETTER, BOLD = 7.2, 8.4
"""Pixels a letter, in the widest of the usual system fonts."""


@dataclass(frozen=True)
class Series:
    """The names of a chart's series; those of numbers are in order, and so are their tones."""

    names: Sequence[str]
    ordered: bool = False

    @property
    def is_unnamed(self) -> bool:
        """Whether there is one without a name."""
        return list(self.names) == [""]

    def looks(self, channels: Sequence[str] = ("color", "shape")) -> Spec:
        """Colour and shape by series, in one legend; none for one alone."""
        shown = None if self.is_unnamed else make_legend(self.names)
        return {
            channel: {
                "field": "by",
                "type": "nominal",
                "sort": None,
                "legend": shown,
                "scale": {"domain": list(self.names), "range": self._range(channel)},
            }
            for channel in channels
        }

    def sizes(self) -> Spec:
        """Marks of which the later ones, drawn above, are smaller."""
        last = max(1, len(self.names) - 1)
        steps = [LARGEST - (LARGEST - SMALLEST) * i / last for i in range(len(self.names))]
        scale = {"domain": list(self.names), "range": steps if len(steps) > 1 else [58]}
        return {
            "size": {"field": "by", "type": "nominal", "sort": None, "legend": None, "scale": scale}
        }

    def _range(self, channel: str) -> list[object]:
        count = range(len(self.names))
        tones = _choose_tones(len(self.names)) if self.ordered else TONES
        if channel == "color":
            return [COLOUR[tones[i % len(tones)]] for i in count]
        if channel == "shape":
            return [SHAPES[i % len(SHAPES)] for i in count]
        return [DASHES[i // len(TONES) % len(DASHES)] for i in count]


def find_series(rows: Rows, by: str, of: Columns) -> Series:
    """The series of rows."""
    return Series(list_series_names(rows, by, of), is_ordered(rows, by, of))


def style_series(names: Sequence[str], channels: Sequence[str] = ("color", "shape")) -> Spec:
    """Colour and shape of series that have no order, for a chart of another kind."""
    return Series(names).looks(channels)


def make_legend(names: Sequence[str]) -> Spec:
    """As many beside each other as there is room for, in the widest of the usual fonts too."""
    longest = max(map(len, names), default=0)
    across = max(1, min(len(names), int(INNER / (42 + LETTER * longest))))
    return {"columns": across, "columnPadding": 16 + round(0.9 * longest), "symbolOpacity": 1}


def _choose_tones(count: int) -> tuple[str, ...]:
    """Tones for numbers, spread over the steps there are; more than those: as for names."""
    if not 2 < count <= len(STEPS):
        return TONES
    return tuple(STEPS[round(i * (len(STEPS) - 1) / (count - 1))] for i in range(count))
