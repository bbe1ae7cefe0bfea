"""Sequents of derivations: every state of a named set satisfies a formula, for ever where it has no bound.

    S |- f      every state of S, a formula about one state within the declared box, satisfies f

`INIT` names the initial states. Formulas are compared in core form with their constants simplified (`normal`), so that
they are the same where they are written alike. A *context* is a formula with the name `here` in it, which stands for a
formula that is put in; as it stands in positive places only, a weaker formula put in makes a weaker formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from hashlib import blake2b

from venmas.errors import FormulaError
from venmas.logic import (
    AX,
    EX,
    And,
    Atom,
    Buchi,
    CoBuchi,
    Fixpoint,
    Formula,
    Not,
    Or,
    Quantifier,
    Vocabulary,
    conjunction,
    disjunction,
    fixpoints,
    is_temporal,
    parse_property,
    subformulas,
)
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.logic.unroll import step
from venmas.model.system.system import System

INIT, HERE = "init", "here"
"""Names of the initial states, and of what is put into a context."""
HOLE = Atom(Comparison(LinearExpr.variable("@here") - LinearExpr((), Fraction(1)), Relation.GE))
_NO_HOLE = Atom(HOLE.comparison.negated)


@dataclass(frozen=True)
class Sequent:
    """Every state of a set, by its name, satisfies a formula in core form.

    before: the value that the formula speaks of as `before` (`venmas.checker.forever.rising`); empty where it does not.
    """

    start: str
    formula: Formula
    before: str = ""

    @classmethod
    def of(cls, start: str, formula: Formula) -> Sequent:
        """The sequent of any formula."""
        return cls(start, normal(fixpoints(formula)))

    def __str__(self) -> str:
        return f"{self.start} |- {self.formula!r}"[:300]


@dataclass(frozen=True)
class Scope:
    """The system, and the sets that have names, by name."""

    system: System
    sets: Mapping[str, Formula]

    @classmethod
    def of(cls, system: System, sets: Mapping[str, Formula]) -> Scope:
        """The scope of named sets. Raises `FormulaError` for a name that is taken, or a set that is none."""
        for name, states in sets.items():
            if name in (INIT, HERE) or name in system.vocabulary.names or name in system.vocabulary.others:
                raise FormulaError(f"a set of states needs another name, as {name!r} is taken")
            if is_temporal(states):
                raise FormulaError(f"set {name!r} is no formula about one state")
        return cls(system, dict(sets))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The names of formulas: those of the system, and sets."""
        known = self.system.vocabulary
        return replace(known, propositions={**known.propositions, **self.sets})

    def read(self, text: str) -> Formula:
        """A formula over variables, propositions and sets. Raises `FormulaError`."""
        return parse_property(text, self.vocabulary).formula

    def context(self, text: str) -> Formula:
        """A formula over these and `here`. Raises `FormulaError`."""
        known = self.vocabulary
        vocabulary = replace(known, propositions={**known.propositions, HERE: HOLE})
        return parse_property(text, vocabulary).formula

    def states(self, name: str) -> Formula:
        """The set of a name. Raises `FormulaError` where there is none, as for the initial states."""
        if name not in self.sets:
            raise FormulaError(f"no set of states is named {name!r}")
        return self.sets[name]

    def starting(self, name: str) -> System:
        """The system with the states of a set as initial states."""
        return self.system if name == INIT else self.system.starting(self.states(name))


def constants(system: System) -> frozenset[str]:
    """Variables that no branch changes; disturbances are drawn anew in each step, and quantities are measured."""
    changed = {name for branch in system.branches for name, _ in branch.updates}
    return frozenset(system.variables) - changed - frozenset(system.disturbances) - frozenset(system.quantities)


def constant(states: Formula, names: frozenset[str]) -> bool:
    """Is a formula one about single states, in which these variables alone occur?"""
    if is_temporal(states):
        return False
    return all(
        part.comparison.expr.variables <= names if isinstance(part, Atom) else isinstance(part, And | Or | Not)
        for part in subformulas(states)
    )


def existential(formula: Formula) -> bool:
    """Is it about some runs (E) alone, so that more of them make it no less true?"""
    nodes = subformulas(fixpoints(formula))
    return not any(
        isinstance(node, AX) or (isinstance(node, Fixpoint) and node.quantifier is Quantifier.ALL) for node in nodes
    )


def filled(context: Formula, formula: Formula) -> Formula:
    """The core form of a context with a formula put in. Raises `FormulaError` where `here` is negated in it."""
    core = fixpoints(context)
    if any(node is _NO_HOLE for node in subformulas(core)):
        raise FormulaError("what is put into a context stands below a negation in it")
    return normal(core, normal(fixpoints(formula)))


def normal(core: Formula, hole: Formula = HOLE) -> Formula:
    """A core formula with its joins flat and in one order, and `hole` put in for `here`."""
    return normals(core, hole)[core]


def normals(core: Formula, hole: Formula = HOLE) -> dict[Formula, Formula]:
    """The same of each of its parts."""
    done: dict[Formula, Formula] = {}
    order = _Order()
    for node in subformulas(core):
        parts = [done[child] for child in node.children]
        match node:
            case And():
                done[node] = order.joined(conjunction(parts))
            case Or():
                done[node] = order.joined(disjunction(parts))
            case AX():
                done[node] = step(Quantifier.ALL, parts[0])
            case EX():
                done[node] = step(Quantifier.EXISTS, parts[0])
            case Fixpoint(least, quantifier, _, _):
                done[node] = Fixpoint(least, quantifier, *parts)
            case CoBuchi() | Buchi():
                done[node] = type(node)(*parts)
            case _:
                done[node] = hole if node is HOLE else node
    return done


class _Order:
    """An order of formulas by what they say, the same in every process, so that `p & q` is `q & p`."""

    def __init__(self) -> None:
        self._marks: dict[Formula, bytes] = {}

    def joined(self, made: Formula) -> Formula:
        """A conjunction or disjunction with its parts in order; anything else as it is."""
        if not isinstance(made, And | Or):
            return made
        return type(made)(tuple(sorted(made.operands, key=self._mark)))

    def _mark(self, formula: Formula) -> bytes:
        """Digest of a formula, which parts that are shared have once."""
        waiting = [formula]
        while waiting:
            node = waiting[-1]
            new = [] if node in self._marks else [child for child in node.children if child not in self._marks]
            if not new and node not in self._marks:
                said = str(node.comparison) if isinstance(node, Atom) else ""
                said = f"{node.least} {node.quantifier.value}" if isinstance(node, Fixpoint) else said
                parts = b"".join(self._marks[child] for child in node.children)
                self._marks[node] = blake2b(f"{type(node).__name__} {said}".encode() + parts).digest()
            if not new:
                waiting.pop()
            waiting += new
        return self._marks[formula]
