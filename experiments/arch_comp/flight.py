"""What flies: airplane, quadrotor, and two spacecraft (attitude, docking)."""

from __future__ import annotations

from fractions import Fraction

from experiments.arch_comp.loop import Instance, outputs, run, start, states, within
from venmas.model import System, cos, sin, sqrt
from venmas.nn import Network

_NONE = (0, 0)


def airplane(network: Network) -> System:
    """Place x1..x3, velocity x4..x6 and angles (roll x7, pitch x8, yaw x9) of a body with mass, inertia and gravity 1;
    rates of turning (yaw x10, roll x11, pitch x12). Outputs are the three forces and moments."""
    system = System("airplane")
    x = states(system, 12, 1000)
    x1, x2, x3, u, v, w, phi, theta, psi, r, p, q = x
    fx, fy, fz, mx, my, mz = outputs(system, network, x)
    # roll, then pitch, then yaw
    side, down = cos(phi) * v - sin(phi) * w, sin(phi) * v + cos(phi) * w
    ahead = cos(theta) * u + sin(theta) * down
    turning = sin(phi) * q + cos(phi) * r
    rates = {
        x1: cos(psi) * ahead - sin(psi) * side,
        x2: sin(psi) * ahead + cos(psi) * side,
        x3: cos(theta) * down - sin(theta) * u,
        u: fx - sin(theta) - q * w + r * v,
        v: fy + cos(theta) * sin(phi) - r * u + p * w,
        w: fz + cos(theta) * cos(phi) - p * v + q * u,
        phi: p + sin(theta) / cos(theta) * turning,
        theta: cos(phi) * q - sin(phi) * r,
        psi: turning / cos(theta),
        r: mz,
        p: mx,
        q: my,
    }
    records = run(system, "0.1", rates, (x2, phi, theta, psi), 1000)
    start(system, {s: (0, 1) if 3 <= i < 9 else _NONE for i, s in enumerate(x)}, records)
    return system


def quadrotor(network: Network) -> System:
    """Place x1..x3 (x3 up), velocity x4..x6, roll, pitch and yaw x7..x9, their rates x10..x12."""
    system = System("quad")
    x = states(system, 12, 100)
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12 = x
    u1, u2, u3 = outputs(system, network, x)
    g, mass, inertia = Fraction("9.81"), Fraction("1.4"), Fraction("0.054")
    s7, c7, s8, c8, s9, c9 = sin(x7), cos(x7), sin(x8), cos(x8), sin(x9), cos(x9)
    yawing = s7 / c8 * x11 + c7 / c8 * x12
    rates = {
        x1: c8 * c9 * x4 + (s7 * s8 * c9 - c7 * s9) * x5 + (c7 * s8 * c9 + s7 * s9) * x6,
        x2: c8 * s9 * x4 + (s7 * s8 * s9 + c7 * c9) * x5 + (c7 * s8 * s9 - s7 * c9) * x6,
        x3: s8 * x4 - s7 * c8 * x5 - c7 * c8 * x6,
        x4: x12 * x5 - x11 * x6 - g * s8,
        x5: x10 * x6 - x12 * x4 + g * c8 * s7,
        x6: x11 * x4 - x10 * x5 + g * c8 * c7 - g - u1 / mass,
        x7: x10 + s8 * yawing,
        x8: c7 * x11 - s7 * x12,
        x9: yawing,
        x10: Fraction("-0.05") / inertia * x11 * x12 + u2 / inertia,
        x11: Fraction("0.05") / inertia * x10 * x12 + u3 / inertia,
        x12: Fraction(0) * x12,
    }
    run(system, "0.1", rates)
    start(system, {s: ("-0.4", "0.4") if i < 6 else _NONE for i, s in enumerate(x)})
    return system


def attitude(network: Network) -> System:
    """A rigid body: rates x1..x3, Rodrigues' parameters x4..x6, three torques."""
    system = System("attitude")
    x = states(system, 6, 20)
    w1, w2, w3, p1, p2, p3 = x
    u0, u1, u2 = outputs(system, network, x)
    square = p1**2 + p2**2 + p3**2
    half = Fraction(1, 2)
    rates = {
        w1: Fraction(1, 4) * (u0 + w2 * w3),
        w2: half * (u1 - 3 * (w1 * w3)),
        w3: u2 + 2 * (w1 * w2),
        p1: half * (w2 * (square - p3) + w3 * (square + p2) + w1 * (square + 1)),
        p2: half * (w1 * (square + p3) + w3 * (square - p1) + w2 * (square + 1)),
        p3: half * (w1 * (square - p2) + w2 * (square + p1) + w3 * (square + 1)),
    }
    records = run(system, "0.1", rates, x)
    ends = ("-0.45", "-0.55", "0.65", "-0.75", "0.85", "-0.65")
    start(system, {s: (low, str(Fraction(low) + Fraction("0.01"))) for s, low in zip(x, ends, strict=True)}, records)
    return system


def docking(network: Network) -> System:
    """A spacecraft near its target in orbit (Hill's equations): the farther away, the faster it may be."""
    system = System("docking")
    x = states(system, 4, 1000)
    x1, x2, x3, x4 = x
    f1, f2 = outputs(system, network, x)
    n, mass = Fraction("0.001027"), 12
    motion = system.flow(1, {x1: x3, x2: x4, x3: 2 * n * x4 + 3 * n * n * x1 + f1 / mass, x4: -2 * n * x3 + f2 / mass})
    allowed = Fraction("0.2") + 2 * n * sqrt(x1**2 + x2**2)
    reserve = system.real("reserve", -1000, 1000)
    # speed and allowance are not negative, so that their squares compare as they do
    system.branch("period", {**motion.end, reserve: motion.least(allowed**2 - x3**2 - x4**2)})
    place, speed = ("70", "106"), ("-0.28", "0.28")
    start(system, {x1: place, x2: place, x3: speed, x4: speed}, [reserve])
    return system


_UNSAFE = (("-0.2", "0"), ("-0.5", "-0.4"), ("0", "0.2"), ("-0.7", "-0.6"), ("0.7", "0.8"), ("-0.4", "-0.2"))
_OUTSIDE = " | ".join(f"hi_x{i} < {low} | lo_x{i} > {high}" for i, (low, high) in enumerate(_UNSAFE, start=1))

INSTANCES = (
    Instance(
        "Airplane",
        "",
        "Airplane_controller",
        ("controller_airplane",),
        airplane,
        f"AG^20 ({within(('x2', 'x7', 'x8', 'x9'), '-1', '1')})",
        own=True,
    ),
    Instance(
        "QUAD",
        "",
        "Quadrotor_controller",
        ("quad_controller_3_64_torch",),
        quadrotor,
        "AX^50 (x3 >= 0.94 & x3 <= 1.06)",
        own=True,
    ),
    Instance(
        "Attitude",
        "",
        "AttitudeControl_controller",
        ("attitude_control_3_64_torch",),
        attitude,
        # within a period, one and the same side of the unsafe set: more than is asked
        f"AG^30 ({_OUTSIDE})",
        "AG^30 (" + " | ".join(f"x{i} < {a} | x{i} > {b}" for i, (a, b) in enumerate(_UNSAFE, start=1)) + ")",
        own=True,
    ),
    Instance("Docking", "", "SpacecraftDocking_controller", ("model",), docking, "AG^40 reserve >= 0", own=True),
)
