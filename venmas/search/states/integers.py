"""Integers of states: how large they may be, and that a system is not one of them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.linear import Relation

Integers: TypeAlias = NDArray[np.integer]

LARGEST = 2**53
"""Integers of at most this size are exact as floats, too."""

RELATIONS: dict[Relation, np.ufunc] = {
    Relation.LT: np.less,
    Relation.LE: np.less_equal,
    Relation.GT: np.greater,
    Relation.GE: np.greater_equal,
    Relation.EQ: np.equal,
    Relation.NE: np.not_equal,
}


class NotExplicitError(Exception):
    """The system, or this part of it, is not one of integers of moderate size."""
