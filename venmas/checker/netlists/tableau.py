"""Tableau translation of LTL to Büchi automata for the checker: plain, nothing rewritten.

A state is a set of formulas that hold from there on. Each way to take a step says what is true of the letter, what
holds next, and which untils are put off; a word is accepted where none is put off for ever. Of a word that has the
property there is always an accepting run: whichever side of each until and release is true is taken, the right one
first.
(Vardi, Wolper, *Reasoning about Infinite Computations*, Information and Computation 115, 1994.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import NamedTuple

from venmas.budget import ask
from venmas.checker.netlists.components import component_of
from venmas.errors import InputError
from venmas.logic.formula import FALSE, TRUE, And, Atom, Bottom, Formula, Iff, Implies, Not, Or, Top
from venmas.logic.linear import Comparison, Relation
from venmas.logic.paths import Leaf, Proposition, R, U, X

MOST = 4000
"""Most states, and most ways to take a step from one of them."""


class Arc(NamedTuple):
    """A transition: letters that agree with `value` on the atoms in `care` (as bits); put_off: untils, as bits."""

    source: int
    care: int
    value: int
    target: int
    put_off: int


@dataclass(frozen=True)
class Tableau:
    """States 0 (initial) to ``states - 1``; accepted is what puts none of `untils` untils off for ever."""

    atoms: tuple[Leaf, ...]
    states: int
    untils: int
    arcs: tuple[Arc, ...]


class _Way(NamedTuple):
    care: int
    value: int
    next: frozenset[Formula]
    put_off: int


def atom_of(comparison: Comparison) -> tuple[Leaf, bool]:
    """The comparison of whole numbers, of two opposite ones the same, and whether it is meant (else its opposite)."""
    expr, relation, meant = comparison.expr, comparison.relation, True
    numbers = [expr.constant, *(value for _, value in expr.terms)]
    scale = lcm(*(value.denominator for value in numbers))
    factor = Fraction(scale, gcd(*(int(value * scale) for _, value in expr.terms)))
    if expr.terms[0][1] < 0:
        factor, relation = -factor, relation.mirrored
    if relation in (Relation.NE, Relation.GE, Relation.GT):
        relation, meant = relation.negated, False
    return Atom(Comparison(expr.scaled(factor), relation)), meant


def tableau(formula: Formula) -> Tableau:
    """The automaton of a formula, committed. Raises `InputError` where it is too large."""
    return committed(_Tableau().build(formula))


def committed(automaton: Tableau) -> Tableau:
    """An automaton of the same words whose runs say when they begin to stay in an accepting component.

    Two copies: in the first, which accepts nothing, everything can be done; an edge to an accepting component may lead
    into its second copy, which is never left. A run that is accepted stays in one component in the end. What cannot
    come to an accepting component is left out.
    """
    arcs, every = automaton.arcs, (1 << automaton.untils) - 1
    home = component_of(automaton.states, [(arc.source, arc.target) for arc in arcs])
    always: dict[int, int] = {}
    for arc in arcs:
        if home[arc.source] == home[arc.target]:
            always[home[arc.source]] = always.get(home[arc.source], every) & arc.put_off
    staying = [always.get(number, 1) == 0 for number in home]  # of each state: its component accepts
    before: dict[int, list[int]] = {}
    for arc in arcs:
        before.setdefault(arc.target, []).append(arc.source)
    live, stack = set[int](), [state for state in range(automaton.states) if staying[state]]
    while stack:
        state = stack.pop()
        if state not in live:
            live.add(state)
            stack += before.get(state, [])
    doubled, never, size = list[Arc](), every << 1 | 1, automaton.states
    for arc in arcs:
        if arc.target in live:
            doubled.append(arc._replace(put_off=never))
        if staying[arc.target]:
            doubled.append(arc._replace(target=arc.target + size, put_off=never))
            if home[arc.source] == home[arc.target]:
                doubled.append(Arc(arc.source + size, arc.care, arc.value, arc.target + size, arc.put_off << 1))
    return Tableau(automaton.atoms, 2 * size, automaton.untils + 1, tuple(doubled))


class _Tableau:
    def __init__(self) -> None:
        self.atoms: dict[Leaf, int] = {}
        self.untils: dict[Formula, int] = {}
        self.known: dict[Formula, list[_Way]] = {}

    def build(self, formula: Formula) -> Tableau:
        first = frozenset({self.plain(formula, True)})
        numbers, order, arcs = {first: 0}, [first], list[Arc]()
        for source, formulas in enumerate(order):
            ask()
            for way in self.ways(formulas):
                if way.next not in numbers:
                    if len(order) == MOST:
                        raise InputError(f"the formula has more than {MOST} sets of formulas in its tableau")
                    numbers[way.next] = len(order)
                    order.append(way.next)
                arcs.append(Arc(source, way.care, way.value, numbers[way.next], way.put_off))
        return Tableau(tuple(self.atoms), len(order), len(self.untils), tuple(arcs))

    def plain(self, formula: Formula, sign: bool) -> Formula:
        """Negations before atoms only."""
        match formula:
            case Top() | Bottom():
                return TRUE if isinstance(formula, Top) is sign else FALSE
            case Proposition():
                return self.literal(formula, sign)
            case Atom(comparison) if not comparison.expr.terms:
                return TRUE if comparison.holds({}) is sign else FALSE
            case Atom(comparison):
                atom, meant = atom_of(comparison)
                return self.literal(atom, sign is meant)
            case Not(operand):
                return self.plain(operand, not sign)
            case And(operands) | Or(operands):
                joint = isinstance(formula, And) is sign
                return (And if joint else Or)(tuple(self.plain(one, sign) for one in operands))
            case Implies(left, right):
                return (Or if sign else And)((self.plain(left, not sign), self.plain(right, sign)))
            case Iff(left, right):
                both = And((self.plain(left, True), self.plain(right, sign)))
                return Or((both, And((self.plain(left, False), self.plain(right, not sign)))))
            case X(operand):
                return X(self.plain(operand, sign))
            case U(left, right) | R(left, right):
                kind = U if isinstance(formula, U) is sign else R
                made = kind(self.plain(left, sign), self.plain(right, sign))
                if kind is U:
                    self.untils.setdefault(made, len(self.untils))
                return made
            case _:
                raise InputError(f"{type(formula).__name__} is no operator of LTL")

    def literal(self, atom: Leaf, sign: bool) -> Formula:
        self.atoms.setdefault(atom, len(self.atoms))
        return atom if sign else Not(atom)

    def ways(self, formulas: frozenset[Formula]) -> list[_Way]:
        """The ways to take a step while all of these hold."""
        combined = [_Way(0, 0, frozenset(), 0)]
        for one in sorted(formulas, key=str):
            combined = _both(combined, self.step(one))
        return combined

    def step(self, formula: Formula) -> list[_Way]:
        if formula not in self.known:
            self.known[formula] = _least(self.stepped(formula))
        return self.known[formula]

    def stepped(self, formula: Formula) -> list[_Way]:
        match formula:
            case Top():
                return [_Way(0, 0, frozenset(), 0)]
            case Bottom():
                return []
            case Proposition() | Atom():
                bit = 1 << self.atoms[formula]
                return [_Way(bit, bit, frozenset(), 0)]
            case Not(Proposition() | Atom() as atom):
                return [_Way(1 << self.atoms[atom], 0, frozenset(), 0)]
            case And(operands):
                return self.ways(frozenset(operands))
            case Or(operands):
                return [way for one in operands for way in self.step(one)]
            case X(operand):
                return [_Way(0, 0, frozenset({operand}), 0)]
            case U(left, right):
                later = _Way(0, 0, frozenset({formula}), 1 << self.untils[formula])
                return [*self.step(right), *_both(self.step(left), [later])]
            case R(left, right):
                later = _Way(0, 0, frozenset({formula}), 0)
                return _both([*self.step(left), later], self.step(right))
            case _:
                raise InputError(f"{type(formula).__name__} is no operator of LTL")


def _both(some: list[_Way], others: list[_Way]) -> list[_Way]:
    both = [
        _Way(a.care | b.care, a.value | b.value, a.next | b.next, a.put_off | b.put_off)
        for a in some
        for b in others
        if not (a.value ^ b.value) & a.care & b.care
    ]
    return _least(both)


def _least(ways: list[_Way]) -> list[_Way]:
    """Without ways that ask for more than another: a run that could take one of them can take the other."""
    least: list[_Way] = []
    for way in sorted(dict.fromkeys(ways), key=lambda w: w.care.bit_count() + len(w.next) + w.put_off.bit_count()):
        ask()
        if not any(
            not (one.care & ~way.care or (one.value ^ way.value) & one.care or one.put_off & ~way.put_off)
            and one.next <= way.next
            for one in least
        ):
            least.append(way)
    if len(least) > MOST:
        raise InputError(f"the formula has more than {MOST} ways to take a step in its tableau")
    return least
