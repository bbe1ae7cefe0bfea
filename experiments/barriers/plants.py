"""Eight plants with a policy and a certificate V each: the loops that `python -m experiments.barriers` asks about.

A plant is written once, over numbers of any kind: expressions of a model, or tensors for training. {V <= 0} is to lie
in the admissible states (``inside -> admissible``), and no step is to leave it (``inside -> AX inside``), both from all
states of a box around the admissible ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import venmas.model as exact
from venmas import load_network
from venmas.model import System, apply_network, clip, conjunction

NETWORKS = Path(__file__).resolve().parent / "networks"
QUESTIONS = {"con": "inside -> admissible", "inv": "inside -> AX inside"}
Row: TypeAlias = "list[Any]"
Move: TypeAlias = Callable[[Sequence[Any], Sequence[Any], Any], Row]
"""Of a state, inputs, and where sin and cos are (a module): the next state, or rates."""


@dataclass(frozen=True)
class Plant:
    """A plant.

    box: from all states of it, by name, [-b, b], both questions are asked. limits: of inputs, [-u, u]. move: one step,
    or the rates of a flow, which is followed for the period. signs: values that are between -1 and 1 in admissible
    states. q, r: of the linear quadratic law that the policy is taught. growth: W of a state is the greatest |sign|
    times growth^t that it comes to after t steps; {V <= 0} is about {W <= level}.
    """

    name: str
    box: dict[str, float]
    limits: tuple[float, ...]
    move: Move
    signs: Callable[[Sequence[Any], Any], Row]
    q: tuple[float, ...]
    r: tuple[float, ...]
    growth: float
    level: float = 0.85
    period: float | None = None
    units: int = 16

    def system(self, folder: Path = NETWORKS, rough: bool = False) -> System:
        """The loop, with propositions `inside` and `admissible`. rough: with V as it was early in training."""
        system = System(f"{self.name}_rough" if rough else self.name)
        x = [system.real(name, -20 * b, 20 * b) for name, b in self.box.items()]
        value = load_network(folder / f"{self.name}-{'rough' if rough else 'value'}.onnx")
        system.proposition("inside", apply_network(value, tuple(x))[0] <= 0)
        system.proposition("admissible", conjunction(c for s in self.signs(x, exact) for c in (s <= 1, s >= -1)))
        outputs = apply_network(load_network(folder / f"{self.name}-policy.onnx"), tuple(x))
        u = [
            system.agent(clip(outputs[i], -limit, limit), name=f"u{i + 1}" if len(self.limits) > 1 else "u")
            for i, limit in enumerate(self.limits)
        ]
        moved = self.move(x, u, exact)
        if self.period is not None:
            system.branch("step", system.flow(self.period, dict(zip(x, moved, strict=True))).end)
        else:
            system.branch("step", dict(zip(x, moved, strict=True)))
        system.initial(*(c for v, b in zip(x, self.box.values(), strict=True) for c in (v >= -b, v <= b)))
        return system


def _scaled(limits: Sequence[float], x: Sequence[Any], m: Any) -> Row:
    return [value / limit for value, limit in zip(x, limits, strict=True)]


def _euler(period: float, rates: Move, x: Sequence[Any], u: Sequence[Any], m: Any) -> Row:
    return [value + period * rate for value, rate in zip(x, rates(x, u, m), strict=True)]


def _masses(x: Sequence[Any], u: Sequence[Any], m: Any) -> Row:
    """Places, then speeds, in steps of 0.2."""
    half = len(u)
    places = [x[i] + 0.2 * x[half + i] + 0.02 * u[i] for i in range(half)]
    return places + [x[half + i] + 0.2 * u[i] for i in range(half)]


def _lane(x: Sequence[Any], u: Sequence[Any], m: Any) -> Row:
    """A car of 1.5 t at 20 m/s with linear tyres: offset, heading, speed to the side, yaw rate; steers 0.1 rad."""
    _, heading, side, yaw = x
    steer = 0.1 * u[0]
    return [side + 20 * heading, yaw, -5.3 * side - 19.2 * yaw + 53 * steer, 0.35 * side - 6.4 * yaw + 42 * steer]


def _pendulum(x: Sequence[Any], u: Sequence[Any], m: Any) -> Row:
    """Upright, 1 m and 1 kg, with friction."""
    return [x[1], 9.8 * m.sin(x[0]) - 0.2 * x[1] + 5 * u[0]]


def _unicycle(x: Sequence[Any], u: Sequence[Any], m: Any) -> Row:
    """Beside a line: offset, heading, speed over 1 m/s; a turning rate and an acceleration."""
    return [(1 + x[2]) * m.sin(x[1]), u[0], u[1]]


def _cart_pole(x: Sequence[Any], u: Sequence[Any], m: Any) -> Row:
    """Gymnasium's: a cart of 1 kg, a pole of 0.1 kg and half a length of 0.5 m; place, speed, angle, rate."""
    _, speed, angle, rate = x
    s, c = m.sin(angle), m.cos(angle)
    pushed = (10 * u[0] + 0.05 * rate * rate * s) / 1.1
    turn = (9.8 * s - c * pushed) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
    return [speed, pushed - 0.05 * turn * c / 1.1, rate, turn]


def _arm(x: Sequence[Any], u: Sequence[Any], m: Any) -> Row:
    """Two links about the horizontal, geared: gravity is what couples them; torques hold them at rest."""
    first, second, *rates = x
    both = m.cos(first + second)
    down = [4 * (m.cos(first) - 1) + 2 * (both - 1), 2 * (both - 1)]
    return [*rates, *(4 * u[i] - down[i] - 0.5 * rates[i] for i in range(2))]


def _arm_signs(x: Sequence[Any], m: Any) -> Row:
    """The height of the hand, and the rates."""
    return [(m.sin(x[0]) + m.sin(x[0] + x[1])) / 0.8, x[0] / 0.6, x[2] / 1.5, x[3] / 1.5]


def _quadrotor(x: Sequence[Any], u: Sequence[Any], m: Any) -> Row:
    """In a plane: place, height, angle, their rates; thrust beyond that of hovering, and a torque."""
    thrust = 9.8 + 5 * u[0]
    return [x[3], x[4], x[5], -thrust * m.sin(x[2]), thrust * m.cos(x[2]) - 9.8, 8 * u[1]]


PLANTS = {
    plant.name: plant
    for plant in (
        Plant(
            "double_integrator", {"x": 1.5, "v": 1.5}, (1.0,), _masses, partial(_scaled, (1, 1)), (1, 1), (1,), 1.05
        ),
        Plant(
            "point_mass", dict.fromkeys(("x", "y", "vx", "vy"), 1.5), (1.0, 1.0), _masses, partial(_scaled, (1,) * 4),
            (1,) * 4, (1, 1), 1.05, units=24,
        ),
        Plant(
            "lane_keep", {"offset": 1.5, "heading": 0.15, "side": 2.0, "yaw": 0.75}, (1.0,),
            partial(_euler, 0.1, _lane), partial(_scaled, (1, 0.1, 1.5, 0.5)), (1, 1, 0.1, 0.1), (3,), 1.05, units=32,
        ),
        Plant(
            "pendulum", {"angle": 0.6, "rate": 1.5}, (1.0,), _pendulum, partial(_scaled, (0.4, 1)), (4, 1), (1,), 1.04,
            period=0.1,
        ),
        Plant(
            "unicycle", {"offset": 1.5, "heading": 1.2, "speed": 0.75}, (1.0, 1.0), _unicycle,
            partial(_scaled, (1, 0.8, 0.5)), (1, 1, 1), (1, 1), 1.05, period=0.2,
        ),
        Plant(
            "cart_pole", {"place": 1.5, "speed": 1.5, "angle": 0.3, "rate": 1.5}, (1.0,),
            partial(_euler, 0.05, _cart_pole), partial(_scaled, (1, 1, 0.2, 1)), (1, 0.5, 5, 0.5), (1,), 1.03, units=32,
        ),
        Plant(
            "robot_arm", {"q1": 0.8, "q2": 0.8, "w1": 2.0, "w2": 2.0}, (1.0, 1.0), partial(_euler, 0.1, _arm),
            _arm_signs, (2, 2, 1, 1), (1, 1), 1.05, units=32,
        ),
        Plant(
            "quadrotor", {"x": 1.5, "z": 1.5, "angle": 0.6, "vx": 1.5, "vz": 1.5, "rate": 2.0}, (1.0, 1.0),
            partial(_euler, 0.1, _quadrotor), partial(_scaled, (1, 1, 0.4, 1, 1, 1.5)), (1, 1, 1, 1, 1, 0.5), (1, 1),
            1.04, units=32,
        ),
    )
}  # fmt: skip
