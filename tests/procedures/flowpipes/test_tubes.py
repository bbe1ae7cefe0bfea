"""Flowpipes: published loops with their ends, cuts, violations, refusals, and random systems beside scipy."""

from __future__ import annotations

from tests.needs import needs

needs("scipy")

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from experiments.arch_comp.__main__ import INSTANCES, find
from tests.corpus.smooth import check
from venmas import verify
from venmas.answer import Answer, Proved, Unknown, Violated
from venmas.bounds.affine.tube import Tube
from venmas.budget import Budget
from venmas.checker.exact.initial import initial_box
from venmas.checker.file import check_certificate
from venmas.model import System, absolute, argmax, exp, sin, sqrt, switch, tanh, where
from venmas.model.evaluation.cuts import Cut, Fineness
from venmas.model.evaluation.simulate import step_batch
from venmas.nn import load_network
from venmas.procedure import Run
from venmas.procedures.flowpipes.procedure import FLOWPIPES
from venmas.procedures.flowpipes.proof import Flowpipes
from venmas.question import Question, read_property

FINE = Fineness(order=6, substeps=2, slices=4, symbols=20)
REACHED = {
    "Single-Pendulum": {"x1": (0.5753, 0.6944), "x2": (-0.5421, -0.4463)},
    "ACC": {"x4": (153.9, 159.3), "x5": (27.26, 29.01)},
    "TORA-reach-sigmoid": {
        "x1": (0.0573, 0.0821),
        "x2": (-0.7658, -0.7397),
        "x3": (0.2001, 0.2252),
        "x4": (0.4832, 0.5106),
    },
    "TORA-reach-tanh": {"x1": (0.0680, 0.0930), "x2": (-0.803, -0.776)},
    "Unicycle": {"x1": (0.485, 0.491), "x2": (-0.135, -0.131), "x3": (-0.0248, -0.0230), "x4": (-0.256, -0.253)},
}
"""Ends that a study of such enclosures reached with one box; its decimals are those that are known."""
LOOPS = {instance.label: instance for instance in INSTANCES}
STEPS = {"Single-Pendulum": 20, "ACC": 50, "TORA-reach-sigmoid": 10, "TORA-reach-tanh": 10, "Unicycle": 50}


@pytest.fixture(scope="module")
def networks(data_dir: Path) -> Path:
    return data_dir / "smooth" / "networks"


def ask(system: System, formula: str, seconds: float = 60.0, certified: bool = False) -> tuple[Answer | None, Run]:
    run, question = Run(), Question(system, read_property(system, formula), certified=certified)
    assert FLOWPIPES.accepts(question, run) is None
    return FLOWPIPES.start(question, run).advance(Budget(seconds)), run


def published(name: str, networks: Path) -> System:
    file = find(LOOPS[name], networks)
    assert file is not None
    return LOOPS[name].build(load_network(file))


@pytest.mark.parametrize("name", list(STEPS))
def test_one_box_encloses_the_samples_tightly(name: str, networks: Path) -> None:
    system = published(name, networks)
    box = initial_box(system, system.regions[0])
    assert box is not None
    named = dict(zip(system.variables, box, strict=True))
    tube = Tube(system, [named], FINE)
    rng = np.random.default_rng(1)
    part = rng.random((60, len(named)))
    part[::2] = np.rint(part[::2])
    state = {n: float(a) + float(b - a) * part[:, i] for i, (n, (a, b)) in enumerate(named.items())}
    for _ in range(STEPS[name]):
        tube.advance()
        state, _ = step_batch(system, state, np.zeros(60, dtype=int))
        for n, (low, high) in tube.ends().items():
            slack = 1e-9 * np.abs(state[n]).max()
            assert low[0] - slack <= state[n].min() and state[n].max() <= high[0] + slack
    for n, (low, high) in REACHED.get(name, {}).items():
        found = tube.ends()[n]
        assert float(found[1][0] - found[0][0]) <= 1.05 * (high - low) + 1e-4


@pytest.mark.parametrize("name", [*STEPS, "Double-Pendulum-more"])
def test_published_loops_have_their_verdicts(name: str, networks: Path, tmp_path: Path) -> None:
    system, expected = published(name, networks), "violated" if name == "Double-Pendulum-more" else "satisfied"
    report = verify(system, LOOPS[name].asked, timeout=60, certificate=tmp_path / "proof.gz")
    assert str(report.verdict.value) == expected
    if expected == "satisfied":
        assert check_certificate(tmp_path / "proof.gz", system).leaves == 1


def decay(low: str = "1", high: str = "2") -> System:
    system = System("decay")
    x = system.real("x", -9, 9)
    system.branch("go", system.flow("0.5", {x: -x}).end)
    system.initial(x >= Fraction(low), x <= Fraction(high))
    return system


def test_what_is_so_but_for_little_is_told_apart() -> None:
    # two periods of a half: exp(-1) = 0.36787944..
    assert isinstance(ask(decay(), "AX^2 (x >= 0.367879)")[0], Proved)
    assert isinstance(ask(decay(), "AX^2 (x >= 0.367880)")[0], Violated)
    assert isinstance(ask(decay(), "AX^2 (x < 0.735759)")[0], Proved)
    assert isinstance(ask(decay(), "AG^2 (x > 0.4) | AX^2 (x < 0.74)")[0], Proved)


def test_boxes_are_cut_where_it_helps_and_the_proof_says_so() -> None:
    system = System("cut")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.branch("go", {x: x**3 - 3 * x + y * Fraction(1, 100)})
    system.initial(x >= -2, x <= 2, y >= 0, y <= 1)
    answer, _ = ask(system, "AX (x >= -2.05 & x <= 2.05)", certified=True)
    assert isinstance(answer, Proved) and answer.inside and isinstance(answer.proof, Flowpipes)
    (tree,) = answer.proof.trees
    assert isinstance(tree, Cut) and tree.variable == "x"


def test_one_box_that_leaves_the_domain_does_not_spoil_the_others() -> None:
    system = System("root")
    x, y = system.real("x", -1, 9), system.real("y", -9, 9)
    system.branch("go", {y: sqrt(x)})
    system.initial(x >= 0, x <= 4, y == 0)
    assert isinstance(ask(system, "AX (y >= -0.001 & y <= 2.001)")[0], Proved)
    # enclosures never tell that a bound is met exactly
    assert isinstance(ask(system, "AX (y >= 0 & y <= 2)")[0], Unknown)
    boxes = [{"x": (Fraction(a), Fraction(a + 1)), "y": (Fraction(0), Fraction(0))} for a in (-1, 1, 2)]
    tube = Tube(system, boxes, FINE)
    tube.advance()
    assert tube.ring.broken.tolist() == [True, False, False]


def test_what_may_leave_its_range_is_named() -> None:
    system = System("grow")
    x, y = system.real("x", 0, 2), system.real("y", -99, 99)
    system.branch("go", {x: exp(x) / 2, y: absolute(x - 1) + where(y > 3, 1, 0)})
    system.initial(x >= 1, x <= Fraction("1.5"), y == 0)
    answer, run = ask(system, "AX (y <= 0.501)")
    assert isinstance(answer, Proved) and answer.leaving == {"x"}
    assert run.made("flowpipes").reach[1]["y"][1] < 0.51


def test_an_equation_that_is_met_in_a_point_is_open_or_met() -> None:
    system = System("touch")
    x = system.real("x", -9, 9)
    system.branch("go", {x: tanh(x) - tanh(x) + x * x})
    system.initial(x >= -1, x <= 1)
    report = verify(system, "AX (x > 0)", timeout=5)
    assert report.verdict.value == "violated"


@pytest.mark.parametrize("seed", range(6))
def test_random_systems_beside_an_integrator(seed: int) -> None:
    verdict, wrong = check(seed)
    assert not wrong, (verdict, wrong)


def test_open_choices_are_followed_one_by_one() -> None:
    system = System("choice")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    push = switch(argmax([x, Fraction(0)]), {0: -1, 1: 1})
    system.branch("go", {x: sin(x) * Fraction(1, 2) + where(x > 0, -1, 1) * Fraction(1, 4), y: push * x})
    system.initial(x >= -1, x <= 1, y == 0)
    # |x'| <= max(sin(1) / 2 - 1/4, 1/4); y = -|x|, with the option that goes with the sign of x in every part
    answer, _ = ask(system, "AG^3 (x >= -0.51 & x <= 0.51) & AX (y <= 0.01)", certified=True)
    assert isinstance(answer, Proved)
    box = {"x": (Fraction(-1), Fraction(1)), "y": (Fraction(0), Fraction(0))}
    tube = Tube(system, [box, {**box, "x": (Fraction(1, 2), Fraction(1))}], FINE)
    assert tube.advance().before.tolist().count(1) == 1 and tube.boxes.tolist().count(0) == 4
    assert isinstance(ask(system, "AX (x <= 0.17)")[0], Violated)
