"""The loops: plants, initial sets and questions of ARCH-COMP AINNCS; networks are read from a folder that is given.

The networks are those of ClosedLoopReachability.jl (`models/*/*.polar`, MIT licence), which are not part of VenMAS. Two
differ from the competition's ONNX files by up to 1e-4, as their decimals are rounded: single and double pendulum.
Numbers are the decimals of the specifications, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from venmas.model import Expr, System, apply_network, cos, held, sin
from venmas.model.expr import Variable
from venmas.nn import load_network

Ends = tuple[str, str]


@dataclass(frozen=True)
class Loop:
    """network: its file. build: the system with the property ``goal``. expected: the verdict."""

    name: str
    network: str
    build: Callable[[Path], System]
    expected: str

    def system(self, folder: Path) -> System:
        """The system, with the network of that folder. Raises `VenmasError` where there is none."""
        return self.build(folder / self.network)


def _within(ranges: Mapping[Variable, Ends]) -> list:
    return [c for v, (low, high) in ranges.items() for c in (v >= Fraction(low), v <= Fraction(high))]


def _box(names: tuple[str, ...], ends: tuple[Ends, ...]) -> str:
    return " & ".join(f"{n} >= {low} & {n} <= {high}" for n, (low, high) in zip(names, ends, strict=True))


def _states(system: System, count: int, size: int = 100) -> list[Variable]:
    return [system.real(f"x{i}", -size, size) for i in range(1, count + 1)]


def _outputs(system: System, file: Path, inputs: tuple[Expr | int | Fraction, ...]) -> list[Expr]:
    return [system.agent(u, name=f"u{i}") for i, u in enumerate(apply_network(load_network(file), inputs), 1)]


def acc(file: Path) -> System:
    """Adaptive cruise control: the distance to a braking car stays safe for 5 s."""
    system = System("acc")
    x1, x2, x3, x4, x5, x6 = _states(system, 6, 1000)
    (u,) = _outputs(system, file, (30, Fraction("1.4"), x5, x1 - x4, x2 - x5))
    drag = Fraction("0.0001")
    lead = {x1: x2, x2: x3, x3: -2 * x3 - 4 - drag * x2**2}
    plant = system.flow("0.1", {**lead, x4: x5, x5: x6, x6: -2 * x6 + 2 * u - drag * x5**2})
    system.branch("drive", plant.end)
    still = {x3: ("0", "0"), x6: ("0", "0")}
    cars = {x1: ("90", "110"), x2: ("32", "32.2"), x4: ("10", "11"), x5: ("30", "30.2")}
    system.initial(*_within({**cars, **still}))
    system.specify("goal", "AG^50 (x1 - x4 >= 10 + 1.4*x5)")
    return system


def pendulum(file: Path) -> System:
    """Single pendulum: the angle is in [0, 1] at all times of [0.5, 1] s."""
    system = System("pendulum")
    x1, x2 = _states(system, 2)
    low, high = system.real("low", -100, 100), system.real("high", -100, 100)
    (u,) = _outputs(system, file, (x1, x2))
    plant = system.flow("0.05", {x1: x2, x2: 2 * sin(x1) + 8 * u})
    system.branch("swing", {**plant.end, low: plant.least(x1), high: plant.greatest(x1)})
    system.initial(*_within({x1: ("1", "1.175"), x2: ("0", "0.2"), low: ("0", "0"), high: ("0", "0")}))
    # the time 0.5 is the end of step 10; the periods of later steps are recorded
    system.specify("goal", "AX^10 (x1 >= 0 & x1 <= 1) & AG[11,20] (low >= 0 & high <= 1)")
    return system


def _tora(file: Path, gain: int, offset: int) -> System:
    """Translational oscillator, 0.5 s a period: a target is reached after 5 s."""
    system = System("tora")
    x1, x2, x3, x4 = _states(system, 4)
    (y,) = _outputs(system, file, (x1, x2, x3, x4))
    plant = system.flow("0.5", {x1: x2, x2: -x1 + Fraction("0.1") * sin(x3), x3: x4, x4: held(gain * y + offset)})
    system.branch("turn", plant.end)
    start = {x1: ("-0.77", "-0.75"), x2: ("-0.45", "-0.43"), x3: ("0.51", "0.54"), x4: ("-0.3", "-0.28")}
    system.initial(*_within(start))
    system.specify("goal", f"AX^10 ({_box(('x1', 'x2'), (('-0.1', '0.2'), ('-0.9', '-0.6')))})")
    return system


def tora_sigmoid(file: Path) -> System:
    """CROWN-Reach's plant: u = 22 y - 11 (JuliaReach has u = 11 y, another one)."""
    return _tora(file, 22, -11)


def tora_tanh(file: Path) -> System:
    """u = 11 y."""
    return _tora(file, 11, 0)


def unicycle(file: Path) -> System:
    """A car reaches the origin after 10 s."""
    system = System("unicycle")
    x1, x2, x3, x4 = _states(system, 4)
    u1, u2 = _outputs(system, file, (x1, x2, x3, x4))
    plant = system.flow("0.2", {x1: x4 * cos(x3), x2: x4 * sin(x3), x3: u2 - 20, x4: u1 - 20})
    system.branch("drive", plant.end)
    start = {x1: ("9.5", "9.55"), x2: ("-4.5", "-4.45"), x3: ("2.1", "2.11"), x4: ("1.5", "1.51")}
    system.initial(*_within(start))
    target = tuple((f"-{r}", r) for r in ("0.6", "0.2", "0.06", "0.3"))
    system.specify("goal", f"AX^50 ({_box(('x1', 'x2', 'x3', 'x4'), target)})")
    return system


def _double(file: Path, period: str, ends: Ends) -> System:
    """Two links of mass and length 0.5, g = 1, no friction, by Lagrange's equations solved for the accelerations."""
    system = System("double-pendulum")
    x1, x2, x3, x4 = _states(system, 4)
    t1, t2 = _outputs(system, file, (x1, x2, x3, x4))
    sine, cosine = sin(x2 - x1), cos(x2 - x1)
    first = 8 * t1 + x4**2 * sine + 4 * sin(x1)
    second = 8 * t2 - x3**2 * sine + 2 * sin(x2)
    divisor = 2 - cosine**2
    rates = {x1: x3, x2: x4, x3: (first - cosine * second) / divisor, x4: (2 * second - cosine * first) / divisor}
    system.branch("swing", system.flow(period, rates).end)
    system.initial(*_within(dict.fromkeys((x1, x2, x3, x4), ("1", "1.3"))))
    system.specify("goal", f"AG^20 ({_box(('x1', 'x2', 'x3', 'x4'), (ends,) * 4)})")
    return system


def double_less(file: Path) -> System:
    """All angles and speeds in [-1.7, 2] for 1 s."""
    return _double(file, "0.05", ("-1.7", "2"))


def double_more(file: Path) -> System:
    """All angles and speeds in [-1.5, 1.5] for 0.4 s, which is not so."""
    return _double(file, "0.02", ("-1.5", "1.5"))


LOOPS = {
    loop.name: loop
    for loop in (
        Loop("acc", "ACC_controller_relu.polar", acc, "satisfied"),
        Loop("pendulum", "InvertedPendulum_controller.polar", pendulum, "satisfied"),
        Loop("tora-sigmoid", "TORA_sigmoid_controller.polar", tora_sigmoid, "satisfied"),
        Loop("tora-tanh", "TORA_ReLUtanh_controller.polar", tora_tanh, "satisfied"),
        Loop("unicycle", "Unicycle_controller.polar", unicycle, "satisfied"),
        Loop("double-less", "InvertedTwoLinkPendulum_controller_less_robust.polar", double_less, "satisfied"),
        Loop("double-more", "InvertedTwoLinkPendulum_controller_more_robust.polar", double_more, "violated"),
    )
}
"""By name; airplane, attitude, balancing, docking, navigation, QUAD and TORA with 1 s periods are missing so far."""
