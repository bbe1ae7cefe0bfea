"""Policies with memory in systems: the hidden state as variables, in witnesses, proofs and replays."""

from pathlib import Path

import numpy as np
import pytest

from venmas import System, verify
from venmas.errors import ModelError
from venmas.model import NetworkFolder
from venmas.model.evaluation.simulate import Simulator
from venmas.nn import Layer, Network, Recurrent
from venmas.nn.recurrent import GATES, Cell

RNG = np.random.default_rng(5)


def policy(kind: str, units: int = 3, after: bool = False, inputs: int = 1) -> Recurrent:
    """A cell with a linear head."""
    rows = GATES[kind] * units
    draw = lambda *shape: RNG.normal(size=shape) / 2  # noqa: E731
    cell = Cell(kind, draw(rows, inputs), draw(rows, units), (draw(rows), draw(rows)), after)  # type: ignore[arg-type]
    return Recurrent((cell, Network((Layer(draw(1, units), draw(1)),))), "policy")


def cart(network: Recurrent) -> System:
    """A cart whose policy sees the position alone."""
    system = System("cart")
    x, v = system.real("x", -9, 9), system.real("v", -9, 9)
    force = system.agent(system.recurrent(network, [x])[0], "force")
    system.branch("go", {x: x + v / 10, v: v + force / 10})
    system.initial(x >= "0.3", x <= "0.4", v == 0)
    return system
