"""Policies with memory: the hidden state of a recurrent network, or observations before, as variables of the system.

Every branch sets them to the memory after the step, so that all that reads a system reads them as other variables.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from venmas.errors import ModelError
from venmas.model.expressions.expr import Condition, Scalar, Variable, as_expr
from venmas.model.expressions.functions import apply_network, where
from venmas.model.expressions.vector import Vector, components, read_size
from venmas.model.expressions.walk import walk
from venmas.model.system.arguments import read_end
from venmas.model.system.declarations import declare
from venmas.model.system.quantities import MEASURE, unmeasured
from venmas.model.system.variables import VariableDecl
from venmas.nn import Network
from venmas.nn.recurrent import Recurrent, Values

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
    _check_early(system, f"network {network.name!r}")
    seen = components(observation, f"network {network.name!r}")
    if len(seen) != network.input_size:
        raise ModelError(f"network {network.name!r} takes {network.input_size} inputs, got {len(seen)}; give each one")
    groups = []
    for label, size in network.memory:
        limit = _HIDDEN if label.startswith("h") else read_end(cell, "the range of the cell state")
        groups.append(system.reals(f"{name}_{label}" if name else label, size, -limit, limit))
    outputs, after = network.step(Values(_applied, _joined, _zeros), Vector(seen), groups)
    for group, new in zip(groups, after, strict=True):
        system.memory.update({v.name: e for v, e in zip(group, new, strict=True) if isinstance(v, Variable)})
    return Vector(outputs)


def stack(system: System, observation: Iterable[Scalar], count: int, name: str, first: str, ends: object) -> Vector:
    """Declare the memory of the last observations, and return these in a step (`System.stacked`). Raises `ModelError`.

    As VecFrameStack of Stable-Baselines3 has them, with "repeat" as FrameStackObservation of Gymnasium.
    """
    what = f"stacked observations {name!r}"
    _check_early(system, what)
    if first not in ("zero", "repeat"):
        raise ModelError(f'{what}: first is "zero" or "repeat", got {first!r}')
    seen, before = components(observation, what), read_size(count, what) - 1
    kept = [
        _like(system, f"{name}[{frame * len(seen) + i}]", expr, ends)
        for frame in range(before)
        for i, expr in enumerate(seen, 1)
    ]
    shown: list[Scalar] = list(kept)
    if first == "repeat" and kept:
        begun = system.boolean(f"{name}_begun")
        system.memory[begun.name] = as_expr(1)
        shown = [where(begun == 1, past, now) for past, now in zip(kept, list(seen) * before, strict=True)]
    shown += seen
    system.memory |= {past.name: as_expr(new) for past, new in zip(kept, shown[len(seen) :], strict=True)}
    return Vector(shown)


def _like(system: System, name: str, expr: Scalar, ends: object) -> Variable:
    """A variable for the values of an observation, and 0."""
    decl = system.variables.get(expr.name) if isinstance(expr, Variable) else None
    if ends is None and decl is None:
        raise ModelError(f"stacked(.., ends=(least, greatest)) says between which numbers {name!r} is: give it")
    given = (decl.lower, decl.upper) if decl is not None and ends is None else ends
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ModelError(f"ends of {name!r} are {given!r}: expected (least, greatest)")
    low, high = (read_end(end, f"the range of {name!r}") for end in given)
    least, most, whole = min(low, Fraction(0)), max(high, Fraction(0)), decl is not None and decl.integral
    return declare(system, VariableDecl(name, least, most, whole))


def _check_early(system: System, what: str) -> None:
    if system.initial_set.regions or any(b.name != MEASURE for b in system.branches):
        raise ModelError(f"the memory of {what}: declare it before branches and initial sets")


def at_first(system: System, condition: Condition) -> list[Condition]:
    """Conditions on an initial state besides the given one: memory that it does not name is zero."""
    named = {node.name for node in walk([condition]) if isinstance(node, Variable)}
    return [*unmeasured(system), *(system[name] == 0 for name in system.memory if name not in named)]


def _applied(network: Network, *parts: Vector) -> Vector:
    return apply_network(network, _joined(parts))


def _joined(parts: Iterable[Vector]) -> Vector:
    return Vector(expr for part in parts for expr in part)


def _zeros(size: int) -> Vector:
    return Vector([as_expr(0)] * size)
