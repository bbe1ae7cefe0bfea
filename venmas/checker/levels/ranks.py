"""Ranking functions of systems whose states are not listed: their proof obligations, as bounded questions of one step.

Of every state s of the declared box, or of a set that is shown not to be left, and every step to s' along an edge from
q to q' of a component, after which some edge of the component may go on:

    V_q'(s') <= V_q(s) - [the edge is strict]

Each question is about a system made from the one that is asked: its steps mark what breaks the inequation, and nothing
else, so that ``AX`` no mark is what has to be shown. V is a weighted sum of 1, the variables, and predicates (0 or 1).

The proofs that follow the ranks in a certificate, each numbered from 1 with an `end` of its own:

1. no step leaves the declared box: the trees of an inductive set of no predicates and one word, "", for `AG true`
   (without the line `set`); with J instead: initial states are in J, and no step from a state of J leads out of J or of
   the box, the bounded proofs of J, with `inside` false, and of `AX J` from J, with `inside` true;
2. unless `deadlock` is `stutter`: every state of J has a step;
3. for each rank, for each of its edges, from q to q': on no step from a state s of J to s' along the edge, after which
   the label of some edge of the rank that leaves q' is met (whatever branch comes next), V_q'(s') > V_q(s) - [strict].

2 and 3 are proofs by goals, with `inside` false, of `AX marked <= 0`: of the system with the variables of this one and
`marked`, from 0 to 1 (with `_` added while a variable has that name), whose initial states are those of J with `marked`
0, and whose branches set `marked` to 1. For 2 there is one, whose guard is that no guard holds. For 3 there is one for
each branch of the system in order, with the guard that the branch's holds, the letter meets the edge, some edge goes
on, and V rises; with `stutter` one more, for the step that stays. Strict comparisons of sums of integers with whole
coefficients are written as closed ones (x < 3 is x - 2 <= 0).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from venmas.checker.format.fields import Count, Limit
from venmas.checker.format.rule import Rule, rule
from venmas.checker.levels.claim import branch_of
from venmas.checker.netlists.simulation import Edge
from venmas.logic.formula import Atom, Formula, Next, Quantifier
from venmas.logic.linear import Relation
from venmas.logic.parser import parse
from venmas.logic.paths import Leaf, Proposition
from venmas.model.evaluation.simulate import Exact
from venmas.model.expressions.domain import is_integral
from venmas.model.expressions.expr import All, Any, Compare, Condition, Constant, Expr, Sum, Truth, Where
from venmas.model.invariant import Invariant
from venmas.model.system.system import System

_Number = Annotated[int, Limit(-(1 << 4096), 1 << 4096)]
Row = tuple[_Number, ...]
_Rows = Annotated[tuple[Row, ...], Limit(most=1000)]
BOX = Invariant((), ("",))
"""All states of the declared box: that no step leaves it is shown as for any inductive set."""


@rule("linear-rank")
@dataclass(frozen=True, slots=True)
class Rank(Rule):
    """A rank of all edges of a component, by their numbers; it falls on the strict ones.

    predicates: rows (c0, .., cn) over the variables, true where the sum is >= 0. weights: for each automaton state that
    the edges touch, in order, a row: of 1, of the variables, of the predicates.
    """

    edges: tuple[Count, ...]
    strict: tuple[Count, ...]
    predicates: _Rows
    weights: _Rows


class Obligations:
    """The questions about a system of integers. atoms, edges: of the automaton; stutter: as in the claim.

    invariant: of the states that they are about, a conjunction: of one word.
    """

    def __init__(
        self, system: System, atoms: Sequence[Leaf], edges: Sequence[Edge], stutter: bool, invariant: Invariant = BOX
    ) -> None:
        self.system, self.edges, self.stutter, self.invariant = system, edges, stutter, invariant
        self.leaves = list(atoms)
        self._atoms = [(one, branch_of(system, getattr(one, "name", ""))) for one in atoms]
        self._stuck = All(tuple(_negated(branch.guard) for branch in system.branches))

    def goes_on(self) -> list[tuple[System, Formula]]:
        """That every state has a step, unless runs stay where there is none."""
        return [] if self.stutter else [self._marked([self._stuck])]

    def falls(self, number: int, rank: Rank) -> tuple[System, Formula]:
        """That a rank does along an edge what it must."""
        edge, gates = self.edges[number], []
        here = self._value(rank, edge.source, {})
        for index, guard, updates in self._steps():
            label = self.label(edge, index, {})
            after = [
                self.label(self.edges[e], None, updates) for e in rank.edges if self.edges[e].source == edge.target
            ]
            there = self._value(rank, edge.target, updates)
            risen = Sum(((Fraction(1), there), (Fraction(-1), here)), Fraction(int(number in rank.strict)))
            gates.append(All((guard, label, Any(tuple(after)), Compare(risen, Relation.GT))))
        return self._marked(gates)

    def meets(self, edge: Edge, branch: int | None, state: Mapping[str, Fraction]) -> bool:
        """Does a letter of a state meet an edge? branch: the one that is taken, -1 for none; None for any."""
        return Exact(state).truth(self.label(edge, branch, {}))

    def _steps(self) -> list[tuple[int | None, Condition, Mapping[str, Expr]]]:
        steps: list[tuple[int | None, Condition, Mapping[str, Expr]]] = [
            (i, branch.guard, dict(branch.updates)) for i, branch in enumerate(self.system.branches)
        ]
        return [*steps, (-1, self._stuck, {})] if self.stutter else steps

    def label(self, edge: Edge, branch: int | None, updates: Mapping[str, Expr]) -> Condition:
        """That a letter meets the edge: of a state after updates, and a branch (None: any, -1: none is taken)."""
        conditions: list[Condition] = []
        for at, (leaf, about) in enumerate(self._atoms):
            if not edge.care >> at & 1:
                continue
            meant = bool(edge.value >> at & 1)
            if about is not None:
                conditions.append(Truth(branch is None or (about == branch) is meant))
                continue
            if isinstance(leaf, Atom):
                expr = leaf.comparison.expr
                one: Condition = Compare(self._sum(expr.terms, expr.constant, updates), leaf.comparison.relation)
            else:
                assert isinstance(leaf, Proposition)
                one = Compare(self._sum([(leaf.name, Fraction(1))], Fraction(-1), updates), Relation.GE)
            conditions.append(one if meant else _negated(one))
        return All(tuple(conditions))

    def _value(self, rank: Rank, state: int, updates: Mapping[str, Expr]) -> Expr:
        touched = sorted({self.edges[e].source for e in rank.edges} | {self.edges[e].target for e in rank.edges})
        row, names = rank.weights[touched.index(state)], list(self.system.variables)
        terms = [(Fraction(1), self._sum(zip(names, map(Fraction, row[1:]), strict=False), Fraction(row[0]), updates))]
        for weight, form in zip(row[1 + len(names) :], rank.predicates, strict=True):
            left = self._sum(zip(names, map(Fraction, form[1:]), strict=True), Fraction(form[0]), updates)
            one = Where(Compare(left, Relation.GE), Constant(Fraction(1)), Constant(Fraction(0)))
            terms.append((Fraction(weight), one))
        return Sum(tuple(term for term in terms if term[0]), Fraction(0))

    def _sum(self, terms: Iterable[tuple[str, Fraction]], constant: Fraction, updates: Mapping[str, Expr]) -> Expr:
        products = [(c, updates.get(name, self.system[name])) for name, c in terms if c]
        return Sum(tuple(products), constant) if products else Constant(constant)

    def _inside(self) -> Condition:
        """That a state is one of the invariant."""
        (word,), names, conditions = self.invariant.words, list(self.system.variables), []
        for truth, row in zip(word, self.invariant.predicates, strict=True):
            one = Compare(self._sum(zip(names, row[1:], strict=True), row[0], {}), Relation.GE)
            conditions += [] if truth == "-" else [one if truth == "1" else _negated(one)]
        return _closed(All(tuple(conditions)))

    def _marked(self, conditions: Sequence[Condition]) -> tuple[System, Formula]:
        """The system that marks states that meet one of the conditions, and that there is none."""
        mark = "marked"
        while mark in self.system.variables:
            mark += "_"
        made = System(self.system.name)
        made.variables.update(self.system.variables)
        made.nodes_by_name.update(self.system.nodes_by_name)  # the conditions are about these
        made.initial(made.integer(mark, 0, 1) == 0, *([] if self.invariant == BOX else [self._inside()]))
        for at, condition in enumerate(conditions):
            made.branch(f"step {at}", {}, when=_closed(condition), **{mark: 1})
        made.validate()
        return made, parse(f"AX {mark} <= 0", made.vocabulary)


def inductive(system: System, invariant: Invariant) -> tuple[tuple[System, Formula, bool], ...]:
    """That initial states are in a set, and no step from a state of it leads out of it, or of the box (inside)."""
    if invariant == BOX:
        return ()
    there = invariant.formula(system)
    return (system, there, False), (system.starting(there), Next(Quantifier.ALL, 1, there), True)


def bound(rank: Rank, box: Mapping[str, tuple[Fraction, Fraction]]) -> int:
    """A number of steps that all fall with a rank is at most this: one may end where it is no longer looked at."""
    ends: list[tuple[Fraction, Fraction]] = []
    for row in rank.weights:
        spans = [(Fraction(1), Fraction(1)), *box.values(), *((Fraction(0), Fraction(1)) for _ in rank.predicates)]
        pairs = [(w * low, w * high) for w, (low, high) in zip(row, spans, strict=True)]
        ends.append((sum(map(min, pairs), Fraction(0)), sum(map(max, pairs), Fraction(0))))
    return int(max(high for _, high in ends) - min(low for low, _ in ends)) + 1


def _closed(condition: Condition) -> Condition:
    """The same of integers without strict comparisons of sums with whole coefficients: x < 3 is x <= 2."""
    match condition:
        case Compare(Sum(terms, constant) as expr, Relation.LT | Relation.GT as relation):
            whole = constant.denominator == 1 and all(c.denominator == 1 for c, _ in terms)
            if whole and is_integral(expr, set()):
                shift, closed = (1, Relation.LE) if relation is Relation.LT else (-1, Relation.GE)
                return Compare(Sum(terms, constant + shift), closed)
            return condition
        case All(parts):
            return All(tuple(map(_closed, parts)))
        case Any(parts):
            return Any(tuple(map(_closed, parts)))
    return condition


def _negated(condition: Condition) -> Condition:
    match condition:
        case Truth(value):
            return Truth(not value)
        case Compare(expr, relation):
            return Compare(expr, relation.negated)
        case All(parts):
            return Any(tuple(map(_negated, parts)))
        case Any(parts):
            return All(tuple(map(_negated, parts)))
    raise TypeError(type(condition))
