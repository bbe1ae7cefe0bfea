"""Integers of states: how large they may be, and that a system is not one of them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.integer]

LARGEST = 2**53
"""Integers of at most this size are exact as floats, too."""


class NotExplicitError(Exception):
    """The system, or this part of it, is not one of integers of moderate size."""
