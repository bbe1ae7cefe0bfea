"""Slopes through time: beside differences of whole runs, and runs that only many noises together bring about."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.procedures.flowpipes.test_tube_long_noise import extreme, gap
from venmas.budget import Budget
from venmas.engine.partial.closest import closest
from venmas.engine.partial.find import _roots
from venmas.model import System, apply_network, tanh, where
from venmas.nn import relu_network
from venmas.procedures.flowpipes.falsify import Sampled, differences, downhill, missed
from venmas.procedures.flowpipes.plan import Plan
from venmas.procedures.hybrid.through_time import pays
from venmas.question import Question, drawn_for, read_property

Q = Fraction


def forked() -> System:
    """Two branches, a network, a smooth part, a choice, an integer, and noise that one branch does not see."""
    rng = np.random.default_rng(0)
    network = relu_network([rng.normal(size=(5, 2)), rng.normal(size=(1, 5))], [rng.normal(size=5), [0.1]])
    system = System("forked")
    x, y, n = system.real("x", -50, 50), system.real("y", -50, 50), system.integer("n", 0, 100)
    push = system.disturbance("push", -Q(1, 2), Q(1, 2))
    (u,) = apply_network(network, (x, y + push))
    system.branch("left", {x: x + u / 10, y: tanh(y + push) - x / 5, n: n + 1}, when=n < 90)
    system.branch("right", {x: where(x >= y, x / 2, y / 3), y: y + x / 8 + n / 50}, when=x <= 3)
    system.initial(x >= -1, x <= 1, y >= 0, y <= 1, n == 0)
    return system


class Case:
    """A formula about a system, and runs of parts of its initial box."""

    def __init__(self, system: System, formula: str) -> None:
        asked = read_property(system, formula)
        question = Question(drawn_for(system, asked), asked)
        self.written, self.system, self.target = system, question.system, question.target
        (self.box,) = _roots(self.system)
        self.names = [n for n, (low, high) in self.box.items() if low < high]
        self.low, self.side = (
            np.array([float(value) for value in values])
            for values in zip(*((self.box[n][0], self.box[n][1] - self.box[n][0]) for n in self.names), strict=True)
        )

    def sampled(self, root: np.ndarray, part: np.ndarray) -> Sampled:
        boxes = [self.box] * len(root)
        return missed(self.system, Plan(self.target), boxes, self.names, self.low + part * self.side)

    def missing(self, root: np.ndarray, part: np.ndarray) -> np.ndarray:
        return self.sampled(root, part).total

    def slope(self, root: np.ndarray, part: np.ndarray) -> np.ndarray:
        return self.sampled(root, part).slope(self.system, self.names) * self.side


@pytest.mark.parametrize(
    "formula",
    ["AG^4 x < 40", "AG^3 (x < 40 | y > -40)", "AX AX (x > 40 & y - 2*x = 30)", "AX (EX x > 20 | AX y < -30)"],
)
def test_slopes_are_those_of_differences(formula: str) -> None:
    system = forked()
    if "E" in formula:  # noise is drawn for one run alone
        system = gap_without_noise()
        formula = formula.replace("x", "d").replace("y", "v")
    case = Case(system, formula)
    part, root = np.random.default_rng(1).uniform(0.05, 0.95, (25, len(case.names))), np.zeros(25, dtype=np.intp)
    found = case.missing(root, part)
    assert np.isfinite(found).all()
    mine, theirs = case.slope(root, part), differences(case.missing, root, part, found)
    close = np.isclose(mine, theirs, rtol=1e-2, atol=1e-4).all(1)  # not across kinks
    assert np.abs(mine).max() > 1e-3 and close.mean() > 0.9


def gap_without_noise() -> System:
    system = System("plain")
    d, v = system.real("d", -50, 50), system.real("v", -50, 50)
    system.branch("go", {d: d + v / 4, v: v - d * v / 3})
    system.branch("stop", {d: d - v / 7 + v * v, v: v / 2})
    system.initial(d >= -1, d <= 1, v >= -1, v <= 1)
    return system


@pytest.mark.parametrize("steps", [12, 40])
def test_the_worst_noise_of_all_steps_is_found(steps: int) -> None:
    case = Case(gap(), f"AX^{steps} d < 9")
    part, root = np.full((1, len(case.names)), 0.5), np.zeros(1, dtype=np.intp)
    found = case.missing(root, part)
    for _ in range(2):
        part, found = downhill(case.missing, root, part, found, case.slope)
    assert found[0] == pytest.approx(9 - last(steps), abs=1e-9)


def last(steps: int) -> float:
    """The greatest distance after so many steps, exactly (see `extreme`)."""
    a = np.array([[1, 0.25], [-0.125, 0.75]])
    row, noise = np.array([1.0, 0.0]), 0.0
    for _ in range(steps):
        noise += abs(row @ [0, 0.025]) + abs(row @ [0, 0.00625])
        row = row @ a
    assert noise + abs(row[0]) / 2 + abs(row[1]) / 4 <= extreme(steps) + 1e-12
    return noise + abs(row[0]) / 2 + abs(row[1]) / 4


def test_the_closest_run_is_at_the_end_of_all_noises() -> None:
    system = System("sum")
    d = system.real("d", -50, 50)
    push = system.disturbance("push", -1, 1)
    system.branch("go", {d: d + push / 8})
    system.initial(d == 0)
    case = Case(system, "AX^40 d < 6")
    run = closest(case.system, case.target, [case.box], system.disturbances, Budget(20.0))
    assert run is not None and run.margin == pytest.approx(1.0)


def test_it_pays_for_wide_networks_over_many_noises_alone() -> None:
    def system(width: int) -> System:
        made = System("wide")
        d, push = made.real("d", -50, 50), made.disturbance("push", -1, 1)
        network = relu_network([np.ones((width, 1)), np.ones((1, width))], [np.zeros(width), [0.0]])
        made.branch("go", {d: d / 2 + apply_network(network, (d + push,))[0] / (4 * width)})
        made.initial(d >= -1, d <= 1)
        return made

    for width, steps, paying in ((4096, 60, True), (4096, 2, False), (16, 60, False)):
        case = Case(system(width), f"AG^{steps} d < 9")
        assert pays(case.system, case.names) is paying
