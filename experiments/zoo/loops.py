"""The forty loops: a plant with each kind of policy, and another plant, four of each kind; and linear plants alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal

from experiments.zoo import chains, machines, stores, vehicles
from experiments.zoo.plant import Kind, Plant, Policy
from venmas.model import System
from venmas.nn import load_network

NETWORKS = Path(__file__).resolve().parent / "networks"
PLANTS: dict[str, Plant] = {p.name: p for p in (*machines.PLANTS, *vehicles.PLANTS, *stores.PLANTS, *chains.PLANTS)}


@dataclass(frozen=True)
class Loop:
    """A plant under a policy; rough: its network is as a short training on noisy data, from large weights, left it.

    noise: ``still``: without that of the plant. like: the plant whose policy it is, where that is another one.
    """

    plant: Plant
    policy: Kind
    rough: bool = False
    noise: Literal["", "noisy", "still"] = ""
    like: str = ""

    @property
    def name(self) -> str:
        return f"{self.plant.name}-{self.policy}" + "-rough" * self.rough + "-" * bool(self.noise) + self.noise

    @property
    def file(self) -> Path:
        return NETWORKS / f"{self.like or self.plant.name}-{self.policy}{'-rough' * self.rough}.onnx"

    def build(self, folder: Path = NETWORKS) -> System:
        """The closed loop, with the network of its name in a folder."""
        network = load_network(folder / self.file.name)
        return self.plant.build(Policy(self.plant, self.policy, network), self.noise != "still")


_SAME = ("motor", "smooth_road", "platoon", "lane", "servo", "buck", "rooms", "pendulum", "unicycle", "stock")
"""Plants that get each kind of policy."""
_OTHERS: tuple[tuple[str, Kind, bool], ...] = (
    ("shaft", "relu", True),
    ("rough_road", "relu", True),
    ("driver", "relu", True),
    ("bicycle", "tanh", True),
    ("delayed", "relu", True),
    ("boost", "argmax", False),
    ("house", "relu", True),
    ("cart", "relu", True),
    ("wall", "relu", True),
    ("queues", "argmax", True),
)
_POLICIES: tuple[Kind, ...] = ("relu", "tanh", "argmax")

LOOPS: dict[str, Loop] = {
    loop.name: loop
    for same, (other, policy, rough) in zip(_SAME, _OTHERS, strict=True)
    for loop in (*(Loop(PLANTS[same], kind) for kind in _POLICIES), Loop(PLANTS[other], policy, rough))
}

_LINEAR = {"rough_road": "smooth_road", "lane": "", "delayed": "", "rooms_4": "", "masses_2": "", "masses_3": ""}
_LINEAR |= {"masses_5": "", "platoon_2": "platoon", "platoon_5": "platoon", "platoon_7": "platoon"}
_BOTH: tuple[Kind, ...] = ("relu", "argmax")
_NOISE: tuple[Literal["noisy", "still"], ...] = ("noisy", "still")
LINEAR: dict[str, Loop] = {
    loop.name: loop
    for name, like in _LINEAR.items()
    for policy, noise in product(_BOTH, _NOISE)
    for loop in (Loop(PLANTS[name], policy, noise=noise, like=like),)
}
"""Linear plants of 4 to 15 states, each under a ReLU and an argmax policy, with noise and without."""
EVERY = {**LINEAR, **LOOPS}
