"""A car on a race track: the model, and a planner by value iteration.

The track has the shape of the small one of Barto, Bradtke, Singh (Artificial Intelligence 72, 1995), a way to the
right that turns up at its end; `ROAD` has it as rectangles. ``x`` and ``y`` are the place (y grows downwards), ``dx``
and ``dy`` the speed, which a label ``accelerate_ax_ay`` changes by -1, 0 or 1 each before the car moves. Only the end
of a move counts: off the road the car has crashed, and stays where it was (``crashed`` is 1). Steps end with ``y`` =
0, the finish, and with a crash. Nothing fails: what is not determined is where a run starts, which is one of 1,000
states drawn at random of those on the road from which the finish can be reached.

``reach``, the *unsafe* condition, is ``crashed`` = 1.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from experiments.domains import jani
from experiments.domains.jani import between, binary, edge, equal, every, integer, least, outcome, plus, some
from experiments.domains.task import Array, Task

WIDTH, HEIGHT, FASTEST = 35, 12, 5
ROAD = ((32, 34, 0, 4), (0, 34, 5, 8), (4, 34, 9, 9), (8, 34, 10, 10), (12, 34, 11, 11))
"""Rectangles (from x, to x, from y, to y), ends included; the first has the finish."""
WALLS = ((0, 31, 0, 4), (0, 3, 9, 9), (0, 7, 10, 10), (0, 11, 11, 11))
"""The rest of the board; a guard says it so, as the complement of the road has a thousand cases."""
CHANGES = np.array(list(product((-1, 0, 1), repeat=2)))
LABELS = tuple(f"accelerate_{ax}_{ay}" for ax, ay in CHANGES.tolist())
SEED, STARTS = 19, 1000
_FAR = 100
"""More steps than any way takes."""


@cache
def road() -> Array:
    """(WIDTH, HEIGHT), Boolean."""
    found = np.zeros((WIDTH, HEIGHT), bool)
    for low, high, top, bottom in ROAD:
        found[low : high + 1, top : bottom + 1] = True
    return found


def step(s: Array, labels: Array) -> tuple[Array, Array]:
    """The states after a label each, and for which of them it is applicable; rows of (x, y, dx, dy, crashed)."""
    speed = s[:, 2:4] + CHANGES[labels]
    fits = (np.abs(speed) <= FASTEST).all(1) & (s[:, 4] == 0) & (s[:, 1] > 0)
    place = s[:, :2] + speed
    inside = (place >= 0).all(1) & (place < (WIDTH, HEIGHT)).all(1)
    on = inside & road()[tuple(np.where(inside[:, None], place, 0).T)]
    after = s.copy()
    after[fits, 2:4] = speed[fits]
    after[fits & on, :2] = place[fits & on]
    after[fits & ~on, 4] = 1
    return after, fits


def unsafe(s: Array) -> Array:
    return np.asarray(s[:, 4] == 1)


@cache
def everywhere() -> Array:
    """All states on the road that have not crashed."""
    places, speeds = np.argwhere(road()), np.array(list(product(range(-FASTEST, FASTEST + 1), repeat=2)))
    both = np.concatenate([np.repeat(places, len(speeds), 0), np.tile(speeds, (len(places), 1))], 1)
    return np.concatenate([both, np.zeros((len(both), 1), int)], 1)


def code(s: Array) -> Array:
    wide = 2 * FASTEST + 1
    return np.asarray(((s[:, 0] * HEIGHT + s[:, 1]) * wide + s[:, 2] + FASTEST) * wide + s[:, 3] + FASTEST)


@cache
def distances() -> Array:
    """Steps to the finish by the code of a state, `_FAR` where there is no way."""
    s = everywhere()
    far = np.full(WIDTH * HEIGHT * (2 * FASTEST + 1) ** 2, _FAR)
    far[code(s[s[:, 1] == 0])] = 0
    targets = []
    for label in range(len(LABELS)):
        after, fits = step(s, np.full(len(s), label))
        fits &= ~unsafe(after)
        targets.append((code(s[fits]), code(after[fits])))
    while True:
        before = far.copy()
        for here, there in targets:
            far[here] = np.minimum(far[here], far[there] + 1)
        if np.array_equal(before, far):
            return far


def starts() -> Array:
    """Not at the finish already."""
    s = everywhere()
    s = s[(s[:, 1] > 0) & (distances()[code(s)] < _FAR)]
    return np.asarray(s[np.sort(np.random.default_rng(SEED).choice(len(s), STARTS, replace=False))])


def lesson(s: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    far = distances()
    here, good = far[code(s)], np.zeros((len(s), len(LABELS)), bool)
    for label in range(len(LABELS)):
        after, fits = step(s, np.full(len(s), label))
        good[:, label] = fits & ~unsafe(after) & (far[code(after)] == here - 1)
    good[~good.any(1)] = True  # at the finish, or lost
    return s[:, :4].astype(float), good


def task() -> Task:
    names = [v["name"] for v in variables()]

    def begin() -> jani.Json:
        return jani.states(dict(zip(names, map(int, row), strict=True)) for row in starts())

    return Task(
        name="racetrack_small",
        model=model(),
        start=starts(),
        begin=begin,
        unsafe_when=equal("crashed", 1),
        goal=every(equal("y", 0), equal("crashed", 0)),
        inputs=tuple(names[:4]),
        labels=LABELS,
        scale=np.array([WIDTH / 4, HEIGHT / 4, FASTEST / 2, FASTEST / 2]),
        lesson=lesson,
        step=step,
        hard=np.zeros((0, 5), int),
        unsafe=unsafe,
        limits={},
        complete=True,
    )


def variables() -> list[jani.Json]:
    """The policy reads all but the last."""
    return [
        integer("x", 0, WIDTH - 1),
        integer("y", 0, HEIGHT - 1, 5),
        integer("dx", -FASTEST, FASTEST),
        integer("dy", -FASTEST, FASTEST),
        integer("crashed", 0, 1),
    ]


def model() -> jani.Json:
    """For each label an edge that stays on the road, and one that does not."""
    edges = []
    for label, (ax, ay) in zip(LABELS, CHANGES.tolist(), strict=True):
        dx, dy = plus("dx", ax), plus("dy", ay)
        x, y = plus("x", dx), plus("y", dy)
        on, wall = (some(*(every(between(a, x, b), between(c, y, d)) for a, b, c, d in part)) for part in (ROAD, WALLS))
        outside = some(least(WIDTH, x), least(HEIGHT, y), binary(x, "≤", -1), binary(y, "≤", -1))
        drives = every(
            equal("crashed", 0), least(1, "y"), between(-FASTEST, dx, FASTEST), between(-FASTEST, dy, FASTEST)
        )
        edges.append(edge(label, every(drives, on), outcome({"x": x, "y": y, "dx": dx, "dy": dy})))
        edges.append(edge(label, every(drives, some(wall, outside)), outcome({"crashed": 1, "dx": dx, "dy": dy})))
    return jani.model("racetrack_small", variables(), LABELS, edges)
