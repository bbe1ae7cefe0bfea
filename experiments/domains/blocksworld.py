"""Blocksworld with a limited table: the model, and a planner by breadth-first search.

The encoding, for blocks 0 to n - 1. ``block_b`` is where block b is: 0 in the hand, 1 on the table, c + 2 on block c
where c < b, and c + 1 on block c where c > b (b is not on itself, so that 0 to n are all used). ``hand-empty`` and
``clear_b`` are 0 or 1 (a block in the hand is not clear), ``table-counter`` is how many blocks are on the table,
``cost_block_b`` counts the failures with block b. The label ``choose_block_b`` takes b with an empty hand, and puts the
block in the hand on b otherwise; ``choose_table`` puts it on the table. Each edge has two outcomes under one guard and
one label: it works, or nothing changes but the counter of the block that is moved (``failing_probability`` 0 drops this
outcome, and 1 the other). An edge is off where its counter is at ``item_cost_bound``.

``reach``, the *unsafe* condition, is that all n blocks are on the table. The goal is the tower with 0 at the bottom and
n - 1 on top. Four blocks have 125 states without failures, one of them unsafe.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from experiments.domains import jani
from experiments.domains.jani import BOUND, equal, every, integer, least, paid, plus
from experiments.domains.task import Array, Task

TABLE = 0
"""The label ``choose_table``; 1 + b is ``choose_block_b``."""
STARTS, SEED = 200, 11
"""Of more than four blocks, so many start states are drawn; all safe ones with an empty hand otherwise."""


def on(b: int, c: int) -> int:
    """The value of ``block_b`` where b stands on c."""
    return c + 2 if c < b else c + 1


class Blocks:
    """States as rows of ``block_b``: what is clear, what a label leads to, how far it is to the goal."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.powers = (n + 1) ** np.arange(n)
        self.goal = np.array([[1, *(on(b, b - 1) for b in range(1, n))]])

    def clear(self, s: Array) -> Array:
        """(N, n): nothing is on the block, and it is not in the hand."""
        above = np.zeros(s.shape, bool)
        for b in range(self.n):
            for c in range(self.n):
                if b != c:
                    above[:, c] |= s[:, b] == on(b, c)
        return np.asarray(~above & (s != 0))

    def step(self, s: Array, labels: Array) -> tuple[Array, Array]:
        """The states after a label each, and for which of them it is applicable."""
        held, clear, rows = s == 0, self.clear(s), np.arange(len(s))
        holding, hand = held.any(1), held.argmax(1)
        block = np.maximum(labels - 1, 0)
        fits = np.where(labels == TABLE, holding, clear[rows, block])
        after = s.copy()
        down = fits & holding
        place = np.where(labels == TABLE, 1, np.where(block < hand, block + 2, block + 1))
        after[rows[down], hand[down]] = place[down]
        up = fits & ~holding
        after[rows[up], block[up]] = 0
        return after, fits

    def unsafe(self, s: Array) -> Array:
        return np.asarray((s == 1).all(1))

    def distances(self) -> Array:
        """Steps to the goal by the code of a state, -1 where there is no safe way.

        What is taken can be put back, so that searching from the goal finds them.
        """
        far = np.full((self.n + 1) ** self.n, -1, np.int8)
        front = self.goal
        far[front @ self.powers] = steps = 0
        while len(front):
            steps += 1
            found = []
            for label in range(self.n + 1):
                after, fits = self.step(front, np.full(len(front), label))
                after = after[fits & ~self.unsafe(after)]
                codes, first = np.unique(after @ self.powers, return_index=True)
                new = far[codes] < 0
                far[codes[new]] = steps
                found.append(after[first[new]])
            front = np.concatenate(found)
        return far


@cache
def plans(n: int) -> tuple[Blocks, Array]:
    blocks = Blocks(n)
    return blocks, blocks.distances()


def task(n: int, aware: bool, bound: int = 12) -> Task:
    """The task of n blocks (4 to 8); aware: the policy reads the counters, and takes blocks of the least count."""
    blocks, far = plans(n)
    width = n + (n if aware else 0) + n + 2
    high = np.array([1, n, *[n] * n, *[1] * n, *([bound] * n if aware else [])])
    assert len(high) == width

    def lesson(s: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        clear, holding = blocks.clear(s), (s == 0).any(1)
        costs = rng.integers(0, bound + 1, s.shape)
        parts = [~holding[:, None], (s == 1).sum(1)[:, None], s, clear, *([costs] if aware else [])]
        here, good = far[s @ blocks.powers], np.zeros((len(s), n + 1), bool)
        for label in range(n + 1):
            after, fits = blocks.step(s, np.full(len(s), label))
            good[:, label] = fits & (far[after @ blocks.powers] == here - 1) & (here > 0)
        if aware:  # the counter of a block in the hand is the same for all labels
            paid_for = np.where(good[:, 1:] & ~holding[:, None], costs, bound + 1)
            good[:, 1:] &= holding[:, None] | (paid_for == paid_for.min(1, keepdims=True))
        good[here == 0, TABLE] = True  # not applicable with an empty hand: rest at the goal
        good[blocks.unsafe(s), TABLE] = True
        return np.concatenate(parts, 1).astype(float), good

    hard = np.ones((n, n), int) - np.eye(n, dtype=int)
    return Task(
        name=f"blocks_{n}_{'aware' if aware else 'ignoring'}",
        model=model(n),
        start=starts(n),
        begin=lambda: jani.states(valuation(blocks, row) for row in starts(n)),
        unsafe_when=least(n, "table-counter"),
        goal=every(*(equal(f"block_{b}", int(v)) for b, v in enumerate(blocks.goal[0]))),
        inputs=tuple(v["name"] for v in variables(n)[:width]),
        labels=labels(n),
        scale=high,
        lesson=lesson,
        step=blocks.step,
        hard=hard,
        unsafe=blocks.unsafe,
        limits={BOUND: str(bound), jani.FAILING: "0.5"},
        complete=not aware,
    )


def starts(n: int) -> Array:
    """Safe states with an empty hand: all of up to four blocks, `STARTS` of them at random of more."""
    blocks, far = plans(n)
    codes = np.flatnonzero(far >= 0)
    states = codes[:, None] // blocks.powers % (n + 1)
    states = states[(states != 0).all(1)]
    if n > 4:
        states = states[np.sort(np.random.default_rng(SEED).choice(len(states), STARTS, replace=False))]
    return np.asarray(states)


def valuation(blocks: Blocks, row: Array) -> dict[str, int]:
    """The variables of the model in a state with an empty hand before any failure."""
    found = {"hand-empty": 1, "table-counter": int((row == 1).sum())}
    found |= {f"block_{b}": int(v) for b, v in enumerate(row)}
    return found | {f"clear_{b}": int(v) for b, v in enumerate(blocks.clear(row[None])[0])}


def labels(n: int) -> tuple[str, ...]:
    return ("choose_table", *(f"choose_block_{b}" for b in range(n)))


def variables(n: int) -> list[jani.Json]:
    """In the order of the policy's inputs; the initial state is the tower with n - 1 at the bottom."""
    return [
        integer("hand-empty", 0, 1, 1),
        integer("table-counter", 0, n, 1),
        *(integer(f"block_{b}", 0, n, on(b, b + 1) if b < n - 1 else 1) for b in range(n)),
        *(integer(f"clear_{b}", 0, 1, int(b == 0)) for b in range(n)),
        *(integer(f"cost_block_{b}", 0, BOUND) for b in range(n)),
        integer("step_cost", 0, BOUND),
    ]


def model(n: int) -> jani.Json:
    edges = []
    for b in range(n):
        block, clear, cost = f"block_{b}", f"clear_{b}", f"cost_block_{b}"
        free = every(least(1, "hand-empty"), least(1, clear))
        held = every(equal(block, 0), equal("hand-empty", 0))
        take, put = {"hand-empty": 0, block: 0, clear: 0}, {"hand-empty": 1, clear: 1}
        count = "table-counter"
        edges.append(paid(f"choose_block_{b}", every(free, equal(block, 1)), take | {count: plus(count, -1)}, cost))
        edges.append(paid("choose_table", held, put | {block: 1, count: plus(count, 1)}, cost))
        for c in range(n):
            if c != b:
                stands = every(free, equal(block, on(b, c)))
                edges.append(paid(f"choose_block_{b}", stands, take | {f"clear_{c}": 1}, cost))
                over = every(held, least(1, f"clear_{c}"))
                edges.append(paid(f"choose_block_{c}", over, put | {block: on(b, c), f"clear_{c}": 0}, cost))
    return jani.model(f"blocks_{n}", variables(n), labels(n), edges, jani.FAILURES)
