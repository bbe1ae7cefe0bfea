"""Small control loops, each with questions without a bound and their answers, known by hand."""

from __future__ import annotations

from fractions import Fraction

from experiments.forever.systems import doubling as doubling
from experiments.forever.systems import line as line
from venmas.model import System, apply_network, argmax, sin, switch, where
from venmas.nn import relu_network

HALF = Fraction(1, 2)


def thermostat(noise: Fraction | int = 0) -> System:
    """A heating that is on up to 17.5 degrees; the weather takes half a degree or one and a half."""
    system = System("thermostat")
    t = system.real("t", -50, 80)
    sensed = t + system.disturbance("w", -noise, noise) if noise else t
    on = where(sensed <= 35 * HALF, 2, 0)
    system.branch("mild", t=t - HALF + on)
    system.branch("cold", t=t - 3 * HALF + on)
    system.initial(t >= 17, t <= 19)
    system.proposition("low", t <= 35 * HALF)
    system.proposition("high", t >= 18)
    system.proposition("warm", t > 15)
    return system


def steps() -> System:
    """The thermostat in half degrees: its finite twin."""
    system = System("steps")
    t = system.integer("t", -100, 160)
    on = where(t <= 35, 4, 0)
    system.branch("mild", t=t - 1 + on)
    system.branch("cold", t=t - 3 + on)
    system.initial(t >= 34, t <= 38)
    system.proposition("low", t <= 35)
    system.proposition("high", t >= 36)
    system.proposition("warm", t > 30)
    return system


def tank() -> System:
    """A tank whose pump works until it is full, and then rests for four steps."""
    system = System("tank")
    level, rest = system.real("level", 0, 12), system.integer("rest", 0, 4)
    system.branch("fill", {level: level + 1}, when=(rest == 0) & (level < 6))
    system.branch("stop", {rest: 4}, when=(rest == 0) & (level >= 6))
    system.branch("drain", {level: level * HALF, rest: rest - 1}, when=rest > 0)
    system.initial(level >= 1, level <= 2, rest == 0)
    system.proposition("full", level >= 5)
    system.proposition("empty", level <= 2)
    system.proposition("ok", level <= 8)
    return system


def spiral(beside: bool = False) -> System:
    """A rotation by about 37 degrees with contraction."""
    system = System("spiral")
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    a, b = Fraction(18, 25), Fraction(13, 25)
    system.branch("turn", x=a * x - b * y, y=b * x + a * y)
    if beside:
        system.initial(x >= HALF, x <= 1, y >= 0, y <= HALF)
    else:
        system.initial(x >= -1, x <= 1, y >= -1, y <= 1)
    return system


def smooth(noise: Fraction | int = 0) -> System:
    """A pendulum-like loop: a state that a sine draws to 0, with a gust or without."""
    system = System("swing")
    x = system.real("x", -3, 3)
    gust = system.disturbance("w", -noise, noise) if noise else 0
    system.branch("calm", x=x - HALF * sin(x) + gust)
    system.initial(x >= HALF, x <= 1)
    system.proposition("near", (x <= HALF) & (x >= -HALF))
    return system


def relay() -> System:
    """A pendulum that one of two torques brings down, by the sign of where it goes: it stays about the top."""
    system = System("relay")
    angle, rate = system.real("angle", -3, 3), system.real("rate", -6, 6)
    torque = switch(argmax([angle + rate / 2, -angle - rate / 2]), {0: Fraction(-3), 1: Fraction(3)})
    system.branch("go", angle=angle + rate / 10, rate=rate * Fraction(9, 10) + (sin(angle) + torque) / 10)
    system.initial(
        angle >= Fraction(3, 10), angle <= Fraction(4, 10), rate >= Fraction(-1, 10), rate <= Fraction(1, 10)
    )
    system.proposition("upright", (angle <= HALF) & (angle >= -HALF))
    return system


def slow_turn() -> System:
    """A turn by 4.5 degrees that shrinks by a fiftieth, with noise: no box holds its image before some 20 steps."""
    system = System("slow_turn")
    x, y = system.real("x", -20, 20), system.real("y", -20, 20)
    push = system.disturbance("push", "-0.01", "0.01")
    c, s = Fraction("0.976979"), Fraction("0.076888")
    system.branch("go", {x: c * x - s * y + push, y: s * x + c * y})
    system.initial(x >= HALF, x <= 1, y >= HALF, y <= 1)
    return system


def drawn_to_parameter() -> System:
    """A state that is drawn to a parameter, a twentieth of the way in each step."""
    system = System("drawn")
    t, k = system.real("t", -100, 100), system.real("k", -100, 100)
    system.branch("go", t=t * Fraction(19, 20) + k / 20)
    system.initial(t >= 60, t <= 80, k >= 1, k <= Fraction(6, 5))
    system.proposition("near", t <= 2)
    return system


def patrol(slack: int = 0, noise: Fraction = Fraction(0)) -> System:
    """A walk between two regions with a heading, by a network; with slack it stops before the right one, for ever."""
    outputs = [[-5, 5, 0], [0, 0, slack], [5, -5, 0]]
    network = relu_network([[[0, 1], [0, -1], [1, 0]], outputs], [[0, 0, -HALF * 13], [0, 0, 0]], name="walk")
    system = System("patrol")
    x, heading = system.real("x", -2, 12), system.real("heading", -1, 1)
    action = system.agent(argmax(apply_network(network, (x, heading))), name="go")
    moved = x + switch(action, {0: -1, 1: 0, 2: 1}) + (system.disturbance("w", -noise, noise) if noise else 0)
    system.branch("step", x=moved, heading=where(moved <= 1, 1, where(moved >= 9, -1, heading)))
    system.initial(x >= 4, x <= 6, heading == 1)
    system.proposition("left", x <= 2)
    system.proposition("right", x >= 8)
    return system
