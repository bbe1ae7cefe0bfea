"""A task as a Gymnasium environment, for deep Q-learning: rewards in goals, penalties in unsafe states, mild shaping.

As in Vinzent, Steinmetz, Hoffmann (ICAPS 2022, section 8.2): positive rewards on goal states, negative ones on unsafe
states, and small ones for goal facts that are achieved; here as differences of a potential, so that no cycle earns any.
A label that is not applicable ends an episode. Policies that read counters of failures are charged for what they move,
and their actions fail.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from experiments.domains.jani import facts
from experiments.domains.task import LONGEST, Array, Task

GOAL, UNSAFE, STUCK, STEP, CHARGE = 1.0, -1.0, -0.5, -0.01, 0.05
FAILING = 0.5


class TaskEnvironment(gymnasium.Env[Array, int]):
    """Observations are the inputs of the policy over their scale. penalty: of unsafe states, in `UNSAFE`; at 0 they
    do not end an episode either. again: states that half of the episodes begin in, where there are any;
    half of all begin with extreme counters then."""

    def __init__(self, task: Task, penalty: float = 1.0) -> None:
        self.task, self.penalty = task, penalty
        self.counters = sum(name.startswith("cost_") for name in task.inputs)
        wanted = {name: v for name, v in facts(task.goal).items() if name in task.inputs}
        self._columns = [task.inputs.index(name) for name in wanted]
        self._values = np.array(list(wanted.values()))
        self._most = round(float(task.scale[-1])) if self.counters else 0
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (len(task.inputs),), np.float32)
        self.action_space = gymnasium.spaces.Discrete(len(task.labels))
        self.again = task.start[:0]
        self._state, self._spent, self._steps = task.start[0], np.zeros(self.counters, int), 0
        self._known: dict[bytes, Array] = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        rng = self.np_random
        begin = self.again if len(self.again) and rng.random() < 0.5 else self.task.start
        self._state = begin[rng.integers(len(begin))]
        self._spent = rng.integers(0, self._most + 1, self.counters)
        if self.counters and len(self.again) and rng.random() < 0.5:
            self._spent = rng.integers(0, 2, self.counters) * self._most
        self._steps = 0
        return self._seen(), {}

    def step(self, label: int) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        task, before = self.task, self._potential()
        rows, fits = task.step(self._state[None], np.array([label]))
        after, reward, over = rows[0], STEP, False
        if not fits[0] or np.array_equal(after, self._state):
            reward, over = STUCK, True
        else:
            moved = self._moved(after)
            if moved is not None:
                reward -= CHARGE * self._spent[moved] / self._most
            if moved is not None and self._spent[moved] < self._most and self.np_random.random() < FAILING:
                self._spent[moved] += 1
            else:
                self._state = after
            if self.penalty and task.unsafe(self._state[None])[0]:
                reward, over = self.penalty * UNSAFE, True
            else:
                now = self._potential()
                reward += 0.5 * (now - before)
                if now == 1:
                    reward, over = reward + GOAL, True
        self._steps += 1
        return self._seen(), float(reward), over, self._steps >= LONGEST, {}

    def _moved(self, after: Array) -> int | None:
        """The item that changes its place; items are the last columns of a planning state, None without counters."""
        if not self.counters:
            return None
        return int((after != self._state)[-self.counters :].argmax())

    def _seen(self) -> Array:
        return np.asarray(self._inputs() / self.task.scale, np.float32)

    def _inputs(self) -> Array:
        found = self._known.get(key := self._state.tobytes())
        if found is None:
            x, _ = self.task.lesson(self._state[None], np.random.default_rng(0))
            found = self._known[key] = np.asarray(x[0], np.float32)
        if self.counters:
            found = np.concatenate([found[: -self.counters], self._spent]).astype(np.float32)
        return found

    def _potential(self) -> float:
        """1 in goals: the share of goal facts, of a single one how near it is."""
        here = self._inputs()[self._columns]
        if len(here) > 1:
            return float((here == self._values).mean())
        return float(1 - np.abs(here - self._values).sum() / (self._values.sum() or 12))
