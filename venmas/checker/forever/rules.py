"""The rules of derivations: each says which sequents it needs, and which one follows.

Of the fixpoints over AX and EX (AX is true in a deadlock, EX false). X, S and T are sets, b and c formulas:

    itself                                                                              S |- S
    window   S |- f[Q(b U^k c)]                                                         S |- f[Q(b U c)]
    chain    S |- Q(b U^k T);  T |- Q(b U c)                                            S |- Q(b U c)
    arrive   S |- AX^n T;  T |- A(true U c)                                             S |- A(true U c)
    close    X |- AX^t S & AG[0,t-1] b;  S |- AX^n S & AG[0,n-1] b                      X |- AG b
    recur    X |- AX^t S;  S |- AX^n S;  S |- AF[0,k] c                                 X |- AG AF c
    stay     X |- E(b U^t S);  S |- b & EX E(b U^(n-1) S)                               X |- EG b
    replace  S |- f[T];  T |- g                                                         S |- f[g]
    cases    S_i |- f for all i;  S |- S_1 | S_2 | ..                                   S |- f
    both     S |- f;  S |- g                                                            S |- f & g
    persist  S |- AF AG p                                                               S |- A F G p
    constant S |- f[p];  S |- q, q about variables that no branch changes               S |- f[p & q]

n >= 1, and the first of close, recur and stay is left out where X is S. Why they are sound: a state at step j < n of a
run from S satisfies b, and its continuations are in S at step n or end, so that AG b follows by induction (close), and
c within t + n + k steps of any state (recur). The states of E(b U^(n-1) S) that satisfy b, with S, are a set each state
of which satisfies b and has a successor in the set, where the first step is one that is made (stay: coinduction). All
operators are monotone (window, replace). A run that comes to a state of AG p has p from there on (persist). What is
about variables that no branch changes holds in all states of a run or in none (constant).
`tests/checker/test_forever_rules.py` tries them on random graphs.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Literal

from venmas.checker.forever.sequents import Scope, Sequent, constant, constants, filled
from venmas.checker.format.fields import Count, Limit, Number
from venmas.checker.format.rule import Rule, rule
from venmas.errors import FormulaError
from venmas.logic import (
    EX,
    TRUE,
    CoBuchi,
    Finally,
    Formula,
    Globally,
    Next,
    Quantifier,
    Until,
    conjunction,
    disjunction,
)

Steps = Annotated[int, Limit(least=1, most=100_000)]
Name = Annotated[str, Limit(most=100)]
Letter = Literal["A", "E"]


@rule("named-sets")
@dataclass(frozen=True, slots=True)
class Named(Rule):
    """The sets of a derivation: a name and a formula about one state each."""

    sets: Annotated[tuple[tuple[Name, str], ...], Limit(most=10_000)]


@rule("bounded")
@dataclass(frozen=True, slots=True)
class Bound(Rule):
    """Every state of a set satisfies a bounded formula, within the box; its proof follows.

    proof: its kind. choices: values of the disturbances, in their order, of which steps choose; the formula has to be
    one that more runs make no less true. Then a second proof follows, that no run leaves the box under any noise.
    before: a value of the states of the set that the formula speaks of as `before`, as the left side of `>= 0`.
    """

    start: Name
    formula: str
    proof: Literal["goals", "flowpipes"]
    choices: Annotated[tuple[tuple[Number, ...], ...], Limit(most=1000)] = ()
    before: str = ""


class Derived(Rule):
    """A line that follows from earlier ones, whose numbers among the sequents, from 0, are `by`."""

    __slots__ = ()
    by: tuple[int, ...]
    start: str

    @abstractmethod
    def needs(self, scope: Scope) -> list[Sequent]:
        """Premises, in this order. Raises `FormulaError`."""

    @abstractmethod
    def shows(self, scope: Scope) -> Sequent:
        """Sequent that follows. Raises `FormulaError`."""


By = Annotated[tuple[Count, ...], Limit(most=10_000)]


def until(letter: Letter, end: int | None, left: Formula, right: Formula) -> Formula:
    """``Q(left U[0,end] right)``."""
    return Until(Quantifier(letter), 0, end, left, right)


def into(steps: int, states: Formula) -> Formula:
    """``AX^steps states``."""
    return Next(Quantifier.ALL, steps, states) if steps else states


def along(steps: int, states: Formula, holds: Formula) -> Formula:
    """``AX^steps states & AG[0,steps-1] holds``."""
    if not steps:
        return states
    return conjunction([into(steps, states), Globally(Quantifier.ALL, 0, steps - 1, holds)])


def round_(steps: int, states: Formula, holds: Formula) -> Formula:
    """``holds & EX E(holds U^(steps-1) states)``."""
    return conjunction([holds, EX(until("E", steps - 1, holds, states))])


@rule("itself")
@dataclass(frozen=True, slots=True)
class Itself(Derived):
    """Every state of a set is in it."""

    by: By
    start: Name

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        return []

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        return Sequent.of(self.start, scope.states(self.start))


@rule("window")
@dataclass(frozen=True, slots=True)
class Window(Derived):
    """An until within some steps is one, in a context with ``here``.

    It may begin at a later step than the present, `begin`.
    """

    by: By
    start: Name
    context: str
    quantifier: Letter
    left: str
    right: str
    within: Count
    begin: Count = 0

    def _of(self, scope: Scope, end: int | None) -> Sequent:
        left, right = scope.read(self.left), scope.read(self.right)
        inner = Until(Quantifier(self.quantifier), self.begin, end, left, right)
        return Sequent(self.start, filled(scope.context(self.context), inner))

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        return [self._of(scope, self.within)]

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        return self._of(scope, None)


@rule("chain")
@dataclass(frozen=True, slots=True)
class Chain(Derived):
    """An until by way of a set."""

    by: By
    start: Name
    set: Name
    quantifier: Letter
    left: str
    right: str
    within: Count

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        left, letter = scope.read(self.left), self.quantifier
        return [
            Sequent.of(self.start, until(letter, self.within, left, scope.states(self.set))),
            Sequent.of(self.set, until(letter, None, left, scope.read(self.right))),
        ]

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        return Sequent.of(self.start, until(self.quantifier, None, scope.read(self.left), scope.read(self.right)))


@rule("arrive")
@dataclass(frozen=True, slots=True)
class Arrive(Derived):
    """All runs are in a set after some steps, and from it an until holds in which all is allowed before."""

    by: By
    start: Name
    set: Name
    right: str
    steps: Count

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        first = Sequent.of(self.start, into(self.steps, scope.states(self.set)))
        return [first, Sequent.of(self.set, until("A", None, TRUE, scope.read(self.right)))]

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        return Sequent.of(self.start, until("A", None, TRUE, scope.read(self.right)))


@dataclass(frozen=True, slots=True)
class Returning(Derived):
    """Base of the rules about a set in which runs are after `into` steps, and from it again after `again` steps."""

    by: By
    start: Name
    set: Name
    into: Count
    again: Steps
    holds: str

    def _entered(self, path: Formula) -> list[Sequent]:
        """The premise that a path leads to the set, none where it starts there. Raises `FormulaError`."""
        if self.start != self.set:
            return [Sequent.of(self.start, path)]
        if self.into:
            raise FormulaError("no steps lead from a set into itself before it is left")
        return []


@rule("close")
@dataclass(frozen=True, slots=True)
class Close(Returning):
    """Runs are in a set after `into` steps and again after `again`, and a formula holds on the way."""

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        holds, states = scope.read(self.holds), scope.states(self.set)
        first = self._entered(along(self.into, states, holds))
        return [*first, Sequent.of(self.set, along(self.again, states, holds))]

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        return Sequent.of(self.start, Globally(Quantifier.ALL, 0, None, scope.read(self.holds)))


@rule("recur")
@dataclass(frozen=True, slots=True)
class Recur(Returning):
    """Runs come back to a set again and again, and from it to states where a formula holds."""

    within: Count

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        states = scope.states(self.set)
        first = self._entered(into(self.into, states))
        soon = Finally(Quantifier.ALL, 0, self.within, scope.read(self.holds))
        return [*first, Sequent.of(self.set, into(self.again, states)), Sequent.of(self.set, soon)]

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        soon = Finally(Quantifier.ALL, 0, None, scope.read(self.holds))
        return Sequent.of(self.start, Globally(Quantifier.ALL, 0, None, soon))


@rule("stay")
@dataclass(frozen=True, slots=True)
class Stay(Returning):
    """Some run is in a set within `into` steps, and from it again within `again`, one at least."""

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        holds, states = scope.read(self.holds), scope.states(self.set)
        first = self._entered(until("E", self.into, holds, states))
        return [*first, Sequent.of(self.set, round_(self.again, states, holds))]

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        return Sequent.of(self.start, Globally(Quantifier.EXISTS, 0, None, scope.read(self.holds)))


@rule("persist")
@dataclass(frozen=True, slots=True)
class Persist(Derived):
    """All runs have what holds of single states from some step on, as they come to states from which they keep it."""

    by: By
    start: Name
    holds: str

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        always = Globally(Quantifier.ALL, 0, None, scope.read(self.holds))
        return [Sequent.of(self.start, Finally(Quantifier.ALL, 0, None, always))]

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        return settled(self.start, scope.read(self.holds))


def settled(start: str, holds: Formula) -> Sequent:
    """``start |- A F G holds``."""
    return Sequent(start, CoBuchi(Sequent.of(start, holds).formula))


@rule("replace")
@dataclass(frozen=True, slots=True)
class Replace(Derived):
    """A set is replaced by what holds in all its states, in a context with ``here``."""

    by: By
    start: Name
    context: str
    set: Name
    holds: str

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        first = Sequent(self.start, filled(scope.context(self.context), scope.states(self.set)))
        return [first, Sequent.of(self.set, scope.read(self.holds))]

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        return Sequent(self.start, filled(scope.context(self.context), scope.read(self.holds)))


@rule("cases")
@dataclass(frozen=True, slots=True)
class Cases(Derived):
    """A formula that holds in some sets holds in a set that they cover."""

    by: By
    start: Name
    sets: Annotated[tuple[Name, ...], Limit(least=1, most=10_000)]
    holds: str

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        holds = scope.read(self.holds)
        covered = Sequent.of(self.start, disjunction(map(scope.states, self.sets)))
        return [*(Sequent.of(name, holds) for name in self.sets), covered]

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        return Sequent.of(self.start, scope.read(self.holds))


@rule("both")
@dataclass(frozen=True, slots=True)
class Both(Derived):
    """The conjunction of several sequents."""

    by: By
    start: Name
    parts: Annotated[tuple[str, ...], Limit(least=1, most=1000)]

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        return [Sequent.of(self.start, scope.read(part)) for part in self.parts]

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        return Sequent.of(self.start, conjunction(scope.read(part) for part in self.parts))


@rule("constant")
@dataclass(frozen=True, slots=True)
class Constant(Derived):
    """Conditions on variables that no branch changes hold along each run, in a context with ``here``."""

    by: By
    start: Name
    context: str
    left: str
    still: str

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        still = scope.read(self.still)
        if not constant(still, constants(scope.system)):
            raise FormulaError(f"a branch may change what this is about: {self.still}"[:300])
        left = filled(scope.context(self.context), scope.read(self.left))
        return [Sequent(self.start, left), Sequent.of(self.start, still)]

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        both = conjunction([scope.read(self.left), scope.read(self.still)])
        return Sequent(self.start, filled(scope.context(self.context), both))
