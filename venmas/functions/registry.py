"""The functions that systems and networks may be written with, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from venmas.functions.exponential import EXP
from venmas.functions.function import Function
from venmas.functions.logistic import SIGMOID, TANH
from venmas.functions.root import SQRT
from venmas.functions.trigonometry import COS, SIN

_ALL: tuple[Function, ...] = (EXP, TANH, SIGMOID, SIN, COS, SQRT)
FUNCTIONS: Mapping[str, Function] = MappingProxyType({f.name: f for f in _ALL})
"""Every other name is refused."""
