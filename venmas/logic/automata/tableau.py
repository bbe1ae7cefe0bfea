"""Formulas in core form to automata: states are sets of formulas that hold from there on.

    step(p U q) = step(q) or (step(p) and [p U q next, promised])        step(X p) = [p next]
    step(p R q) = step(q) and (step(p) or [p R q next])                  a literal: [label]

A term of a step is a label, what holds next, and the untils whose right sides are put off. A run is accepting when it
puts none off for ever: acceptance set i has the edges that do not promise until i. Terms that ask for more than another
one are left out. Gastin, Oddoux, *Fast LTL to Büchi Automata Translation*, CAV 2001; promises are those of Couvreur,
*On-the-fly Verification of Linear Temporal Logic*, FM 1999.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from venmas.errors import FormulaError
from venmas.logic.automata.automaton import Automaton, Edge
from venmas.logic.automata.effort import Effort
from venmas.logic.automata.label import Label
from venmas.logic.formula import And, Atom, Bottom, Formula, Not, Or, Top, subformulas
from venmas.logic.paths import Leaf, Proposition, R, U, X

MAX_STATES = 2000
"""Most states of an automaton before it is reduced."""


class Term(NamedTuple):
    """One way to take a step; next: formulas by number, as bits; promised: untils, as bits."""

    care: int
    value: int
    next: int
    promised: int

    def asks_no_more(self, other: Term) -> bool:
        """Is every step of the other also one of this, with no more to follow?"""
        return not (
            self.care & ~other.care
            or (self.value ^ other.value) & self.care
            or self.next & ~other.next
            or self.promised & ~other.promised
        )


_STAY = Term(0, 0, 0, 0)


def tableau(formula: Formula, effort: Effort) -> Automaton:
    """The automaton of a formula in core form; states numbered as they are reached, not reduced.

    Raises `FormulaError` where there are more than `MAX_STATES` states or the effort is used up.
    """
    made = _Tableau(formula, effort)
    initial = made.obligations(formula)
    numbers, order = {made.alike(initial): 0}, [initial]
    edges: list[Edge] = []
    every = made.every_promise
    for source, obligations in enumerate(order):
        for term in made.steps(obligations):
            target = made.alike(term.next)
            if target not in numbers:
                if len(numbers) == MAX_STATES:
                    raise FormulaError(
                        f"the automaton of the formula has more than {MAX_STATES} states: ask its parts as formulas "
                        "of their own, or count steps in the system instead of with X"
                    )
                numbers[target] = len(numbers)
                order.append(term.next)
            edges.append(Edge(source, Label(term.care, term.value), numbers[target], every & ~term.promised))
    return Automaton(made.atoms, len(order), every.bit_length(), tuple(edges))


def cubes(condition: Formula, atoms: Sequence[Leaf], effort: Effort) -> list[Label]:
    """A condition in core form, without temporal operators, as labels over some atoms."""
    made = _Tableau(condition, effort)
    place = [atoms.index(atom) for atom in made.atoms]

    def moved(bits: int) -> int:
        return sum(1 << new for old, new in enumerate(place) if bits >> old & 1)

    return [Label(moved(term.care), moved(term.value)) for term in made.steps(made.obligations(condition))]


class _Tableau:
    """Steps of formulas and of sets of them."""

    def __init__(self, formula: Formula, effort: Effort) -> None:
        self._effort = effort
        nodes = list(subformulas(formula))
        self.atoms = tuple(node for node in nodes if isinstance(node, Proposition | Atom))
        self._number = {node: i for i, node in enumerate(nodes)}
        self._nodes = nodes
        self._width = 1 + len(nodes) // 256  # of the integers that stand for sets
        self._bits = {atom: 1 << i for i, atom in enumerate(self.atoms)}
        self._promises = {node: 1 << i for i, node in enumerate(n for n in nodes if isinstance(n, U))}
        self.every_promise = (1 << len(self._promises)) - 1
        self._steps: dict[Formula, list[Term]] = {}
        self._sets: dict[int, list[Term]] = {}
        self._alike: dict[tuple[Term, ...], int] = {}
        self._always = 0
        self._implied: dict[int, int] = {}
        for node in nodes:
            self._steps[node] = self._step(node)
            if isinstance(node, R) and isinstance(node.left, Bottom):
                self._always |= 1 << self._number[node]
                self._implied[self._number[node]] = self.obligations(node.right, pruned=False)

    def obligations(self, formula: Formula, pruned: bool = True) -> int:
        """A formula as a set of conjuncts; with `pruned`, without those that a ``G`` of it repeats at each step."""
        parts = 0
        for part in formula.operands if isinstance(formula, And) else (formula,):
            if not isinstance(part, Top):
                parts |= 1 << self._number[part]
        return self._pruned(parts) if pruned else parts

    def _pruned(self, obligations: int) -> int:
        repeating = obligations & self._always
        while repeating:
            number = repeating.bit_length() - 1
            repeating ^= 1 << number
            obligations &= ~self._implied[number]
        return obligations

    def alike(self, obligations: int) -> int:
        """The first set that was met with the same steps."""
        return self._alike.setdefault(tuple(self.steps(obligations)), obligations)

    def steps(self, obligations: int) -> list[Term]:
        """The steps of a set of formulas, least terms only, in a fixed order."""
        if obligations not in self._sets:
            terms, left = [_STAY], obligations
            while left:
                lowest = left & -left
                left ^= lowest
                terms = self._product(terms, self._steps[self._nodes[lowest.bit_length() - 1]])
            self._sets[obligations] = sorted(terms)
        return self._sets[obligations]

    def _step(self, node: Formula) -> list[Term]:
        match node:
            case Top():
                return [_STAY]
            case Bottom():
                return []
            case Proposition() | Atom():
                return [Term(self._bits[node], self._bits[node], 0, 0)]
            case Not(operand) if isinstance(operand, Proposition | Atom):
                return [Term(self._bits[operand], 0, 0, 0)]
            case And(operands):
                terms = [_STAY]
                for part in operands:
                    terms = self._product(terms, self._steps[part])
                return terms
            case Or(operands):
                return self._least([term for part in operands for term in self._steps[part]])
            case X(operand):
                return [Term(0, 0, self.obligations(operand), 0)]
            case U(left, right):
                later = [Term(0, 0, 1 << self._number[node], self._promises[node])]
                return self._least(self._steps[right] + self._product(self._steps[left], later))
            case R(left, right):
                later = [Term(0, 0, 1 << self._number[node], 0)]
                return self._product(self._least(self._steps[left] + later), self._steps[right])
            case _:
                raise TypeError(f"{type(node).__name__} is no node of the core form")

    def _product(self, some: list[Term], others: list[Term]) -> list[Term]:
        self._effort.spend(len(some) * len(others) * self._width)
        return self._least(
            [
                Term(a.care | b.care, a.value | b.value, self._pruned(a.next | b.next), a.promised | b.promised)
                for a in some
                for b in others
                if not (a.value ^ b.value) & a.care & b.care
            ]
        )

    def _least(self, terms: list[Term]) -> list[Term]:
        """The terms, none of which asks for more than another."""
        found: list[Term] = []
        for term in sorted(set(terms), key=_size):
            self._effort.spend(1 + len(found) // 4)
            if not any(other.asks_no_more(term) for other in found):
                found.append(term)
        return found


def _size(term: Term) -> tuple[int, Term]:
    return term.care.bit_count() + term.next.bit_count() + term.promised.bit_count(), term
