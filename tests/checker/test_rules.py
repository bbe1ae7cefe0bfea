"""The rules themselves: named faults that they had, and that no rule loses a state that it should keep."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from tests.checker.proofs import Certified, is_violated, meets, proof_of, random_form, refusal
from tests.corpus.entries_more import CORPUS
from tests.corpus.finite import finite_case
from tests.corpus.pwl import pwl_case
from tests.corpus.spec import build
from venmas.checker.exact.cell import Cell, rational, refutes
from venmas.checker.exact.enclosures import Enclosure, relaxation
from venmas.checker.exact.values import Enclosures
from venmas.checker.goals.check import claim
from venmas.checker.goals.initial import first_goal
from venmas.checker.goals.paths import World
from venmas.checker.goals.sharing import covers
from venmas.engine.report import Verdict
from venmas.errors import ModelError
from venmas.logic import TRUE, Formula, parse
from venmas.model import System, apply_network, switch, where
from venmas.model.evaluation.regions import contains, sample
from venmas.model.evaluation.simulate import Exact
from venmas.model.expressions.expr import ArgMax, Compare
from venmas.nn.network import relu_network

# -- faults that were found --------------------------------------------------------------------------------------------


def _state(system: System, semantics: str = "real") -> Enclosures:
    goal = first_goal(system, system.regions[0], TRUE, semantics)
    assert goal is not None
    return goal.world.state(())


def test_float32_of_a_network_whose_units_are_all_dead_rounds_the_bias_of_its_last_layer():
    system = System("dead")
    x = system.real("x", 0, 1)
    (y,) = apply_network(relu_network([[[-1.0]], [[1.0]]], [[-16.0], [0.1]]), [x])
    system.branch("step", x=y)
    system.initial(x >= 0)
    single, bias = rational(Fraction(float(np.float32(0.1)))), rational(Fraction(0.1))
    q = _state(system, "float32").value(y)
    assert q.low[0] <= single <= q.upp[0]  # 0.1 is no float32 number
    assert _state(system).value(y).low[0] == bias


def test_float32_of_weights_that_underflow_counts_the_size_of_the_input():
    system = System("tiny weights")
    x = system.real("x", 0, 2**100)
    (y,) = apply_network(relu_network([[[1.4e-45 * 0.75]]], [[0.0]]), [x])
    system.branch("step", x=y)
    system.initial(x == 2**100)
    rounded = Fraction(float(np.float32(1.4e-45 * 0.75))) * 2**100
    q = _state(system, "float32").value(y)
    assert q.low[0] <= rational(rounded) <= q.upp[0]


@pytest.mark.parametrize(("weight", "high"), [(1e39, Fraction(1, 10**9)), (1e-30, 2**127)])
def test_float32_where_a_weight_or_an_input_is_infinite_is_not_proved(weight, high):
    system = System("infinite")
    x = system.real("x", 0, high)
    (y,) = apply_network(relu_network([[[weight]]], [[0.0]]), [x])
    system.branch("step", x=y * 0)
    system.initial(x == high)
    with pytest.raises(ModelError, match="overflow"):
        _state(system, "float32").value(y)


def test_relaxation_of_integer_weights_loses_nothing_to_rounding():
    """Coefficients were rounded to the unit of the weights, 1 here, and the bounds moved by 20 units."""
    system = System("whole")
    x = system.real("x", -10, 10)
    (y,) = apply_network(relu_network([[[1.0], [-1.0]], [[1.0, 1.0]]], [[0.0, 0.0], [0.0]]), [x])
    system.branch("step", x=y / 2)
    system.initial(x >= -10)
    state = _state(system)
    q = state.value(y)
    assert state.cell.sup(q.upp).value <= rational(1001, 100) * 2
    assert state.cell.inf(q.low).value >= -20


def test_float32_errors_of_integer_weights_are_not_rounded_up_to_whole_numbers():
    system = System("whole")
    x = system.real("x", 0, 1)
    (y,) = apply_network(relu_network([[[1.0]]], [[1.0]]), [x])
    system.branch("step", x=y / 2)
    system.initial(x >= 0)
    state = _state(system, "float32")
    assert state.cell.sup(state.value(y).upp).value <= rational(2001, 1000)


def test_a_switch_without_a_case_in_a_state_behind_a_guard():
    system = System("beyond")
    m = system.integer("m", 0, 1)
    system.branch("up", m=m + 1, when=m <= 0)
    system.branch("turn", m=switch(m, {0: 1, 1: 0}))
    system.initial(m == 1)
    certified = proof_of(system, "AX AX m <= 1")
    assert certified is not None and refusal(certified) is None


def test_long_paths_do_not_recurse():
    system = System("long")
    x = system.real("x", 0, 1)
    system.branch("stay", x=where(x >= 0.5, x, 1 - x))
    system.initial(x >= 0)
    goal = first_goal(system, system.regions[0], TRUE)
    assert goal is not None
    path = (0,) * 5000
    assert goal.world.state(path).value(system["x"]).low is not None
    (left, _) = goal.split(tuple(rational(Fraction(c)) for c in ("-1/3", "1")))
    assert left.world.state(path).value(system["x"]).exact is False


# -- parts of rules, where a little too much would hardly show ---------------------------------------------------------


@pytest.mark.parametrize("seed", range(50))
def test_relaxations_hold_at_the_ends_exactly(seed):
    rng = Random(seed)
    low, high = (-rational(rng.randint(1, 10**6), rng.randint(1, 99)), rational(rng.randint(1, 10**6), 7))
    cell = Cell(("x",), (low,), (high,), (False,))
    shift = rational(rng.randint(0, 10**6), 13)
    keep, slope, lift = relaxation(cell, (-shift, rational(1)), (rational(0), rational(1)))
    for z in (low, high, rational(0)):
        assert (z - shift if keep else 0) <= max(z - shift, 0)
        assert rational(slope, 2**20) * z + lift >= max(z, 0)
    assert lift <= high  # no more than the trivial bound


def test_a_cell_covers_another_only_with_all_its_rows():
    box = Cell(("x", "y"), (rational(0),) * 2, (rational(1),) * 2, (False, False))
    one, two = (box.cut(tuple(rational(c) for c in form)) for form in ((-1, 1, 1), (1, -1, -1)))
    assert one is not None and two is not None
    assert covers(box, one) and covers(one, one) and covers(box, box)
    assert not covers(one, box) and not covers(one, two)
    narrow = one.cut((rational(-1, 2), rational(1), rational(0)))
    assert narrow is not None
    assert covers(one, narrow) and not covers(narrow, one) and not covers(Cell(("x", "z"), *_rest(box)), box)


def _rest(cell: Cell):
    return cell.low, cell.high, cell.integral


def test_a_lemma_of_one_side_does_not_prove_the_other():
    """Both sides of a diagonal have the same box; what holds below it does not hold above."""
    system = System("diagonal")
    x = system.real("x", 0, 1)
    system.real("y", 0, 1)
    system.branch("stay", x=x)
    system.initial(x >= 0)
    formula = parse("AX x + y <= 1", system.vocabulary)
    split = {"rule": "split", "form": ["1", "-1", "-1"]}
    for count in range(1, 12):  # somewhere in between the goals of both sides are the same but for the cell
        for rows in ([[0, "1"], [1, "1"]], [[1, "1"], [0, "1"]]):
            side = [{"rule": "expand"}] * count + [{"rule": "refute", "weights": rows}]
            for name in range(1, count + 4):
                lines = [{"rule": "region", "index": 0}, split, *side, {"rule": "same", "as": name}]
                lines.append({"rule": "end", "lines": len(lines) + 1})
                assert refusal(Certified(system, formula, False, tuple(lines))) is not None


# -- every rule keeps every state that meets its goal ------------------------------------------------------------------


def _cases():
    yield from ((e.name, e.system(), e.formula) for e in CORPUS if e.verdict is Verdict.VIOLATED)
    for seed in range(60):
        for name, case in ((f"finite {seed}", finite_case(seed)), (f"pwl {seed}", pwl_case(seed))):
            yield name, build(case.spec), case.formula


def _initial_states(system: System, rng: np.random.Generator) -> list[dict[str, Fraction]]:
    return [s for region in system.regions for s in sample(system, region, rng, 6)]


CASES = list(_cases())


@pytest.mark.parametrize("at", range(len(CASES)), ids=[name for name, _, _ in CASES])
def test_rules_keep_the_states_that_violate(at):
    """A state that violates the formula meets the first goal, and after any rule one of those that remain."""
    _, system, text = CASES[at]
    formula = text if isinstance(text, Formula) else parse(text, system.vocabulary)
    rng = Random(at)
    for state in _initial_states(system, np.random.default_rng(at)):
        if is_violated(system, formula, state):
            for region in system.regions:
                if contains(region, state):
                    _follow(system, region, formula, state, rng)


def _follow(system, region, formula, state, rng) -> None:
    goal = first_goal(system, region, claim(system, formula, rng.random() < 0.3))
    assert goal is not None and meets(goal, state)
    choices = [n for _, n in system.nodes() if isinstance(n, ArgMax | Compare)]
    for _ in range(80):
        rows = goal.rows()
        for _ in range(3):
            weights = [(rng.randrange(len(rows)), rng.randint(0, 3)) for _ in range(3)] if rows else []
            assert not refutes(goal.world.cell, rows, weights)
        if rng.random() < 0.2:
            size = len(goal.world.cell.names)
            opens = [f for s in goal.world._states.values() for f in s.open]
            form = tuple(rational(Fraction(c)) for c in random_form(rng, size))
            goals = goal.split(rng.choice(opens) if opens and rng.random() < 0.7 else form)
        elif goal.todo and choices and rng.random() < 0.2:
            goals = goal.case(rng.choice(choices))
        elif len(goal.todo) > 1 and rng.random() < 0.1:
            goals = [goal.keep(rng.randrange(len(goal.todo)))]
        elif goal.todo:
            goals = goal.expand()
        else:
            return
        kept = [g for g in goals if meets(g, state)]
        assert kept, "the rule lost a state"
        goal = rng.choice(kept)


@pytest.mark.parametrize("seed", range(40))
def test_enclosures_contain_exact_values(seed):
    """Over random cells: every expression of the system, at points of the cell."""
    rng = Random(seed)
    system = build(pwl_case(seed).spec)
    for region in system.regions:
        goal = first_goal(system, region, TRUE)
        if goal is None:
            continue
        cell: Cell = goal.world.cell
        for _ in range(rng.randint(0, 3)):
            form = tuple(rational(Fraction(c)) for c in random_form(rng, len(cell.names)))
            cell = cell.cut(form, rng.random() < 0.5) or cell
        world = goal.world.within(cell)
        states = [s for s in sample(system, region, np.random.default_rng(seed), 20) if _in(cell, s)]
        for state in states:
            _compare(system, world, state)


def _in(cell: Cell, state) -> bool:
    point = [rational(state[n]) for n in cell.names]
    inside = all(a <= v <= b for a, v, b in zip(cell.low, point, cell.high, strict=True))
    return inside and all(_at(r.form, point) > 0 or (_at(r.form, point) == 0 and not r.strict) for r in cell.rows)


def _at(form, point):
    return form[0] + sum((c * v for c, v in zip(form[1:], point, strict=True)), rational(0))


def _compare(system: System, world: World, state) -> None:
    point = [rational(state[n]) for n in world.cell.names]
    here, abstract = Exact(state), world.state(())
    for _, node in system.nodes():
        if isinstance(node, Compare):
            truth = abstract.truth(node)
            assert truth is None or truth == here.truth(node)
    for branch in system.branches:
        for _, expr in branch.updates:
            q: Enclosure = abstract.value(expr)
            exact = here.value(expr)
            assert _at(q.low, point) <= rational(exact) <= _at(q.upp, point)
            assert q.values is None or exact in q.values
