"""Outcomes of solving a program: a point, infeasibility, or why neither was found (design S7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.errors import Reason


@dataclass(frozen=True, eq=False)
class Feasible:
    """A point of the program, shape (variables,): the best one found where there is an objective."""

    point: NDArray[np.float64]


@dataclass(frozen=True)
class Infeasible:
    """A proof that the program has no point."""


@dataclass(frozen=True)
class Unknown:
    """Neither a point nor a proof."""

    reason: Reason
    message: str


Outcome: TypeAlias = Feasible | Infeasible | Unknown
