"""Samples of learners: steps of an edge that a run in the component may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from venmas.model.circuit.operators import Words, words
from venmas.model.circuit.simulate import evaluate
from venmas.procedures.netlist.mining import random_words, sampled_states
from venmas.procedures.netlist.step import Goal, Step

_WEIGHT = 200
"""A counterexample counts as much as one of so many samples."""


@dataclass
class Samples:
    """Steps of an edge: registers before and after, each of shape (n, registers), Python ints."""

    before: Words
    after: Words

    def add(self, more: Samples) -> None:
        """These as well, some times over: a counterexample is one of thousands otherwise."""
        again = max(1, len(self.before) // _WEIGHT)
        self.before = np.concatenate((self.before, *[more.before] * again))
        self.after = np.concatenate((self.after, *[more.after] * again))


def sampled(goal: Goal, step: Step, taken: Sequence[int], seed: int) -> Samples:
    """Steps of the edge from random states: conditions `taken` hold of them."""
    rng, b = np.random.default_rng(seed), step.builder
    states, fixed = sampled_states(goal.circuit, seed), goal.fixed()
    count = len(states[0]) if states else 1
    known = dict(zip(step.before.values(), states, strict=True))
    for node, there in zip(goal.circuit.inputs * 2, b.inputs, strict=True):  # of both letters
        width = b.width(there)
        known[there] = words([fixed[node]] * count, width) if node in fixed else random_words(rng, width, count)
    kept = np.all([np.broadcast_to(found, count) for found in evaluate(b, known, taken)], axis=0)
    return steps_of(step, {node: column[kept] for node, column in known.items()})


def steps_of(step: Step, known: Mapping[int, Words]) -> Samples:
    """The registers before and after the steps with these values of leaves; those that are not named are 0."""
    size = len(next(iter(known.values()), (0,)))
    leaves = [*step.builder.registers, *step.builder.inputs]
    every = {node: known.get(node, words([0] * size, step.builder.width(node))) for node in leaves}
    sides = []
    for nodes in (step.before.values(), step.after.values()):
        columns = [np.broadcast_to(column, size) for column in evaluate(step.builder, every, list(nodes))]
        sides.append(np.stack(columns, axis=1) if columns else np.zeros((size, 0), dtype=np.int64))
    return Samples(*sides)
