"""Programs say of a run what the simulator computes, and of a formula what the witness search decides."""

from fractions import Fraction

import numpy as np
import pytest

from tests.random_loops import random_loop
from venmas.logic import nnf, parse
from venmas.model import System, apply_network, argmax, clip, where
from venmas.model.evaluation.regions import contains
from venmas.model.evaluation.simulate import successors
from venmas.model.expressions.expr import Expr, Variable
from venmas.model.transform.program import INPUTS, Program
from venmas.model.transform.unroll import unroll
from venmas.model.witness.build import satisfies
from venmas.nn import Layer, Network, relu_network
from venmas.question import Question, drawn_for, read_property

pytestmark = pytest.mark.quick

FORMULAS = (
    "AG^2 (x[1] <= 1)",
    "EX^3 (x[1] > 0 & x[1] < 2)",
    "A (x[1] < 1 U^2 x[1] >= 1/2)",
    "AX (x[1] != 1 | x[1] == 0) & AF^2 (x[1] <= 3/4)",
)


def random_points(program: Program, rng: np.random.Generator, count: int) -> list[tuple[Fraction, ...]]:
    parts = [[Fraction(int(rng.integers(0, 9)), 8) for _ in program.inputs] for _ in range(count)]
    return [tuple(a + p * (b - a) for a, b, p in zip(program.low, program.high, ps, strict=True)) for ps in parts]


@pytest.mark.parametrize("seed", range(40))
def test_a_program_is_the_loop(seed: int) -> None:
    system, rng = random_loop(seed), np.random.default_rng(seed)
    target = nnf(parse(FORMULAS[seed % 4], system.vocabulary), negate=True)
    program = unroll(system, system.regions[0], target)
    assert isinstance(program, Program), program
    assert program.steps == target.depth
    for x in random_points(program, rng, 5):
        state, after = program.state(x), program.values(x)
        assert program.inside(x) == contains(system.regions[0], state)
        if not program.inside(x):
            continue
        assert program.holds(x) == satisfies(system, target, state)
        for step in range(1, program.steps + 1):
            (found,) = successors(system, state)
            state = found.state
            values = after[program.step_layer[step]]
            assert all(state[n] == values[i] for n, i in program.places[step].items())
            assert all(state[n] == v for n, v in program.known[step].items())
        assert "x[1]" in {*program.places[-1], *program.known[-1]}


def loop(update: dict[Variable, Expr] | None = None) -> tuple[System, Variable, Variable]:
    system = System("loop")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.initial(x >= 0, x <= 1, y == 2)
    if update is not None:
        system.branch("go", update)
    return system, x, y


def asked(system: System, formula: str) -> Program | str:
    return unroll(system, system.regions[0], nnf(parse(formula, system.vocabulary), negate=True))


def test_what_is_one_number_is_no_input_and_steps_that_are_the_same_are_shared() -> None:
    system, x, y = loop()
    system.branch("go", x=x / 2 + y, y=y)
    program = asked(system, "AG^3 x <= 4")
    assert isinstance(program, Program)
    assert (program.inputs, program.fixed) == (("x",), {"y": 2})
    assert program.sizes == (1, 1, 1, 1)
    assert program.layers[0] is program.layers[1]
    assert [g.layer for g in program.groups] == [INPUTS + 1, 1, 2]


def test_a_network_keeps_its_weights_and_carries_are_units_without_relu() -> None:
    network = relu_network([[[0.1, -1.0], [2.0, 0.3]], [[1.0, 1.0]]], [[0.0, 1.0], [0.5]])
    system, x, y = loop()
    system.initial(y >= 0, y <= 1, x == 0)
    system.branch("go", x=apply_network(network, [x, y])[0] / 3, y=y)
    target = nnf(parse("AX (x + y <= 4)", system.vocabulary), negate=True)
    free = System("free")
    a, b = free.real("x", -9, 9), free.real("y", -9, 9)
    free.initial(a >= 0, a <= 1, b >= 0, b <= 1)
    free.branch("go", x=apply_network(network, [a, b])[0] / 3, y=b)
    program = unroll(free, free.regions[0], target)
    assert isinstance(program, Program)
    first, last = program.layers
    np.testing.assert_array_equal(first.weights, [[0.1, -1.0], [2.0, 0.3], [0.0, 1.0]])
    assert first.relu.tolist() == [True, True, False]
    assert last.inexact[0, 0] == Fraction(1, 3)
    assert not first.inexact


def test_what_is_written_twice_is_one_unit() -> None:
    network = relu_network([np.ones((3, 2)), np.ones((1, 3))], [np.zeros(3), np.zeros(1)])
    sizes = []
    for twice in (False, True):
        system, x, y = loop()
        u = clip(apply_network(network, [x, 2 * y])[0], -1, 1)
        v = clip(apply_network(network, [x + 0, y + y])[0], -1, 1) if twice else u
        system.branch("go", {x: x + u, y: y - v})
        program = unroll(system, system.regions[0], nnf(parse("AX (x + y <= 9)", system.vocabulary)))
        assert isinstance(program, Program)
        sizes.append(program.sizes)
    assert sizes[0] == sizes[1]


def test_divisions_of_networks_stay_exact() -> None:
    network = Network((Layer.dividing([3.0, 7.0], "relu"), Layer([[1.0, 1.0]], [0.0])))
    system, x, y = loop()
    system.branch("go", x=apply_network(network, [x, x])[0], y=y)
    program = asked(system, "AX x <= 4")
    assert isinstance(program, Program)
    assert program.values((Fraction(1),))[-1] == (Fraction(1, 3) + Fraction(1, 7),)


def test_guards_are_a_part_of_the_formula() -> None:
    system, x, _ = loop()
    system.branch("go", {x: x + 1}, when=x <= Fraction(1, 2))
    for formula in ("AX x >= 3/2", "EX x >= 5/4", "AX false", "EX true"):
        program = asked(system, formula)
        target = nnf(parse(formula, system.vocabulary), negate=True)
        assert isinstance(program, Program)
        for i in range(9):
            at = Fraction(i, 8)
            assert program.holds((at,)) == satisfies(system, target, {"x": at, "y": Fraction(2)})


def test_what_is_no_such_program_is_told() -> None:
    system, x, y = loop()
    system.branch("go", x=where(x > y, x, y))
    assert "where" in str(asked(system, "AX x <= 1"))
    system, x, y = loop()
    system.branch("go", x=1 * argmax((x, y)))
    assert "argmax" in str(asked(system, "AX x <= 1"))
    assert isinstance(asked(system, "AX y <= 1"), Program)  # x does not matter
    system, x, y = loop()
    system.branch("go", x=x)
    assert "steps" in str(asked(system, "AX^500 x <= 1"))
    system.branch("other", x=y)
    assert "branches" in str(asked(system, "AX x <= 1"))
    system = System("count")
    n = system.integer("n", 0, 3)
    system.initial(n <= 2)
    system.branch("go", n=n)
    assert "integer n" in str(asked(system, "AX n <= 1"))


def test_a_path_of_branches_is_a_program() -> None:
    system, x, y = loop()
    system.branch("up", x=x + y)
    system.branch("down", x=x - y)
    target = nnf(parse("AG^2 x <= 4", system.vocabulary), negate=True)
    for path, most in (((0, 0), 5), ((0, 1), 1), ((1, 1), -3)):
        program = unroll(system, system.regions[0], target, path)
        assert isinstance(program, Program)
        assert program.values((Fraction(1),))[-1] == (most,)
        assert program.holds((Fraction(1),)) == (most == 5)


def test_more_inputs_than_are_wanted_are_told_of_before_steps_are_written() -> None:
    system, x, y = loop()
    push = system.disturbance("push", -1, 1)
    system.branch("go", x=x / 2 + push, y=y)
    asked = read_property(system, "AG^9 x <= 4")
    question = Question(drawn_for(system, asked), asked)
    (region,) = question.system.regions
    assert isinstance(unroll(question.system, region, question.target, most=10), Program)
    told = unroll(question.system, region, question.target, most=9)
    assert told == "10 initial values and disturbances are open, more than 9"
