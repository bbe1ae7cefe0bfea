"""The runs from one initial state: what they exclude does not hold, and trees of thousands of states are found."""

from fractions import Fraction

import numpy as np

from venmas import System, verify
from venmas.budget import Budget
from venmas.logic import subformulas
from venmas.model import satisfies
from venmas.model.canonical.canonical import shared
from venmas.model.evaluation.simulate import successors
from venmas.model.witness.build import explain
from venmas.procedures.hybrid.boxes import Boxes
from venmas.procedures.hybrid.view import Space
from venmas.procedures.reachability.concretise.single import Runs
from venmas.question import Question, read_property

LEVEL = "(climb > -2 & climb < 2)"


def climbing() -> System:
    """A climb rate that only rises; between -2 and 2 it is jumped over by few ways."""
    system = System("climb")
    h, climb = system.real("h", -10_000, 10_000), system.real("climb", -300, 300)
    for a in (6, 7, 8):
        system.branch(f"a{a}", h=h - climb - Fraction(a, 2), climb=climb + a)
    system.initial(h >= 0, h <= 4, climb == Fraction(-39, 2))
    return system


def runs_of(formula: str, height: int) -> tuple[Question, dict[str, Fraction], Runs]:
    system = shared(climbing())
    question = Question(system, read_property(system, formula))
    space = Space(system)
    root = space.root()
    place = root.low.copy()
    place[:, 0] = height * space.unit
    runs = Runs(space, question.target, Boxes(root.location, place, place, root.wanted), Budget())
    return question, {"h": Fraction(height), "climb": Fraction(-39, 2)}, runs


def test_what_is_excluded_does_not_hold():
    question, start, runs = runs_of(f"AG^3 EF^3 {LEVEL}", 2)
    excluded = allowed = 0
    states, steps = [start], list(subformulas(question.target))
    for step in range(5):
        for state in states:
            for formula in steps:
                if not runs.possible(formula, step, state):
                    assert not satisfies(question.system, formula, state)
                    excluded += 1
                elif formula.depth:
                    allowed += satisfies(question.system, formula, state)
        states = [after.state for state in states for after in successors(question.system, state)]
    assert excluded > 20 and allowed > 20
    assert not runs.excluded


def test_a_state_that_does_not_meet_the_target_is_told():
    assert runs_of(f"AG^3 EF^3 (climb > -300 | {LEVEL})", 1)[2].excluded


def test_nothing_is_said_of_other_states():
    question, start, runs = runs_of(f"AG^3 EF^3 {LEVEL}", 2)
    for state in ({**start, "h": Fraction(3)}, {**start, "h": Fraction(1, 3)}):
        assert all(runs.possible(f, 0, state) for f in subformulas(question.target))
    assert runs.possible(question.target, 99, start)


def test_a_guided_search_steps_from_the_states_of_its_tree_only():
    question, start, runs = runs_of(f"AG^8 EF^9 {LEVEL}", 2)
    witness = explain(question.system, question.target, start, possible=runs.possible)
    inner = {tuple(v.exact for v in n.state) for n in witness.nodes if n.children}
    again = explain(question.system, question.target, start, None, len(inner), possible=runs.possible)
    assert again == witness


def test_a_tree_of_thousands_of_states_is_found():
    report = verify(climbing(), f"AG^11 EF^12 {LEVEL}", timeout=60, workers=2)
    assert report.violated and report.replay.confirmed
    assert len(report.witness.nodes) > 4000


def test_points_of_a_graph_stay_apart():
    runs = runs_of(f"AG^4 EF^4 {LEVEL}", 2)[2]
    for layer in runs._graph.layers:
        nodes = layer.nodes
        assert np.array_equal(nodes.low, nodes.high)
        assert len(np.unique(np.column_stack([nodes.location, nodes.low]), axis=0)) == len(nodes)
