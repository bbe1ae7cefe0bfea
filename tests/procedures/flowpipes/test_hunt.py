"""Violations of few steps, in pockets that samples of boxes miss."""

import pytest

from experiments.barriers.plants import PLANTS, QUESTIONS
from venmas.model.evaluation.regions import bounding_box
from venmas.procedures.flowpipes.hunt import hunt
from venmas.procedures.flowpipes.plan import Plan
from venmas.question import Question, posed, read_property


@pytest.mark.parametrize(("plant", "broken"), [("quadrotor", True), ("pendulum", False)])
def test_slopes_lead_to_a_pocket_and_nowhere_where_none_is(plant: str, broken: bool) -> None:
    """Of the quadrotor, no sample of 100,000 lies in it; the pendulum's claim is proved elsewhere."""
    system = PLANTS[plant].system()
    question = Question(system, posed(system, read_property(system, QUESTIONS["inv"])))
    box = bounding_box(system, system.regions[0])
    assert box is not None
    points = [hunt(system, Plan(question.target), [box], lambda: None, seed) for seed in range(2)]
    assert any(points) is broken
    for point in (found for one in points for found in one):
        assert all(comparison.holds(point) for comparison in system.regions[0])
