"""Loops that settle, with questions for ever: bundled controllers, policies of the zoo, and others made by hand."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TypeAlias

from experiments.zoo.loops import EVERY
from experiments.zoo.loops import NETWORKS as ZOO
from venmas import load_network, load_scenario
from venmas.model import System, apply_network, clip, cos, sin

Make: TypeAlias = Callable[[], System]
NETWORKS = Path(__file__).resolve().parents[2] / "networks"
LAG = Fraction("0.818730753078")
"""Of the bundled cruise control: exp(-0.2)."""


def cruise() -> System:
    """The bundled cruise control behind a leader of steady speed: the gap in place of two positions."""
    system = System("cruise4")
    gap, lead = system.real("gap", -1000, 5000), system.real("lead", -100, 100)
    speed, force = system.real("speed", -100, 100), system.real("force", -10, 10)
    network = load_network(NETWORKS / "cruise" / "controller.onnx")
    u = system.agent(clip(apply_network(network, (speed / 32, gap / 128, (lead - speed) / 16))[0], -3, 2))
    change = (1 - LAG) / 2
    place = Fraction(1, 20) - change / 2
    system.branch(
        "step",
        gap=gap + lead / 10 - speed / 10 - place * force - (Fraction(1, 200) - place) * u,
        speed=speed + change * force + (Fraction(1, 10) - change) * u,
        force=LAG * force + (1 - LAG) * u,
    )
    start = (gap >= 60, gap <= 65, lead >= 20, lead <= Fraction("20.2"), speed >= 30, speed <= Fraction("30.2"))
    system.initial(*start, force == 0)
    return _near(system, "gap", "36", "39.5")


def pendulum(gust: str) -> System:
    """The bundled pendulum's steps with a torque that disturbs it."""
    system, period = System("pendulum, gust"), Fraction("0.05")
    th, thdot = system.real("th", -100, 100), system.real("thdot", -16, 16)
    push = system.disturbance("w", -Fraction(gust), Fraction(gust))
    network = load_network(NETWORKS / "pendulum" / "controller.onnx")
    u = system.agent(clip(apply_network(network, (cos(th), sin(th), thdot))[0], -2, 2))
    faster = clip(thdot + period * (15 * sin(th) + 3 * u + 3 * push), -8, 8)
    system.branch("step", th=th + period * faster, thdot=faster)
    limits = Fraction("0.2"), Fraction("0.4")
    system.initial(th >= -limits[0], th <= limits[0], thdot >= -limits[1], thdot <= limits[1])
    return _near(system, "th", "-0.25", "0.25")


def cycle() -> System:
    """A limit cycle: the origin repels, and a square holds what is repelled."""
    system = System("cycle")
    x, y = system.real("x", -2, 2), system.real("y", -2, 2)
    c, s = Fraction("1.1"), Fraction("0.6")
    system.branch("go", x=clip(c * x - s * y, -1, 1), y=clip(s * x + c * y, -1, 1))
    system.initial(x >= Fraction(1, 2), x <= 1, y >= 0, y <= Fraction(1, 2))
    system.proposition("left", x <= -Fraction(1, 2))
    system.proposition("right", x >= Fraction(1, 2))
    return system


def spiral() -> System:
    """A rotation by about 36 degrees with contraction, begun beside the origin."""
    system = System("spiral")
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    a, b = Fraction(18, 25), Fraction(13, 25)
    system.branch("turn", x=a * x - b * y, y=b * x + a * y)
    system.initial(x >= Fraction(1, 2), x <= 1, y >= 0, y <= Fraction(1, 2))
    return _near(system, "x", "-0.1", "0.1")


def tanks() -> System:
    """Three tanks in a row: the pump into the first one looks at the last."""
    system = System("tanks3")
    a, b, c = (system.real(name, -10, 20) for name in "abc")
    pump = clip(1 + 2 * (1 - c), 0, 2)
    system.branch("go", a=a + (pump - a) / 5, b=b + (a - b) / 5, c=c + (b - c) / 5)
    system.initial(a >= 0, a <= Fraction(1, 2), b >= 0, b <= Fraction(1, 2), c >= 0, c <= Fraction(1, 2))
    return _near(system, "c", "0.9", "1.1")


def pair() -> System:
    """Two masses that are pushed to places 1 apart, each by a bounded force; a spring joins them."""
    system = System("pair4")
    x, v = (system.reals(name, 2, -50, 50) for name in "xv")
    pull = (x[1] - x[0]) / 20
    for_ = [clip(-x[i] * Fraction(2, 5) - v[i], -1, 1) + (pull if i == 0 else -pull) for i in (0, 1)]
    rows = {x[i]: x[i] + v[i] + for_[i] / 2 for i in (0, 1)} | {v[i]: v[i] + for_[i] for i in (0, 1)}
    system.branch("go", rows)
    system.initial(*(c for i in (0, 1) for c in (x[i] >= 2, x[i] <= 3, v[i] >= -0.25, v[i] <= 0.25)))
    return _near(system, "x[1]", "-0.5", "0.5")


def _near(system: System, name: str, low: str, high: str) -> System:
    system.proposition("near", (system[name] >= Fraction(low)) & (system[name] <= Fraction(high)))
    return system


NEAR: dict[str, tuple[str, str, str]] = {
    "motor-relu": ("x[1]", "0.9", "1.1"),
    "smooth_road-relu": ("x[1]", "-0.1", "0.1"),
    "servo-relu": ("place", "-0.1", "0.1"),
    "buck-relu": ("x[2]", "4.8", "5.2"),
    "rooms-relu": ("t[1]", "19.5", "20.5"),
    "lane-relu": ("e[1]", "-0.05", "0.05"),
    "stock-relu": ("level", "14", "26"),
    "pendulum-tanh": ("angle", "-0.06", "0.06"),
}
"""Of loops of the zoo: the variable that settles, and between what."""


def zoo(name: str, folder: Path = ZOO) -> System:
    """A loop of the zoo, with what is near for it. folder: of its network."""
    return _near(EVERY[name].build(folder), *NEAR[name])


_SETTLES = ("AG AF near", "AF AG near")
REAL: dict[str, tuple[Make, tuple[str, ...]]] = {
    "integrator": (
        lambda: load_scenario("double_integrator").system(),
        ("AF near", *_SETTLES, "F G near"),
    ),
    "cruise4": (cruise, ("AF gap <= 55", *_SETTLES)),
    "pendulum": (
        lambda: load_scenario("pendulum").system(),
        ("AG AF upright", "AF AG upright", "F G upright", "AF AG (th >= -0.05 & th <= 0.05)"),
    ),
    "pendulum 0.01": (lambda: pendulum("0.01"), _SETTLES),
    "pendulum 0.05": (lambda: pendulum("0.05"), _SETTLES),
    **{f"zoo {name}": (partial(zoo, name), _SETTLES) for name in NEAR},
    "cycle": (cycle, ("AG AF left", "AG AF right")),
    "spiral": (spiral, _SETTLES),
    "tanks3": (tanks, ("AF near", *_SETTLES)),
    "pair4": (pair, ("AF near", *_SETTLES)),
}
"""Systems and questions, all of them satisfied."""
