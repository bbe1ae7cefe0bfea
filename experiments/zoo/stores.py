"""Heated rooms, stocks and queues."""

from __future__ import annotations

from functools import partial

import numpy as np

from experiments.zoo.plant import Act, Plant
from venmas.model import System, maximum, minimum, where


def rooms(act: Act, noise: bool, count: int, windows: bool = False) -> System:
    """Rooms in a row, heated by up to 2 degrees a step (the benchmark of Fehnker and Ivancic 2004, made linear).

    It is cold outside, and how cold varies; windows: somebody opens one of the first room, or not.
    """
    system = System(f"rooms_{count}")
    t = system.reals("t", count, -50, 100, unit="degC")
    outside = system.disturbance("outside", 2, 6) if noise else 4
    heat = act(system, tuple(t), (0.0,) * count, (2.0,) * count)
    update = {}
    for i in range(count):
        around = [t[j] for j in (i - 1, i + 1) if 0 <= j < count]
        update[t[i]] = t[i] + 0.05 * (outside - t[i]) + heat[i] + 0.05 * (sum(around) - len(around) * t[i])
    system.branch("shut", update)
    if windows and noise:
        system.branch("open", {**update, t[0]: update[t[0]] - 0.5})
    system.initial(*(c for v in t for c in (v >= 18.5, v <= 19.5)))
    return system


def stock(act: Act, noise: bool) -> System:
    """A stock whose orders arrive two days later; demand is 3 to 5 a day, and what is not there is not sold."""
    system = System("stock")
    level, first, second = (system.real(n, 0, 200) for n in ("level", "first", "second"))
    demand = system.disturbance("demand", 3, 5) if noise else 4
    (order,) = act(system, (level, first, second), (0,), (8,))
    system.branch("day", level=minimum(maximum(level + first - demand, 0), 150), first=second, second=order)
    system.initial(level >= 18, level <= 22, first >= 3, first <= 5, second >= 3, second <= 5)
    return system


def queues(act: Act, noise: bool) -> System:
    """Two queues and a server that takes three of one of them; up to two arrive at one of both, which one is open."""
    system = System("queues")
    a, b = system.integer("a", 0, 40), system.integer("b", 0, 40)
    (u,) = act(system, (a, b), (0,), (1,))
    for name, (more_a, more_b) in {"none": (0, 0), "left": (2, 0), "right": (0, 2), "both": (1, 1)}.items():
        if noise or name == "both":
            system.branch(
                name,
                a=where(u <= 0, maximum(a - 3, 0), a) + more_a,
                b=where(u <= 0, b, maximum(b - 3, 0)) + more_b,
            )
    system.initial(a >= 0, a <= 6, b >= 0, b <= 6)
    return system


def thermostats(seen: np.ndarray) -> np.ndarray:
    """Each room by itself: what it loses at 20 degrees, and half of what is missing."""
    return np.clip(0.8 + 0.5 * (20 - seen), 0, 2)


def order_up(seen: np.ndarray) -> np.ndarray:
    """Up to 28 pieces, in stock and on the way, a part at a time."""
    return np.clip(4 + 0.4 * (28 - seen.sum(1, keepdims=True)), 0, 8)


def longest(seen: np.ndarray) -> np.ndarray:
    """The longer queue."""
    return np.clip(0.5 + (seen[:, 1:] - seen[:, :1]) / 4, 0, 1)


PLANTS = (
    Plant(
        "rooms", "heated rooms", partial(rooms, count=2), {"t[1]": 20, "t[2]": 20}, (0, 0), (2, 2), rest=(0.8, 0.8),
        law=thermostats, levels=2, spread={"t[1]": 4, "t[2]": 4}, watched=("t[1]", "t[2]"),
    ),
    Plant(
        "house", "heated rooms", partial(rooms, count=4, windows=True), {f"t[{i}]": 20 for i in (1, 2, 3, 4)}, (0,) * 4,
        (2,) * 4, rest=(0.8,) * 4, law=thermostats, levels=2, spread={f"t[{i}]": 4 for i in (1, 2, 3, 4)},
        watched=("t[1]", "t[4]"), steps=(10, 30),
    ),
    Plant(
        "stock", "queues and stocks", stock, {"level": 20, "first": 4, "second": 4}, (0,), (8,), rest=(4,),
        law=order_up, spread={"level": 10, "first": 4, "second": 4}, watched=("level", "second"),
    ),
    Plant(
        "queues", "queues and stocks", queues, {"a": 2, "b": 2}, (0,), (1,), rest=(0.5,), law=longest, levels=2,
        spread={"a": 12, "b": 12}, watched=("a", "b"),
    ),
)  # fmt: skip
