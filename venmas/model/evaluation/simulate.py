"""Running a system: its graph read as floats in batches and as exact rationals (design section 2).

The exact reading is the semantics (design S2 to S4) and what a witness is checked with; nothing is evaluated that the
asked value does not need, since an exact network evaluation costs milliseconds. The float reading serves sampling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import iand, ior
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.logic.linear import format_number, weighted
from venmas.model.evaluation.evaluation import Evaluation, no_case
from venmas.model.evaluation.floats import Course, Floats
from venmas.model.expressions.expr import ArgMax, Compare, Smooth, Switch, Where
from venmas.model.expressions.smooth_nodes import Apply, Flow, Product, Quotient
from venmas.model.system.system import System
from venmas.model.system.variables import VariableDecl
from venmas.nn import Network
from venmas.nn.network import FloatType
from venmas.nn.runtime import Numpy, Runtime

Array: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Precision: TypeAlias = FloatType
State: TypeAlias = Mapping[str, Fraction]

_NUMPY = Numpy()


class Exact(Evaluation[Fraction, bool, tuple[list[int], int]]):
    """Values of expressions at one exact state; outputs of a network are numerators over a positive denominator."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state

    def _constant(self, value: Fraction) -> Fraction:
        return value

    def _variable(self, name: str) -> Fraction:
        return self.state[name]

    def _linear(self, terms: Sequence[tuple[Fraction, Fraction]], constant: Fraction) -> Fraction:
        return weighted(terms, constant)

    def _network(self, network: Network, inputs: Sequence[Fraction]) -> tuple[list[int], int]:
        return network.evaluate_integers(tuple(inputs))

    def _output(self, outputs: tuple[list[int], int], index: int) -> Fraction:
        return Fraction(outputs[0][index], outputs[1])

    def _maximum(self, operands: Iterable[Fraction]) -> Fraction:
        return max(operands)

    def _argmax(self, node: ArgMax) -> Fraction:
        network = node.application
        if network is None:
            values = [self.value(s) for s in node.scores]
            return Fraction(values.index(max(values)))
        numerators, _ = self.outputs(network)
        scores = [numerators[index] for index in node.places]
        return Fraction(scores.index(max(scores)))

    def _switch(self, node: Switch) -> Fraction:
        chosen = self.value(node.selector)
        for key, case in node.cases:
            if key == chosen:
                return self.value(case)
        raise no_case(chosen, node.cases)

    def _where(self, node: Where) -> Fraction:
        return self.value(node.then if self.truth(node.condition) else node.otherwise)

    def _known(self, value: bool) -> bool:
        return value

    def _compare(self, node: Compare) -> bool:
        return node.relation.holds(self.value(node.expr))

    def _every(self, truths: Iterable[bool]) -> bool:
        return all(truths)

    def _some(self, truths: Iterable[bool]) -> bool:
        return any(truths)


class Batch(Evaluation[Array, Bools, Array]):
    """Values of expressions at a batch of states in floats; `state` maps each name to an array of shape (B,).

    Networks run in `precision` on `runtime`, everything else in float64. A network runs once for the whole batch, and
    not at all when no row needs it. Values and truths have the shape (B,) and are not to be written to; what has no
    value is nan or infinite.
    """

    def __init__(self, state: Mapping[str, Array], precision: Precision = "float64", runtime: Runtime = _NUMPY) -> None:
        super().__init__()
        self.state = state
        self.size = len(next(iter(state.values())))
        self._ring = Floats(self.size)
        self._precision, self._runtime = precision, runtime

    def _constant(self, value: Fraction) -> Array:
        return self._ring.constant(value)

    def _variable(self, name: str) -> Array:
        return np.asarray(self.state[name], dtype=np.float64)

    def _linear(self, terms: Sequence[tuple[Fraction, Array]], constant: Fraction) -> Array:
        total = np.full(self.size, float(constant))
        for coefficient, part in terms:
            total += float(coefficient) * part
        return total

    def _network(self, network: Network, inputs: Sequence[Array]) -> Array:
        return self._runtime.evaluate(network, np.stack(inputs, axis=1), self._precision)

    def _output(self, outputs: Array, index: int) -> Array:
        return np.asarray(outputs[:, index])

    def _maximum(self, operands: Iterable[Array]) -> Array:
        return np.asarray(np.max(np.stack(list(operands)), axis=0))

    def _argmax(self, node: ArgMax) -> Array:
        return np.asarray(np.argmax(np.stack([self.value(s) for s in node.scores]), axis=0), dtype=np.float64)

    def _switch(self, node: Switch) -> Array:
        selector = np.rint(self.value(node.selector))
        result = np.empty(self.size)
        open_rows = np.full(self.size, True)
        for key, case in node.cases:
            rows = open_rows & (selector == key)
            if rows.any():
                result[rows] = self.value(case)[rows]
                open_rows &= ~rows
        if open_rows.any():
            raise no_case(selector[open_rows][0], node.cases)
        return result

    def _where(self, node: Where) -> Array:
        test = self.truth(node.condition)
        if test.all():
            return self.value(node.then)
        if not test.any():
            return self.value(node.otherwise)
        return np.where(test, self.value(node.then), self.value(node.otherwise))

    def _smooth(self, node: Smooth) -> Array:
        match node:
            case Product(left, right):
                return self._ring.multiply(self.value(left), self.value(right))
            case Quotient(left, right):
                return self._ring.divide(self.value(left), self.value(right))
            case Apply(function, operand):
                return self._ring.apply(function, self.value(operand))
        return super()._smooth(node)

    def _flow(self, flow: Flow) -> Course:
        return Course(flow, self.size, self.value)

    def _known(self, value: bool) -> Bools:
        return np.full(self.size, value)

    def _compare(self, node: Compare) -> Bools:
        return node.relation.truth(self.value(node.expr))

    def _every(self, truths: Iterable[Bools]) -> Bools:
        return reduce(iand, truths, self._known(True))

    def _some(self, truths: Iterable[Bools]) -> Bools:
        return reduce(ior, truths, self._known(False))


def misfit(system: System, state: State) -> str | None:
    """Reason why a point is no state of the system (range, integrality), or None (design S1)."""
    for decl in system.variables.values():
        value = state[decl.name]
        top, bottom = value.numerator, value.denominator  # fractions compare slowly
        below = top * decl.lower.denominator < decl.lower.numerator * bottom
        if below or top * decl.upper.denominator > decl.upper.numerator * bottom:
            return f"{decl.name} = {_number(value)} is outside its range [{_number(decl.lower)}, {_number(decl.upper)}]"
        if decl.integral and bottom != 1:
            return f"{decl.name} = {format_number(value)[:40]} is no integer"
    return None


def _number(value: Fraction) -> str:
    try:
        return str(value) if value.denominator == 1 else f"{float(value):.12g}"
    except (ValueError, OverflowError):  # more digits than Python writes, or no float
        return f"a number of {value.numerator.bit_length()} bits"


@dataclass(frozen=True)
class Transition:
    """One successor: the name and index of the branch that gives it, and the exact state."""

    branch: str
    index: int
    state: dict[str, Fraction]


class Step:
    """The answers of the environment in one exact state (design S4), computed as they are asked for."""

    def __init__(self, system: System, state: State) -> None:
        self._system = system
        self._at = Exact(state)
        self._found: dict[int, Transition | None] = {}

    def actions(self) -> dict[str, Fraction]:
        """Actions of the agents by name."""
        return {a.name: self._at.value(a.expr) for a in self._system.agents}

    def enabled(self) -> tuple[int, ...]:
        """The branches whose guards hold."""
        return tuple(i for i, branch in enumerate(self._system.branches) if self._at.truth(branch.guard))

    def successor(self, index: int) -> Transition | None:
        """The successor by branch `index`, or None where its guard does not hold.

        Raises `ModelError` when it leaves the declared box (design S1).
        """
        if index not in self._found:
            self._found[index] = self._compute(index)
        return self._found[index]

    def successors(self) -> Iterator[Transition]:
        """All successors in the order of branches, lazily."""
        for index in range(len(self._system.branches)):
            if (successor := self.successor(index)) is not None:
                yield successor

    def _compute(self, index: int) -> Transition | None:
        ask()
        branch = self._system.branches[index]
        if not self._at.truth(branch.guard):
            return None
        new = dict(self._at.state)
        new.update((name, self._at.value(expr)) for name, expr in branch.updates)
        if problem := misfit(self._system, new):
            at = ", ".join(f"{n}={_number(v)}" for n, v in self._at.state.items())
            raise ModelError(
                f"branch {branch.name!r} of system {self._system.name!r} leaves the declared box: {problem} "
                f"after the state {at}. Widen the range of the variable, guard the branch, or look fewer steps ahead"
            )
        return Transition(branch.name, index, new)


def successors(system: System, state: State) -> list[Transition]:
    """All successors of an exact state. Raises `ModelError` when one leaves the declared box (design S1)."""
    return list(Step(system, state).successors())


def actions(system: System, state: State) -> dict[str, Fraction]:
    """The exact action of each agent in a state."""
    return Step(system, state).actions()


def step_batch(
    system: System, state: Mapping[str, Array], branch: npt.NDArray[np.integer], precision: Precision = "float64"
) -> tuple[dict[str, Array], Bools]:
    """One step of float rollouts: row r goes by branch index ``branch[r]``.

    Returns the next states and, of shape (B,), whether the guard of the chosen branch holds; rows where it does not
    keep their state. Ranges are not checked here: floats may pass a bound by a rounding error.
    """
    at = Batch(state, precision)
    new = {name: np.array(state[name], dtype=np.float64) for name in system.variables}
    enabled = np.full(at.size, False)
    for index in np.unique(branch):
        chosen = system.branches[int(index)]
        rows = (branch == index) & at.truth(chosen.guard)
        enabled |= rows
        if rows.any():
            for name, expr in chosen.updates:
                new[name][rows] = at.value(expr)[rows]
    return new, enabled


def random_branches(
    system: System, state: Mapping[str, Array], rng: np.random.Generator, favoured: Bools | bool = False
) -> tuple[npt.NDArray[np.intp], Bools]:
    """A branch index for each row, at random among those enabled, and whether there is one; both of shape (B,).

    favoured: (B, branches), those that are taken before others where they are enabled.
    """
    at = Batch(state)
    enabled = np.stack([at.truth(b.guard) for b in system.branches], axis=1)
    chosen: npt.NDArray[np.intp] = np.where(enabled, rng.random(enabled.shape) + favoured, -1.0).argmax(axis=1)
    return chosen, np.asarray(enabled.any(axis=1))


def within(decl: VariableDecl, values: Array) -> Bools:
    """Mask of the floats in the range of a variable, but for rounding."""
    low, high = float(decl.lower), float(decl.upper)
    slack = 1e-9 * max(1.0, abs(low), abs(high))
    return np.asarray((values >= low - slack) & (values <= high + slack))
