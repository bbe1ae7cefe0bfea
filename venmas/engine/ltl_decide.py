"""Decision of LTL properties of circuits, over unbounded time.

    automaton of the runs that break the property                                     (`translate`)
    short lassos, and runs of few steps that break it whatever comes: a run that it accepts    (`lasso`)
    each accepting component: a network that ranks it, from every state               (`ranking`)
        for one of its acceptance sets that falls with every edge of the set, and rises on none
        or an invariant that keeps runs away from it, or a network under an invariant (`invariants`)
    all ranked, each obligation proved: satisfied
    else, where registers and inputs have few bits: all runs from initial states       (`explicit`)
    else longer lassos, by simulation and as before

Giacobbe, Kroening, Pal, Tautschnig, *Neural Model Checking*, NeurIPS 2024. No range of a register is assumed by a
proof, and no initial state unless an invariant begins there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter

from venmas.answer import Unknown
from venmas.budget import Budget, BudgetError, Progress, limited
from venmas.errors import CircuitError, Reason
from venmas.logic.automata.automaton import Automaton
from venmas.logic.automata.translate import questioned, refuting
from venmas.logic.formula import Formula
from venmas.model.circuit.binding import bind
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.smt import solver_name
from venmas.model.witness.circuit import Observed, Run
from venmas.procedures.bmc.lasso import LONGEST, SHORT, Search
from venmas.procedures.bmc.rollouts import rollouts
from venmas.procedures.explicit.circuits import Enumerated, enumerated
from venmas.procedures.netlist.answers import Proved, Violated
from venmas.procedures.netlist.clauses import Invariant
from venmas.procedures.ranking.learn import Figures
from venmas.procedures.ranking.procedure import Prover, Ranked

_SMALL = 12
"""Bits of registers and inputs up to which all runs are looked at before anything is learned."""
_SHARE = 0.5
"""Of the time, for learning and proving."""
_WIDEST = 8192
"""Bits of a register or input. A number of more digits than that has is neither printed nor compared."""


@dataclass(frozen=True)
class Satisfied(Proved):
    """Every run has the property. solver: whose word was taken, where no exact proofs were made.

    circuit: the cone that all of this is about. invariant: what the ranks assume, and which components no run comes to;
    it says whether the proof is of the runs from the initial states or from every state. kept: steps of the checked
    proofs that it is inductive. enumerated: where nothing is ranked, the pairs of a state and an automaton state that
    runs from initial states reach, all of which were looked at.
    """

    ranked: tuple[Ranked, ...]
    solver: str | None
    circuit: Circuit
    invariant: Invariant = field(default_factory=Invariant)
    kept: tuple[int, ...] = ()
    enumerated: int | None = None


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
    initial: bool = True,
) -> tuple[Satisfied | Violated[Run] | Unknown, Work]:
    """Does every run of the circuit from an initial state have the property (L3 of docs/semantics.md)?

    fair: conditions that hold again and again on the runs that are meant. exact: proofs are checked gate by gate; else
    the word of the SMT solver is taken. learner: of `ranking.learners`. initial: a proof may begin at the initial
    states; else it is of the runs from every state, while violations are runs from initial states all the same. Raises
    `FormulaError`, `CircuitError`,
    `SolverUnavailableError`.
    """
    if circuit.fair:
        raise CircuitError("the netlist has `fair` lines, which are not read as assumptions yet: name them with --fair")
    formula = questioned(formula, fair)
    begun = perf_counter()
    automaton = refuting(formula)
    translated = perf_counter() - begun
    work = Work(automaton, (0, 0), automaton_seconds=translated)
    budget.root.describe = partial(_progress, work.figures)
    with limited(budget):
        return _decided(circuit, formula, automaton, budget, exact, work, learner, initial), work


def _decided(
    circuit: Circuit,
    formula: Formula,
    automaton: Automaton,
    budget: Budget,
    exact: bool,
    work: Work,
    learner: str,
    initial: bool,
) -> Satisfied | Violated[Run] | Unknown:
    listed: Enumerated | Run | None = None
    try:
        part, letters = bind(circuit, automaton.atoms)
        work.cone = (len(part.registers), part.register_bits)
        if (wide := max(map(part.width, (*part.registers, *part.inputs)), default=0)) > _WIDEST:
            raise CircuitError(f"the property depends on a word of {wide} bits; words of up to {_WIDEST} are decided")
        lassos = Search(circuit, formula, automaton)
        if (run := lassos.advance(SHORT, budget)) is not None:
            return Violated(run)
        listed = enumerated(lassos.observed, automaton, budget, _SMALL)
        if isinstance(listed, Run):
            return Violated(listed)
        if listed is None and (run := lassos.broken(budget)) is not None:
            return Violated(run)
        left = budget.left
        share = budget.within(None if left is None else _SHARE * left)
        try:
            found = Prover(part, letters, automaton, work.figures, exact, initial, learner).prove(share)
        except BudgetError as error:
            if error.budget is not share:
                raise
            found = None
            work.figures.levels.append("the time for ranking functions was over")
        if found is not None:
            solver = None if exact else solver_name()
            return Satisfied(found.ranked, solver, part, found.invariant, found.kept)
        if listed is None:
            listed = enumerated(lassos.observed, automaton, budget)
        if isinstance(listed, Run):
            return Violated(listed)
        if listed is not None and initial:
            return Satisfied((), None, part, enumerated=listed.states)
        run = rollouts(Observed(circuit, formula), budget) or lassos.advance(LONGEST, budget)
        if run is not None:
            return Violated(run)
    except (BudgetError, KeyboardInterrupt) as error:
        if isinstance(listed, Enumerated) and initial:
            return Satisfied((), None, part, enumerated=listed.states)
        if isinstance(error, BudgetError):
            return Unknown(error.reason, error.message)
        return Unknown(Reason.INTERRUPTED, "interrupted before a verdict was reached")
    return Unknown(
        Reason.OPEN,
        f"no ranking function or invariant of this kind, and no lasso of up to {lassos.steps} steps, was found",
    )


def _progress(figures: Figures, seconds: float) -> Progress:
    """Counterexamples, networks that were tried and queries so far."""
    return Progress(figures.samples, 0, figures.queries, 0, figures.rounds, seconds)
