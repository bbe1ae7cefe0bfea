"""Policies with memory: the hidden state of a recurrent network as variables of the system.

Every branch sets them to the memory after the step, so that all that reads a system reads them as other variables.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from venmas.errors import ModelError
from venmas.model.expressions.expr import Condition, Scalar, Variable
from venmas.model.expressions.functions import apply_network
from venmas.model.expressions.vector import Vector, components
from venmas.model.expressions.walk import walk
from venmas.model.system.arguments import read_end
from venmas.model.system.quantities import MEASURE, unmeasured
from venmas.nn import Network
from venmas.nn.recurrent import Recurrent

if TYPE_CHECKING:
    from venmas.model.system.system import System

_HIDDEN = Fraction(11, 10)
"""A hidden state is within [-1, 1]; enclosures of units near the ends reach a little further."""


def remember(system: System, network: Recurrent, observation: Iterable[Scalar], name: str, cell: object) -> Vector:
    """Declare the memory of a network, and return its outputs in a step (`System.recurrent`). Raises `ModelError`."""
    if not isinstance(network, Recurrent):
        raise ModelError(
            "recurrent(network, observation) takes a network with memory first, "
            f'networks.load_recurrent("FILE"), got a {type(network).__name__}; apply_network applies one without'
        )
    if system.initial_set.regions or any(b.name != MEASURE for b in system.branches):
        raise ModelError(f"the memory of network {network.name!r}: declare it before branches and initial sets")
    seen = components(observation, f"network {network.name!r}")
    if len(seen) != network.input_size:
        raise ModelError(f"network {network.name!r} takes {network.input_size} inputs, got {len(seen)}; give each one")
    groups = []
    for label, size in network.memory:
        limit = _HIDDEN if label.startswith("h") else read_end(cell, "the range of the cell state")
        groups.append(system.reals(f"{name}_{label}" if name else label, size, -limit, limit))
    outputs, after = network.step(_applied, Vector(seen), groups)
    for group, new in zip(groups, after, strict=True):
        system.memory.update({v.name: e for v, e in zip(group, new, strict=True) if isinstance(v, Variable)})
    return Vector(outputs)


def at_first(system: System, condition: Condition) -> list[Condition]:
    """Conditions on an initial state besides the given one: memory that it does not name is zero."""
    named = {node.name for node in walk([condition]) if isinstance(node, Variable)}
    return [*unmeasured(system), *(system[name] == 0 for name in system.memory if name not in named)]


def _applied(network: Network, *parts: Vector) -> Vector:
    return apply_network(network, [expr for part in parts for expr in part])
