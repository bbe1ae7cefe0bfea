"""Vehicles on the ground: adaptive cruise control, unicycle, navigation."""

from __future__ import annotations

from fractions import Fraction

from experiments.arch_comp.loop import Instance, outputs, run, start, states
from venmas.model import System, cos, sin
from venmas.nn import Network

_DRAG = Fraction("0.0001")


def cruise(network: Network) -> System:
    """Two cars with a lag of half a second: place, speed and acceleration of the leader, which brakes, and of ours."""
    system = System("acc")
    x = states(system, 6, 1000)
    x1, x2, x3, x4, x5, x6 = x
    (u,) = outputs(system, network, (Fraction(30), Fraction("1.4"), x5, x1 - x4, x2 - x5))
    motion = system.flow(
        Fraction("0.1"),
        {x1: x2, x2: x3, x3: -2 * x3 - 4 - _DRAG * x2**2, x4: x5, x5: x6, x6: -2 * x6 + 2 * u - _DRAG * x5**2},
    )
    reserve = system.real("reserve", -1000, 1000)
    system.branch("period", {**motion.end, reserve: motion.least(x1 - x4 - Fraction("1.4") * x5)})
    ends = (("90", "110"), ("32", "32.2"), (0, 0), ("10", "11"), ("30", "30.2"), (0, 0))
    start(system, dict(zip(x, ends, strict=True)), [reserve])
    return system


def unicycle(network: Network) -> System:
    """Place, heading and speed of a car: outputs less 20 are its acceleration and turning rate."""
    system = System("unicycle")
    x = states(system, 4, 20)
    x1, x2, x3, x4 = x
    u1, u2 = outputs(system, network, x)
    run(system, "0.2", {x1: x4 * cos(x3), x2: x4 * sin(x3), x3: u2 - 20, x4: u1 - 20})
    ends = (("9.5", "9.55"), ("-4.5", "-4.45"), ("2.1", "2.11"), ("1.5", "1.51"))
    start(system, dict(zip(x, ends, strict=True)))
    return system


def navigation(network: Network) -> System:
    """The same car, which drives around an obstacle: speed x3, heading x4."""
    system = System("nav")
    x = states(system, 4, 20)
    x1, x2, x3, x4 = x
    u1, u2 = outputs(system, network, x)
    records = run(system, "0.2", {x1: x3 * cos(x4), x2: x3 * sin(x4), x3: u1, x4: u2}, (x1, x2))
    start(system, {x1: ("2.9", "3.1"), x2: ("2.9", "3.1"), x3: (0, 0), x4: (0, 0)}, records)
    return system


_PARKED = " & ".join(
    f"x{i} >= -{half} & x{i} <= {half}" for i, half in ((1, "0.6"), (2, "0.2"), (3, "0.06"), (4, "0.3"))
)
_GOAL = "x1 >= -0.5 & x1 <= 0.5 & x2 >= -0.5 & x2 <= 0.5"
# within a period, one and the same side of the obstacle: more than is asked
_AROUND = f"(AG^30 (hi_x1 < 1 | lo_x1 > 2 | hi_x2 < 1 | lo_x2 > 2)) & (AX^30 ({_GOAL}))"
_SAMPLED = f"(AG^30 (x1 < 1 | x1 > 2 | x2 < 1 | x2 > 2)) & (AX^30 ({_GOAL}))"

INSTANCES = (
    Instance("ACC", "", "ACC_controller_relu", ("controller_5_20",), cruise, "AG^50 reserve >= 10"),
    Instance("Unicycle", "", "Unicycle_controller", ("controllerB",), unicycle, f"AX^50 ({_PARKED})"),
    Instance("NAV", "standard", "nav_standard", ("nn-nav-point",), navigation, _AROUND, _SAMPLED, own=True),
    Instance("NAV", "robust", "nav_robust", ("nn-nav-set",), navigation, _AROUND, _SAMPLED, own=True),
)
