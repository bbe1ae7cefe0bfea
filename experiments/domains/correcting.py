"""Deep Q-learning that corrects itself: often all starts are run, and episodes begin anew in runs that were unsafe.

What is learnt stays Q-learning on the task's rewards; where episodes begin, and which network is kept, is decided by
these runs: the first one without an unsafe run, else that with the fewest. The verifier decides about it afterwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from experiments.domains.environment import TaskEnvironment
from experiments.domains.task import LONGEST, Array, Task
from experiments.training.export import Layers, evaluate

BEGIN, EVERY = 100_000, 2000
"""Steps of training before the first look, and from one to the next."""
LAST, LOOKS = 6, 20
"""States before an unsafe one that episodes begin in, those of so many looks."""


class Correcting(BaseCallback):
    """Looks at a network in training; `best` is what to keep, with `left` unsafe runs."""

    def __init__(self, task: Task, environments: Sequence[TaskEnvironment], layers: Callable[[], Layers]) -> None:
        super().__init__()
        self.task, self.environments, self.layers = task, environments, layers
        self.best: Layers | None = None
        self.left, self._next = len(task.start) + 1, BEGIN
        self._found: deque[Array] = deque(maxlen=LOOKS)

    def _on_step(self) -> bool:
        if self.num_timesteps < self._next:
            return True
        self._next += EVERY
        layers = self.layers()
        count, before = unsafe_runs(self.task, layers)
        if count < self.left:
            self.left, self.best = count, [(w.copy(), b.copy()) for w, b in layers]
        self._found.append(before)
        for environment in self.environments:
            environment.again = np.concatenate(self._found)
        return count > 0


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
