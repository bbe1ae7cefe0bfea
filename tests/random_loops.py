"""Random closed loops with one branch and several real variables: networks, clips, maxima, a clock, polytopes.

Numbers are multiples of 1/8 where not said otherwise, so that ties happen; thirds are numbers that no float is.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np

from venmas.model import System, apply_network, clip
from venmas.model.expressions.expr import Compare, Condition, Expr, Variable, add
from venmas.model.expressions.functions import absolute, maximum, minimum, relu
from venmas.model.expressions.vector import Vector
from venmas.nn import Network, relu_network

LARGEST = 10**6
"""Variables lie within it."""


def random_loop(seed: int, most: int = 4) -> System:
    """A loop of 1 to `most` variables x[1], x[2], .., and sometimes a clock t; its initial set is a small box.

    Some updates are clipped sums with outputs of a network, others maxima, absolute values, or nothing at all. Every
    third system has a polytope for an initial set.
    """
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, most + 1))
    system = System(f"loop{seed}")
    x = [system.real(f"x[{i + 1}]", -LARGEST, LARGEST) for i in range(count)]
    unit = Fraction(1, 3) if rng.random() < 0.2 else Fraction(1, 8)

    def number(size: int = 8) -> Fraction:
        return int(rng.integers(-size, size + 1)) * unit

    read, updates = list(x), dict[Variable | Vector, Expr]()
    if rng.random() < 0.3:
        t = system.integer("t", 0, 100)
        system.initial(*_box(rng, x, number), t == int(rng.integers(0, 3)))
        read.append(t)
        updates[t] = t + 1
    else:
        cuts = [add(*(number() * v for v in x)) <= number(16) + 2] if rng.random() < 0.33 else []
        system.initial(*_box(rng, x, number), *[c for c in cuts if isinstance(c, Compare)])
    network = _network(rng, len(read))
    action = apply_network(network, [v * 1 for v in read] if rng.random() < 0.7 else [v / 2 + 1 for v in read])

    def moved(v: Variable) -> Expr | None:
        base = add(v, *(number(2) * w for w in read))
        kind = rng.integers(7)
        force = action[int(rng.integers(network.output_size))]
        kinds: dict[int, Callable[[], Expr]] = {
            1: lambda: base + force / 2,
            2: lambda: base + clip(force, -1, 1),
            3: lambda: maximum(base, force, number()),
            4: lambda: minimum(base, absolute(force)) + relu(force - 1),
            5: lambda: clip(base, -4, 4),
            6: lambda: absolute(base) - force,
        }
        return kinds[int(kind)]() if kind else None

    updates.update({v: expr for v in x if (expr := moved(v)) is not None})
    system.branch("go", updates)
    return system


def _box(rng: np.random.Generator, x: list[Variable], number: Callable[[], Fraction]) -> list[Condition]:
    sides: list[Condition] = []
    for v in x:
        low = number()
        width = Fraction(int(rng.integers(0, 5)), 8)
        sides += [v >= low, v <= low + width]
    return sides


def _network(rng: np.random.Generator, inputs: int) -> Network:
    sizes = [inputs, *(int(rng.integers(1, 7)) for _ in range(int(rng.integers(0, 3)))), int(rng.integers(1, 4))]
    weights = [rng.integers(-8, 9, (b, a)) / 8 for a, b in pairwise(sizes)]
    return relu_network(weights, [rng.integers(-8, 9, b) / 8 for b in sizes[1:]])
