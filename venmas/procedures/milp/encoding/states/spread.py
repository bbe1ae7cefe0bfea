"""Where a run may be at one step of the unrolling: nodes of the reach graph, of which one holds.

A spread is what the monolithic program knows of a state that follows a choice. Every node has a literal, and the
literals add up to the gate of the spread. The values of variables are one term for the whole spread, mostly an affine
function of the initial state and of the literals of the arcs that lead here: they need no columns of their own. A node
that is encoded by itself, because its network is needed, gets columns for those of its variables that are no exact
function of the initial state (its `view`); they are free where its literal is off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from venmas.bounds.exact import local_form
from venmas.bounds.states import State
from venmas.logic.linear import LinearExpr
from venmas.model.expressions.expr import Expr
from venmas.procedures.milp.encoding.states.expressions import ExpressionEncoder, Range
from venmas.solvers.milp.terms import ONE, Term, total


@dataclass(frozen=True, eq=False)
class Node:
    """A node of the reach graph under a literal; `view` is the state that terms are asked for."""

    state: State
    view: State
    literal: Term

    def under(self, case: State) -> State:
        """A case of the state (`State.base`) as one of the view."""
        return case if self.view is self.state else replace(case, base=self.view)


@dataclass(frozen=True, eq=False)
class Arrival:
    """An arc that is taken when its literal holds: the node under its assumptions, and the branch."""

    origin: State
    branch: int
    literal: Term
    target: State


@dataclass(frozen=True, eq=False)
class Spread:
    """Nodes whose literals add up to `gate`; those without arrivals share the values of the spread `whole`."""

    nodes: Sequence[Node]
    gate: Term
    before: Spread | None = None
    arrivals: Sequence[Arrival] = ()
    whole: Spread | None = None
    values: dict[str, tuple[Term, Range]] = field(default_factory=dict)

    @staticmethod
    def single(state: State) -> Spread:
        """A state that holds for sure."""
        return Spread((Node(state, state, ONE),), ONE)

    def part(self, nodes: Sequence[Node], gate: Term | None = None) -> Spread:
        """Some of the nodes, or all of them under other literals."""
        gate = gate if gate is not None else total(n.literal for n in nodes)
        return Spread(nodes, gate, whole=self.whole or self)

    def covered(self, nodes: Sequence[Node]) -> Term:
        """The gate of some of the nodes."""
        return self.gate if len(nodes) == len(self.nodes) else total(n.literal for n in nodes)


class SpreadEncoder(ExpressionEncoder):
    """Values of variables in spreads and in their nodes."""

    def arrive(self, before: Spread, arrivals: Sequence[Arrival], gate: Term) -> Spread:
        """The spread after some arcs."""
        targets: dict[int, list[Arrival]] = {}
        for arrival in arrivals:
            targets.setdefault(id(arrival.target), []).append(arrival)
        nodes: list[Node] = []
        for group in targets.values():
            state = group[0].target
            literal = gate if len(targets) == 1 else total(a.literal for a in group)
            view = state if self._exact(state) else replace(state)
            nodes.append(Node(state, view, literal))
        spread = Spread(nodes, gate, before, arrivals)
        for node in nodes:
            if node.view is not node.state:
                self._kept.append(node.view)
                self.facts.ends.add(id(node.view))
                self._views[id(node.view)] = partial(self._seen, spread, node)
        return spread

    def value(self, spread: Spread, name: str) -> tuple[Term, Range]:
        """A variable in a spread, and a range of the term that holds whatever the gate is."""
        if spread.whole is not None:
            return self.value(spread.whole, name)
        if name not in spread.values:
            spread.values[name] = self._arrived(spread, name) if spread.before else self._single(spread, name)
        return spread.values[name]

    def combination(self, spread: Spread, form: LinearExpr) -> tuple[Term, Range]:
        """An affine expression of the variables in a spread, with its range."""
        parts = [Term({}, float(form.constant))]
        low = high = float(form.constant)
        for name, coefficient in form.terms:
            term, ends = self.value(spread, name)
            c = float(coefficient)
            parts.append(term.scaled(c))
            low, high = low + min(c * e for e in ends), high + max(c * e for e in ends)
        return total(parts), (low, high)

    def _exact(self, state: State) -> bool:
        return all(state.affine(v) is not None for v in self.system.nodes_by_name.values())

    def _single(self, spread: Spread, name: str) -> tuple[Term, Range]:
        (node,) = spread.nodes
        return self.term(node.view, self.system[name]), node.state.bounds(self.system[name])

    def _arrived(self, spread: Spread, name: str) -> tuple[Term, Range]:
        before, variable = spread.before, self.system[name]
        assert before is not None
        forms = [n.state.affine(variable) for n in spread.nodes]
        exact = [self.affine(f) for f in forms if f is not None]
        if len(exact) == len(forms):
            moving, literals, options = LinearExpr(), [n.literal for n in spread.nodes], exact
        else:
            updates = [dict(self.system.branches[a.branch].updates).get(name, variable) for a in spread.arrivals]
            moving, options = self._moved(before, spread.arrivals, updates)
            literals = [a.literal for a in spread.arrivals]
        base, (low, high) = self.combination(before, moving)
        rest, ends = self.select(literals, options)
        low, high = low + ends[0], high + ends[1]
        if spread.gate is ONE:
            bounds = [n.state.bounds(variable) for n in spread.nodes]
            low, high = max(low, min(lo for lo, _ in bounds)), min(high, max(hi for _, hi in bounds))
        return base.plus(rest), (low, high)

    def _moved(
        self, before: Spread, arrivals: Sequence[Arrival], updates: Sequence[Expr]
    ) -> tuple[LinearExpr, list[Term]]:
        """What all updates add alike of variables that are not exact, and the rest of each update."""
        inexact = {
            v.name for v in self.system.nodes_by_name.values() if any(n.state.affine(v) is None for n in before.nodes)
        }
        moving: list[LinearExpr] = []
        rests: list[Term] = []
        for arrival, update in zip(arrivals, updates, strict=True):
            form = local_form(arrival.origin, update)
            if form is None:
                break
            moving.append(LinearExpr(tuple(t for t in form.terms if t[0] in inexact)))
            rest = LinearExpr((), form.constant)
            for name, coefficient in form.terms:
                if name not in inexact:
                    known = arrival.origin.affine(self.system[name])
                    assert known is not None
                    rest += known.scaled(coefficient)
            rests.append(self.affine(rest))
        if len(moving) == len(arrivals) and all(m == moving[0] for m in moving):
            return moving[0], rests
        return LinearExpr(), [self.term(a.origin, u) for a, u in zip(arrivals, updates, strict=True)]

    def _seen(self, spread: Spread, node: Node, name: str) -> Term:
        """A variable in a node: a column of its own, which is that of the spread when the literal of the node holds."""
        term, (low, high) = self.value(spread, name)
        if node.literal is ONE:
            return term
        least, greatest = node.state.bounds(self.system[name])
        seen = Term({self.builder.variable(least, greatest): 1.0})
        self.builder.implied(node.literal, seen.plus(term, -1.0), 0.0, 0.0, (least - high, greatest - low))
        return seen
