"""Deep Q-learning that corrects itself: often all starts are run, and episodes begin anew where runs were unsafe.

What is learnt stays Q-learning on the task's rewards; where episodes begin, and which network is kept, is decided by
these looks: the first one that finds nothing unsafe, else that which finds least. Where policies read counters of
failures, a look goes on with any values of these. The verifier decides about the network afterwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from experiments.domains.environment import TaskEnvironment
from experiments.domains.learn import MOST, others
from experiments.domains.task import LONGEST, Array, Task
from experiments.training.export import Layers, evaluate

BEGIN, EVERY = (100_000, 40_000), (2000, 5000)
"""Steps of training before the first look, and from one to the next; where policies read counters."""
LAST, LOOKS = 6, 20
"""States before an unsafe one that episodes begin in, those of so many looks."""
FEW, MANY = 20, 100
"""Random values of counters in each state; to these come all extreme ones, where few find nothing."""


class Correcting(BaseCallback):
    """Looks at a network in training; `best` is what to keep, of which `left` runs or states are unsafe."""

    def __init__(self, task: Task, environments: Sequence[TaskEnvironment], layers: Callable[[], Layers]) -> None:
        super().__init__()
        self.task, self.environments, self.layers = task, environments, layers
        self.best: Layers | None = None
        self.left, self._next = MOST, BEGIN[not task.complete]
        self._found: deque[Array] = deque(maxlen=LOOKS)

    def _on_step(self) -> bool:
        if self.num_timesteps < self._next:
            return True
        self._next += EVERY[not self.task.complete]
        layers = self.layers()
        if self.task.complete:
            count, before = unsafe_runs(self.task, layers)
        else:
            before = unsafe_states(self.task, layers, self.num_timesteps)
            count = len(before)
        if count < self.left:
            self.left, self.best = count, [(w.copy(), b.copy()) for w, b in layers]
        self._found.append(before)
        for environment in self.environments:
            environment.again = np.concatenate(self._found)
        return count > 0


def unsafe_states(task: Task, layers: Layers, seed: int) -> Array:
    """The states that some values of the counters leave to an unsafe one, of those that are met with any values."""
    number, most, rng = (
        sum(n.startswith("cost_") for n in task.inputs),
        int(task.scale[-1]),
        np.random.default_rng(seed),
    )
    ends = most * np.array(list(product((0, 1), repeat=number)))
    for draws, extreme in ((FEW, ends[:0]), (MANY, ends)):
        front = known = np.unique(task.start, axis=0)
        found = [known[:0]]
        while len(front) and len(known) < MOST:
            x, _good = task.lesson(front, rng)
            chosen = np.zeros((len(front), len(task.labels)), bool)
            for k in range(draws + len(extreme)):
                any_values = rng.integers(0, most + 1, (len(front), number)) if k < draws else extreme[k - draws]
                x[:, -number:] = any_values if k % 2 or k >= draws else np.where(any_values > most / 2, most, 0)
                chosen[np.arange(len(front)), evaluate(layers, x).argmax(1)] = True
            rows, labels = np.nonzero(chosen)
            after, fits = task.step(front[rows], labels)
            bad = fits & task.unsafe(after)
            found.append(front[rows[bad]])
            front = others(after[fits & ~bad], known)
            known = np.concatenate([known, front])
        if sum(map(len, found)):
            break
    return np.concatenate(found)


def unsafe_runs(task: Task, layers: Layers) -> tuple[int, Array]:
    """Of how many starts the run is unsafe, without failures; and the last states of these runs before."""
    rng, s = np.random.default_rng(0), task.start
    past = np.repeat(s[None], LAST, 0)
    count, found = 0, [s[:0]]
    for _ in range(LONGEST):
        x, _good = task.lesson(s, rng)
        past = np.concatenate([past[1:], s[None]])
        after, fits = task.step(s, evaluate(layers, x).argmax(1))
        bad = fits & task.unsafe(after)
        count += int(bad.sum())
        found.append(past[:, bad].reshape(-1, s.shape[1]))
        s, past = after[fits & ~bad], past[:, fits & ~bad]
    return count, np.concatenate(found)
