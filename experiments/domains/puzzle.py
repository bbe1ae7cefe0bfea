"""The 8-puzzle with tiles that may stick and a place that one tile must not be on: the model, and a planner.

Positions are 0 to 8, row by row. ``empty`` is the empty one and ``tile_t`` that of tile t, 1 to 8; ``cost_tile_t``
counts the failures with tile t. The labels say where the empty place goes: ``left``, ``right``, ``up``, ``down``; no
label goes over an edge of the board. There is an edge for each tile and label, its guard relates the tile with the
empty place, and it has two outcomes as in `blocksworld`.

``reach``, the *unsafe* condition, is that tile 3 is in the middle. The goal has tile t on position t. Tiles fall into
three groups (1 to 3, 4 to 6, 7 and 8), which start in the order of their numbers; of these arrangements those are
start states that are safe and have a safe way to the goal. An arrangement and its mirror image (two tiles changed)
are not connected: there are 9! / 2 = 181,440 to be met.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise, permutations
from math import factorial

import numpy as np

from experiments.domains import jani
from experiments.domains.jani import BOUND, binary, different, equal, every, integer, paid, plus
from experiments.domains.task import Array, Task

SIDE, TILES = 3, range(1, 9)
LABELS = ("left", "right", "up", "down")
MOVES = np.array([-1, 1, -SIDE, SIDE])
GROUPS = ((1, 2, 3), (4, 5, 6), (7, 8))
BAD_TILE, BAD_PLACE = 3, 4
SEED, HARD = 13, 300
"""So many states in which one label is unsafe are learned by heart."""

_PLACES = np.arange(SIDE * SIDE)
_OPEN = np.array(
    [_PLACES % SIDE > 0, _PLACES % SIDE < SIDE - 1, _PLACES >= SIDE, _PLACES < SIDE * (SIDE - 1)]
)  # by label and place of the empty one


def step(s: Array, labels: Array) -> tuple[Array, Array]:
    """The states after a label each, and for which of them it is applicable; rows of (empty, tile 1, ...)."""
    rows, fits = np.arange(len(s)), _OPEN[labels, s[:, 0]]
    target = s[:, 0] + MOVES[labels]
    tile = (s == target[:, None]).argmax(1)
    after = s.copy()
    after[rows[fits], tile[fits]] = s[fits, 0]
    after[fits, 0] = target[fits]
    return after, fits


def unsafe(s: Array) -> Array:
    return np.asarray(s[:, BAD_TILE] == BAD_PLACE)


def code(s: Array) -> Array:
    """The rank of each permutation, 0 to 9! - 1."""
    found = np.zeros(len(s), int)
    for i in range(s.shape[1]):
        found = found * (s.shape[1] - i) + (s[:, i + 1 :] < s[:, i : i + 1]).sum(1)
    return found


@cache
def distances() -> Array:
    """Steps to the goal by the code of a state, -1 where there is no safe way; a move can be taken back."""
    far = np.full(factorial(SIDE * SIDE), -1, np.int8)
    front = _PLACES[None].copy()
    far[code(front)] = steps = 0
    while len(front):
        steps += 1
        found = []
        for label in range(len(LABELS)):
            after, fits = step(front, np.full(len(front), label))
            after = after[fits & ~unsafe(after)]
            codes, first = np.unique(code(after), return_index=True)
            new = far[codes] < 0
            far[codes[new]] = steps
            found.append(after[first[new]])
        front = np.concatenate(found)
    return far


@cache
def arrangements() -> Array:
    """All, (9!, 9), in the order of their codes."""
    return np.array(list(permutations(range(SIDE * SIDE))))


def starts() -> Array:
    s = arrangements()[distances() >= 0]
    ordered = [(s[:, a] < s[:, b]) for group in GROUPS for a, b in pairwise(group)]
    return np.asarray(s[np.all(ordered, 0)])


def hard() -> Array:
    """Some states from which one step is unsafe."""
    s = arrangements()[distances() >= 0]
    near = np.zeros(len(s), bool)
    for label in range(len(LABELS)):
        after, fits = step(s, np.full(len(s), label))
        near |= fits & unsafe(after)
    return np.asarray(np.random.default_rng(SEED).choice(s[near], HARD, replace=False))


def task(aware: bool, bound: int = 12) -> Task:
    """The task; aware: the policy reads the counters, and moves tiles of the least count of those that lead on."""
    far = distances()

    def lesson(s: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        costs = rng.integers(0, bound + 1, (len(s), len(TILES)))
        here, good = far[code(s)], np.zeros((len(s), len(LABELS)), bool)
        spent = np.full(good.shape, bound + 1)
        for label in range(len(LABELS)):
            after, fits = step(s, np.full(len(s), label))
            good[:, label] = fits & (far[code(after)] == here - 1) & (here > 0)
            moved = (after[:, 1:] != s[:, 1:]).argmax(1)
            spent[:, label] = np.where(good[:, label], costs[np.arange(len(s)), moved], bound + 1)
        if aware:
            good &= spent == spent.min(1, keepdims=True)
        good[~good.any(1)] = True  # unsafe already, or no way
        good[here == 0] = np.arange(len(LABELS)) == LABELS.index("left")  # not applicable: rest at the goal
        return np.concatenate([s, costs] if aware else [s], 1).astype(float), good

    width = 1 + len(TILES) * (2 if aware else 1)
    return Task(
        name=f"puzzle_8_{'aware' if aware else 'ignoring'}",
        model=model(),
        start=starts(),
        begin=lambda: jani.states(dict(zip(names(), map(int, row), strict=True)) for row in starts()),
        unsafe_when=equal(f"tile_{BAD_TILE}", BAD_PLACE),
        goal=every(*(equal(name, place) for place, name in enumerate(names()))),
        inputs=tuple(v["name"] for v in variables()[:width]),
        labels=LABELS,
        scale=np.array([SIDE * SIDE - 1] * (1 + len(TILES)) + [bound] * (width - 1 - len(TILES))),
        lesson=lesson,
        step=step,
        hard=hard(),
        unsafe=unsafe,
        limits={BOUND: str(bound), jani.FAILING: "0.5"},
        complete=not aware,
    )


def names() -> list[str]:
    return ["empty", *(f"tile_{t}" for t in TILES)]


def variables() -> list[jani.Json]:
    """In the order of the policy's inputs; the initial state is the goal."""
    places = [integer(name, 0, SIDE * SIDE - 1, place) for place, name in enumerate(names())]
    return [*places, *(integer(f"cost_tile_{t}", 0, BOUND) for t in TILES), integer("step_cost", 0, BOUND)]


def model() -> jani.Json:
    """For each label and tile: the tile is where the empty place goes, and is no wall away from it."""
    edges = []
    for label, move, free in zip(LABELS, MOVES.tolist(), _OPEN, strict=True):
        # a step in a row must not wrap around to the next one; a step over the board has no tile there
        walls = [p for p in _PLACES.tolist() if not free[p] and 0 <= p + move < SIDE * SIDE]
        for t in TILES:
            tile = f"tile_{t}"
            guard = every(equal(tile, binary("empty", "+", move)), *(different("empty", p) for p in walls))
            edges.append(paid(label, guard, {"empty": plus("empty", move), tile: plus(tile, -move)}, f"cost_{tile}"))
    return jani.model("puzzle_8", variables(), LABELS, edges, jani.FAILURES)
