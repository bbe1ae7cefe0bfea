"""Loops under noise, over long runs and for ever: each bound that holds with an accepted certificate.

python -m experiments.zoo.noisy [--timeout 60] [--workers 2] [--only TEXT]

Cruise controls under two noises, the measured gap and what the leader does, for 20 to 200 steps; robots for 20 steps;
and `AG p` without a bound on five loops. Policies are ReLU networks: those of the zoo, and the bundled controller.
Bounds lie on both sides of the farthest value that sampled runs meet (`experiments.zoo.sample`), a tenth of the span
of all values beyond it, or half as much within it. Status 1 where anything is wrong; what is open, is not.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

from experiments.forever.real import LAG
from experiments.forever.real import NETWORKS as BUNDLED
from experiments.zoo.__main__ import judged
from experiments.zoo.loops import NETWORKS, PLANTS
from experiments.zoo.plant import Act, Plant, Policy
from experiments.zoo.sample import Reach
from experiments.zoo.single import answered
from venmas.model import System, apply_network, clip, sin
from venmas.nn import load_network

BEYOND, WITHIN, FOREVER = 0.1, -0.05, 0.3
"""Margins, in parts of the span of sampled values."""
STEPS = (20, 50, 100, 150, 200)
_LONG = 300
"""Sampled steps that stand for runs without end."""


def follower(act: Act, noise: bool) -> System:
    """One follower of the zoo's platoon (five steps a second), whose sensor errs; gap and speeds are differences."""
    system = System("follower")
    gap, speed, lead = system.real("gap", -60, 60), system.real("speed", -30, 30), system.real("lead", -5, 5)
    error = system.disturbance("error", -0.1, 0.1, unit="m")
    push = system.disturbance("push", -0.5, 0.5, unit="m/s^2")
    (u,) = act(system, (gap + error, lead - speed), (-3,), (2,))
    update = {gap: gap + 0.2 * (lead - speed) - 0.02 * u, speed: speed + 0.2 * u}
    system.branch("drive", {**update, lead: 0.9 * lead + 0.2 * push})
    system.initial(gap >= -0.5, gap <= 0.5, speed >= -0.2, speed <= 0.2, lead >= -0.5, lead <= 0.5)
    return system


def cruise(noise: str) -> System:
    """The bundled cruise control (ten steps a second) behind a leader who likes 25 m/s and speeds up and down; the
    measured gap errs. noise: most of each, m/s^2 and m."""
    system, most, tenth = System("cruise"), Fraction(noise), Fraction(1, 10)
    gap, lead = system.real("gap", -1000, 5000), system.real("lead", -100, 100)
    speed, force = system.real("speed", -100, 100), system.real("force", -10, 10)
    error = system.disturbance("error", -most, most, unit="m")
    push = system.disturbance("push", -most, most, unit="m/s^2")
    network = load_network(BUNDLED / "cruise" / "controller.onnx")
    seen = (speed / 32, (gap + error) / 128, (lead - speed) / 16)
    u = system.agent(clip(apply_network(network, seen)[0], -3, 2), name="u")
    change = (1 - LAG) / 2
    place = tenth / 2 - change / 2
    system.branch(
        "drive",
        gap=gap + tenth * (lead - speed) + push / 200 - place * force - (tenth / 20 - place) * u,
        lead=lead + tenth * push + (25 - lead) / 20,
        speed=speed + change * force + (tenth - change) * u,
        force=LAG * force + (1 - LAG) * u,
    )
    start = (lead >= 26, lead <= Fraction("26.2"), speed >= 30, speed <= Fraction("30.2"))
    system.initial(gap >= 60, gap <= 65, *start, force == 0)
    return system


def robot(act: Act, noise: bool) -> System:
    """The zoo's unicycle, which slips and is blown off its line."""
    system = System("robot")
    y, heading, speed = system.real("y", -9, 9), system.real("heading", -4, 4), system.real("speed", -4, 4)
    drift, slip = system.disturbance("drift", -0.05, 0.05), system.disturbance("slip", -0.1, 0.1)
    turn, push = act(system, (y, heading, speed - 1), (-1, -1), (1, 1))
    motion = system.flow("0.1", {y: speed * sin(heading) + drift, heading: turn + slip, speed: push})
    system.branch("drive", motion.end)
    system.initial(y >= 0.4, y <= 0.6, heading >= -0.1, heading <= 0.1, speed >= 0.8, speed <= 1)
    return system


_FOLLOWER = Plant("follower", "platoons", follower, {}, (-3,), (2,))
_ROBOT = Plant("robot", "unicycles", robot, {}, (-1, -1), (1, 1))


def _under(plant: Plant, network: str) -> System:
    return plant.build(Policy(plant, "relu", load_network(NETWORKS / f"{network}.onnx")), True)


LOOPS: dict[str, Callable[[], System]] = {
    "follower": partial(_under, _FOLLOWER, "platoon-relu"),
    "follower-rough": partial(_under, _FOLLOWER, "driver-relu-rough"),
    "cruise": partial(cruise, "0.2"),
    "cruise-wild": partial(cruise, "0.5"),
    "robot": partial(_under, _ROBOT, "unicycle-relu"),
    "wall-rough": partial(_under, PLANTS["wall"], "wall-relu-rough"),
    **{name: partial(_under, PLANTS[name], f"{name}-relu") for name in ("servo", "rooms", "lane", "stock")},
}
CARS = ("follower", "follower-rough", "cruise", "cruise-wild")
ROBOTS = ("robot", "wall-rough")
EVER = {"follower": "gap", "servo": "place", "rooms": "t[1]", "lane": "e[1]", "stock": "level"}


@dataclass(frozen=True)
class Row:
    """A question: the loop, the formula, and what sampling expects."""

    loop: str
    formula: str
    expected: str


def questions(only: str = "") -> Iterator[Row]:
    """All of them, of loops whose names hold the text."""
    for name in filter(lambda n: only in n, CARS):
        for k in STEPS:
            low, high = (_reach(name, max(STEPS)).below("gap", 1, k, m) for m in (BEYOND, WITHIN))
            yield Row(name, f"AG^{k} gap >= {low}", "satisfied")
            yield Row(name, f"AG^{k} gap >= {high}", "violated")
    for name in filter(lambda n: only in n, ROBOTS):
        low, high = (_reach(name, 20).below("y", 1, 20, m) for m in (BEYOND, WITHIN))
        yield Row(name, f"AG^20 y >= {low}", "satisfied")
        yield Row(name, f"AG^20 y >= {high}", "violated")
    for name, watched in EVER.items():
        if only in name:
            reach = _reach(name, _LONG)
            low, high = reach.below(watched, 0, _LONG, FOREVER), reach.above(watched, 0, _LONG, FOREVER)
            yield Row(name, f"AG ({watched} >= {low} & {watched} <= {high})", "satisfied")


@cache
def _reach(name: str, steps: int) -> Reach:
    return Reach(LOOPS[name](), steps)


def main(arguments: list[str] | None = None) -> int:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="of a question")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="of a question")
    parser.add_argument("--only", default="", metavar="TEXT", help="loops whose names hold the text")
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    print("| loop | formula | expected | verdict | s | by | shown | |", flush=True)
    print("|---|---|---|---|---|---|---|---|", flush=True)
    wrong = asked = shown = 0
    for row in questions(options.only):
        got = answered(LOOPS[row.loop](), row.formula, options.timeout, True, options.workers)
        problem = judged({**got, "expected": row.expected})
        wrong, asked = wrong + problem.isupper(), asked + 1
        shown += got["check"] in {"accepted", "replayed"} and not problem
        cells = (row.loop, f"`{row.formula}`", row.expected, got["verdict"], got["seconds"], got["by"], got["check"])
        print("|", " | ".join(cells), "|", problem or got["reason"][:60], "|", flush=True)
    print(f"\n{asked} asked, {shown} as expected and shown, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
