"""What noise made of a table: the rows to be written, and how they came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.releases.forms._noise.measured import ExactCounts
from shoal.releases.forms._noise.plan import Columns, MarginalPlan
from shoal.releases.forms._noise.spending import Step


@dataclass(frozen=True)
class NoiseDraft:
    """A table to be published, the marginals that were measured for it, and what it estimates."""

    table: pa.Table
    marginals: tuple[Columns, ...]
    estimates: Mapping[Columns, NDArray[np.float64]]


class NoiseForm(Protocol):
    """A form of release that noise makes: all that is known of it before the rows are read."""

    @property
    def plan(self) -> MarginalPlan:
        """The columns that are counted, and their bins."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every look at the rows."""

    @property
    def marginals(self) -> tuple[Columns, ...]:
        """The marginals that will be measured, as far as that does not depend on the rows."""

    def drawn(self, measured: ExactCounts, rng: np.random.Generator | None) -> NoiseDraft:
        """The noise, drawn; ``rng`` is a test's or a study's, else the operating system's."""

    def expected(self) -> dict[str, Any]:
        """How large the noise will be."""
