"""The functions that systems and networks may be written with, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from venmas.model.evaluation.elementary.exponential import EXP
from venmas.model.evaluation.elementary.function import Function
from venmas.model.evaluation.elementary.logistic import SIGMOID, TANH
from venmas.model.evaluation.elementary.root import SQRT
from venmas.model.evaluation.elementary.trigonometry import COS, SIN

_ALL: tuple[Function, ...] = (EXP, TANH, SIGMOID, SIN, COS, SQRT)
FUNCTIONS: Mapping[str, Function] = MappingProxyType({f.name: f for f in _ALL})
"""Every other name is refused."""
