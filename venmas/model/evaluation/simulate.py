"""Running a system: its graph read as floats in batches and as exact rationals (design section 2).

The exact reading is the semantics (design S2 to S4) and what a witness is checked with; nothing is evaluated that the
asked value does not need, since an exact network evaluation costs milliseconds. The float reading serves sampling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.logic.linear import format_number, weighted
from venmas.model.evaluation.floats import Course, Floats
from venmas.model.expressions.expr import (
    All,
    Any,
    Application,
    ArgMax,
    Compare,
    Condition,
    Constant,
    Drawn,
    Expr,
    Maximum,
    Output,
    Smooth,
    Sum,
    Switch,
    Truth,
    Variable,
    Where,
)
from venmas.model.expressions.smooth_nodes import Apply, End, Extremum, Flow, Held, Product, Quotient
from venmas.model.system.system import System
from venmas.model.system.variables import VariableDecl
from venmas.nn.network import FloatType
from venmas.nn.runtime import Numpy, Runtime

Array: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Precision: TypeAlias = FloatType
State: TypeAlias = Mapping[str, Fraction]

_NUMPY = Numpy()


class Exact:
    """Values of expressions at one exact state, each node computed once and only when asked for."""

    def __init__(self, state: State) -> None:
        self.state = state
        # Nodes are kept with their values: an id is only unique while the node lives.
        self._values: dict[int, tuple[Expr, Fraction]] = {}
        self._outputs: dict[int, tuple[Application, list[int], int]] = {}

    def value(self, expr: Expr) -> Fraction:
        """The exact value of an expression."""
        known = self._values.get(id(expr))
        if known is None:
            known = self._values[id(expr)] = (expr, self._compute(expr))
        return known[1]

    def holds(self, condition: Condition) -> bool:
        """The exact truth of a condition."""
        match condition:
            case Truth(value):
                return value
            case Compare(expr, relation):
                return relation.holds(self.value(expr))
            case All(operands):
                return all(self.holds(c) for c in operands)
            case Any(operands):
                return any(self.holds(c) for c in operands)
        raise TypeError(type(condition))

    def _compute(self, expr: Expr) -> Fraction:
        match expr:
            case Constant(value):
                return value
            case Variable(name, _):
                return self.state[name]
            case Drawn(name):
                raise undrawn(name)
            case Sum(terms, constant):
                return weighted([(c, self.value(e)) for c, e in terms], constant)
            case Output(application, index):
                numerators, denominator = self._apply(application)
                return Fraction(numerators[index], denominator)
            case Maximum(operands):
                return max(self.value(o) for o in operands)
            case ArgMax(scores):
                values = self._comparable(scores)
                return Fraction(values.index(max(values)))
            case Switch(selector, cases):
                chosen = self.value(selector)
                for key, case in cases:
                    if key == chosen:
                        return self.value(case)
                raise _no_case(chosen, cases)
            case Where(condition, then, otherwise):
                return self.value(then if self.holds(condition) else otherwise)
        raise TypeError(type(expr))

    def _comparable(self, scores: Sequence[Expr]) -> Sequence[Fraction | int]:
        """Numbers in the order of the scores: outputs of one network have one denominator."""
        first = scores[0]
        if isinstance(first, Output):
            outputs = [s.index for s in scores if isinstance(s, Output) and s.application is first.application]
            if len(outputs) == len(scores):
                numerators, _ = self._apply(first.application)
                return [numerators[index] for index in outputs]
        return [self.value(s) for s in scores]

    def _apply(self, application: Application) -> tuple[list[int], int]:
        """Outputs as numerators over a positive denominator."""
        known = self._outputs.get(id(application))
        if known is None:
            inputs = tuple(self.value(i) for i in application.inputs)
            known = self._outputs[id(application)] = (application, *application.network.evaluate_integers(inputs))
        return known[1], known[2]


class Batch:
    """Values of expressions at a batch of states in floats; `state` maps each name to an array of shape (B,).

    Networks run in `precision` on `runtime`, everything else in float64. A network runs once for the whole batch, and
    not at all when no row needs it.
    """

    def __init__(self, state: Mapping[str, Array], precision: Precision = "float64", runtime: Runtime = _NUMPY) -> None:
        self.state = state
        self.size = len(next(iter(state.values())))
        self._precision, self._runtime = precision, runtime
        self._values: dict[int, tuple[Expr, Array]] = {}
        self._outputs: dict[int, tuple[Application, Array]] = {}
        self._courses: dict[int, tuple[Flow, Course]] = {}

    def value(self, expr: Expr) -> Array:
        """Values of an expression, shape (B,); not to be written to."""
        known = self._values.get(id(expr))
        if known is None:
            known = self._values[id(expr)] = (expr, self._compute(expr))
        return known[1]

    def holds(self, condition: Condition) -> Bools:
        """Truth of a condition, shape (B,)."""
        match condition:
            case Truth(value):
                return np.full(self.size, value)
            case Compare(expr, relation):
                return relation.truth(self.value(expr))
            case All(operands):
                truth = np.full(self.size, True)
                for operand in operands:
                    truth &= self.holds(operand)
                return truth
            case Any(operands):
                truth = np.full(self.size, False)
                for operand in operands:
                    truth |= self.holds(operand)
                return truth
        raise TypeError(type(condition))

    def _compute(self, expr: Expr) -> Array:
        ask()
        match expr:
            case Constant(value):
                return np.full(self.size, float(value))
            case Variable(name, _):
                return np.asarray(self.state[name], dtype=np.float64)
            case Drawn(name):
                raise undrawn(name)
            case Sum(terms, constant):
                total = np.full(self.size, float(constant))
                for coefficient, part in terms:
                    total += float(coefficient) * self.value(part)
                return total
            case Output(application, index):
                return np.asarray(self._apply(application)[:, index])
            case Maximum(operands):
                return np.asarray(np.max(np.stack([self.value(o) for o in operands]), axis=0))
            case ArgMax(scores):
                return np.asarray(np.argmax(np.stack([self.value(s) for s in scores]), axis=0), dtype=np.float64)
            case Switch(selector, cases):
                return self._switch(np.rint(self.value(selector)), cases)
            case Smooth():
                return self._smooth(expr)
            case Where(condition, then, otherwise):
                test = self.holds(condition)
                if test.all():
                    return self.value(then)
                return np.where(test, self.value(then), self.value(otherwise)) if test.any() else self.value(otherwise)
        raise TypeError(type(expr))

    def _smooth(self, expr: Smooth) -> Array:
        """A node that is not piecewise linear; what has no value is nan or infinite."""
        ring = Floats(self.size)
        match expr:
            case Product(left, right):
                return ring.multiply(self.value(left), self.value(right))
            case Quotient(left, right):
                return ring.divide(self.value(left), self.value(right))
            case Apply(function, operand):
                return ring.apply(function, self.value(operand))
            case Held(operand):
                return self.value(operand)
            case End(flow, name):
                return self._course(flow).ends[name]
            case Extremum(flow, _, _):
                return self._course(flow).extremum(expr)
        raise TypeError(type(expr))

    def _course(self, flow: Flow) -> Course:
        if id(flow) not in self._courses:
            self._courses[id(flow)] = flow, Course(flow, self.size, self.value)
        return self._courses[id(flow)][1]

    def _switch(self, selector: Array, cases: tuple[tuple[int, Expr], ...]) -> Array:
        result = np.empty(self.size)
        open_rows = np.full(self.size, True)
        for key, case in cases:
            rows = open_rows & (selector == key)
            if rows.any():
                result[rows] = self.value(case)[rows]
                open_rows &= ~rows
        if open_rows.any():
            raise _no_case(selector[open_rows][0], cases)
        return result

    def _apply(self, application: Application) -> Array:
        known = self._outputs.get(id(application))
        if known is None:
            inputs = np.stack([self.value(i) for i in application.inputs], axis=1)
            outputs = self._runtime.evaluate(application.network, inputs, self._precision)
            known = self._outputs[id(application)] = (application, outputs)
        return known[1]


def _no_case(value: object, cases: tuple[tuple[int, Expr], ...]) -> ModelError:
    return ModelError(f"a switch has no case for the value {value} of its selector; it has {[k for k, _ in cases]}")


def undrawn(name: str) -> ModelError:
    """The error for running a system whose noise was not drawn."""
    return ModelError(
        f"the disturbance {name!r} has another value in each step: run `drawn(system, steps)` of "
        "venmas.model.system.disturbances, whose initial states have the values of all steps"
    )


def misfit(system: System, state: State) -> str | None:
    """What keeps a point from being a state of the system (range, integrality), or None (design S1)."""
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
        """What each agent does."""
        return {a.name: self._at.value(a.expr) for a in self._system.agents}

    def enabled(self) -> tuple[int, ...]:
        """The branches whose guards hold."""
        return tuple(i for i, branch in enumerate(self._system.branches) if self._at.holds(branch.guard))

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
            if (found := self.successor(index)) is not None:
                yield found

    def _compute(self, index: int) -> Transition | None:
        ask()
        branch = self._system.branches[index]
        if not self._at.holds(branch.guard):
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
        rows = (branch == index) & at.holds(chosen.guard)
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
    enabled = np.stack([at.holds(b.guard) for b in system.branches], axis=1)
    chosen: npt.NDArray[np.intp] = np.where(enabled, rng.random(enabled.shape) + favoured, -1.0).argmax(axis=1)
    return chosen, np.asarray(enabled.any(axis=1))


def within(decl: VariableDecl, values: Array) -> Bools:
    """Which of some floats are in the range of a variable, but for rounding."""
    low, high = float(decl.lower), float(decl.upper)
    slack = 1e-9 * max(1.0, abs(low), abs(high))
    return np.asarray((values >= low - slack) & (values <= high + slack))
