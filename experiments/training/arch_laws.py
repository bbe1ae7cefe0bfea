"""Plants in floats and laws to imitate, for `arch.py`: rows are states (n, states) and inputs (n, outputs).

The plants are written a second time here, so that training needs nothing of the project; a test compares them with
the systems of `experiments.arch_comp`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import expm, solve_discrete_are

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Law:
    """What a network imitates. low, high: initial box; spread, effort: sizes of noise; odd: no biases at all."""

    name: str
    rates: Callable[[Array, Array], Array]
    act: Callable[[Array], Array]
    period: float
    periods: int
    low: Array
    high: Array
    spread: Array
    effort: Array
    sizes: tuple[int, ...]
    activations: tuple[str, ...]
    steps: int = 3000
    decay: float = 0.01
    noise: tuple[float, ...] = (0.0, 0.1, 0.3)
    odd: bool = False


def rows(*columns: Array) -> Array:
    return np.stack(np.broadcast_arrays(*columns), 1)


def lqr(a: Array, b: Array, period: float, q: Array, r: Array) -> Array:
    """The gain K of u = -K x for a sampled linear plant."""
    n = len(a)
    whole = expm(period * np.block([[a, b], [np.zeros((b.shape[1], n + b.shape[1]))]]))
    ad, bd = whole[:n, :n], whole[:n, n:]
    p = solve_discrete_are(ad, bd, q, r)
    return np.linalg.solve(r + bd.T @ p @ bd, bd.T @ p @ ad)


def airplane(x: Array, f: Array) -> Array:
    _, _, _, u, v, w, phi, th, psi, r, p, q = x.T
    fx, fy, fz, mx, my, mz = f.T
    sp, cp, st, ct, ss, cs = np.sin(phi), np.cos(phi), np.sin(th), np.cos(th), np.sin(psi), np.cos(psi)
    side, down = cp * v - sp * w, sp * v + cp * w
    ahead, turn = ct * u + st * down, sp * q + cp * r
    return rows(
        cs * ahead - ss * side,
        ss * ahead + cs * side,
        ct * down - st * u,
        fx - st - q * w + r * v,
        fy + ct * sp - r * u + p * w,
        fz + ct * cp - p * v + q * u,
        p + st / ct * turn,
        cp * q - sp * r,
        turn / ct,
        mz,
        mx,
        my,
    )


def fly(x: Array) -> Array:
    """Gravity taken off, velocities and angles damped."""
    _, _, _, u, v, w, phi, th, psi, r, p, q = x.T
    return rows(
        np.sin(th) - u,
        -np.cos(th) * np.sin(phi) - v,
        -np.cos(th) * np.cos(phi) - w,
        -4 * phi - 4 * p,
        -4 * th - 4 * q,
        -4 * psi - 4 * r,
    )


def quadrotor(x: Array, f: Array) -> Array:
    _, _, _, x4, x5, x6, x7, x8, x9, x10, x11, x12 = x.T
    s7, c7, s8, c8, s9, c9 = np.sin(x7), np.cos(x7), np.sin(x8), np.cos(x8), np.sin(x9), np.cos(x9)
    g, yaw = 9.81, s7 / c8 * x11 + c7 / c8 * x12
    return rows(
        c8 * c9 * x4 + (s7 * s8 * c9 - c7 * s9) * x5 + (c7 * s8 * c9 + s7 * s9) * x6,
        c8 * s9 * x4 + (s7 * s8 * s9 + c7 * c9) * x5 + (c7 * s8 * s9 - s7 * c9) * x6,
        s8 * x4 - s7 * c8 * x5 - c7 * c8 * x6,
        x12 * x5 - x11 * x6 - g * s8,
        x10 * x6 - x12 * x4 + g * c8 * s7,
        x11 * x4 - x10 * x5 + g * c8 * c7 - g - f[:, 0] / 1.4,
        x7 * 0 + x10 + s8 * yaw,
        c7 * x11 - s7 * x12,
        yaw,
        -0.05 / 0.054 * x11 * x12 + f[:, 1] / 0.054,
        0.05 / 0.054 * x10 * x12 + f[:, 2] / 0.054,
        0 * x12,
    )


def hover(x: Array) -> Array:
    """Height to 1 with two poles at -1.4; roll and pitch to 0."""
    return rows(
        1.4 * (2.0 * (1 - x[:, 2]) + 2.8 * x[:, 5]),
        -0.054 * (9 * x[:, 6] + 6 * x[:, 9]),
        -0.054 * (9 * x[:, 7] + 6 * x[:, 10]),
    )


def attitude(x: Array, f: Array) -> Array:
    w1, w2, w3, p1, p2, p3 = x.T
    s = p1**2 + p2**2 + p3**2
    return rows(
        0.25 * (f[:, 0] + w2 * w3),
        0.5 * (f[:, 1] - 3 * w1 * w3),
        f[:, 2] + 2 * w1 * w2,
        0.5 * (w2 * (s - p3) + w3 * (s + p2) + w1 * (s + 1)),
        0.5 * (w1 * (s + p3) + w3 * (s - p1) + w2 * (s + 1)),
        0.5 * (w1 * (s - p2) + w2 * (s + p1) + w3 * (s + 1)),
    )


def settle(x: Array) -> Array:
    """Rates and parameters damped."""
    w, p = x[:, :3], x[:, 3:]
    return -np.array([4.0, 2.0, 1.0]) * (2.0 * w + 1.0 * p)


def tora(x: Array, f: Array) -> Array:
    x1, x2, x3, x4 = x.T
    return rows(x2, -x1 + 0.1 * np.sin(x3), x4, f[:, 0] - 10)


_TORA = lqr(
    np.array([[0.0, 1, 0, 0], [-1, 0, 0.1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]),
    np.array([[0.0], [0], [0], [1]]),
    1.0,
    np.diag([0.1, 0.1, 1, 1]),
    np.array([[2.0]]),
)
_N = 0.001027


def docking(x: Array, f: Array) -> Array:
    x1, _, x3, x4 = x.T
    return rows(x3, x4, 2 * _N * x4 + 3 * _N**2 * x1 + f[:, 0] / 12, -2 * _N * x3 + f[:, 1] / 12)


def approach(x: Array) -> Array:
    """Speeds to a thousandth of the distance a second, within a newton."""
    return np.tanh(1.2 * (-0.001 * x[:, :2] - x[:, 2:]))


def car(x: Array, f: Array) -> Array:
    _, _, v, th = x.T
    return rows(v * np.cos(th), v * np.sin(th), f[:, 0], f[:, 1])


def around(radius: float, gain: float) -> Callable[[Array], Array]:
    """Backwards on a circle about the obstacle's middle, against the clock, to the origin."""

    def act(x: Array) -> Array:
        dx, dy = x[:, 0] - 1.5, x[:, 1] - 1.5
        angle = np.mod(np.arctan2(dy, dx) + np.pi / 4, 2 * np.pi) - np.pi / 4  # in [-45, 315) degrees
        left = 1.25 * np.pi - angle
        far = np.hypot(dx, dy) - radius
        way = angle + np.pi / 2 + np.arctan(1.5 * far)
        speed = 2.0 * np.tanh(gain * left)
        turn = 4 * (way - np.pi - x[:, 3])
        return rows(np.tanh((-speed - x[:, 2]) * 1.0) * 4, np.tanh(turn / 4) * 4)

    return act


def balancing(x: Array, f: Array) -> Array:
    _, x2, x3, x4 = x.T
    force = f[:, 0]
    turn = (0.08 * 0.41 * (9.8 * np.sin(x3) - 2 * force * np.cos(x3)) - 0.0021 * x4) / 0.0105
    return rows(x2, 2 * force, x4, turn)


_POLE = 0.08 * 0.41 / 0.0105
_BALANCE = lqr(
    np.array([[0.0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 9.8 * _POLE, -0.2]]),
    np.array([[0.0], [2], [0], [-2 * _POLE]]),
    0.02,
    np.diag([3.0, 1, 1, 0.1]),
    np.array([[5.0]]),
)


def _law(name: str, rates, act, period, periods, middle, half, effort, sizes, activations, **rest):  # type: ignore[no-untyped-def]
    middle, half = np.array(middle, float), np.array(half, float)
    spread = np.maximum(half, 0.05)
    return Law(
        name,
        rates,
        act,
        period,
        periods,
        middle - half,
        middle + half,
        spread,
        np.array(effort, float),
        sizes,
        activations,
        **rest,
    )


_RELU, _SIGMOID = ("relu",) * 3 + ("linear",), ("sigmoid",) * 3 + ("linear",)
LAWS = (
    _law(
        "Airplane_controller",
        airplane,
        fly,
        0.1,
        20,
        [0] * 3 + [0.5] * 6 + [0] * 3,
        [0] * 3 + [0.5] * 6 + [0] * 3,
        [1] * 3 + [4] * 3,
        (12, 100, 100, 100, 6),
        _RELU,
    ),
    _law(
        "Quadrotor_controller",
        quadrotor,
        hover,
        0.1,
        50,
        [0] * 12,
        [0.4] * 6 + [0] * 6,
        [3, 0.05, 0.05],
        (12, 64, 64, 64, 3),
        _SIGMOID,
        decay=0.1,
        noise=(0.0, 0.3, 1.0),
    ),
    _law(
        "AttitudeControl_controller",
        attitude,
        settle,
        0.1,
        30,
        [-0.445, -0.545, 0.655, -0.745, 0.855, -0.645],
        [0.005] * 6,
        [2, 1, 1],
        (6, 64, 64, 64, 3),
        _SIGMOID,
    ),
    _law(
        "TORA_ReLU_controller",
        tora,
        lambda x: 10 - x @ _TORA.T,
        1.0,
        20,
        [0.65, -0.65, -0.35, 0.55],
        [0.05] * 4,
        [1],
        (4, 100, 100, 100, 1),
        _RELU,
        decay=0.3,
        noise=(0.0, 0.3, 1.0, 3.0),
    ),
    _law(
        "SpacecraftDocking_controller",
        docking,
        approach,
        1.0,
        40,
        [88, 88, 0, 0],
        [18, 18, 0.28, 0.28],
        [1, 1],
        (4, 256, 256, 2),
        ("tanh",) * 3,
        steps=1500,
        decay=0.1,
        noise=(0.0, 0.3, 1.0),
    ),
    _law(
        "nav_standard",
        car,
        around(2.12, 1.2),
        0.2,
        30,
        [3, 3, 0, 0],
        [0.1, 0.1, 0, 0],
        [2, 2],
        (4, 64, 32, 2),
        ("relu", "relu", "linear"),
        steps=6000,
    ),
    _law(
        "nav_robust",
        car,
        around(2.3, 1.2),
        0.2,
        30,
        [3, 3, 0, 0],
        [0.1, 0.1, 0, 0],
        [2, 2],
        (4, 64, 32, 2),
        ("relu", "relu", "linear"),
        steps=6000,
    ),
    _law(
        "balancing_controller",
        balancing,
        lambda x: -x @ _BALANCE.T,
        0.02,
        500,
        [0] * 4,
        [0.1, 0.05, 0.1, 0.05],
        [1],
        (4, 32, 32, 1),
        ("tanh", "tanh", "linear"),
        odd=True,
        decay=0.3,
        noise=(0.0, 0.1, 0.3, 1.0),
    ),
)
