"""The edges where tables come in and go out; the only room that knows an engine."""

from __future__ import annotations

from shoal.frames.frame import Frame
from shoal.frames.open import open

__all__ = ["Frame", "open"]
