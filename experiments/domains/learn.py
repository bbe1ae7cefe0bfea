"""Imitation of a planner by a ReLU network: cross entropy on the planner's choices, Adam, plain numpy.

What is learned from: states that plans from the start pass, then in rounds those that the policy itself reaches
(Ross, Gordon, Bagnell 2011), and the states from which one wrong label is unsafe: those that the task names, and
those in which the policy was wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.domains.task import Array, Task
from experiments.training.export import Layers, evaluate, fold_input_scaling, he_layers
from venmas.runtime.blas import on_one_thread

SEED, ROUNDS, STEPS, BATCH, RATE = 7, 6, 2500, 512, 4e-3
COPIES = 6
"""Of each state in the lessons, each with other counters; of hard ones ten times as many."""
MOST = 200_000
"""States that a policy is followed through while it learns."""


@on_one_thread
def train(
    task: Task, hidden: Sequence[int], steps: int = STEPS, rounds: int = ROUNDS
) -> tuple[Layers, dict[str, float]]:
    """A policy, and how well it does: the share of right choices, states it reaches, how many are unsafe."""
    rng = np.random.default_rng(SEED)
    layers = he_layers((len(task.inputs), *hidden, len(task.labels)), rng)
    states, hard = follow(task, None, rng), task.hard
    for number in range(rounds):
        s = np.concatenate([np.repeat(states, COPIES, 0), np.repeat(hard, 10 * COPIES, 0)])
        x, good = task.lesson(s, rng)
        fit(layers, x / task.scale, good, steps, RATE / (1 + number), rng)
        reached = follow(task, layers, rng)
        states = np.unique(np.concatenate([states, reached]), axis=0)
        hard = np.concatenate([hard, others(mistaken(task, layers, reached), hard)])
    x, good = task.lesson(reached, rng)
    right = good[np.arange(len(good)), evaluate(layers, x / task.scale).argmax(1)].mean()
    figures = {"right": round(float(right), 4), "reached": len(reached), "unsafe": int(task.unsafe(reached).sum())}
    return fold_input_scaling(layers, (1 / task.scale).tolist(), [0.0] * len(task.scale)), figures


def follow(
    task: Task, layers: Layers | None, rng: np.random.Generator, scale: Array | None = None, most: int = MOST
) -> Array:
    """The states that runs without failures reach under the policy, None: under the planner, first choice each.

    scale: of the policy's inputs, by default the task's.
    """
    front = known = np.unique(task.start, axis=0)
    while len(front) and len(known) < most:
        x, good = task.lesson(front, rng)
        values = good if layers is None else evaluate(layers, x / (task.scale if scale is None else scale))
        chosen = values.argmax(1)
        after, fits = task.step(front, chosen)
        front = others(after[fits], known)
        known = np.concatenate([known, front])
    return known


def others(s: Array, known: Array) -> Array:
    """The rows of s that are not in `known`, each once."""
    both = np.concatenate([known, np.unique(s, axis=0)])
    _, first = np.unique(both, axis=0, return_index=True)
    return np.asarray(both[first[first >= len(known)]])


def mistaken(task: Task, layers: Layers, s: Array) -> Array:
    """The states of s, safe themselves, that the policy leaves to an unsafe one; it may read any counters."""
    x, _ = task.lesson(s, np.random.default_rng(SEED))
    after, fits = task.step(s, evaluate(layers, x / task.scale).argmax(1))
    return np.asarray(s[fits & task.unsafe(after) & ~task.unsafe(s)])


def fit(layers: Layers, x: Array, good: Array, steps: int, rate: float, rng: np.random.Generator) -> None:
    """Adam (Kingma, Ba 2015) in place on -log of the probability that softmax gives to the good labels together."""
    weights = [a for layer in layers for a in layer]
    first, second = [np.zeros_like(a) for a in weights], [np.zeros_like(a) for a in weights]
    for t in range(1, steps + 1):
        rows = rng.integers(0, len(x), min(BATCH, len(x)))
        falling = rate * (0.02 + 0.98 * (1 - t / steps))
        for a, g, m, v in zip(weights, gradient(layers, x[rows], good[rows]), first, second, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            a -= (falling * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)).astype(a.dtype)


def gradient(layers: Layers, x: Array, good: Array) -> list[Array]:
    """Of the mean loss, by W and b of every layer."""
    flow = [np.asarray(x, np.float32)]
    for number, (w, b) in enumerate(layers, start=1):
        z = flow[-1] @ w.T + b
        flow.append(np.maximum(z, 0) if number < len(layers) else z)
    p = np.exp(flow[-1] - flow[-1].max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    among = p * good
    back = (p - among / np.maximum(among.sum(1, keepdims=True), 1e-12)) / len(x)
    found: list[Array] = []
    for (w, _), before in zip(reversed(layers), reversed(flow[:-1]), strict=True):
        found = [back.T @ before, back.sum(0), *found]
        back = (back @ w) * (before > 0)
    return found
