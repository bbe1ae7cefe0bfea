"""Systems of finitely many states, state by state: what can be reached is found once, formulas are decided backward.

The answers of the environment do not depend on the step, so a state is expanded once whatever the horizon; a formula
then costs one pass over the states for each of its operators. For every subformula and state the cost of showing it is
kept (the length of the longest run that must be looked at; the largest number where it is false), so that witnesses are
short.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import Bools
from venmas.budget import ask
from venmas.errors import ModelError
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top, subformulas
from venmas.model.evaluation.simulate import Step
from venmas.model.system.system import System
from venmas.model.witness.build import collect, explain
from venmas.model.witness.tree import Witness
from venmas.procedures.explicit.graph.graph import ABSENT, OUTSIDE, StateGraph
from venmas.procedures.explicit.states.atoms import AtomRows
from venmas.procedures.explicit.states.integers import NotExplicitError

Costs = NDArray[np.unsignedinteger]

MAX_BYTES = 1 << 28
"""Most memory for the truth of the atoms of a formula in the states, and for their successors."""

MAX_KEPT = 1 << 28
"""Most memory for the costs that lead a witness; beyond it, the witness is searched for."""

_MOST_JOINS = 64


@dataclass(frozen=True, eq=False)
class Explored:
    """What `explore` found. `violating` is an initial state that meets the target, of those with a shortest witness.

    states, expanded: how many states were found, and how many of them were stepped from. may_deadlock: a state without
    successors among the latter. left_box: a transition (state, index of the branch) that leaves the declared box.
    """

    violating: dict[str, Fraction] | None
    states: int
    expanded: int
    may_deadlock: dict[str, Fraction] | None
    left_box: tuple[dict[str, Fraction], int] | None
    show: Callable[[], Witness] | None = None

    def witness(self) -> Witness | None:
        """The witness that `violating` meets the target, built without a search; None where nothing does."""
        return None if self.show is None else self.show()


def explore(system: System, target: Formula, tick: Callable[[], None], limit: int = 200_000) -> Explored | None:
    """Decide whether an initial state meets the core formula `target`, by all states within its depth.

    None when the system is not explicit: a real variable, numbers beyond 2**53, more than `limit` states (or more than
    `MAX_BYTES` of them), or initial sets whose points are hard to find. tick: called between two pieces of work; what
    it raises ends the search.

    Raises `ModelError` where nothing meets the target and a state within its depth leaves the declared box (design S1),
    and where there is no initial state.
    """
    try:
        graph = StateGraph(system, tick, transitions=True, limit=limit)
        graph.reach(target.depth)
        found = _Evaluation(graph, target)
    except NotExplicitError:
        return None
    if not graph.initial:
        raise ModelError(f"the initial set of system {system.name!r} is empty: check the initial conditions")
    violating = found.shortest()
    if violating is None and graph.left is not None:
        state, branch = graph.state(graph.left[0]), graph.left[1]
        Step(system, state).successor(branch)  # says what is left, and how
        raise AssertionError(f"branch {branch} stays in the box in exact numbers: {state}")
    return Explored(
        None if violating is None else graph.state(violating),
        graph.count,
        graph.expanded,
        None if graph.deadlock is None else graph.state(graph.deadlock),
        None if graph.left is None else (graph.state(graph.left[0]), graph.left[1]),
        None if violating is None else lambda: found.witness(violating),
    )


class _Evaluation:
    """The costs of showing the subformulas, and what a witness follows; keys are the numbers of states."""

    def __init__(self, graph: StateGraph, target: Formula) -> None:
        self.graph, self.target = graph, target
        short = target.depth < 2**16 - 2
        self.kind, self.never = np.dtype(np.uint16 if short else np.uint32), 2 ** (16 if short else 32) - 1
        if 4 * graph.count * len(graph.system.branches) > MAX_BYTES:
            raise NotExplicitError
        self.next = graph.successors()
        self._atoms = self._truth([f for f in subformulas(target) if isinstance(f, Atom)])
        self._costs: dict[Formula, Costs] = {}
        self._joins: dict[tuple[bool, tuple[Atom, ...]], Costs] = {}
        self._whole = True
        self._decide()

    def _truth(self, atoms: Sequence[Atom]) -> dict[Formula, Bools]:
        """The truth of atoms (states,), exactly."""
        if len(atoms) * self.graph.count > MAX_BYTES:
            raise NotExplicitError
        graph = self.graph
        rows = AtomRows(atoms, list(graph.system.variables), graph.columns.ranges)
        truth = np.empty((len(atoms), graph.count), bool)
        if atoms:
            for first, states in graph.chunks():
                truth[:, first : first + len(states)] = rows.truth(states, graph.tick)
        return dict(zip(atoms, truth, strict=True))

    def _decide(self) -> None:
        order = list(subformulas(self.target))
        uses: dict[Formula, int] = dict.fromkeys(order, 0)
        for formula in order:
            for child in formula.children:
                uses[child] += 1
        kept = len(order) * (self.graph.count + 2) * self.kind.itemsize <= MAX_KEPT
        for formula in order:
            self.graph.tick()
            if not isinstance(formula, Atom):
                self._costs[formula] = self._compute(formula)
            for child in formula.children:
                uses[child] -= 1
                if not kept and not uses[child]:
                    self._costs.pop(child, None)
        self._whole = kept

    def costs(self, formula: Formula) -> Costs:
        """(states + 2,): what it costs to show the formula, `never` where it is false; the last two are free to use."""
        if isinstance(formula, Atom):
            found = np.empty(self.graph.count + 2, self.kind)
            found[:-2] = np.where(self._atoms[formula], 0, self.never)
            return found
        return self._costs[formula]

    def _cost(self, formula: Formula, key: int) -> int:
        return (
            self.never * (not self._atoms[formula][key])
            if isinstance(formula, Atom)
            else int(self._costs[formula][key])
        )

    def _compute(self, formula: Formula) -> Costs:
        match formula:
            case Top() | Bottom():
                return np.full(self.graph.count + 2, 0 if isinstance(formula, Top) else self.never, self.kind)
            case And(operands) | Or(operands):
                total = self._joined(isinstance(formula, And), tuple(o for o in operands if isinstance(o, Atom)))
                for operand in operands:
                    ask()
                    if not isinstance(operand, Atom):
                        (np.maximum if isinstance(formula, And) else np.minimum)(total, self.costs(operand), out=total)
                return total
            case EX(operand) | AX(operand):
                below, every = self.costs(operand), isinstance(formula, AX)
                below[ABSENT], below[OUTSIDE] = 0 if every else self.never, self.never
                join = np.maximum if every else np.minimum
                total = np.empty_like(below)
                join.reduce(below[self.next], axis=0, out=total[:-2])
                total[:-2] += total[:-2] < self.never
                return total
        raise TypeError(f"{type(formula).__name__} is no core formula: pass it through nnf() first")

    def _joined(self, every: bool, atoms: tuple[Atom, ...]) -> Costs:
        """The costs of a conjunction or disjunction of atoms; the steps of a long formula share it."""
        if (every, atoms) not in self._joins:
            if len(self._joins) > _MOST_JOINS:
                self._joins.clear()
            truth = np.full(self.graph.count + 2, every)
            for atom in atoms:
                ask()
                (np.logical_and if every else np.logical_or)(truth[:-2], self._atoms[atom], out=truth[:-2])
            self._joins[every, atoms] = np.where(truth, 0, self.never).astype(self.kind)
        return self._joins[every, atoms].copy()

    def shortest(self) -> int | None:
        """The initial state with the least cost, if one meets the target."""
        costs = self.costs(self.target)[: self.graph.initial]
        best = int(np.argmin(costs)) if len(costs) else 0
        return best if len(costs) and int(costs[best]) < self.never else None

    # -- what a witness is collected from ------------------------------------------------------------------------------

    def witness(self, initial: int) -> Witness:
        """The witness that an initial state meets the target."""
        if self._whole:
            return collect(self.graph.system, self, self.target, initial)
        found = explain(self.graph.system, self.target, self.graph.state(initial))
        if found is None:
            raise AssertionError("the exact system does not meet the target where its graph of states does")
        return found

    def step(self, key: int) -> Step:
        """The exact step from a state."""
        return Step(self.graph.system, self.graph.state(key))

    def state(self, key: int) -> Mapping[str, Fraction]:
        """A state."""
        return self.graph.state(key)

    def chosen(self, formula: Formula, key: int) -> tuple[Formula, ...]:
        """The operands of And and Or that show it."""
        if isinstance(formula, And):
            return formula.children
        return (min(formula.children, key=lambda f: self._cost(f, key)),)

    def followed(self, formula: Formula, key: int) -> tuple[tuple[int, int], ...]:
        """The steps (branch, successor) of EX and AX that show it."""
        steps = [(b, int(s)) for b, s in enumerate(self.next[:, key]) if s >= 0]
        if isinstance(formula, AX):
            return tuple(steps)
        return (min(steps, key=lambda step: self._cost(formula.children[0], step[1])),)
