"""Loading of what numba compiles."""

from __future__ import annotations

from pathlib import Path

from venmas import extras
from venmas.extras import compiled as compiled


def forget_stale() -> None:
    """Delete numba's indices of the kernels here that are older than a source of them."""
    extras.forget_stale(Path(__file__).parent)
