"""Invariants of mined clauses: candidates that simulation does not break, of which those that steps break are dropped.

Houdini (Flanagan, Leino, FME 2001), over the product of a circuit and an automaton: an inductive set of candidates is
left. What a step breaks is weakened, from false to literals and from these to pairs, before it is dropped. Candidates
of each automaton state are literals and pairs of literals of two registers: values of control registers, and bounds of
the others at constants of comparators (intervals, widened to these constants).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np

from venmas.budget import Budget
from venmas.checker.netlists.gates import Gates
from venmas.logic.automata.automaton import Automaton, Edge
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.operators import Words, mask
from venmas.model.circuit.simulate import first_states, step, values
from venmas.procedures.netlist.clauses import Clause, Invariant, Literal
from venmas.procedures.netlist.mining import CONTROL_BITS, compared, random_words
from venmas.procedures.netlist.proofs import sat_solver
from venmas.procedures.netlist.step import step_of
from venmas.procedures.pdr.inductive import first_of

_RUNS, _STEPS = 64, 200
_MOST = 4000
"""Clauses of an automaton state."""
_NEAR = 24
"""Constants that bounds are made of."""


def mined(circuit: Circuit, letters: Sequence[int], automaton: Automaton, initial: bool, budget: Budget) -> Invariant:
    """Inductive clauses among the candidates, on runs from the initial states or all. Raises `BudgetError`."""
    literals = _literals(circuit)
    seen = _visited(circuit, letters, automaton, initial, budget)
    left = {state: _candidates(literals, seen.get(state)) for state in range(automaton.states)}
    if not initial:
        left[0] = []
    s = step_of(circuit, letters)
    b, gates = s.builder, Gates(s.builder)
    before = [s.before[node] for node in circuit.registers]
    after = [s.after[node] for node in circuit.registers]
    now = {one: gates.write(one.node(b, before))[0] for one in literals}
    later = {one: gates.write(one.node(b, after))[0] for one in literals}
    here = gates.write(b.all_of(list(s.here)))[0]
    begun = gates.write(b.all_of(first_of(circuit, s)))[0] if initial else 1
    taken = {edge: gates.write(s.taken(edge))[0] for edge in automaton.edges}
    top = gates.variables
    with sat_solver([*map(list, gates.clauses), [here]]) as solver:
        selectors: dict[Clause, int] = {}

        def held(clause: Clause) -> int:
            nonlocal top
            if clause not in selectors:
                top += 1
                selectors[clause] = top
                solver.add_clause([-top, *(now[one] for one in clause)])
            return selectors[clause]

        def broken(assumed: list[int], state: int, of: dict[Literal, int]) -> bool:
            """Drop the clauses of a state that some model breaks; were there any?"""
            nonlocal top
            any_ = False
            while left[state]:
                budget()
                fresh = []
                for clause in left[state]:
                    top += 1
                    fresh.append(top)
                    for one in clause:
                        solver.add_clause([-top, -of[one]])
                top += 1
                solver.add_clause([-top, *fresh])
                found = solver.solve(assumptions=[*assumed, top])
                model = solver.get_model() if found else None
                solver.add_clause([-top])
                if model is None:
                    break
                true = {one for one, bit in of.items() if (model[abs(bit) - 1] > 0) == (bit > 0)}
                kept = dict.fromkeys(clause for clause in left[state] if not true.isdisjoint(clause))
                if () in left[state]:
                    kept |= {(one,): None for one in true}
                gone = [clause[0] for clause in left[state] if len(clause) == 1 and clause not in kept]
                for one, two in product(gone, true):
                    if one.register != two.register and len(kept) < _MOST:
                        kept[min(one, two), max(one, two)] = None
                left[state] = list(kept)
                any_ = True
            return any_

        broken([begun], 0, now)
        todo: list[Edge] = list(automaton.edges)
        while todo:
            edge = todo.pop()
            assumed = [taken[edge], *map(held, left[edge.source])]
            if broken(assumed, edge.target, later):
                todo += [other for other in automaton.leaving[edge.target] if other not in todo]
    return Invariant({state: tuple(clauses) for state, clauses in left.items() if clauses}, initial)


def _literals(circuit: Circuit) -> list[Literal]:
    near = sorted({c + d for c in compared(circuit) for d in (-1, 0, 1)})
    found: dict[Literal, None] = {}
    for at, node in enumerate(circuit.registers):
        width = circuit.width(node)
        if width <= CONTROL_BITS:
            for value in range(1 << width):
                found[Literal(at, width - 1, 0, value, value)] = None
                if width > 1:
                    found[Literal(at, width - 1, 0, 0, value)] = None
                    found[Literal(at, width - 1, 0, value, mask(width))] = None
            continue
        for k in [k for k in near if 0 <= k <= mask(width)][:_NEAR]:
            found[Literal(at, width - 1, 0, 0, k)] = None
            found[Literal(at, width - 1, 0, k, mask(width))] = None
    return [one for one in found if (one.least, one.most) != (0, mask(one.high - one.low + 1))]


def _candidates(literals: Sequence[Literal], seen: Sequence[Words] | None) -> list[Clause]:
    """Clauses that no visited state breaks."""
    if seen is None:
        return [()]
    truth = {one: _meets(one, seen) for one in literals}
    single = [one for one in literals if truth[one].all()]
    found: list[Clause] = [(one,) for one in single]
    open_ = [one for one in literals if not truth[one].all() and truth[one].any()]
    for one, two in combinations(open_, 2):
        if one.register != two.register and len(found) < _MOST and (truth[one] | truth[two]).all():
            found.append((one, two))
    return found


def _meets(one: Literal, state: Sequence[Words]) -> Words:
    column = (state[one.register] >> one.low) & mask(one.high - one.low + 1)
    return np.asarray((column >= one.least) & (column <= one.most), dtype=bool)


def _visited(
    circuit: Circuit, letters: Sequence[int], automaton: Automaton, initial: bool, budget: Budget, seed: int = 0
) -> dict[int, list[Words]]:
    """Of each automaton state the register values that some runs have in it."""
    rng = np.random.default_rng(seed)

    fixed = [random_words(rng, circuit.width(node), _RUNS) for node in circuit.inputs]
    often = rng.choice([0.0, 0.1, 0.5, 1.0], size=(len(fixed), _RUNS))

    def draw() -> list[Words]:
        # inputs that seldom change: with resets at every other step nothing is seen of what is behind them
        fresh = [random_words(rng, circuit.width(node), _RUNS) for node in circuit.inputs]
        pick = rng.random((len(fixed), _RUNS)) < often
        return [np.where(row, new, old) for row, new, old in zip(pick, fresh, fixed, strict=True)]

    free = [random_words(rng, circuit.width(node), _RUNS) for node in circuit.registers]
    inputs = draw()
    state = first_states(circuit, free, inputs) if initial else tuple(free)
    active = np.zeros((automaton.states, _RUNS), dtype=bool)
    alive = np.ones(_RUNS, dtype=bool)
    if initial:
        for column in values(circuit, state, inputs, circuit.starts):
            alive &= np.asarray(column, dtype=bool)
    active[0] = True
    found: dict[int, list[list[Words]]] = {}
    for _ in range(_STEPS):
        budget()
        for column in values(circuit, state, inputs, circuit.constraints):
            alive &= np.asarray(column, dtype=bool)
        active &= alive
        state = tuple(np.broadcast_to(column, _RUNS) for column in state)
        for q in np.flatnonzero(active.any(axis=1)):
            found.setdefault(int(q), []).append([column[active[q]] for column in state])
        truth = values(circuit, state, inputs, letters)
        following = np.zeros_like(active)
        for edge in automaton.edges:
            meets = active[edge.source].copy()
            for atom, sign in edge.label.literals():
                meets &= np.asarray(truth[atom], dtype=bool) == sign
            following[edge.target] |= meets
        state, active = step(circuit, state, inputs), following
        inputs = draw()
    size = range(len(circuit.registers))
    return {q: [np.concatenate([part[at] for part in parts]) for at in size] for q, parts in found.items()}
