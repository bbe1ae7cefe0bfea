"""Data sets of the gradient learner: steps of the product of a circuit and an automaton along random trajectories.

As in Giacobbe, Kroening, Pal, Tautschnig, *Neural Model Checking*, NeurIPS 2024, sections 3 and 5: each trajectory
starts in a random state of both, inputs and choices of the automaton are random, those of reset and enable skewed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from venmas.logic.automata.automaton import Edge
from venmas.model.circuit.operators import Words, words
from venmas.model.circuit.simulate import evaluate
from venmas.procedures.netlist.mining import compared, random_words
from venmas.procedures.netlist.step import Goal, Step
from venmas_learners.sampling import Samples

_COUNT, _LENGTH = 2000, 8
_SKEWS = (0.5, 1 / 16, 15 / 16)
"""How often an input of one bit is 1, drawn for each trajectory."""


def trajectories(goal: Goal, step: Step, taken: Mapping[Edge, Sequence[int]], seed: int) -> dict[Edge, Samples]:
    """Steps of each edge. taken: of each edge the conditions under which a run that stays takes it.

    Inputs that every edge fixes (the reset that must stay low, the enable that must stay high) are skewed to that value
    wholly: any other ends the trajectory.
    """
    rng, b, circuit = np.random.default_rng(seed), step.builder, goal.circuit
    numbers = [b.width(node) for node in step.before.values()]
    here, fixed = _starts(goal, rng), goal.fixed()
    count = len(here[0]) if here else 1
    at = rng.choice(goal.states, count)
    skews = {node: rng.choice(_SKEWS, count) for node in circuit.inputs}
    found: dict[Edge, list[Words]] = {edge: [] for edge in goal.edges}
    for _ in range(_LENGTH):
        known = dict(zip(step.before.values(), here, strict=True))
        for node, there in zip(circuit.inputs * 2, b.inputs, strict=True):  # of both letters
            width, size = b.width(there), len(at)
            if node in fixed:
                known[there] = words([fixed[node]] * size, width)
            elif width == 1:
                known[there] = words((rng.random(size) < skews[node]).astype(int).tolist(), 1)
            else:
                known[there] = random_words(rng, width, size)
        roots = [node for edge in goal.edges for node in taken[edge]]
        values = iter(np.broadcast_to(one, len(at)) for one in evaluate(b, known, [*roots, *step.after.values()]))
        chosen, best = np.full(len(at), -1), np.full(len(at), -1.0)
        for number, edge in enumerate(goal.edges):
            holds = np.all([next(values) for _ in taken[edge]], axis=0) & (at == edge.source)
            draw = np.where(holds, rng.random(len(at)), -1.0)
            chosen, best = np.where(draw > best, number, chosen), np.maximum(draw, best)
        there_ = [np.asarray(column) for column in values]
        for number, edge in enumerate(goal.edges):
            rows = np.flatnonzero(chosen == number)
            both = [column[rows] for column in (*here, *there_)]
            found[edge].append(np.stack(both, axis=1) if both else np.zeros((len(rows), 0), dtype=np.int64))
        on = np.flatnonzero(chosen >= 0)
        at = np.array([edge.target for edge in goal.edges])[chosen[on]]
        here = [column[on] for column in there_]
        skews = {node: skew[on] for node, skew in skews.items()}
        if not len(on):
            break
    size = len(numbers)
    rows_ = {edge: _distinct(np.concatenate(parts)) for edge, parts in found.items()}
    return {edge: Samples(rows[:, :size], rows[:, size:]) for edge, rows in rows_.items()}


def _starts(goal: Goal, rng: np.random.Generator) -> list[Words]:
    """Random registers; every eighth state has one next to a constant that the design compares with (a skew, too)."""
    columns = [random_words(rng, goal.circuit.width(node), _COUNT) for node in goal.circuit.registers]
    near = sorted({c + d for c in compared(goal.circuit) for d in (-1, 0, 1)})
    for node, column in zip(goal.circuit.registers, columns, strict=True):
        fit = [value for value in near if 0 <= value < 1 << goal.circuit.width(node)]
        if fit and goal.circuit.width(node) > 2:
            rows = rng.choice(_COUNT, _COUNT // 8, replace=False)
            column[rows] = words([fit[at] for at in rng.integers(0, len(fit), len(rows))], goal.circuit.width(node))
    return columns


def _distinct(rows: Words) -> Words:
    if rows.dtype == object:
        return np.array(sorted(set(map(tuple, rows.tolist()))), dtype=object).reshape(-1, rows.shape[1])
    return np.asarray(np.unique(rows, axis=0)) if rows.shape[1] else rows[:1]
