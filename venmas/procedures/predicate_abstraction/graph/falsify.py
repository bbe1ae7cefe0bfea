"""Random runs of the policy: a path to an unsafe state, if one is easy to find."""

from __future__ import annotations

import numpy as np

from venmas.bounds.rounding import Bools, Ints
from venmas.budget import ask
from venmas.procedures.predicate_abstraction.graph.successors import Steps
from venmas.procedures.predicate_abstraction.states.box_condition import BoxCondition
from venmas.procedures.predicate_abstraction.states.queries import FREE

_RUNS = 64


def random_path(
    steps: Steps, starts: Ints, unsafe: BoxCondition, length: int, rng: np.random.Generator
) -> tuple[Ints, tuple[int, ...]] | None:
    """States (L + 1, n) from one of the starts (S, n) to an unsafe one, and the operators between; None: none found."""
    if not len(starts):
        return None
    states = [starts[rng.integers(0, len(starts), _RUNS)]]
    taken: list[Ints] = []
    alive = np.arange(_RUNS)
    for _ in range(length + 1):
        ask()
        now = states[-1]
        bad = np.asarray(unsafe.over(now, now).truth == 1)
        if (bad[alive]).any():
            run = int(alive[bad[alive].argmax()])
            return np.array([s[run] for s in states]), tuple(int(t[run]) for t in taken)
        operator = _operators(steps, now[alive], rng)
        alive = alive[operator >= 0]
        operator = operator[operator >= 0]
        if not len(alive):
            return None
        after, chosen = now.copy(), np.full(_RUNS, -1, np.int64)
        chosen[alive] = operator
        for o in np.unique(operator).tolist():
            at = alive[operator == o]
            after[at] = steps.task.operators[o].apply(now[at])
        inside = np.asarray(((after >= steps.task.low) & (after <= steps.task.high)).all(1))
        alive = alive[inside[alive]]
        states.append(after)
        taken.append(chosen)
    return None


def _operators(steps: Steps, states: Ints, rng: np.random.Generator) -> Ints:
    """An operator that can be taken in each state (B,), at random; -1: none."""
    enabled: Bools = np.asarray(((states[:, None] >= steps.low) & (states[:, None] <= steps.high)).all(2))
    if steps.rows.shape[1]:
        enabled &= ((steps.rows @ states.T).transpose(2, 0, 1) + steps.constants >= 0).all(2)
    policy = steps.task.policy
    if not enabled.shape[1]:
        return np.full(len(states), -1, np.int64)
    if policy is not None:
        picked = policy.choose(states)
        enabled &= (steps.label == FREE) | (steps.label == picked[:, None])
    score = rng.random(enabled.shape) * enabled
    chosen: Ints = np.where(enabled.any(1), score.argmax(1), -1)
    return chosen
