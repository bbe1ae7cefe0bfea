"""Gymnasium's Pendulum and CartPole under a policy, as systems: `pendulum(policy)`, `cartpole(policy)`.

Both environments step by Euler's rule, and these steps, not the differential equations behind them, are the system:
with the constants as the decimals that their source has, sines and cosines as real functions, and the policy's network
in the loop. The environment computes the same in float64 and shows the policy single precision.

Source of the equations: Gymnasium, `PendulumEnv.step`, `CartPoleEnv.step` (euler).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from venmas.errors import InputError, ScenarioError
from venmas.formats.gym.networks import network_of
from venmas.logic.linear import as_fraction
from venmas.model.expressions.expr import Condition
from venmas.model.expressions.functions import apply_network, argmax, clip, switch
from venmas.model.expressions.smooth_functions import cos, sin
from venmas.model.scenario.parameters import Range
from venmas.model.system.system import System

Start: TypeAlias = Mapping[str, "Range | tuple[object, object]"]

SPEED, TORQUE, PERIOD = 8, 2, Fraction("0.05")
"""Pendulum: the limits of speed (rad/s) and torque (N m), and the time between two states (s)."""

TRACK, LEAN = Fraction("2.4"), Fraction("0.20943951023931953")
"""CartPole: an episode ends beyond these, m and rad (the float that Gymnasium has for 12 degrees)."""


def pendulum(policy: object, *, gravity: object = 10, start: Start | None = None) -> System:
    """The system of Pendulum-v1 and a policy.

    policy: a model of Stable-Baselines3 (PPO, A2C with MlpPolicy), a torch module, a file or a `Network` from the
    observation (cos th, sin th, thdot) to the torque, which is cut off at 2 N m; units are ReLU, tanh or sigmoid.
    gravity: the environment's `g`. start: {variable: (least, greatest)}, instead of what `reset` has: th any angle,
    thdot in -1 .. 1.

    Variables: ``th``, the angle from upright (rad; not taken modulo a turn, as in the environment's state), and
    ``thdot`` (rad/s, cut off at 8). Rewards and time limits are no part of it. Raises `ScenarioError` for starts that
    are no ranges of them, `NetworkError` for policies that cannot be read or are of another shape.
    """
    network = network_of(policy, np.array([1, 1, SPEED]), (-TORQUE, TORQUE))
    system = System("pendulum", "Pendulum-v1 of Gymnasium under a policy")
    angle = system.real("th", -1000, 1000, unit="rad")
    speed = system.real("thdot", -2 * SPEED, 2 * SPEED, unit="rad/s")  # enclosures of what is cut off reach beyond
    answer = apply_network(network, (cos(angle), sin(angle), speed))[0]
    torque = system.agent(clip(answer, -TORQUE, TORQUE), name="u", unit="N m")
    pull = Fraction(3, 2) * as_fraction(gravity)
    faster = clip(speed + PERIOD * (pull * sin(angle) + 3 * torque), -SPEED, SPEED)
    system.branch("step", {angle: angle + PERIOD * faster, speed: faster})
    turn = Fraction("3.1415926535897932385")
    _begin(system, {"th": (-turn, turn), "thdot": (-1, 1)}, start, {"thdot": (-SPEED, SPEED)})
    return system


def cartpole(policy: object, *, start: Start | None = None) -> System:
    """The system of CartPole-v1 and a policy.

    policy: a model of Stable-Baselines3 (PPO, A2C, DQN with MlpPolicy), a torch module, a file or a `Network` from the
    observation (x, x_dot, theta, theta_dot) to the scores of ``left`` and ``right``; the greater is taken, left on a
    tie. start: {variable: (least, greatest)}, instead of what `reset` has: -0.05 .. 0.05 for each.

    Variables are those of the observation, in m, rad and seconds. Proposition: ``balanced``, the episode has not ended;
    where it has, the system goes on by the same equations. Rewards and time limits are no part of it. Raises as
    `pendulum` does.
    """
    network = network_of(policy, np.array([float(TRACK), 3.0, float(LEAN), 3.0]), 2)
    system = System("cartpole", "CartPole-v1 of Gymnasium under a policy")
    place, speed = system.real("x", -1000, 1000, unit="m"), system.real("x_dot", -1000, 1000, unit="m/s")
    angle, turn = system.real("theta", -1000, 1000, unit="rad"), system.real("theta_dot", -1000, 1000, unit="rad/s")
    scores = apply_network(network, (place, speed, angle, turn))
    action = system.agent(argmax(scores), name="action", labels={0: "left", 1: "right"})
    mass, heavy, length, period = Fraction("1.1"), Fraction("0.1"), Fraction("0.5"), Fraction("0.02")
    push = (switch(action, {0: -10, 1: 10}) + heavy * length * turn * turn * sin(angle)) / mass
    inertia = length * (Fraction(4, 3) - heavy / mass * cos(angle) ** 2)
    bend = (Fraction("9.8") * sin(angle) - cos(angle) * push) / inertia
    thrust = push - heavy * length / mass * bend * cos(angle)
    system.branch(
        "step",
        {
            place: place + period * speed,
            speed: speed + period * thrust,
            angle: angle + period * turn,
            turn: turn + period * bend,
        },
    )
    near = Fraction("0.05")
    _begin(system, dict.fromkeys(system.variables, (-near, near)), start)
    system.proposition("balanced", (place >= -TRACK) & (place <= TRACK) & (angle >= -LEAN) & (angle <= LEAN))
    return system


def _begin(
    system: System, usual: Start, start: Start | None, limits: Mapping[str, tuple[int, int]] | None = None
) -> None:
    """Declare the initial box. limits: narrower ones than the ranges of the variables."""
    if unknown := sorted(set(start or {}) - set(usual)):
        raise ScenarioError(f"start: no variable {unknown[0]!r}; the variables are {', '.join(usual)}")
    conditions: list[Condition] = []
    for name, ends in {**usual, **(start or {})}.items():
        low, high = _ends(ends, name)
        least, most = (limits or {}).get(name, system.box[name])
        if not least <= low <= high <= most:
            raise ScenarioError(
                f"start: {name!r} from {float(low):g} to {float(high):g}: expected a range within {least} to {most}"
            )
        conditions += [system[name] >= low, system[name] <= high]
    system.initial(*conditions)


def _ends(ends: object, name: str) -> tuple[Fraction, Fraction]:
    if isinstance(ends, Range):
        return ends.low, ends.high
    try:
        if isinstance(ends, (tuple, list)) and len(ends) == 2:
            return as_fraction(ends[0]), as_fraction(ends[1])
        raise InputError("no pair")
    except InputError as error:
        raise ScenarioError(f"start: {name!r} is {ends!r}: expected two numbers, (least, greatest)") from error
