"""Argmax among the indices whose condition holds, by every interpreter of expressions."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from venmas import System, verify
from venmas.engine.report import Verdict
from venmas.errors import ModelError
from venmas.model import apply_network, argmax
from venmas.model.evaluation.simulate import Batch, Step
from venmas.nn.network import relu_network

pytestmark = pytest.mark.quick


def chosen(scores, able):
    among = [i for i, a in enumerate(able) if a] or range(len(scores))
    return max(among, key=lambda i: (scores[i], -i))


def test_every_pattern_of_three_scores_with_ties():
    system = System("three")
    variables = [system.integer(f"s{i}", 0, 2) for i in range(3)]
    flags = [system.boolean(f"b{i}") for i in range(3)]
    action = system.agent(argmax(variables, among=[f == 1 for f in flags]))
    done = system.integer("done", 0, 2)
    system.branch("go", done=action)
    system.initial(done == 0)
    states = [*product(range(3), range(3), range(3), (0, 1), (0, 1), (0, 1), (0,))]
    for state in states:
        exact = Step(system, dict(zip(system.variables, map(Fraction, state), strict=True))).actions()["action"]
        assert exact == chosen(state[:3], state[3:6]), state
    columns = {n: np.array([s[i] for s in states], dtype=float) for i, n in enumerate(system.variables)}
    found = Batch(columns).value(action)
    assert found.tolist() == [chosen(s[:3], s[3:6]) for s in states]


@pytest.mark.parametrize("mode", ["adaptive", "mono", "exact"])
def test_a_filtered_policy_is_decided_by_every_mode(mode):
    system = System("filtered")
    x, y = system.integer("x", 0, 6), system.integer("y", 0, 2)
    scores = apply_network(relu_network([[[1.0], [-1.0], [0.5]]], [[0.0, 4.0, 1.0]]), [x])
    system.branch("go", y=argmax(scores, among=[x <= 4, x >= 2, x != 3]))
    system.initial(y == 0)
    able = [[x <= 4, x >= 2, x != 3] for x in range(7)]
    expected = [chosen((x, 4 - x, x / 2 + 1), able[x]) for x in range(7)]
    for x in range(7):
        for y in range(3):
            report = verify(system, f"(x == {x} & y == 0) -> AX y == {y}", mode=mode)
            assert report.verdict.value == ("satisfied" if expected[x] == y else "violated"), (x, y)


def test_conditions_fit_the_scores():
    system = System("wrong")
    x = system.integer("x", 0, 1)
    with pytest.raises(ModelError, match=r"argmax.. of 2 scores takes as many conditions in among=, got 1"):
        argmax([x, 1 - x], among=[x == 0])
    with pytest.raises(ModelError, match="expected a condition"):
        argmax([x, 1 - x], among=[x, x])


@pytest.mark.parametrize("mode", ["adaptive", "mono", "comp-seq", "exact"])
def test_a_choice_among_some_outputs_of_a_network(mode: str) -> None:
    """Outputs that no score is never win, wherever they stand; the order is that of the scores."""
    for order, verdict in ((0, 1), Verdict.SATISFIED), ((1, 0), Verdict.VIOLATED), ((2, 0), Verdict.VIOLATED):
        system = System("some")
        x = system.real("x", 0, 1)
        outputs = apply_network(relu_network([np.array([[1.0], [2.0], [3.0]])], [np.zeros(3)]), [x])
        system.branch("go", x=argmax([outputs[i] for i in order]))
        system.initial(x >= 0.25)
        assert verify(system, "AX x >= 1", mode=mode, timeout=20).verdict is verdict
