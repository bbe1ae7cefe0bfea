"""Policies that choose among applicable labels: what is read, what is refused, queries, the published model."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.procedures.predicate_abstraction.random_systems import check_graph, check_verdict, variants
from tests.random_policies import all_states, random_system
from venmas import System, abstract, load_jani, verify
from venmas.checker.file import check_certificate
from venmas.errors import UsageError
from venmas.model.evaluation.simulate import Exact
from venmas.model.expressions.expr import All, ArgMax, Compare, Condition, Constant, Expr, Where
from venmas.model.expressions.functions import apply_network, argmax, where
from venmas.nn import relu_network
from venmas.procedures.predicate_abstraction.states.masking import _scored, filtered
from venmas.procedures.predicate_abstraction.states.queries import Queries, QueryEngine
from venmas.procedures.predicate_abstraction.states.task import UnsuitableError, read_policy, task_of

RELATIONS = {"GT": "GE", "GE": "GT", "LT": "LE", "LE": "LT"}


def picking(action: Callable[[System, list[Expr], list[Expr]], Expr]) -> System:
    """Three labels over two integers; the choice is made by `action` of system, scores and variables."""
    s = System("picking")
    v = [s.integer(name, 0, 6) for name in ("x", "y")]
    rng = np.random.default_rng(4)
    weights = [rng.integers(-2, 3, (4, 2)).astype(float), rng.integers(-2, 3, (3, 4)).astype(float)]
    scores = apply_network(relu_network(weights, [np.ones(4), np.zeros(3)], name="p"), v)
    chosen = s.agent(action(s, list(scores), list(v)))
    s.branch("right", {v[0]: v[0] + 1}, when=(chosen == 0) & (v[0] <= 5))
    s.branch("up", {v[1]: v[1] + 1}, when=(chosen == 1) & (v[1] <= 5))
    s.branch("down", {v[1]: v[1] - 1}, when=(chosen == 2) & (v[1] >= 1))
    s.initial(v[0] == 0, v[1] <= 1)
    return s


def masked(s: System, scores: list[Expr], v: list[Expr]) -> Expr:
    return argmax(scores, among=[v[0] <= 5, (v[1] <= 5) & (v[0] >= 1), v[1] >= 1])


def test_choices_are_those_of_the_model() -> None:
    """Every state of random systems, states in which no label competes among them."""
    nobody = 0
    for seed in range(60):
        system = random_system(np.random.default_rng(seed), masking=True)
        policy = task_of(system).policy
        if policy is None or policy.among is None:
            continue
        choice = read_policy(system)[1]
        assert choice is not None
        states = all_states(system)
        picked = policy.choose(np.array(states))
        for state, label in zip(states, picked.tolist(), strict=True):
            exact = Exact({name: Fraction(x) for name, x in zip(system.variables, state, strict=True)})
            assert exact.value(choice) == label
        truths = np.stack([c.over(np.array(states), np.array(states)).truth for c in policy.among.conditions], 1)
        nobody += bool((truths != 1).all(1).any())
    assert nobody


def test_queries_of_boxes_are_those_of_all_points() -> None:
    system = picking(masked)
    engine = QueryEngine(task_of(system).policy)
    policy = engine.policy
    assert policy is not None and policy.among is not None
    points = np.array(list(product(range(7), repeat=2)))
    picked = policy.choose(points)
    boxes = [(a, b) for a in points for b in points if (a <= b).all()]
    low, high = (np.array([box[i] for box in boxes]) for i in (0, 1))
    for label in range(3):
        queries = Queries.of(np.full(len(low), label), low, high)
        wanted = [bool((picked[((a <= points) & (points <= b)).all(1)] == label).any()) for a, b in boxes]
        assert engine.ask(queries)[0].tolist() == wanted
        swept = engine._sweep(label, low, high)
        assert not (swept.closed & wanted).any() and swept.closed.any()
        assert (engine.possible(queries) >= wanted).all()


def with_case(node: Expr, change: Callable[[Condition], Condition]) -> Expr:
    """The chain with another first case."""
    assert isinstance(node, Where)
    return Where(change(node.condition), node.then, node.otherwise)


def weaker(condition: Condition) -> Condition:
    assert isinstance(condition, All)
    return All(condition.operands[:-1])


def other_tie(condition: Condition) -> Condition:
    assert isinstance(condition, All)
    *rest, last = condition.operands
    parts = last.operands  # type: ignore[attr-defined]
    compare = next(p for p in parts if isinstance(p, Compare) and _scored(p))
    swapped = Compare(compare.expr, type(compare.relation)[RELATIONS[compare.relation.name]])
    return All((*rest, type(last)(tuple(swapped if p is compare else p for p in parts))))


def test_only_the_filtered_argmax_is_read() -> None:
    """A comparison less, another tie, other numbers, another end: refused by name, as before."""
    assert task_of(picking(masked)).policy is not None
    for change in (weaker, other_tie):
        with pytest.raises(UnsuitableError):
            task_of(picking(lambda s, scores, v, change=change: with_case(masked(s, scores, v), change)))
    s = System("none")
    x = s.integer("x", 0, 1)
    assert filtered(Where(x >= 1, Constant(0), x)) is None and filtered(x) is None
    scores = apply_network(relu_network([np.ones((2, 1))], [np.zeros(2)], name="p"), [x])
    assert filtered(Where(x >= 1, Constant(5), ArgMax(tuple(scores)))) is None


@pytest.mark.parametrize("first", range(1, 60, 20))
def test_graphs_and_verdicts_of_masked_policies(first: int) -> None:
    chosen = variants()
    for seed in range(first, first + 20, 4):
        check_graph(seed)
        check_verdict(seed, [chosen[0], *chosen[1 + seed % 25 :: 25]])


def test_relaxation_and_masking_are_refused_together() -> None:
    with pytest.raises(UsageError, match="relaxed or masking"):
        abstract(picking(masked), ["x >= 3"], relaxed=True)


def test_published_policy_with_masking_is_proved(data_dir: Path, tmp_path: Path) -> None:
    folder = data_dir / "policy" / "blocksworld_4"
    if not folder.is_dir():
        pytest.skip(f"no published policies in {folder.parent}")
    constants: dict[str, object] = {"item_cost_bound": 50, "failing_probability": "0.5"}
    policy = folder / "blocksworld_4_3_16_16.jani2nnet"
    scenario = load_jani(folder / "blocksworld_4_3.jani", None, policy, constants, masking=True)
    assert scenario.formula is not None
    system, path = scenario.system(), tmp_path / "proof.gz"
    report = verify(system, scenario.formula, mode="abstraction", certificate=path)
    assert report.satisfied and report.basis == "exact"
    assert check_certificate(path, system).lines > 0


@pytest.mark.parametrize("value", [Fraction(1, 2), Fraction(-1, 2), Fraction(5, 2)])
def test_labels_are_whole_numbers(value: Fraction) -> None:
    """A case of another number is none of a filter: label 0 does not stand for a half."""
    s = System("half")
    x = s.integer("x", 0, 6)
    network = relu_network([np.array([[1.0], [-1.0]]), np.eye(2)], [np.zeros(2), np.array([0.0, 3.0])], name="p")
    chain = where(x >= 3, value, argmax(list(apply_network(network, [x]))))
    assert isinstance(chain, Where) and filtered(chain) is None
    chosen = s.agent(chain)
    s.branch("up", {x: x + 1}, when=(chosen == value) & (x <= 5))
    s.branch("stay", {x: x}, when=chosen != value)
    s.initial(x == 3)
    assert verify(s, "AG (x <= 4)", mode="abstraction", timeout=20).violated
    assert verify(s, "AG (x <= 6)", mode="abstraction", timeout=20).satisfied
