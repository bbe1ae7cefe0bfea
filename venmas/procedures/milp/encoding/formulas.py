"""Formulas in a program (paper, Fig. 6): the monolithic rules, for any core formula.

The rules speak about spreads: EX gives a literal to every arc that may lead to what is wanted, AX follows every branch,
and a disjunction shares the literals of the nodes among its parts. A compositional subproblem uses the same rules for
what its path leaves to the program: atoms and their combinations, in states that hold for sure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from venmas.bounds.reach import Outcome
from venmas.bounds.states import State, Step
from venmas.bounds.truth import Oracle
from venmas.logic import AX, EX, And, Atom, Formula, Or
from venmas.logic.linear import Comparison, Relation
from venmas.model.expressions.expr import ArgMax, Compare
from venmas.procedures.milp.encoding.states.spread import Arrival, Node, Spread, SpreadEncoder
from venmas.solvers.milp.subproblem import Choice, Option
from venmas.solvers.milp.terms import ONE, ZERO, ReluEncoding, Term, total


class FormulaEncoder(SpreadEncoder):
    """Adds "the gate of a spread implies that its state satisfies a formula", and notes which columns tell the path."""

    def __init__(self, root: State, encoding: ReluEncoding, oracle: Oracle, tick: Callable[[int], None]) -> None:
        super().__init__(root, encoding)
        self.oracle, self.tick = oracle, tick
        self.choices: list[Choice] = []

    def follow(self, state: State, step: Step) -> None:
        """Note that a witness goes this way."""
        self._kept += [state, step.state]
        self.choices.append(Choice(id(state), (Option(step.branches[0], id(step.state), ONE),)))

    def satisfy(self, spread: Spread, formula: Formula) -> None:
        """Require a core formula. Raises `Contradiction` where the bounds exclude it in a state that holds for sure."""
        self.tick(spread.nodes[0].state.step)
        match formula:
            case And(operands):
                for part in operands:
                    self.satisfy(spread, part)
                return
        truths = [self.oracle.truth(n.state, formula) for n in spread.nodes]
        impossible = [n for n, t in zip(spread.nodes, truths, strict=True) if t is False]
        if impossible:
            self.builder.row(spread.covered(impossible), 0.0, 0.0)
        nodes = [n for n, t in zip(spread.nodes, truths, strict=True) if t is None]
        if not nodes:
            return
        if len(nodes) + len(impossible) < len(spread.nodes):
            spread = spread.part(nodes)
        elif impossible:
            spread = spread.part(nodes, spread.gate)
        match formula:
            case Atom(comparison):
                self._atom(spread, comparison)
            case Or(operands):
                self._disjunction(spread, operands)
            case EX(operand):
                self._exists(spread, operand)
            case AX(operand):
                self._every(spread, operand)
            case _:
                raise TypeError(f"not a core formula: {formula}")

    def _atom(self, spread: Spread, comparison: Comparison) -> None:
        expr = spread.nodes[0].state.batch.expression(comparison)
        if comparison.relation is Relation.NE:
            sides = Relation.LT, Relation.GT
            self._disjunction(spread, [Atom(Comparison(comparison.expr, side)) for side in sides])
            return
        if len(spread.nodes) == 1:
            self.compare(spread.nodes[0].view, expr, comparison.relation, spread.nodes[0].literal)
            return
        for node in spread.nodes:
            self.facts.note(node.view, expr, comparison.relation, node.literal)
        term, bounds = self.combination(spread, comparison.expr)
        self.relate(term, bounds, expr, comparison.relation, spread.gate)

    def _disjunction(self, spread: Spread, operands: Sequence[Formula]) -> None:
        parts: list[list[Node]] = [[] for _ in operands]
        for node in spread.nodes:
            able = [i for i, o in enumerate(operands) if self.oracle.truth(node.state, o) is not False]
            for i, literal in zip(able, self._shares(node.literal, len(able)), strict=True):
                parts[i].append(Node(node.state, node.view, literal))
        for part, operand in zip(parts, operands, strict=True):
            if part:
                self.satisfy(spread.part(part, spread.gate if len(part) == sum(map(len, parts)) else None), operand)

    def _exists(self, spread: Spread, operand: Formula) -> None:
        arrivals: list[Arrival] = []
        for node in spread.nodes:
            able = {
                outcome: [a for a in outcome.arcs if self.oracle.truth(a.target, operand) is not False]
                for outcome in self.oracle.outcomes(node.state)
            }
            options: list[Option] = []
            for outcome, case, literal in self._outcomes(node, [o for o, arcs in able.items() if arcs]):
                arcs = able[outcome]
                for arc, chosen in zip(arcs, self._shares(literal, len(arcs)), strict=True):
                    self.require(case, arc.step.guard(self.system), chosen)
                    arrivals.append(Arrival(case, arc.step.branches[0], chosen, arc.target))
                    options.append(Option(arc.step.branches[0], id(arc.target), chosen))
            self.choices.append(Choice(id(node.state), tuple(options)))
        self.satisfy(self.arrive(spread, arrivals, spread.gate), operand)

    def _every(self, spread: Spread, operand: Formula) -> None:
        by_branch: list[list[Arrival]] = [[] for _ in self.system.branches]
        for node in spread.nodes:
            able = [o for o in self.oracle.outcomes(node.state) if not self._hinders(o, operand)]
            for outcome, case, literal in self._outcomes(node, able):
                for arc in outcome.arcs:
                    option = Option(arc.step.branches[0], id(arc.target), literal)
                    self.choices.append(Choice(id(node.state), (option,)))
                    truth = self.oracle.truth(arc.target, operand)
                    if truth is True:
                        continue
                    taken, blocked = literal, ZERO
                    if not arc.step.certain:
                        blocked, taken = self._shares(literal, 2) if truth is None else (literal, ZERO)
                        self.require(case, ~arc.step.guard(self.system), blocked)
                    if truth is None:
                        arrival = Arrival(case, arc.step.branches[0], taken, arc.target)
                        by_branch[arc.step.branches[0]].append(arrival)
        for arrivals in filter(None, by_branch):
            whole = total(a.literal for a in arrivals)
            gate = spread.gate if _same(whole, total(n.literal for n in spread.nodes)) else whole
            self.satisfy(self.arrive(spread, arrivals, gate), operand)

    def _hinders(self, outcome: Outcome, operand: Formula) -> bool:
        return any(a.step.certain and self.oracle.truth(a.target, operand) is False for a in outcome.arcs)

    def _outcomes(self, node: Node, outcomes: Sequence[Outcome]) -> list[tuple[Outcome, State, Term]]:
        """Outcomes of a node, of which one holds when the node does, as states and literals."""
        literals = self._shares(node.literal, len(outcomes))
        gates: dict[tuple[int, int], tuple[ArgMax | Compare, list[Term]]] = {}
        for outcome, literal in zip(outcomes, literals, strict=True):
            for choice, value in outcome.assumed:
                gates.setdefault((id(choice), value), (choice, []))[1].append(literal)
        for (_, value), (choice, parts) in gates.items():
            gate = node.literal if len(parts) == len(outcomes) else total(parts)
            if isinstance(choice, ArgMax):
                self.wins(node.view, choice, value, gate)
            else:
                self.require(node.view, choice if value else ~choice, gate)
        return [(o, node.under(o.state), literal) for o, literal in zip(outcomes, literals, strict=True)]

    def _shares(self, literal: Term, count: int) -> list[Term]:
        """Literals that add up to one."""
        if count <= 1:
            return [literal] * count
        if literal is ONE:
            return self.builder.one_of(count)
        if count == 2:
            first = self.builder.binary()
            self.builder.row(literal.plus(first, -1.0), 0.0, float("inf"))
            return [first, literal.plus(first, -1.0)]
        literals = [self.builder.binary() for _ in range(count)]
        self.builder.row(total(literals).plus(literal, -1.0), 0.0, 0.0)
        return literals


def _same(a: Term, b: Term) -> bool:
    return a.columns == b.columns and a.constant == b.constant
