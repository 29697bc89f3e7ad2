"""Charts of studies: lines, bars, dots and printed tables, from rows of measurements.

Rows are tidy: one measurement a row. `lines` and `bars` show the mean of the rows that agree in
everything that is drawn, with how far they are apart, from the least to the most; `dots` shows
every row, and `grid` prints them. Series are told apart by colour and by shape, also on a grey
printer, and what a paper prints stands beside as hollow marks.
"""

from __future__ import annotations

from shoal.studies.pages.bars import bars
from shoal.studies.pages.dots import dots
from shoal.studies.pages.grid import grid
from shoal.studies.pages.lines import lines

__all__ = ["bars", "dots", "grid", "lines"]
