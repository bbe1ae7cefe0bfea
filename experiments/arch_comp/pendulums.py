"""Pendulums and carts: single and double pendulum, TORA, balancing."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from experiments.arch_comp.loop import Instance, outputs, run, start, states, within
from venmas.model import System, cos, sin
from venmas.model.expressions.expr import Scalar, Variable
from venmas.nn import Network


def single(network: Network) -> System:
    """A pendulum of length and mass 0.5, without friction: x1 its angle."""
    system = System("single_pendulum")
    x1, x2 = states(system, 2, 20)
    (u,) = outputs(system, network, (x1, x2))
    records = run(system, "0.05", {x1: x2, x2: 2 * sin(x1) + 8 * u}, [x1])
    start(system, {x1: ("1", "1.175"), x2: ("0", "0.2")}, records)
    return system


def double(network: Network, period: str) -> System:
    """Two point masses of 0.5 on links of 0.5 without mass: angles x1, x2 from upright, torques at both joints."""
    system = System("double_pendulum")
    x = states(system, 4, 20)
    x1, x2, x3, x4 = x
    t1, t2 = outputs(system, network, x)
    # 2 x3' + c x4' = first and c x3' + x4' = second, solved for both; c lies in [-1, 1], so 2 - c^2 is at least 1
    c, s = cos(x1 - x2), sin(x1 - x2)
    first = 4 * sin(x1) + 8 * t1 - x4**2 * s
    second = 2 * sin(x2) + 8 * t2 + x3**2 * s
    rates = {x1: x3, x2: x4, x3: (first - c * second) / (2 - c**2), x4: (2 * second - c * first) / (2 - c**2)}
    records = run(system, period, rates, x)
    start(system, dict.fromkeys(x, ("1", "1.3")), records)
    return system


def tora(network: Network) -> System:
    """A cart on a spring with a rotating mass: the network's output less 10 turns it, once a second."""
    system = System("tora_remain")
    x = states(system, 4, 20)
    (y,) = outputs(system, network, x)
    records = run(system, "1", _tora(x, y - 10), x)
    start(
        system, dict(zip(x, (("0.6", "0.7"), ("-0.7", "-0.6"), ("-0.4", "-0.3"), ("0.5", "0.6")), strict=True)), records
    )
    return system


def tora_reach(network: Network, sigmoid: bool) -> System:
    """The same twice a second: u = 11 y for tanh outputs, 22 (y - 1/2) for sigmoid ones, so that u spans +-11."""
    system = System("tora_reach")
    x = states(system, 4, 200)
    (y,) = outputs(system, network, x)
    run(system, "0.5", _tora(x, 22 * y - 11 if sigmoid else 11 * y))
    ends = (("-0.77", "-0.75"), ("-0.45", "-0.43"), ("0.51", "0.54"), ("-0.3", "-0.28"))
    start(system, dict(zip(x, ends, strict=True)))
    return system


def _tora(x: Sequence[Variable], u: Scalar) -> dict[Variable, Scalar]:
    x1, x2, x3, x4 = x
    return {x1: x2, x2: -x1 + Fraction("0.1") * sin(x3), x3: x4, x4: u}


def balancing(network: Network) -> System:
    """A pole on a cart, fifty times a second: x1 place, x3 angle."""
    system = System("balancing")
    x = states(system, 4, 20)
    x1, x2, x3, x4 = x
    (u,) = outputs(system, network, x)
    turn = Fraction("0.08") * Fraction("0.41") * (Fraction("9.8") * sin(x3) - 2 * u * cos(x3)) - Fraction("0.0021") * x4
    records = run(system, "0.02", {x1: x2, x2: 2 * u, x3: x4, x4: turn / Fraction("0.0105")}, (x1, x3, x4))
    wide, narrow = ("-0.1", "0.1"), ("-0.05", "0.05")
    start(system, {x1: wide, x2: narrow, x3: wide, x4: narrow}, records)
    return system


ALL = ("x1", "x2", "x3", "x4")
GOAL = "x1 >= -0.1 & x1 <= 0.2 & x2 >= -0.9 & x2 <= -0.6"

INSTANCES = (
    Instance(
        "Single-Pendulum",
        "",
        "InvertedPendulum_controller",
        ("controller_single_pendulum",),
        single,
        f"AG[11,20] ({within(['x1'], '0', '1')})",
    ),
    Instance(
        "Double-Pendulum",
        "less",
        "InvertedTwoLinkPendulum_controller_less_robust",
        ("controller_double_pendulum_less_robust",),
        lambda network: double(network, "0.05"),
        f"AG^20 ({within(ALL, '-1.7', '2')})",
    ),
    Instance(
        "Double-Pendulum",
        "more",
        "InvertedTwoLinkPendulum_controller_more_robust",
        ("controller_double_pendulum_more_robust",),
        lambda network: double(network, "0.02"),
        f"AG^20 ({within(ALL, '-1.5', '1.5')})",
    ),
    Instance(
        "TORA",
        "remain",
        "TORA_ReLU_controller",
        ("controllerTora",),
        tora,
        f"AG^20 ({within(ALL, '-2', '2')})",
        own=True,
    ),
    Instance(
        "TORA",
        "reach-sigmoid",
        "TORA_sigmoid_controller",
        ("nn_tora_sigmoid",),
        lambda network: tora_reach(network, True),
        f"AX^10 ({GOAL})",
    ),
    Instance(
        "TORA",
        "reach-tanh",
        "TORA_ReLUtanh_controller",
        ("nn_tora_relu_tanh",),
        lambda network: tora_reach(network, False),
        f"AX^10 ({GOAL})",
    ),
    Instance(
        "Balancing",
        "",
        "balancing_controller",
        ("controller_balancing",),
        balancing,
        f"AG[401,500] ({within(['x1', 'x3', 'x4'], '-0.001', '0.001')})",
        own=True,
    ),
)
