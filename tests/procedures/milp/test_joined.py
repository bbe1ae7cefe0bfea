"""Mode mono with one node a step, as in the paper's Figure 6: the same answers over looser programs."""

from __future__ import annotations

import pytest

from venmas import System, load_scenario, verify
from venmas.bounds.reach import Reach
from venmas.bounds.states import States
from venmas.logic import nnf, parse
from venmas.model import where
from venmas.procedures.milp.encoding import Task, encode

JOINED = {"milp.successors": "joined", "milp.isolated": "off"}


def walker() -> System:
    """Two branches under guards, and a choice that depends on the state."""
    system = System("walker")
    x, y = system.integer("x", -20, 20), system.real("y", -40, 40)
    system.branch("up", {x: x + 2, y: y + where(x > 0, 1, -2)}, when=x <= 3)
    system.branch("down", {x: x - 1, y: y / 2}, when=x >= 0)
    system.initial(x >= 0, x <= 1, y >= 0, y <= 1)
    return system


@pytest.mark.parametrize(
    "formula",
    [
        "AG^3 y >= -4",
        "AG^3 y >= -2",
        "AG^3 (x > -2)",
        "AX EX y < 1",
        "EX AX x >= 2",
        "AF^2 y < 0",
        "AX (x > 1 | AX x < 3)",
    ],
)
def test_answers_are_those_of_single_nodes(formula: str) -> None:
    system = walker()
    said = {s: verify(system, formula, mode="mono", tune={**JOINED, "milp.successors": s}) for s in ("apart", "joined")}
    assert said["apart"].verdict == said["joined"].verdict != "unknown"
    assert verify(system, formula, mode="exact").verdict == said["joined"].verdict


def test_a_step_leads_into_one_node_with_the_widest_bounds() -> None:
    system = load_scenario("frozenlake").system()
    (root,) = States.initial(system, [{n: (d[0], d[1]) for n, d in system.box.items()}]).members
    apart, joined = Reach([root], lambda _: None), Reach([root], lambda _: None, joined=True)
    nodes = {id(a.target): a.target for o in apart.outcomes(root) for a in o.arcs}
    (outcome,) = joined.outcomes(root)
    assert len(nodes) > 1 and len({id(a.target) for a in outcome.arcs}) == 1 < len(outcome.arcs)
    for variable in system:
        low, high = outcome.arcs[0].target.bounds(variable)
        ends = [n.bounds(variable) for n in nodes.values()]
        assert low <= min(a for a, _ in ends) and high >= max(b for _, b in ends)


def test_programs_are_looser() -> None:
    """Of FrozenLake bounds refute everything, where states are told apart, and nothing where they are joined."""
    system = load_scenario("frozenlake").system()
    target = nnf(parse("AG^3 safe", system.vocabulary), negate=True)
    made = {joined: [*encode(Task(system, target, "monolithic", joined=joined))] for joined in (False, True)}
    assert not made[False] and len(made[True]) == 1
