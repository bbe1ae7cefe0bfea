"""Decision of LTL properties of circuits, over unbounded time.

    automaton of the runs that break the property                                     (`translate`)
    short lassos: a run that it accepts                                               (`lasso`)
    each accepting component: a network that ranks it, from every state               (`ranking`)
        for one of its acceptance sets that falls with every edge of the set, and rises on none
        or an invariant that keeps runs away from it, or a network under an invariant (`invariants`)
    all ranked, each obligation proved: satisfied. Else longer lassos, by simulation and as before

Giacobbe, Kroening, Pal, Tautschnig, *Neural Model Checking*, NeurIPS 2024. No range of a register is
assumed by a proof, and no initial state unless an invariant begins there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from venmas.budget import Budget, BudgetError
from venmas.circuit.nodes import Circuit
from venmas.errors import CircuitError, Reason
from venmas.logic.formula import TRUE, Formula, Implies, conjunction
from venmas.logic.paths import finally_, globally
from venmas.ltl.automaton import Automaton
from venmas.ltl.binding import bind
from venmas.ltl.invariant import Invariant
from venmas.ltl.lasso import LONGEST, Search
from venmas.ltl.prove import Prover, Ranked
from venmas.ltl.ranking.learn import Figures
from venmas.ltl.replay import Observed, Run
from venmas.ltl.rollouts import rollouts
from venmas.ltl.translate import refuting

_SHORT = 4
"""Steps of lassos that are looked for before anything is learned."""
_SHARE = 0.5
"""Of the time, for learning and proving."""


@dataclass(frozen=True)
class Satisfied:
    """Every run has the property. solver: whose word was taken, where no exact proofs were made.

    invariant: what the ranks assume, and which components no run comes to; it says whether the proof is of the runs
    from the initial states or from every state. kept: steps of the checked proofs that it is inductive. circuit: the
    cone that all of this is about.
    """

    ranked: tuple[Ranked, ...]
    solver: str | None
    invariant: Invariant
    kept: tuple[int, ...]
    circuit: Circuit


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
    """What was done. cone: registers and bits that the property depends on."""

    automaton: Automaton
    cone: tuple[int, int]
    figures: Figures = field(default_factory=Figures)


def decide(
    circuit: Circuit,
    formula: Formula,
    budget: Budget,
    fair: Iterable[Formula] = (),
    exact: bool = True,
    initial: bool = True,
) -> tuple[Satisfied | Violated | Unknown, Work]:
    """Does every run of the circuit from an initial state have the property (L3 of docs/semantics.md)?

    fair: conditions that hold again and again on the runs that are meant. exact: proofs are checked gate by gate; else
    the word of the SMT solver is taken. initial: a proof may begin at the initial states; else it is of the runs from
    every state, while violations are runs from initial states all the same. Raises `FormulaError`, `CircuitError`,
    `SolverUnavailableError`.
    """
    if circuit.fair:
        raise CircuitError("the netlist has `fair` lines, which are not read as assumptions yet: name them with --fair")
    assumed = conjunction([globally(finally_(one)) for one in fair])
    formula = formula if assumed == TRUE else Implies(assumed, formula)
    automaton = refuting(formula)
    part, letters = bind(circuit, automaton.atoms)
    work = Work(automaton, (len(part.registers), part.register_bits))
    lassos = Search(circuit, formula, automaton)
    try:
        if (run := lassos.advance(_SHORT, budget)) is not None:
            return Violated(run), work
        left = budget.left
        share = budget.within(None if left is None else _SHARE * left)
        try:
            found = Prover(part, letters, automaton, work.figures, exact, initial).prove(share)
        except BudgetError as error:
            if error.budget is not share:
                raise
            found = None
            work.figures.levels.append("the time for ranking functions was over")
        if found is not None:
            return Satisfied(found.ranked, None if exact else "Bitwuzla", found.invariant, found.kept, part), work
        run = rollouts(Observed(circuit, formula), budget) or lassos.advance(LONGEST, budget)
        if run is not None:
            return Violated(run), work
    except BudgetError as error:
        return Unknown(error.reason, error.message), work
    return Unknown(
        Reason.OPEN, f"no ranking function of this kind, and no lasso of up to {LONGEST} steps, was found"
    ), work
