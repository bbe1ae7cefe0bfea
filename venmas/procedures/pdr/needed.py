"""The part of an invariant that a proof needs: clauses of unsatisfiable cores, closed under what keeps these.

Only what is left is proved again, clause by clause, and written down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from venmas.budget import Budget
from venmas.logic.automata.automaton import Automaton
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit
from venmas.procedures.netlist.clauses import Clause, Invariant
from venmas.procedures.netlist.proofs import sat_solver, written
from venmas.procedures.netlist.step import step_of


def core(
    b: Builder, conditions: Sequence[int], invariant: Invariant, state: int, registers: Sequence[int]
) -> list[Clause] | None:
    """Clauses of a state with which the conditions cannot be met together; None where all of them do not suffice."""
    clauses = invariant.clauses.get(state, ())
    gates, goals = written(b, conditions)
    bits = [gates.write(b.any_of([literal.node(b, registers) for literal in clause]))[0] for clause in clauses]
    with sat_solver([*map(list, gates.clauses), *map(list, goals)]) as solver:
        if solver.solve(assumptions=bits):
            return None
        used = set(solver.get_core() or ())
    return [clause for clause, bit in zip(clauses, bits, strict=True) if bit in used]


def closed(
    circuit: Circuit,
    letters: Sequence[int],
    automaton: Automaton,
    invariant: Invariant,
    wanted: Mapping[int, Sequence[Clause]],
    budget: Budget,
) -> Invariant:
    """The wanted clauses with those of the invariant that make them inductive. Raises `BudgetError`."""
    step = step_of(circuit, letters)
    b = step.builder
    before, after = ([side[node] for node in circuit.registers] for side in (step.before, step.after))
    kept: dict[int, dict[Clause, None]] = {}
    open_ = [(state, clause) for state, clauses in wanted.items() for clause in clauses]
    while open_:
        budget()
        state, clause = open_.pop()
        if clause in kept.setdefault(state, {}):
            continue
        kept[state][clause] = None
        broken = b.not_(b.any_of([literal.node(b, after) for literal in clause]))
        for edge in automaton.edges:
            if edge.target == state:
                found = core(b, [step.taken(edge), *step.here, broken], invariant, edge.source, before)
                if found is None:
                    return invariant  # it is no invariant: let its own obligations say so
                open_ += [(edge.source, one) for one in found]
    whole = {state: ((),) if () in clauses else tuple(clauses) for state, clauses in sorted(kept.items())}
    return Invariant(whole, invariant.initial)
