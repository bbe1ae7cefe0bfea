"""A small system whose questions leave a dozen programs to a solver."""

from __future__ import annotations

import numpy as np

from venmas.model import System, apply_network, argmax, switch
from venmas.nn import relu_network


def walker(scale: float = 1.0, start: float = 3.0, third: float = -0.125) -> System:
    """A network chooses a direction, the world one of three drifts, one of them only right of the middle."""
    rng = np.random.default_rng(3)
    weights = [scale * rng.normal(size=(6, 1)), rng.normal(size=(2, 6))]
    network = relu_network(weights, [rng.normal(size=6), rng.normal(size=2)])
    system = System("walker")
    x = system.real("x", -100, 100)
    action = system.agent(argmax(apply_network(network, (x,))))
    for i, drift in enumerate((0.25, 0.5, third)):
        system.branch(f"b{i}", x=x + drift + switch(action, {0: 1, 1: -1}), when=x > 0 if i == 2 else True)
    system.initial(x >= -start, x <= start)
    return system
