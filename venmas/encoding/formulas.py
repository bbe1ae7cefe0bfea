"""Formulas in a program (paper, Fig. 6): the monolithic rules, under gates, for any core formula.

A compositional subproblem uses the same rules for what its path leaves to the program: atoms and their combinations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from venmas.bounds import State, Step
from venmas.encoding.expressions import ExpressionEncoder
from venmas.encoding.points import Oracle
from venmas.encoding.subproblem import Choice, Option
from venmas.encoding.terms import ONE, ReluEncoding, Term, total
from venmas.linear import Comparison, Relation
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top
from venmas.model.expr import Truth


class FormulaEncoder(ExpressionEncoder):
    """Adds ``gate == 1 implies (state satisfies formula)`` to the program, and notes which columns tell the path."""

    def __init__(self, root: State, encoding: ReluEncoding, oracle: Oracle, tick: Callable[[int], None]) -> None:
        super().__init__(root, encoding)
        self.oracle, self.tick = oracle, tick
        self.choices: list[Choice] = []
        self._steps: dict[int, tuple[Step, ...]] = {}

    def steps(self, state: State) -> tuple[Step, ...]:
        """The successors of a state, always the same objects: their encodings are shared."""
        if id(state) not in self._steps:
            self._kept.append(state)
            self._steps[id(state)] = state.successors()
        return self._steps[id(state)]

    def satisfy(self, state: State, formula: Formula, gate: Term = ONE) -> None:
        """Require a core formula in a state. Raises `Contradiction` where the bounds exclude it without a gate."""
        self.tick(state.step)
        match formula:
            case Top():
                return
            case Bottom():
                self._exclude(gate)
            case Atom(comparison):
                self._atom(state, comparison, gate)
            case And(operands):
                for part in operands:
                    self.satisfy(state, part, gate)
            case Or(operands):
                self._disjunction(state, operands, gate)
            case EX() | AX() if (truth := self.oracle.truth(state, formula)) is not None:
                if not truth:
                    self._exclude(gate)
            case EX(operand):
                self._exists(state, operand, gate)
            case AX(operand):
                for step in self.steps(state):
                    self.all_steps(state, step, operand, gate)
            case _:
                raise TypeError(f"not a core formula: {formula}")

    def follow(self, state: State, step: Step) -> None:
        """Note that a witness goes this way."""
        self._kept += [state, step.state]
        self.choices.append(Choice(id(state), (Option(step.branches[0], id(step.state), ONE),)))

    def all_steps(self, state: State, step: Step, operand: Formula, gate: Term) -> None:
        """``guard implies operand`` for one step."""
        self.follow(state, step)
        guard = step.guard(self.system)
        if isinstance(guard, Truth):
            self.satisfy(step.state, operand, gate)
            return
        blocked, taken = self._alternatives(gate, 2)
        self.require(state, ~guard, blocked)
        self.satisfy(step.state, operand, taken)

    def _exclude(self, gate: Term) -> None:
        self.builder.row(gate, 0.0, 0.0)

    def _atom(self, state: State, comparison: Comparison, gate: Term) -> None:
        truth = state.decide(comparison)
        if truth is not None:
            if not truth:
                self._exclude(gate)
            return
        expr = state.batch.expression(comparison)
        if comparison.relation is Relation.NE:
            below, above = self._alternatives(gate, 2)
            self.compare(state, expr, Relation.LT, below)
            self.compare(state, expr, Relation.GT, above)
        else:
            self.compare(state, expr, comparison.relation, gate)

    def _disjunction(self, state: State, operands: Sequence[Formula], gate: Term) -> None:
        truths = [self.oracle.truth(state, o) for o in operands]
        if True in truths:
            return
        able = [o for o, t in zip(operands, truths, strict=True) if t is None]
        if not able:
            self._exclude(gate)
        elif len(able) == 1:
            self.satisfy(state, able[0], gate)
        else:
            for literal, part in zip(self._alternatives(gate, len(able)), able, strict=True):
                self.satisfy(state, part, literal)

    def _alternatives(self, gate: Term, count: int) -> list[Term]:
        """Literals of which at least one holds when the gate does."""
        if not gate.columns:
            return self.builder.one_of(count)
        literals = [self.builder.binary() for _ in range(count)]
        self.builder.row(total(literals).plus(gate, -1.0), 0.0, float("inf"))
        return literals

    def _exists(self, state: State, operand: Formula, gate: Term) -> None:
        steps = [s for s in self.steps(state) if self.oracle.truth(s.state, operand) is not False]
        if not steps:
            self._exclude(gate)
            return
        if all(s.certain for s in steps):
            literals = self.builder.one_of(len(steps))
        elif len(steps) == 1:
            literals = [gate]
        else:
            literals = [self.builder.binary() for _ in steps]
            self.builder.row(total(literals), 0.0, 1.0)
            self.builder.row(total(literals).plus(gate, -1.0), 0.0, float("inf"))
        for step, literal in zip(steps, literals, strict=True):
            self.require(state, step.guard(self.system), literal)
        if len(steps) == 1:
            following = steps[0].state
        else:
            following = state.join(steps)
            self.define(following, steps, literals)
        options = [Option(s.branches[0], id(following), lit) for s, lit in zip(steps, literals, strict=True)]
        self.choices.append(Choice(id(state), tuple(options)))
        self._kept.append(following)
        self.satisfy(following, operand, gate)
