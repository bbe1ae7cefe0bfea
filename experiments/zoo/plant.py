"""What the loops have in common: a plant, a way to act on it, and matrices of sampled linear plants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from venmas.model import System, apply_network, argmax, clip, switch
from venmas.model.expressions.expr import Expr, Scalar
from venmas.nn import Network

Array: TypeAlias = npt.NDArray[Any]
Kind: TypeAlias = Literal["relu", "tanh", "argmax"]

KINDS = (
    "motors",
    "suspensions",
    "platoons",
    "lane keeping",
    "servos",
    "converters",
    "heated rooms",
    "pendulums",
    "unicycles",
    "queues and stocks",
)


class Act(Protocol):
    """A way to act: the values of `size` inputs between `low` and `high` of one who sees `seen`."""

    def __call__(
        self, system: System, seen: Sequence[Scalar], low: Sequence[float], high: Sequence[float]
    ) -> list[Any]:
        """The inputs; called again, those of another agent with the same policy."""
        ...


@dataclass(frozen=True)
class Plant:
    """A plant and the law that its policies are taught.

    build: the system under a policy; `noise` false leaves disturbances out. states: variables whose law is linear,
    with the values at which the plant is to stay. rest: inputs there. cost: of the states (q) and inputs (r) in the
    linear quadratic law u = rest - K (x - states), clipped to [low, high]. law: another law, of arrays (B, seen).
    levels: of each input, for argmax. lesson: what is taught, where it is not the plant itself. watched: the variables
    that are asked about. spread: of states that are taught. steps: a short and a long horizon.
    """

    name: str
    kind: str
    build: Callable[[Act, bool], System]
    states: Mapping[str, float]
    low: tuple[float, ...]
    high: tuple[float, ...]
    q: tuple[float, ...] = ()
    r: tuple[float, ...] = ()
    rest: tuple[float, ...] = (0.0,)
    law: Callable[[Array], Array] | None = None
    levels: int = 5
    lesson: Callable[[Act, bool], System] | None = None
    spread: Mapping[str, float] = field(default_factory=dict)
    watched: tuple[str, ...] = ()
    steps: tuple[int, int] = (20, 100)

    @property
    def choices(self) -> list[tuple[float, ...]]:
        """What argmax chooses from: all combinations of equally spaced levels."""
        ends = zip(self.low, self.high, strict=True)
        return list(product(*(tuple(map(float, np.linspace(a, b, self.levels).round(6))) for a, b in ends)))


class Policy:
    """A trained network as a way to act: clipped outputs (relu), scaled outputs (tanh), or the best of some choices."""

    def __init__(self, plant: Plant, kind: Kind, network: Network) -> None:
        self._plant, self._kind, self._network = plant, kind, network
        self._asked = 0

    def __call__(
        self, system: System, seen: Sequence[Scalar], low: Sequence[float], high: Sequence[float]
    ) -> list[Any]:
        self._asked += 1
        names = [f"u{self._asked}"] if len(low) == 1 else [f"u{self._asked}_{i + 1}" for i in range(len(low))]
        scores = apply_network(self._network, tuple(seen))
        if self._kind == "argmax":
            best, rows = argmax(scores), self._plant.choices
            actions: list[Expr] = [switch(best, {i: row[k] for i, row in enumerate(rows)}) for k in range(len(low))]
            return [system.agent(action, name=name) for name, action in zip(names, actions, strict=True)]
        ends = list(zip(low, high, strict=True))
        if self._kind == "tanh":
            actions = [(a + b) / 2 + (b - a) / 2 * scores[i] for i, (a, b) in enumerate(ends)]
        else:
            actions = [clip(scores[i], a, b) for i, (a, b) in enumerate(ends)]
        return [system.agent(action, name=name) for name, action in zip(names, actions, strict=True)]


class Free:
    """Inputs as variables that nothing changes: what a plant does under any input, for training."""

    def __init__(self) -> None:
        self.inputs: list[str] = []
        self.seen: list[Scalar] = []

    def __call__(
        self, system: System, seen: Sequence[Scalar], low: Sequence[float], high: Sequence[float]
    ) -> list[Any]:
        first = len(self.inputs)
        self.inputs += [f"input{first + i}" for i in range(len(low))]
        self.seen = list(seen)
        return [system.real(n, a - 1, b + 1) for n, a, b in zip(self.inputs[first:], low, high, strict=True)]


def discrete(a: object, b: object, period: float, digits: int = 6) -> tuple[Array, Array]:
    """Matrices of x' = a x + b u with u held for a period, rounded: what a table of `c2d` shows."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    n, m = b.shape
    step = period / 1024 * np.block([[a, b], [np.zeros((m, n + m))]])
    whole = term = np.eye(n + m)
    for k in range(1, 12):
        term = term @ step / k
        whole = whole + term
    for _ in range(10):
        whole = whole @ whole
    return whole[:n, :n].round(digits), whole[:n, n:].round(digits)
