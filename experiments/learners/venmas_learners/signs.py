"""MILP learner: a few neurons that tell two sides of a hyperplane apart, found by a mixed-integer program over samples.

    for 1, 2, ... neurons [a . x >= b] with a in {-1, 0, 1}, b whole:
        program:  a, b, weights and constants of V such that every sample falls as it must      (HiGHS, big-M)
        weights:  integers over registers and these neurons that are right on all samples        (`linear`)
        queries:  none is wrong: done.   Else they are new samples, and the program is asked again

The search for signs follows Giacobbe, Kroening, Pal, Tautschnig, *Let a Neural Network be Your Invariant*, NeurIPS
2025. What the program says in floats is taken for the hyperplanes only; weights are checked as those of mined neurons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from venmas.budget import Budget
from venmas.logic.automata.automaton import Edge
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.integers import Word, constant
from venmas.model.circuit.operators import Words, words
from venmas.model.circuit.smt import Smt
from venmas.procedures.netlist.mining import Neuron, Pool, control_registers
from venmas.procedures.netlist.step import Goal, Step, step_of
from venmas.procedures.ranking.learn import Figures, Network
from venmas.procedures.ranking.obligations.obligations import Obligations
from venmas.procedures.ranking.obligations.queries import Queries
from venmas.procedures.ranking.weights.linear import Weights
from venmas.solvers.highs import Highs
from venmas.solvers.milp.program import Feasible, Kind, ProgramBuilder
from venmas_learners.sampling import sampled, steps_of

LEVEL = 5
"""What reports call networks of this learner."""
_NEURONS = range(1, 6)
_BITS = 20
"""Of the widest register: a big-M of more than this is nothing to floats."""
_STEEP = 4.0
_SECONDS, _FIRST, _MOST = 5.0, 6, 200
"""Seconds of one program; random samples of an edge before any counterexample, twice; most samples."""

_Plane = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class _Sample:
    """A step of an edge: registers before and after."""

    edge: Edge
    before: tuple[int, ...]
    after: tuple[int, ...]


def rank(goal: Goal, budget: Budget, figures: Figures) -> Network | None:
    """A network of sign neurons that falls on every strict edge and rises on none. Raises `BudgetError`."""
    widest = max((goal.circuit.width(node) for node in goal.circuit.registers), default=0)
    if widest > _BITS:
        figures.levels.append(f"milp: a register of {widest} bits; {_BITS} are the most")
        return None
    step = step_of(goal.circuit, goal.letters)
    smt, control = Smt(step.builder), control_registers(goal.circuit)
    asked = Obligations(goal, step, _pool(goal, ()))
    samples = _chosen(goal, step, {edge: asked.taken(edge) for edge in goal.edges})
    try:
        for count in _NEURONS:
            while (planes := _planes(goal, samples, count, budget)) is not None:
                pool, known = _pool(goal, planes), len(samples)
                queries = Queries(Obligations(goal, step, pool), smt, control)
                while (weights := _weights(goal, pool, samples)) is not None:
                    figures.rounds += 1
                    found = queries.failures(weights, budget)
                    if not found:
                        return Network(weights, pool, LEVEL)
                    if isinstance(found, str) or len(samples) > _MOST:
                        why = found if isinstance(found, str) else f"more than {_MOST} samples"
                        figures.levels.append(f"milp: {why}")
                        return None
                    samples += [_met(step, *one) for one in found]
                    figures.samples += len(found)
                if len(samples) == known:  # right in floats only
                    break
        figures.levels.append(f"milp: no signs for {len(samples)} samples")
        return None
    finally:
        figures.queries += smt.queries
        figures.smt_seconds += smt.seconds


def _chosen(goal: Goal, step: Step, taken: Mapping[Edge, Sequence[int]]) -> list[_Sample]:
    """Some steps of each edge, from random states and, the last ones, from states next to constants of comparators."""
    rng, found = np.random.default_rng(0), []
    for edge in goal.edges:
        steps = sampled(goal, step, taken[edge], 0)
        size = len(steps.before)
        places = {*rng.integers(0, size, _FIRST).tolist(), *range(max(0, size - _FIRST), size)} if size else ()
        found += [_Sample(edge, _row(steps.before[at]), _row(steps.after[at])) for at in sorted(places)]
    return found


def _met(step: Step, edge: Edge, values: Mapping[int, int]) -> _Sample:
    """A counterexample as a sample."""
    one = steps_of(step, {node: words([value], step.builder.width(node)) for node, value in values.items()})
    return _Sample(edge, _row(one.before[0]), _row(one.after[0]))


def _row(values: Words) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def _planes(goal: Goal, samples: Sequence[_Sample], count: int, budget: Budget) -> list[_Plane] | None:
    """So many hyperplanes by which some network is right on the samples; None where the program finds none."""
    budget()
    program = ProgramBuilder()
    most = [(1 << goal.circuit.width(node)) - 1 for node in goal.circuit.registers]
    reach = float(sum(most) + 1)
    steep = _STEEP * reach
    signs = [[program.add_variable(-1, 1, Kind.INTEGER) for _ in most] for _ in range(count)]
    bounds = [program.add_variable(-reach, reach, Kind.INTEGER) for _ in range(count)]
    margin = program.add_variable(0, reach)  # as far from all samples as can be: next time about half as far
    program.maximize([margin], [1.0])
    slopes = {q: [program.add_variable(-_STEEP, _STEEP) for _ in most] for q in goal.states}
    heights = {q: program.add_variable(-steep, steep) for q in goal.states}
    steps = {q: [program.add_variable(-steep, steep) for _ in range(count)] for q in goal.states}
    sides: dict[tuple[int, ...], list[int]] = {}
    parts: dict[tuple[int, tuple[int, ...]], list[int]] = {}

    def side(state: tuple[int, ...]) -> list[int]:
        """Of each hyperplane the binary that says that the state is on its upper side."""
        if state not in sides:
            sides[state] = [program.add_variable(0, 1, Kind.BINARY) for _ in range(count)]
            for plane, bound, upper in zip(signs, bounds, sides[state], strict=True):
                columns, values = [*plane, bound], [*map(float, state), -1.0]
                program.add_row([*columns, upper, margin], [*values, -4 * reach, -1.0], -4 * reach, float("inf"))
                program.add_row([*columns, upper, margin], [*values, -4 * reach, 1.0], -float("inf"), -1.0)
        return sides[state]

    def added(q: int, state: tuple[int, ...]) -> list[int]:
        """Of each hyperplane what it adds to the rank: its step on the upper side, else 0."""
        if (q, state) not in parts:
            parts[q, state] = [program.add_variable(-steep, steep) for _ in range(count)]
            for part, upper, whole in zip(parts[q, state], side(state), steps[q], strict=True):
                program.add_row([part, upper], [1.0, -steep], -float("inf"), 0.0)
                program.add_row([part, upper], [1.0, steep], 0.0, float("inf"))
                program.add_row([part, whole, upper], [1.0, -1.0, 2 * steep], -float("inf"), 2 * steep)
                program.add_row([part, whole, upper], [1.0, -1.0, -2 * steep], -2 * steep, float("inf"))
        return parts[q, state]

    for one in samples:
        columns, values = [], []
        for q, state, sign in ((one.edge.source, one.before, 1.0), (one.edge.target, one.after, -1.0)):
            columns += [*slopes[q], heights[q], *added(q, state)]
            values += [*(sign * value for value in state), sign, *[sign] * count]
        program.add_row(columns, values, float(one.edge in goal.strict), float("inf"))
    left = budget.left
    answer = Highs().solve(program.build(), time_limit=_SECONDS if left is None else min(_SECONDS, left))
    if not isinstance(answer, Feasible):
        return None
    point = answer.point
    found = [
        (tuple(round(float(point[at])) for at in plane), round(float(point[b])))
        for plane, b in zip(signs, bounds, strict=True)
    ]
    return [(row, bound) for row, bound in found if any(row)]


def _pool(goal: Goal, planes: Sequence[_Plane]) -> Pool:
    """The constant, the registers, and a neuron for each hyperplane."""
    circuit, b = goal.circuit, Builder()
    registers = {node: b.register(circuit.width(node)) for node in circuit.registers}
    found = {b.const(1, 1): Neuron(b.const(1, 1), "1", 1e-6)}
    found |= {registers[node]: Neuron(registers[node], circuit.name(node), 1.0) for node in circuit.registers}
    for row, bound in planes:
        total, text = constant(b, -bound), ""
        for sign, node in zip(row, circuit.registers, strict=True):
            if sign:
                total += Word(b, registers[node], 0, (1 << circuit.width(node)) - 1) * sign
                text += f" {'+' if sign > 0 else '-'} {circuit.name(node)}"
        at = (total >= 0).bit
        if b.value(at) is None:
            found.setdefault(at, Neuron(at, f"[{text.strip().removeprefix('+ ')} >= {bound}]", 1e-6))
    return Pool(circuit, b, registers, tuple(found.values()))


def _weights(goal: Goal, pool: Pool, samples: Sequence[_Sample]) -> dict[int, tuple[int, ...]] | None:
    """Integer weights that are right on all samples."""
    size = len(pool.neurons)
    program = Weights([neuron.cost for neuron in pool.neurons] * len(goal.states))
    for one in samples:
        row = {state: [0] * size for state in goal.states}
        for state, registers, sign in ((one.edge.source, one.before, 1), (one.edge.target, one.after, -1)):
            for at, value in enumerate(pool.batch([words([value], _BITS) for value in registers])[0]):
                row[state][at] += sign * int(value)
        program.add([value for state in goal.states for value in row[state]], int(one.edge in goal.strict))
    flat = program.solve()
    if flat is None:
        return None
    return {q: tuple(flat[at * size : (at + 1) * size]) for at, q in enumerate(goal.states)}
