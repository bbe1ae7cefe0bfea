"""Six small loops, one of each kind, with propositions p and q and questions about them, and two lines beside."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from venmas.model import System, sin, where

HALF = Fraction(1, 2)
QUESTIONS: dict[str, tuple[str, ...]] = {
    "bounded": ("AX p", "EX p", "AG^4 p", "EG^4 p", "AF^4 q", "EF^4 q", "A(p U^4 q)", "E(p U^4 q)"),
    "for ever": ("AG p", "AF q", "EF q", "EG p", "AG EF q", "AG AF q"),
    "LTL": ("G p", "F q", "G F q", "F G p", "G (q -> F p)"),
    "more": ("AF AG p", "EF AG p", "A(p U q)", "E(p U q)", "AG (q -> AF p)", "AG A(p U q)", "EG EF q", "AF EG p"),
}
"""By kind; those of the last one are beyond the table of nineteen."""


def finite() -> System:
    """A heating in half degrees."""
    system = System("finite")
    t = system.integer("t", -100, 160)
    heat = where(t <= 35, 4, 0)
    system.branch("mild", t=t - 1 + heat)
    system.branch("cold", t=t - 3 + heat)
    system.initial(t >= 34, t <= 38)
    return _with(system, p=t > 30, q=t <= 35)


def thermostat(noise: Fraction | int = 0) -> System:
    """A heating that is on up to 17.5 degrees; the weather takes half a degree or one and a half."""
    system = System("noise" if noise else "real")
    t = system.real("t", -50, 80)
    sensed = t + system.disturbance("w", -noise, noise) if noise else t
    heat = where(sensed <= 35 * HALF, 2, 0)
    system.branch("mild", t=t - HALF + heat)
    system.branch("cold", t=t - 3 * HALF + heat)
    system.initial(t >= 17, t <= 19)
    return _with(system, p=t > 15, q=t <= 35 * HALF)


def tank() -> System:
    """A tank whose pump works until it is full, and then rests for four steps."""
    system = System("mixed")
    level, rest = system.real("level", 0, 12), system.integer("rest", 0, 4)
    system.branch("fill", {level: level + 1}, when=(rest == 0) & (level < 6))
    system.branch("stop", {rest: 4}, when=(rest == 0) & (level >= 6))
    system.branch("drain", {level: level * HALF, rest: rest - 1}, when=rest > 0)
    system.initial(level >= 1, level <= 2, rest == 0)
    return _with(system, p=level <= 8, q=level >= 5)


def rooms() -> System:
    """Two rooms and one heater, which warms a room that has 20 degrees or less until it has 21, a before b.

    Each half an hour a room loses a sixteenth of what it is above 5 degrees outside, and of what it is above the other
    room; the heater adds 5 degrees to what the mode says, which follows the sensors half an hour later.
    """
    system = System("rooms")
    a, b = (system.real(name, 0, 40, unit="degC") for name in "ab")
    mode = system.integer("mode", 0, 2, labels={0: "off", 1: "heat_a", 2: "heat_b"})
    free = where(a <= 20, 1, where(b <= 20, 2, 0))
    busy = where(mode == 2, where(b < 21, 2, free), free)
    system.branch(
        "half an hour",
        {
            a: a + (5 - a) / 16 + (b - a) / 16 + where(mode == 1, 5, 0),
            b: b + (5 - b) / 16 + (a - b) / 16 + where(mode == 2, 5, 0),
            mode: where(mode == 1, where(a < 21, 1, free), busy),
        },
    )
    system.initial(a >= 13, a <= 14, b >= 21, b <= 22, mode == 0)
    return system


def climb() -> System:
    """A number that goes up or stays, up to 10."""
    system = System("climb")
    x = system.real("x", 0, 10)
    system.branch("up", x=where(x + 1 > 10, 10, x + 1))
    system.branch("stay", x=x)
    system.initial(x >= 0, x <= 1)
    return system


def swing(noise: Fraction | int = 0) -> System:
    """An angle that a sine draws to 0, and a push that keeps it at about 0.52."""
    system = System("smooth, noise" if noise else "smooth")
    x = system.real("x", -3, 3)
    gust = system.disturbance("w", -noise, noise) if noise else 0
    system.branch("calm", x=x - HALF * sin(x) + gust)
    system.branch("push", x=x - HALF * sin(x) + Fraction(1, 4) + gust)
    system.initial(x >= HALF, x <= 1)
    return _with(system, p=x >= Fraction(1, 3), q=x <= Fraction(1, 4))


def line(
    name: str, factor: Fraction | int, low: Fraction | int, high: Fraction | int, ends: int = 100, above: bool = False
) -> System:
    """x' = factor x from an interval, without its lower end if `above`; what would leave the box stays at its end."""
    system = System(name)
    x = system.real("x", -ends, ends)
    moved = x * factor
    system.branch("go", x=where(moved > ends, ends, where(moved < -ends, -ends, moved)))
    system.initial(x > low if above else x >= low, x <= high)
    return system


def doubling() -> System:
    """x' = 2x - 1 or 2x + 1, held at the ends of the box: unstable, and kept by the right choice alone."""
    system = System("doubling")
    x = system.real("x", -8, 8)
    for name, add in (("down", -1), ("up", 1)):
        moved = 2 * x + add
        system.branch(name, x=where(moved > 8, 8, where(moved < -8, -8, moved)))
    system.initial(x >= -1, x <= 1)
    system.proposition("in_", (x >= -1) & (x <= 1))
    return system


def _with(system: System, **propositions: object) -> System:
    for name, states in propositions.items():
        system.proposition(name, states)  # type: ignore[arg-type]
    return system


SYSTEMS: dict[str, Callable[[], System]] = {
    "finite": finite,
    "real": thermostat,
    "mixed": tank,
    "noise": lambda: thermostat(HALF),
    "smooth": swing,
    "smooth, noise": lambda: swing(Fraction(1, 50)),
}
