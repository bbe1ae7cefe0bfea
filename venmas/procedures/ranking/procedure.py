"""Proofs that no run of a circuit is accepted by an automaton: each accepting component is never reached, or ranked.

For each component, until one succeeds (R1 to R6 of the method):

    few kinds of neurons, from every state                            (`learn`)
    an invariant keeps runs away from it                              (`invariants.pdr`)
    all kinds of neurons, from every state
    the same under an invariant of mined clauses                      (`invariants.mined`)

Where no rank falls with every edge of an acceptance set, one that falls with some edge and rises on none takes this
edge away, and what is left of the component is ranked anew (lexicographic ranks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

from venmas.answer import LinearAnswer, Proved, Unknown
from venmas.budget import Budget, Progress
from venmas.errors import Reason
from venmas.logic.automata.automaton import Automaton, Component, Edge, components, strongly_connected
from venmas.model.circuit.binding import bind
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.size import MOST_GATES, gates
from venmas.model.circuit.smt import Smt, Unsat
from venmas.procedure import LinearQuestion
from venmas.procedures.linear.procedure import LinearProcedure
from venmas.procedures.netlist.clauses import Clause, Invariant
from venmas.procedures.netlist.mining import LEVELS
from venmas.procedures.netlist.proofs import checks, proof_of
from venmas.procedures.netlist.step import Goal, step_of
from venmas.procedures.pdr.inductive import obligations
from venmas.procedures.pdr.mined import mined
from venmas.procedures.pdr.needed import closed, core
from venmas.procedures.pdr.pdr import unreachable
from venmas.procedures.ranking.learn import Figures, Network, rank
from venmas.procedures.ranking.learners import MINED, Learner, get_learner
from venmas.procedures.ranking.obligations.obligations import Obligations
from venmas.procedures.ranking.proof import Ranked, RankingProof
from venmas.procedures.ranking.settings import OPTIONS

_QUICK, _LONG = 8, 100
"""Frames of the search for invariants before and after all neurons were tried."""
_MOST_REGISTERS = 1000
"""Of designs that networks are learned for; of gates a quarter of `MOST_GATES`, as obligations are about two steps."""


_Rank = tuple[Goal, Network]


class Prover:
    """Proofs over one circuit and automaton. initial: invariants may begin at the initial states.

    learner: of `venmas.procedures.ranking.learners`. Raises `UsageError` for one that is not there; every method raises
    `BudgetError`, `SolverUnavailableError`.
    """

    def __init__(
        self,
        circuit: Circuit,
        letters: tuple[int, ...],
        automaton: Automaton,
        figures: Figures,
        exact: bool = True,
        initial: bool = True,
        learner: str = "auto",
    ) -> None:
        self._learner = None if learner in MINED else get_learner(learner)
        self._circuit, self._letters, self._automaton = circuit, letters, automaton
        self._figures, self._exact = figures, exact
        begun = any(node is not None for node in circuit.init) or bool(circuit.starts)
        self._initial = initial and begun
        self._invariant = Invariant()
        self._avoided: frozenset[int] = frozenset()
        self._mined = False

    def prove(self, budget: Budget) -> RankingProof | None:
        """A proof of all components, None where none was found."""
        registers, size = len(self._circuit.registers), gates(self._circuit.nodes)
        if components(self._automaton) and (registers > _MOST_REGISTERS or size > MOST_GATES // 4):
            size_text = f"{registers} registers" if registers > _MOST_REGISTERS else f"{size} gates"
            self._figures.levels.append(f"no ranking function is looked for over {size_text}")
            return None
        networks: list[_Rank] = []
        for component in components(self._automaton):
            ranks = self._component(component, budget)
            if ranks is None:
                return None
            networks += ranks
        networks = self._trimmed(networks, budget)
        begun = perf_counter()
        kept = self._kept(budget)
        if kept is None:
            return None
        ranked = []
        for goal, network in networks:
            steps = self._falls(goal, network, budget)
            if steps is None:
                return None
            ranked.append(Ranked(goal, network, steps))
        self._figures.proof_seconds += perf_counter() - begun
        return RankingProof(self._circuit, tuple(ranked), self._invariant, kept)

    def _component(self, component: Component, budget: Budget) -> list[_Rank] | None:
        """Ranks of a component, none where an invariant excludes it."""
        if self._learner is not None:
            return self._plugged(self._learner, component, budget)
        every = Invariant()
        few = self._ranks(component.edges, component.sets, every, LEVELS[:2], budget)
        if few is not None:
            return few
        if self._excluded(component.states, _QUICK, budget):
            return []
        all_ = self._ranks(component.edges, component.sets, every, LEVELS[2:], budget)
        if all_ is not None:
            return all_
        if not self._mined:
            self._mined = True
            self._merge(mined(self._circuit, self._letters, self._automaton, self._initial, budget))
        if self._invariant.clauses:
            under = self._ranks(component.edges, component.sets, self._invariant, LEVELS, budget)
            if under is not None:
                return under
        return [] if self._excluded(component.states, _LONG, budget) else None

    def _plugged(self, learner: Learner, component: Component, budget: Budget) -> list[_Rank] | None:
        """A rank by a learner of another package."""
        for strict in component.sets:
            goal = Goal(self._circuit, self._letters, component.edges, strict)
            network = learner(goal, budget, self._figures)
            if network is not None:
                return [(goal, network)]
        return None

    def _trimmed(self, ranks: Sequence[_Rank], budget: Budget) -> list[_Rank]:
        """The ranks under the part of the invariant that they and the excluded states need."""
        wanted: dict[int, list[Clause]] = {state: [()] for state in self._avoided}
        under = [(goal, network) for goal, network in ranks if goal.invariant.clauses]
        for goal, network in under:
            asked = Obligations(
                replace(goal, invariant=Invariant()), step_of(self._circuit, self._letters), network.pool
            )
            b, registers = asked.step.builder, [asked.step.before[node] for node in self._circuit.registers]
            for edge in goal.edges:
                budget()
                conditions = [*asked.taken(edge), asked.rises(edge, network.weights)]
                used = core(b, conditions, self._invariant, edge.source, registers)
                wanted.setdefault(edge.source, []).extend(used or ())
        self._invariant = closed(self._circuit, self._letters, self._automaton, self._invariant, wanted, budget)
        return [
            (replace(goal, invariant=self._invariant) if (goal, network) in under else goal, network)
            for goal, network in ranks
        ]

    def _excluded(self, states: frozenset[int], frames: int, budget: Budget) -> bool:
        """Is there an invariant that keeps runs away from these automaton states? It is kept."""
        for initial in (False, True) if self._initial and not self._invariant.initial else (self._initial,):
            known = Invariant(self._invariant.clauses, initial)
            found = unreachable(self._circuit, self._letters, self._automaton, states, known, budget, frames)
            if found is not None:
                self._merge(Invariant(found, initial))
                self._avoided |= states
                return True
        return False

    def _merge(self, other: Invariant) -> None:
        """Both: what holds from every state holds from the initial ones."""
        mine = self._invariant.clauses
        both = {q: tuple(dict.fromkeys((*mine.get(q, ()), *other.clauses.get(q, ())))) for q in {*mine, *other.clauses}}
        clauses = {q: ((),) if () in one else one for q, one in sorted(both.items())}
        self._invariant = Invariant(clauses, self._invariant.initial or other.initial)

    def _ranks(
        self,
        edges: Sequence[Edge],
        sets: Sequence[frozenset[Edge]],
        invariant: Invariant,
        levels: Sequence[int],
        budget: Budget,
    ) -> list[_Rank] | None:
        """Ranks that leave no accepting part of these edges; None where some part has none."""
        for strict in sets:
            goal = Goal(self._circuit, self._letters, tuple(edges), strict, invariant)
            network = rank(goal, budget, self._figures, levels)
            if network is not None:
                return [(goal, network)]
        if len(edges) < 2 or levels[-1] < LEVELS[-1]:
            return None
        for edge in edges:
            goal = Goal(self._circuit, self._letters, tuple(edges), frozenset({edge}), invariant)
            if goal.strict in sets:
                continue
            network = rank(goal, budget, self._figures, levels)
            if network is None:
                continue
            found = [(goal, network)]
            for inner in _parts([one for one in edges if one != edge], sets):
                ranks = self._ranks(inner, [one & frozenset(inner) for one in sets], invariant, levels, budget)
                if ranks is None:
                    return None
                found += ranks
            return found
        return None

    def _falls(self, goal: Goal, network: Network, budget: Budget) -> tuple[int, ...] | None:
        """Steps of the checked proofs of a rank's obligations; None where the solver's word is not confirmed."""
        if not self._exact:
            return ()
        asked = Obligations(goal, step_of(self._circuit, self._letters), network.pool)
        steps = []
        for edge in goal.edges:
            conditions = [*asked.taken(edge), asked.rises(edge, network.weights)]
            count = self._refuted(asked.step.builder, conditions, budget)
            if count is None:
                self._figures.levels.append(
                    f"edge {edge.source} -> {edge.target}: the SMT solver's word is not confirmed"
                )
                return None
            steps.append(count)
        return tuple(steps)

    def _kept(self, budget: Budget) -> tuple[int, ...] | None:
        """Steps of the checked proofs that the invariant is one, None where it is not; it excludes what it has to."""
        if not all(map(self._invariant.excludes, self._avoided)):
            self._figures.levels.append("invariant: it does not keep runs away from all that it was found for")
            return None
        if not self._invariant.clauses:
            return ()
        step = step_of(self._circuit, self._letters)
        smt = None if self._exact else Smt(step.builder)
        steps = []
        for what, conditions in obligations(self._circuit, self._automaton, step, self._invariant):
            if smt is not None:
                if not isinstance(smt.check(conditions, budget.left), Unsat):
                    self._figures.levels.append(f"invariant, {what}: not proved")
                    return None
                continue
            count = self._refuted(step.builder, conditions, budget)
            if count is None:
                self._figures.levels.append(f"invariant, {what}: not inductive")
                return None
            steps.append(count)
        return tuple(steps)

    @staticmethod
    def _refuted(b: Builder, conditions: list[int], budget: Budget) -> int | None:
        """Steps of a checked proof that the conditions are not met together."""
        proof = proof_of(b, conditions, budget)
        return len(proof) if proof is not None and checks(b, conditions, proof, budget) else None


def _parts(edges: Sequence[Edge], sets: Sequence[frozenset[Edge]]) -> list[tuple[Edge, ...]]:
    """The strongly connected parts of some edges that meet every set."""
    size = 1 + max((max(edge.source, edge.target) for edge in edges), default=0)
    successors: list[list[int]] = [[] for _ in range(size)]
    for edge in edges:
        successors[edge.source].append(edge.target)
    found = []
    for group in strongly_connected(successors):
        inside = tuple(edge for edge in edges if edge.source in group and edge.target in group)
        if inside and all(one & frozenset(inside) for one in sets):
            found.append(inside)
    return found


class _Session:
    def __init__(self, question: LinearQuestion) -> None:
        self.question, self.figures = question, Figures()

    def advance(self, budget: Budget) -> LinearAnswer:
        """Proved where every accepting component is ranked or never reached. Raises `BudgetError`."""
        question, figures = self.question, self.figures
        assert isinstance(question.subject, Circuit)
        budget.root.describe = partial(_progress, figures)
        part, letters = bind(question.subject, question.automaton.atoms)
        exact = not question.believed
        prover = Prover(part, letters, question.automaton, figures, exact, not question.anywhere, question.learner)
        found = prover.prove(budget)
        if found is None:
            why = "; ".join(figures.levels) or "none of this kind was found"
            return Unknown(Reason.OPEN, f"no ranking function or invariant: {why}")
        return Proved("exact" if exact else "solver", proof=found)


def _progress(figures: Figures, seconds: float) -> Progress:
    """Counterexamples, networks that were tried and queries so far."""
    return Progress(figures.samples, 0, figures.queries, 0, figures.rounds, seconds)


RANKING = LinearProcedure(
    "ranking",
    "Ranking functions and inductive invariants of a netlist (neural model checking).",
    Circuit,
    "it ranks the registers of netlists",
    _Session,
    OPTIONS,
)
