"""Decision of LTL properties of circuits, over unbounded time.

    automaton of the runs that break the property                                     (`translate`)
    short lassos: a run that it accepts                                               (`lasso`)
    each accepting component: a network that ranks it, from every state               (`ranking`)
        for one of its acceptance sets that falls with every edge of the set, and rises on none
    all ranked, each obligation proved: satisfied
    else, where registers and inputs have few bits: all runs from initial states       (`explicit`)
    else longer lassos, by simulation and as before

Giacobbe, Kroening, Pal, Tautschnig, *Neural Model Checking*, NeurIPS 2024. No initial state, no range of a register is
assumed by a network.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter

from venmas.budget import Budget, BudgetError, Progress, limited
from venmas.circuit.nodes import Circuit
from venmas.circuit.size import MOST_GATES, gates
from venmas.errors import CircuitError, Reason
from venmas.logic.formula import TRUE, Formula, Implies, conjunction
from venmas.logic.paths import finally_, globally
from venmas.ltl.automaton import Automaton, Component, components
from venmas.ltl.binding import bind
from venmas.ltl.explicit import Enumerated, enumerated
from venmas.ltl.lasso import LONGEST, Search
from venmas.ltl.ranking.exact import checks, proof_of
from venmas.ltl.ranking.learn import Figures, Network
from venmas.ltl.ranking.learners import learned
from venmas.ltl.ranking.obligations import Obligations
from venmas.ltl.ranking.step import Goal, step_of
from venmas.ltl.replay import Observed, Run
from venmas.ltl.rollouts import rollouts
from venmas.ltl.translate import refuting

_SHORT = 4
"""Steps of lassos that are looked for before anything is learned."""
_SMALL = 12
"""Bits of registers and inputs up to which all runs are looked at before anything is learned."""
_SHARE = 0.5
"""Of the time, for learning and proving."""
_MOST_REGISTERS = 1000
"""Of designs that networks are learned for; of gates a quarter of `MOST_GATES`, as obligations are about two steps."""
_WIDEST = 8192
"""Bits of a register or input. A number of more digits than that has is neither printed nor compared."""


@dataclass(frozen=True)
class Ranked:
    """A component without fair runs: the network, and of each obligation the number of steps of its checked proof.

    steps is empty where the word of the SMT solver was taken.
    """

    goal: Goal
    network: Network
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Satisfied:
    """Every run has the property. solver: whose word was taken, where no exact proofs were made.

    enumerated: where nothing is ranked, the pairs of a state and an automaton state that runs from initial states
    reach, all of which were looked at.
    """

    ranked: tuple[Ranked, ...]
    solver: str | None
    enumerated: int | None = None


@dataclass(frozen=True)
class Violated:
    """A run from an initial state does not have the property; it was replayed."""

    run: Run


@dataclass(frozen=True)
class Unknown:
    """Neither was found."""

    reason: Reason
    message: str


@dataclass
class Work:
    """What was done. cone: registers and bits that the property depends on. automaton_seconds: of the translation."""

    automaton: Automaton
    cone: tuple[int, int]
    figures: Figures = field(default_factory=Figures)
    automaton_seconds: float = 0.0


def decide(
    circuit: Circuit,
    formula: Formula,
    budget: Budget,
    fair: Iterable[Formula] = (),
    exact: bool = True,
    learner: str = "auto",
) -> tuple[Satisfied | Violated | Unknown, Work]:
    """Does every run of the circuit from an initial state have the property (L3 of docs/semantics.md)?

    fair: conditions that hold again and again on the runs that are meant. exact: proofs are checked gate by gate; else
    the word of the SMT solver is taken. learner: of `ranking.learners`. Raises `FormulaError`, `CircuitError`,
    `SolverUnavailableError`.
    """
    if circuit.fair:
        raise CircuitError("the netlist has `fair` lines, which are not read as assumptions yet: name them with --fair")
    assumed = conjunction([globally(finally_(one)) for one in fair])
    formula = formula if assumed == TRUE else Implies(assumed, formula)
    begun = perf_counter()
    automaton = refuting(formula)
    translated = perf_counter() - begun
    work = Work(automaton, (0, 0), automaton_seconds=translated)
    budget.root.describe = partial(_progress, work.figures)
    with limited(budget):
        return _decided(circuit, formula, automaton, budget, exact, work, learner), work


def _decided(
    circuit: Circuit,
    formula: Formula,
    automaton: Automaton,
    budget: Budget,
    exact: bool,
    work: Work,
    learner: str,
) -> Satisfied | Violated | Unknown:
    listed: Enumerated | Run | None = None
    try:
        part, letters = bind(circuit, automaton.atoms)
        work.cone = (len(part.registers), part.register_bits)
        if (wide := max(map(part.width, (*part.registers, *part.inputs)), default=0)) > _WIDEST:
            raise CircuitError(f"the property depends on a word of {wide} bits; words of up to {_WIDEST} are decided")
        lassos = Search(circuit, formula, automaton)
        if (run := lassos.advance(_SHORT, budget)) is not None:
            return Violated(run)
        listed = enumerated(lassos.observed, automaton, budget, _SMALL)
        if isinstance(listed, Run):
            return Violated(listed)
        left = budget.left
        share = budget.within(None if left is None else _SHARE * left)
        try:
            found = [_ranked(part, letters, one, share, work.figures, exact, learner) for one in components(automaton)]
        except BudgetError as error:
            if error.budget is not share:
                raise
            found = [None]
            work.figures.levels.append("the time for ranking functions was over")
        proofs = [one for one in found if one is not None]
        if len(proofs) == len(found):
            return Satisfied(tuple(proofs), None if exact else "Bitwuzla")
        if listed is None:
            listed = enumerated(lassos.observed, automaton, budget)
        if isinstance(listed, Run):
            return Violated(listed)
        if listed is not None:
            return Satisfied((), None, listed.states)
        run = rollouts(Observed(circuit, formula), budget) or lassos.advance(LONGEST, budget)
        if run is not None:
            return Violated(run)
    except (BudgetError, KeyboardInterrupt) as error:
        if isinstance(listed, Enumerated):
            return Satisfied((), None, listed.states)
        if isinstance(error, BudgetError):
            return Unknown(error.reason, error.message)
        return Unknown(Reason.INTERRUPTED, "interrupted before a verdict was reached")
    return Unknown(
        Reason.OPEN, f"no ranking function of this kind, and no lasso of up to {lassos.steps} steps, was found"
    )


def _ranked(
    circuit: Circuit,
    letters: tuple[int, ...],
    component: Component,
    budget: Budget,
    figures: Figures,
    exact: bool,
    learner: str,
) -> Ranked | None:
    """A proof that no run in the component is fair, by one of its acceptance sets; None where none is found."""
    if len(circuit.registers) > _MOST_REGISTERS or (size := gates(circuit.nodes)) > MOST_GATES // 4:
        told = f"{len(circuit.registers)} registers" if len(circuit.registers) > _MOST_REGISTERS else f"{size} gates"
        figures.levels.append(f"no ranking function is looked for over {told}")
        return None
    for strict in component.sets:
        goal = Goal(circuit, letters, component.edges, strict)
        network = learned(learner, goal, budget, figures)
        if network is None:
            continue
        if not exact:
            return Ranked(goal, network, ())
        begun = perf_counter()
        asked = Obligations(goal, step_of(circuit, letters), network.pool)
        steps = []
        for edge in goal.edges:
            conditions = [*asked.taken(edge), asked.rises(edge, network.weights)]
            proof = proof_of(asked.step.builder, conditions, budget)
            if proof is None or not checks(asked.step.builder, conditions, proof, budget):
                figures.levels.append(f"edge {edge.source} -> {edge.target}: the SMT solver's word is not confirmed")
                return None
            steps.append(len(proof))
        figures.proof_seconds += perf_counter() - begun
        return Ranked(goal, network, tuple(steps))
    return None


def _progress(figures: Figures, seconds: float) -> Progress:
    """Counterexamples, networks that were tried and queries so far."""
    return Progress(figures.samples, 0, figures.queries, 0, figures.rounds, seconds)
