"""The forty loops: a plant with each kind of policy, and another plant, four of each kind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiments.zoo import machines, stores, vehicles
from experiments.zoo.plant import Kind, Plant, Policy
from venmas.model import System
from venmas.nn import load_network

NETWORKS = Path(__file__).resolve().parent / "networks"
PLANTS: dict[str, Plant] = {p.name: p for p in (*machines.PLANTS, *vehicles.PLANTS, *stores.PLANTS)}


@dataclass(frozen=True)
class Loop:
    """A plant under a policy; rough: its network is as a short training on noisy data, from large weights, left it."""

    plant: Plant
    policy: Kind
    rough: bool = False

    @property
    def name(self) -> str:
        return f"{self.plant.name}-{self.policy}" + ("-rough" if self.rough else "")

    @property
    def file(self) -> Path:
        return NETWORKS / f"{self.name}.onnx"

    def build(self) -> System:
        """The closed loop."""
        return self.plant.build(Policy(self.plant, self.policy, load_network(self.file)), True)


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
