"""The edges where tables come in and go out; the only room that knows an engine."""

from __future__ import annotations

from shoal.engines.open_table import open
from shoal.engines.protocol import Frame

__all__ = ["Frame", "open"]
