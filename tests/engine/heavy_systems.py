"""Systems that are short to write and whose parts are many or large: each is heavy for some procedure.

What is large: initial sets, noise, horizons, branches, integers, networks.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from venmas.model import Expr, System, apply_network, argmax, clip, switch
from venmas.model.expressions.expr import add
from venmas.nn import Network, relu_network

Case = tuple[System, str]


def network(seed: int, *sizes: int) -> Network:
    """A ReLU network of random weights."""
    rng = np.random.default_rng([seed, *sizes])
    weights = [np.round(rng.normal(0, (2 / n) ** 0.5, (m, n)), 4) for n, m in pairwise(sizes)]
    return relu_network(weights, [np.round(rng.normal(0, 0.1, m), 4) for m in sizes[1:]])


def loop(reals: int, noises: int, steps: int, layers: tuple[int, ...] = (8, 8), width: float = 2.0) -> Case:
    """Positions and velocities that two outputs of a network push, from one region."""
    system = System("loop")
    x = system.reals("x", reals, -1000, 1000)
    w = [system.disturbance(f"w{i}", -0.1, 0.1) for i in range(noises)]
    out = apply_network(network(reals, reals, *layers, 2), x)
    u = [clip(o, -1, 1) for o in out]
    moved: list[Expr] = [0.7 * x[i] + 0.2 * x[(i + 1) % reals] + 0.1 * u[i % 2] for i in range(reals)]
    for i, noise in enumerate(w):
        moved[i] = moved[i] + noise
    system.branch("step", dict(zip(x, moved, strict=True)))
    system.initial(*(c for v in x for c in (v >= -width / 2, v <= width / 2)))
    return system, f"AG^{steps} (x[1] + x[2] < 1.9)"


def noisy() -> Case:
    """One region of six reals, two disturbances, forty steps: the initial set has 86 coordinates."""
    system = System("noisy")
    x = system.reals("x", 6, -1000, 1000)
    w = [system.disturbance(f"w{i}", -0.1, 0.1) for i in range(2)]
    out = apply_network(network(5, 6, 8, 2), x)
    moved: list[Expr] = [0.7 * x[i] + 0.2 * x[(i + 1) % 6] + clip(out[i % 2], -1, 1) / 10 for i in range(6)]
    system.branch("step", {v: moved[i] + (w[i] if i < 2 else 0) for i, v in enumerate(x)})
    system.initial(*(c for v in x for c in (v >= -1, v <= 1)))
    return system, "AG^40 (x[1] + x[2] < 2.2)"


def chosen() -> Case:
    """The same with two branches and an agent of three actions, so that choices are to be decided."""
    system = System("chosen")
    x = system.reals("x", 6, -1000, 1000)
    w = [system.disturbance(f"w{i}", -0.1, 0.1) for i in range(2)]
    action = argmax(apply_network(network(5, 6, 8, 8, 3), x))
    moved: list[Expr] = [0.7 * x[i] + 0.2 * x[(i + 1) % 6] + switch(action, {0: -0.1, 1: 0, 2: 0.1}) for i in range(6)]
    system.branch("a", {v: moved[i] + (w[i] if i < 2 else 0) for i, v in enumerate(x)})
    system.branch("b", {v: moved[i] / 2 + (w[i] if i < 2 else 0) for i, v in enumerate(x)})
    system.initial(*(c for v in x for c in (v >= -1, v <= 1)))
    return system, "AG^40 (x[1] + x[2] < 1.9)"


def many_reals() -> Case:
    """Forty reals and a wide initial set."""
    return loop(40, 0, 12, (16, 16))


def long_horizon() -> Case:
    """Four reals for a thousand steps."""
    return loop(4, 0, 1000, (8,))


def big_network() -> Case:
    """A network of 3 x 1000 units."""
    return loop(6, 1, 6, (1000, 1000, 1000))


def many_branches() -> Case:
    """Two hundred branches over two reals and an integer."""
    system = System("branches")
    x, y = system.reals("x", 2, -100, 100)
    m = system.integer("m", 0, 199)
    out = apply_network(network(3, 2, 8, 2), [x, y])
    for i in range(200):
        system.branch(
            f"b{i}", {x: clip(0.9 * x + out[0] / 8 + i / 1000, -9, 9), y: clip(0.9 * y + out[1] / 8, -9, 9), m: i}
        )
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1, m == 0)
    return system, "AG^12 (x[1] + x[2] < 5)"


def many_regions() -> Case:
    """A thousand initial regions of eight reals."""
    system = System("regions")
    x = system.reals("x", 8, -1000, 1000)
    action = argmax(apply_network(network(4, 8, 16, 16, 3), x))
    push = switch(action, {0: -0.1, 1: 0, 2: 0.1})
    system.branch("a", {v: 0.8 * v + push for v in x})
    system.branch("b", {v: 0.8 * v + 0.1 * x[(i + 1) % 8] - push for i, v in enumerate(x)})
    for k in range(1000):
        low = (k % 50) / 100
        system.initial(*(c for i, v in enumerate(x) for c in (v >= low + i / 50 - 1, v <= low + i / 50)))
    return system, "AG^20 (x[1] + x[2] < 1.5)"


def integers() -> Case:
    """Four integers of 0..99, and an action by a network."""
    system = System("integers")
    n = [system.integer(f"n{i}", 0, 99) for i in range(4)]
    action = argmax(apply_network(network(6, 4, 16, 3), [v / 100 for v in n]))
    for b in range(6):
        system.branch(
            f"b{b}",
            {v: clip(v + (b % 3 - 1) * (i + 1) + switch(action, {0: -1, 1: 1, 2: b}), 0, 99) for i, v in enumerate(n)},
        )
    system.initial(*(c for v in n for c in (v >= 0, v <= 99)))
    return system, "AG^30 (n0 + n1 + n2 < 297)"


def safe_integers() -> Case:
    """The same for ever, from a thousandth of them."""
    system, _ = integers()
    return system, "AG (n0 + n1 + n2 < 298)"


def for_ever() -> Case:
    """Five reals, for ever."""
    system, _ = loop(5, 0, 1)
    return system, "AG (x[1] + x[2] < 30)"


def smooth() -> Case:
    """Products of ten reals, with noise: some seconds, before a box that is nearly a point is given up."""
    system = System("smooth")
    x = system.reals("x", 10, -1000, 1000)
    w = [system.disturbance(f"w{i}", -0.05, 0.05) for i in range(3)]
    out = apply_network(network(7, 10, 16, 16, 2), x)
    moved = [0.8 * v + 0.05 * v * x[(i + 3) % 10] + 0.1 * out[i % 2] for i, v in enumerate(x)]
    system.branch("step", {v: moved[i] + (w[i] if i < 3 else 0) for i, v in enumerate(x)})
    system.initial(*(c for v in x for c in (v >= -0.5, v <= 0.5)))
    return system, "AG^60 (x[1] + x[2] < 8)"


def nested_choices() -> Case:
    """Until and next, nested, over a wide set with two actions."""
    system = System("nested")
    x = system.reals("x", 4, -1000, 1000)
    action = argmax(apply_network(network(8, 4, 24, 24, 2), x))
    push = switch(action, {0: -0.2, 1: 0.2})
    system.branch("a", {v: 0.9 * v + push for i, v in enumerate(x)})
    system.branch("b", {v: 0.9 * v - push / 2 + 0.1 * x[(i + 1) % 4] for i, v in enumerate(x)})
    system.initial(*(c for v in x for c in (v >= -2, v <= 2)))
    return system, "EF^8 AG^8 (x[1] + x[2] < 2.5 | AX^3 x[3] > -1)"


def wide_sum() -> Case:
    """A sum of six hundred reals."""
    system = System("sum")
    x = system.reals("x", 600, -1000, 1000)
    system.branch("step", {v: clip(0.5 * v + 0.3 * x[(i + 7) % 600], -900, 900) for i, v in enumerate(x)})
    system.initial(*(c for v in x for c in (v >= -1, v <= 1)))
    system.proposition("low", add(*x) < 590)
    return system, "AG^10 low"


HEAVY: dict[str, Callable[[], Case]] = {
    f.__name__: f
    for f in (
        noisy,
        chosen,
        many_reals,
        long_horizon,
        big_network,
        many_branches,
        many_regions,
        integers,
        safe_integers,
        for_ever,
        smooth,
        nested_choices,
        wide_sum,
    )
}
