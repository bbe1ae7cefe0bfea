"""Falsification by random runs in floats, many at once: the cheapest way to initial states that are worth trying."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from venmas.bounds.rounding import Bools, Floats, Index
from venmas.budget import asking
from venmas.errors import ModelError
from venmas.logic.stages import Stage
from venmas.model.evaluation.simulate import random_branches, step_batch
from venmas.procedures.hybrid.boxes import Boxes
from venmas.procedures.hybrid.trials import Candidate
from venmas.procedures.reachability.concretise.candidates import open_root, state_at
from venmas.procedures.reachability.graph.graph import Graph

_RUNS, _NUMBERS = 4096, 10_000_000
"""Runs at a time, and numbers that all their states may come to (80 MB): numpy's calls cost as much for fewer runs."""
_MOST = 4
"""Runs that are handed on: each is tried in exact numbers, some hundred times as slow."""


def rollouts(graph: Graph) -> Iterator[Candidate]:
    """Runs from what is open of the root that meet the target in floats, by branches at random.

    A step formula counts as true where its operand holds on the run, which for ``AX`` is no more than a hint. Runs that
    leave the declared ranges are not noticed here.
    """
    space, stages = graph.space, graph.stages
    nodes = open_root(graph)
    count = min(_RUNS, _NUMBERS // (len(stages) * len(space.system.variables)))
    if not len(nodes) or not count:
        return
    rng = np.random.default_rng(graph.counts.passes)
    picked = nodes.take(rng.integers(0, len(nodes), count))
    starts = picked.low + rng.integers(0, picked.high - picked.low + 1)
    try:
        states, alive, branches = _runs(graph, picked, starts, rng)
    except ModelError:  # a switch without a case for a value that occurs: the graph will say so, where it is real
        return
    good = _truth(stages, states, alive)
    for row in np.flatnonzero(good)[:_MOST]:
        taken = branches[:, row][: int(alive[:, row].sum())]
        yield Candidate(state_at(graph, starts[row], int(picked.location[row])), tuple(map(int, taken)))


def _runs(
    graph: Graph, picked: Boxes, starts: Index, rng: np.random.Generator
) -> tuple[list[dict[str, Floats]], Bools, Index]:
    """States step by step; (T, B) whether a run takes that step, and the branch that it takes.

    Half of the runs keep to one branch where it is enabled.
    """
    space, system = graph.space, graph.space.system
    state = {n: starts[:, i] / float(space.unit) for i, n in enumerate(space.reals)}
    values = np.array([loc.values for loc in space.locations], dtype=float).reshape(len(space.locations), -1)
    state |= {n: values[picked.location, i] for i, n in enumerate(space.integers)}
    states, alive, branches = [state], [], []
    count, running = len(starts), np.full(len(starts), True)
    habit = rng.permutation(np.arange(count)) % (2 * len(system.branches))
    kept = habit[:, None] == np.arange(len(system.branches))
    for _ in graph.stages[1:]:
        graph.tick()
        choice, enabled = random_branches(system, state, rng, kept)
        running = running & enabled
        state, _ = step_batch(system, state, choice)
        states.append(state)
        alive.append(running)
        branches.append(choice)
    shape = (len(alive), count)
    return states, np.array(alive, dtype=bool).reshape(shape), np.array(branches, dtype=np.intp).reshape(shape)


def _truth(stages: Sequence[Stage], states: Sequence[dict[str, Floats]], alive: Bools) -> Bools:
    """(B,) whether the target holds on each run."""
    size = len(next(iter(states[0].values())))
    after = np.zeros((size, 0), dtype=bool)
    for step in reversed(range(len(stages))):
        stage, state = stages[step], states[step]
        atoms = np.zeros((size, len(stage.atoms)), dtype=bool)
        for i, comparison in enumerate(asking(stage.atoms)):
            total = np.full(size, float(comparison.expr.constant))
            for name, factor in comparison.expr.terms:
                total += float(factor) * state[name]
            atoms[:, i] = comparison.relation.truth(total)
        steps = after[:, stage.operand] & alive[step][:, None] if stage.steps else np.zeros((size, 0), dtype=bool)
        after = stage.formula_truth(atoms, steps)
    return np.asarray(after[:, 0])
