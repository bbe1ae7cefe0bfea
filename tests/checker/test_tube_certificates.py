"""Certificates by flowpipes: flows with known solutions, random systems beside Arb, cuts, and lies that are refused."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import gzip
import json
from fractions import Fraction
from math import cos, exp, log, sin
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from venmas import System
from venmas.answer import IncompleteError
from venmas.checker.exact.initial import initial_box
from venmas.checker.file import check_certificate
from venmas.checker.flowpipes.state import States
from venmas.checker.flowpipes.target import states_of
from venmas.checker.flowpipes.univariate import OutsideError
from venmas.checker.format.numbers import CheckError
from venmas.engine.certificates.file import write
from venmas.errors import InputError
from venmas.logic import Bounded, parse
from venmas.model import argmax, maximum, sqrt, switch
from venmas.model import sin as sine
from venmas.model.evaluation.cuts import Cut, Fineness
from venmas.procedures.flowpipes.proof import Flowpipes
from venmas.question import Question

SCHEMA = Draft202012Validator(json.loads((Path(__file__).parents[2] / "docs/certificate.schema.json").read_text()))
FINE = Fineness(order=5, substeps=2, slices=4, symbols=20)


def after(system: System, steps: int, fine: Fineness = FINE) -> States:
    """The states after some steps of the first branch."""
    box = initial_box(system, system.regions[0])
    assert box is not None
    states = states_of(system, box, 60, fine)
    for _ in range(steps):
        (states,) = states.after(system.branches[0])
    return states


def ends(states: States, name: str) -> tuple[float, float]:
    low, high = states.forms[name].range
    return low / 2**60, high / 2**60


def oscillator(period: str = "0.5", start: tuple[str, str] = ("0.9", "1")) -> System:
    """x'' = -x, from x in a range, and at rest."""
    system = System("oscillator")
    x, v, near, far = (system.real(n, -4, 4) for n in ("x", "v", "near", "far"))
    motion = system.flow(period, {x: v, v: -x})
    system.branch("swing", {**motion.end, near: motion.least(x), far: motion.greatest(x * x + v * v)})
    system.initial((x >= Fraction(start[0])) & (x <= Fraction(start[1])) & (v == 0) & (near == 0) & (far == 0))
    return system


def logistic(rate: str = "1") -> System:
    """x' = x (1 - x) rate."""
    system = System("logistic")
    x = system.real("x", -1, 3)
    system.branch("grow", system.flow("0.25", {x: Fraction(rate) * x * (1 - x)}).end)
    system.initial((x >= Fraction("0.1")) & (x <= Fraction("0.2")))
    return system


def test_solutions_that_are_known_are_held_closely() -> None:
    for steps in (1, 4, 12):
        low, high = ends(after(oscillator(), steps), "x")
        values = sorted(a * cos(steps * 0.5) for a in (0.9, 1.0))
        assert low <= values[0] and values[1] <= high and high - low < values[1] - values[0] + 1e-4
        low, high = ends(after(logistic(), steps), "x")
        grown = [exp(log(a / (1 - a)) + steps / 4) for a in (0.1, 0.2)]
        values = [g / (1 + g) for g in grown]
        assert low <= values[0] and values[1] <= high and high - low < 1.5 * (values[1] - values[0])


def test_products_of_what_rests_at_first() -> None:
    """A quadrotor's angles at rest: roll makes yaw, and yaw makes roll, while every rate grows: 1, t, t^2, .."""
    system = System("angles")
    roll, pitch, yaw, spin, turn = (system.real(n, -10, 10) for n in ("roll", "pitch", "yaw", "spin", "turn"))
    yawing = roll * turn
    rates = {roll: spin + pitch * yawing, pitch: turn, yaw: yawing, spin: Fraction(1) + 0 * spin, turn: 1 + 0 * turn}
    system.branch("fly", system.flow("0.1", rates).end)
    system.initial((roll == 0) & (pitch == 0) & (yaw == 0) & (spin == 0) & (turn == 0))
    states = after(system, 1)
    low, high = ends(states, "yaw")
    assert low <= 0.1**4 / 8 * 1.001 and high >= 0.1**4 / 8 and high - low < 1e-6
    low, high = ends(states, "roll")
    assert low <= 0.1**2 / 2 + 0.1**6 / 24 * 1.01 and high >= 0.1**2 / 2 and high - low < 1e-6


def test_extrema_are_those_between_the_steps() -> None:
    """From x = 1 at rest, half a turn and more: the least value, -1, is reached between the samples."""
    states = after(oscillator("3.5", ("1", "1")), 1, Fineness(8, 8, 16, 20))
    low, high = ends(states, "near")
    assert low <= -1 <= high and high - low < 1e-3 and ends(states, "x")[0] > -0.95
    low, high = ends(states, "far")
    assert low <= 1 <= high < 1.001


def test_flows_that_end_before_their_period_are_refused() -> None:
    """x' = x^2 from 1 reaches infinity at time 1; a root of what may be negative has no value; nor has 1 / 0."""
    blown = System("blown")
    x = blown.real("x", -10, 10)
    blown.branch("go", blown.flow("1.25", {x: x * x}).end)
    blown.initial(x == 1)
    empty = System("empty")
    y = empty.real("y", -10, 10)
    empty.branch("go", empty.flow("1", {y: -sqrt(y)}).end)
    empty.initial(y == Fraction("0.04"))
    over = System("over")
    z = over.real("z", -10, 10)
    over.branch("go", {z: 1 / z})
    over.initial((z >= -1) & (z <= 2))
    for system in (blown, empty, over):
        with pytest.raises(OutsideError):
            after(system, 1, Fineness(5, 40, 1, 10))


def test_another_plant_than_the_discretised_one() -> None:
    """Euler's steps of the same equation leave the enclosure."""
    system = oscillator("0.5", ("1", "1"))
    x, v = 1.0, 0.0
    for _ in range(4):
        x, v = x + 0.5 * v, v - 0.5 * x
    low, high = ends(after(system, 4), "x")
    assert low <= cos(2.0) <= high and not low - 0.02 <= x <= high + 0.02


def certified(
    system: System, formula: str, path: Path, trees: tuple[Any, ...] = (Fineness(4, 1, 1, 20),)
) -> list[dict[str, Any]]:
    question = Question(system, Bounded(parse(formula, system.vocabulary)), certified=True)
    write(path, question, Flowpipes(trees))
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def rewritten(lines: list[dict[str, Any]], path: Path) -> None:
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))


def test_a_certificate_is_written_and_checked(tmp_path: Path) -> None:
    system, path = oscillator(), tmp_path / "proof"
    lines = certified(system, "AG^8 (near > -1.01 & far < 1.01)", path)
    assert lines[0]["proof"] == "flowpipes" and lines[-1] == {"rule": "end", "lines": len(lines) - 1}
    assert check_certificate(path, system).leaves >= 1
    for line in lines:
        SCHEMA.validate(line)
    with pytest.raises(CheckError, match="another system"):
        check_certificate(path, oscillator("0.4"))


def test_formulas_may_be_nested_more_deeply_than_calls(tmp_path: Path) -> None:
    system, path = System("damped"), tmp_path / "proof"
    x = system.real("x", -1, 1)
    system.branch("go", {x: x / 2 + sine(x) / 4})
    system.initial((x >= Fraction("0.5")) & (x <= 1))
    certified(system, "AG^1500 (x <= 1)", path)
    assert check_certificate(path, system).leaves == 1


def test_boxes_that_grow_without_end_are_given_up_soon() -> None:
    """Else each of 40 boxes of x' = x^2 may have twice as many digits as the one before."""
    system = System("square")
    x = system.real("x", 0, 1000)
    system.branch("go", system.flow("1", {x: x * x}).end)
    system.initial((x >= 3) & (x <= 4))
    with pytest.raises(OutsideError, match="no box is found"):
        after(system, 1, Fineness(4, 1, 1, 20))


def test_leaves_that_do_not_pass_are_cut(tmp_path: Path) -> None:
    """x sin(x) over a wide range: the bound holds in parts only."""
    system, path = System("wide"), tmp_path / "proof"
    x, y = system.real("x", -10, 10), system.real("y", -100, 100)
    system.branch("go", {y: x * sine(x)})
    system.initial((x >= 0) & (x <= 3) & (y == 0))
    lines = certified(system, "AX (y < 1.9)", path)
    assert {"cut", "tube"} <= {line.get("rule") for line in lines} and check_certificate(path, system).leaves > 2
    assert max(a / 1000 * sin(a / 1000) for a in range(3000)) > 1.8
    with pytest.raises(IncompleteError, match="integers"):
        certified(system, "AX (y < 1.8)", tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


def branching() -> System:
    """Two branches, one with a guard, an integer, and a choice."""
    system = System("branching")
    x, n = system.real("x", -50, 50), system.integer("n", 0, 9)
    mode = argmax([x, 1 - x, n - 3])
    system.branch("turn", {x: maximum(sine(x) + n, x / 2), n: switch(mode, {0: 1, 1: 2, 2: 0})})
    system.branch("fall", {x: x * x / 4 - 1}, when=x > 0)
    system.initial((x >= 0) & (x <= 1) & (n >= 2) & (n <= 4))
    return system


def test_branches_guards_and_choices(tmp_path: Path) -> None:
    """Enclosures hold a thousand runs; EX and AX of the negation are told apart by guards."""
    system, rng = branching(), Random(3)
    tree = Cut("n", Fraction(2), FINE, Cut("n", Fraction(3), FINE, FINE))
    lines = certified(system, "AX^3 (x > -2 & x < 8)", tmp_path / "proof", (tree,))
    assert [line["rule"] for line in lines[1:4]] == ["enclosures", "cut", "tube"]
    assert check_certificate(tmp_path / "proof", system).leaves >= 3
    certified(system, "AX EX (x > -2)", tmp_path / "other", (tree,))
    assert check_certificate(tmp_path / "other", system).leaves >= 3
    for _ in range(1000):
        x, n = rng.uniform(0, 1), rng.randint(2, 4)
        for _ in range(3):
            mode = max(range(3), key=lambda i: (x, 1 - x, n - 3)[i])
            x, n = (x * x / 4 - 1, n) if x > 0 and rng.random() < 0.5 else (max(sin(x) + n, x / 2), (1, 2, 0)[mode])
        assert -2 < x < 8


def test_open_choices_are_followed_one_by_one(tmp_path: Path) -> None:
    """A push of 1 or -1, by a sum that is open at the start: no run comes back to the middle, though the hull does."""
    system, path = System("pushed"), tmp_path / "proof"
    x, v = system.real("x", -9, 9), system.real("v", -9, 9)
    push = switch(argmax([x, -x]), {0: 1, 1: -1})
    system.branch("go", {x: sine(x) + push, v: push})
    system.initial((x >= Fraction("-0.1")) & (x <= Fraction("0.1")) & (v == 0))
    certified(system, "AX (x > 0.8 | x < -0.8)", path)
    assert check_certificate(path, system).leaves == 1
    with pytest.raises(IncompleteError):
        certified(system, "AX (x > 0.8)", tmp_path / "wrong")


def test_no_run_may_leave_the_box(tmp_path: Path) -> None:
    """2 sin(x) of x up to 1 is above the declared range: nothing is claimed, whatever is asked."""
    system = System("tight")
    x = system.real("x", -1, 1)
    system.branch("go", {x: 2 * sine(x)})
    system.initial((x >= 0) & (x <= 1))
    with pytest.raises(IncompleteError):
        certified(system, "AX (x > -9)", tmp_path / "proof")


def test_lies_are_refused(tmp_path: Path) -> None:
    """Whatever is changed, what is accepted is true: the formula and the system are those that are asked about."""
    system, path, rng = oscillator(), tmp_path / "proof", Random(11)
    tree = Cut("x", Fraction("0.95"), Fineness(3, 1, 2, 12), Fineness(3, 1, 2, 12))
    lines = certified(system, "AG^4 (near > -1.02 & far < 1.05)", path, (tree,))
    refused = 0
    for _ in range(120):
        changed = json.loads(json.dumps(lines))
        at = rng.randrange(len(changed))
        line = changed[at]["claim"] if at == 0 and rng.random() < 0.5 else changed[at]
        key = rng.choice(sorted(line))
        value = line[key]
        match rng.randrange(5):
            case 0:
                del changed[at]
            case 1:
                changed.insert(at, changed[rng.randrange(len(changed))])
            case 2 if isinstance(value, int):
                line[key] = value + rng.choice((-value, -1, 1, 10**6))
            case 3 if key == "formula":
                line[key] = rng.choice(("AG^4 (near > -0.4)", "AG^9 (far < 0.95)", "AX (x > 0.7)"))
            case _:
                line[key] = rng.choice((True, None, "1/0", [], {}, "2", -1, 10**30))
        if changed == lines:
            continue
        rewritten(changed, path)
        try:
            check_certificate(path, system)
        except InputError:
            refused += 1
            continue
        assert changed[0]["claim"]["formula"] in (
            lines[0]["claim"]["formula"],
            "AX (x > 0.7)",
        )  # no other one is true of it
    assert refused > 80


def test_a_proof_for_piecewise_linear_systems_says_nothing_here(tmp_path: Path) -> None:
    system, path = oscillator(), tmp_path / "proof"
    lines = certified(system, "AX (x < 2)", path)
    head = lines[0] | {"proof": "goals"}
    rewritten([head, {"rule": "region", "index": 0}, {"rule": "end", "lines": 2}], path)
    with pytest.raises(CheckError, match="piecewise linear"):
        check_certificate(path, system)
