"""Ranks of systems with too many states to be taken one by one: learned from counterexamples, proved in rationals.

    weights := a linear program over the steps that broke a rank before        (`procedures.ranking.weights.linear`)
    each question of `checker.levels.ranks` about them is asked of the search in exact rationals;
      a witness is a state with a step that breaks the rank: a row more

The rank is of every state of the declared box, reached or not; where there is none, of every state of an inductive set
(`invariants`). Its features are 1, the variables and, where these do not do, linear comparisons of guards, of choices
in updates, and of the formula.
(Giacobbe, Kroening, Pal, Tautschnig, *Neural Model Checking*, NeurIPS 2024; here over systems, one step at a time.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from math import lcm
from typing import Any, ClassVar

from venmas.answer import IncompleteError, LinearAnswer, Proved, Unknown
from venmas.budget import Budget, BudgetError, ask, limited
from venmas.checker.format.rule import End, Rule
from venmas.checker.inductive.rules import Set
from venmas.checker.levels.points import Points
from venmas.checker.levels.ranks import BOX, Obligations, Rank, Row, bound
from venmas.checker.netlists.simulation import Edge
from venmas.errors import InputError, ModelError, Reason
from venmas.logic.automata.automaton import Automaton, components
from venmas.logic.formula import TRUE, Atom
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.evaluation.simulate import Step
from venmas.model.expressions.expr import Compare, to_comparison
from venmas.model.invariant import Invariant
from venmas.model.system.system import System
from venmas.procedure import LinearQuestion
from venmas.procedures.inductive.trees import closed
from venmas.procedures.linear.claim import SystemClaim
from venmas.procedures.linear.procedure import LinearProcedure
from venmas.procedures.ranking.systems.invariants import kept
from venmas.procedures.ranking.systems.proofs import Proof, State, asked_exactly
from venmas.procedures.ranking.weights.linear import Weights

ROUNDS = 60
"""Linear programs for one rank at most."""
PATIENCE = 2.0
"""Seconds of the first turn, after which states are taken one by one."""
_NONE = (
    "no rank of all states of the declared box or of an inductive set in it, a weighted sum of variables and "
    "comparisons, was found"
)
_MOST_PREDICATES, _CORNERS = 24, 256

_Found = tuple[Rank, list[Proof]]


@dataclass(frozen=True)
class Ranked:
    """Why: ranks of the accepting parts of the automaton, and the proof of each question that they ask, in order.

    invariant: the set of states that they are about, which no run leaves.
    """

    ranks: tuple[Rank, ...]
    proofs: tuple[Proof, ...]
    within: int | None
    names: tuple[str, ...]
    invariant: Invariant = BOX

    def texts(self, automaton: Automaton) -> tuple[str, ...]:
        """A line for each state of the automaton that has a rank, as ``V0 = -x + 3 [x - 7 >= 0]``; first the set."""
        found = [] if self.everywhere else [f"J = {' & '.join(self._inside())}"]
        for rank in self.ranks:
            ends = [automaton.edges[at] for at in rank.edges]
            touched = sorted({edge.source for edge in ends} | {edge.target for edge in ends})
            labels = ["", *self.names, *(f"[{self._comparison(row)}]" for row in rank.predicates)]
            for state, row in zip(touched, rank.weights, strict=True):
                parts = [(weight, label) for weight, label in zip(row, labels, strict=True) if weight]
                found.append(f"V{state} = " + (" ".join(_term(*part) for part in parts) or "0").removeprefix("+ "))
        return tuple(found)

    @property
    def everywhere(self) -> bool:
        """Are the ranks about every state of the declared box?"""
        return self.invariant == BOX

    def _inside(self) -> Iterator[str]:
        for truth, row in zip(self.invariant.words[0], self.invariant.predicates, strict=True):
            if truth != "-":
                one = Comparison(LinearExpr.of(zip(self.names, row[1:], strict=True), row[0]), Relation.GE)
                yield str(one if truth == "1" else one.negated)

    def _comparison(self, row: Row) -> Comparison:
        terms = zip(self.names, map(Fraction, row[1:]), strict=True)
        return Comparison(LinearExpr.of(terms, Fraction(row[0])), Relation.GE)


def _term(weight: int, label: str) -> str:
    sign, size = "-" if weight < 0 else "+", abs(weight)
    return f"{sign} {label}" if label and size == 1 else f"{sign} {size} {label}".rstrip()


def ranked(system: System, automaton: Automaton, stutter: bool) -> Ranked | None:
    """Ranks by which no run of the system is accepted; None where none was found.

    They are of runs from any state of the box, else from any state of a set that runs from initial states do not leave.
    Raises what the budget raises, `ModelError`.
    """
    edges = [Edge(e.source, e.label.care, e.label.value, e.target, e.marks) for e in automaton.edges]
    asked = Obligations(system, automaton.atoms, edges, stutter)
    try:
        begins = any(len(states) for states in Points(system).initial())
    except InputError:
        return None
    if not begins:
        raise ModelError(f"the initial set of system {system.name!r} is empty: check the initial conditions")
    try:
        shown = _box(system)
        found = None if shown is None else _ranked_in(asked, automaton, [shown])
        if found is None and (inside := kept(system, _predicates(asked))) is not None:
            found = _ranked_in(Obligations(system, automaton.atoms, edges, stutter, inside[0]), automaton, inside[1])
    except InputError:
        return None
    return found


def _box(system: System) -> Proof | None:
    """The proof that no step from any state of the declared box leaves it."""
    try:
        for corner in islice(product(*system.box.values()), _CORNERS):  # trees come late to what leaves the box there
            list(Step(system, dict(zip(system.variables, corner, strict=True))).successors())
        return tuple(closed(system, TRUE, BOX, ask))
    except (IncompleteError, ModelError):
        return None


def _ranked_in(asked: Obligations, automaton: Automaton, proofs: list[Proof]) -> Ranked | None:
    """Ranks of the runs from any state of the set that the obligations are about, of which there are proofs."""
    system = asked.system
    for question in asked.goes_on():
        proof = asked_exactly(*question)
        if not isinstance(proof, tuple):
            return None
        proofs.append(proof)
    ranks = []
    for component in components(automaton):
        numbers = tuple(at for at, edge in enumerate(automaton.edges) if edge in set(component.edges))
        for strict in component.sets:
            falling = tuple(at for at in numbers if automaton.edges[at] in strict)
            found = _learned(asked, numbers, falling)
            if found is not None:
                break
        else:
            return None
        ranks.append(found[0])
        proofs += found[1]
    whole = tuple(range(len(asked.edges)))
    within = bound(ranks[0], system.box) if [one.edges for one in ranks] == [whole] == [ranks[0].strict] else None
    return Ranked(tuple(ranks), tuple(proofs), within, tuple(system.variables), asked.invariant)


def _learned(asked: Obligations, edges: tuple[int, ...], strict: tuple[int, ...]) -> _Found | None:
    """A rank of a component with the proofs of its questions, with fewer features first."""
    for predicates in dict.fromkeys(((), tuple(_predicates(asked)))):
        learner = _Learner(asked, edges, strict, predicates)
        found = learner.run()
        if found is not None:
            return found
    return None


class _Learner:
    def __init__(
        self, asked: Obligations, edges: tuple[int, ...], strict: tuple[int, ...], predicates: tuple[Row, ...]
    ) -> None:
        self.asked, self.edges, self.strict, self.predicates = asked, edges, strict, predicates
        of = [asked.edges[one] for one in edges]
        self.touched = sorted({edge.source for edge in of} | {edge.target for edge in of})
        self.names = list(asked.system.variables)
        costs = [1e-6, *(1.0 for _ in self.names), *(1e-3 for _ in predicates)]
        self.size = len(costs)
        self.weights = Weights(costs * len(self.touched))

    def run(self) -> _Found | None:
        for _ in range(ROUNDS):
            ask()
            found = self.weights.solve()
            if found is None:
                return None
            rows = tuple(tuple(found[at : at + self.size]) for at in range(0, len(found), self.size))
            rank = Rank(self.edges, self.strict, self.predicates, rows)
            proofs, before = [], self.weights.rows
            for number in self.edges:
                proof = asked_exactly(*self.asked.falls(number, rank))
                if proof is None:
                    return None
                if isinstance(proof, tuple):
                    proofs.append(proof)
                else:
                    self._learn({name: proof[name] for name in self.names}, number, rank)
            if len(proofs) == len(self.edges):
                return rank, proofs
            if self.weights.rows == before:
                return None
        return None

    def _learn(self, state: State, number: int, rank: Rank) -> None:
        """A row for each step from a state along an edge that breaks the rank."""
        edge = self.asked.edges[number]
        for row, least in self._rows(state, edge, number in rank.strict):
            weights = [weight for one in rank.weights for weight in one]
            if sum(value * weight for value, weight in zip(row, weights, strict=True)) < least:
                self.weights.add(row, least)

    def _rows(self, state: State, edge: Edge, falls: bool) -> Iterator[tuple[list[int], int]]:
        step = Step(self.asked.system, state)
        taken: list[tuple[int, State]] = [(one.index, one.state) for one in step.successors()]
        for branch, new in taken or [(-1, state)]:
            after = [self.asked.edges[e] for e in self.edges if self.asked.edges[e].source == edge.target]
            if self.asked.meets(edge, branch, state) and any(self.asked.meets(one, None, new) for one in after):
                row = [0] * (self.size * len(self.touched))
                for sign, q, values in ((1, edge.source, state), (-1, edge.target, new)):
                    first = self.size * self.touched.index(q)
                    for at, value in enumerate(self._features(values), first):
                        row[at] += sign * value
                yield row, int(falls)

    def _features(self, state: State) -> list[int]:
        values = [int(state[name]) for name in self.names]
        sums = (sum(c * v for c, v in zip(row, (1, *values), strict=True)) for row in self.predicates)
        return [1, *values, *(int(total >= 0) for total in sums)]


def _predicates(asked: Obligations) -> list[Row]:
    """Linear comparisons of the automaton's atoms, of guards and updates, as rows over the variables."""
    names = list(asked.system.variables)
    comparisons = [one.comparison for one in asked.leaves if isinstance(one, Atom)]
    for _, node in asked.system.nodes():
        found = to_comparison(node) if isinstance(node, Compare) else None
        if found is not None:
            comparisons.append(found)
    rows = (row for one in comparisons for row in _forms(one, names))
    return list(dict.fromkeys(rows))[:_MOST_PREDICATES]


def _forms(comparison: Comparison, names: Sequence[str]) -> Iterable[Row]:
    """Rows that hold where a sum of integers is >= 0, or <= 0, one of them where that tells which side of a bound."""
    terms = dict(comparison.expr.terms)
    scale = lcm(comparison.expr.constant.denominator, *(value.denominator for value in terms.values()))
    row = [int(comparison.expr.constant * scale), *(int(terms.get(name, Fraction(0)) * scale) for name in names)]
    above, below = tuple(row), tuple(-value for value in row)
    match comparison.relation:
        case Relation.GE | Relation.LT:
            return [above]
        case Relation.LE | Relation.GT:
            return [below]
    return [above, below]


@dataclass
class RankCounts:
    """Ranks that were proved."""

    ranks: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("ranks", str(self.ranks))]


@dataclass(frozen=True)
class RanksProof:
    """Ranks of all states of a set, and the proofs of what they ask. sound: False for what is to be refused."""

    ranked: Ranked
    sound: bool = True
    kind: ClassVar[str] = "ranks"

    @property
    def within(self) -> int | None:
        """Steps after which every run has shown the property, where there is such a number."""
        return self.ranked.within

    def lines(self, claim: SystemClaim, tick: Callable[[], None]) -> Iterator[Rule]:
        """The automaton, the set, the ranks, and each proof with its end."""
        yield claim.stated(self.sound)
        if not self.ranked.everywhere:
            yield Set.of(self.ranked.invariant)
        yield from self.ranked.ranks
        for proof in self.ranked.proofs:
            tick()
            yield from proof
            yield End(len(proof) + 1)

    def facts(self, automaton: Automaton) -> dict[str, Any]:
        """Sentence of a report."""
        everywhere = self.ranked.everywhere
        texts = list(self.ranked.texts(automaton))
        return {"by": "ranks", "from": "all" if everywhere else "J", "within": self.within, "texts": texts}


class _Session:
    """A short turn first, and without a limit where that was not enough."""

    def __init__(self, question: LinearQuestion) -> None:
        self.question, self.figures = question, RankCounts()
        self.parts: list[float | None] = [PATIENCE, None]
        self.answer: LinearAnswer | None = None

    def advance(self, budget: Budget) -> LinearAnswer:
        """Proved where every accepting component has a rank. Raises `BudgetError`, `ModelError`."""
        if self.answer is not None or not self.parts:
            return self.answer or Unknown(Reason.OPEN, _NONE)
        system, asked = self.question.subject, self.question.asked
        assert isinstance(system, System)
        part = budget.within(self.parts.pop(0))
        try:
            with limited(part):
                found = ranked(system, self.question.automaton, asked.deadlock == "stutter")
        except BudgetError as error:
            if error.budget is not part or not self.parts:
                raise
            return Unknown(Reason.TIME, f"no rank in {PATIENCE} s: it goes on later")
        self.answer = Unknown(Reason.OPEN, _NONE)
        if found is not None:
            self.figures.ranks = len(found.ranks)
            self.answer = Proved("exact", proof=RanksProof(found))
        return self.answer


RANKS = LinearProcedure(
    "ranks",
    "Ranks of all states of the box or of an inductive set, learned and proved in rationals.",
    System,
    "it ranks states of systems",
    _Session,
)
