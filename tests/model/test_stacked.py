"""Stacks of observations: the last frames as variables, against the wrappers that people train with."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.needs import needs
from venmas import verify
from venmas.errors import ModelError
from venmas.model import System, apply_network
from venmas.model.evaluation.simulate import Batch
from venmas.nn import Layer, Network

NET = Network(
    (Layer(np.array([[0.5, -1.0, 0.25], [1, 1, 1.0]]), np.zeros(2), "relu"), Layer(np.array([[1, -1.0]]), np.zeros(1)))
)


def cart(first: str = "zero", count: int = 3) -> System:
    """A cart whose policy sees the last positions."""
    system = System("cart")
    x, v = system.real("x", -9, 9), system.real("v", -9, 9)
    force = system.agent(apply_network(NET, system.stacked([x], count, first=first))[0], "force")
    system.branch("go", {x: x + v / 10, v: v + force / 10})
    system.initial(x >= 1, x <= 2, v == 0)
    return system


def frames(wrapper: str, xs: list[float]) -> list[np.ndarray]:
    """What a wrapper shows of observations, one after the other, from reset on."""
    needs("gymnasium")
    import gymnasium

    class World(gymnasium.Env):  # type: ignore[misc,type-arg]
        observation_space = action_space = gymnasium.spaces.Box(-9, 9, (1,), np.float64)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            self.left = iter(xs)
            return np.array([next(self.left)]), {}

        def step(self, action: Any) -> Any:
            return np.array([next(self.left)]), 0.0, False, False, {}

    if wrapper == "VecFrameStack":
        needs("stable_baselines3")
        from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack

        many: Any = VecFrameStack(DummyVecEnv([World]), 3)
        return [many.reset()[0], *(many.step([np.zeros(1)])[0][0] for _ in xs[1:])]
    one: Any = gymnasium.wrappers.FrameStackObservation(World(), 3)
    return [one.reset()[0].ravel(), *(one.step(np.zeros(1))[0].ravel() for _ in xs[1:])]


@pytest.mark.parametrize(("first", "wrapper"), [("zero", "VecFrameStack"), ("repeat", "FrameStackObservation")])
def test_frames_are_those_of_wrappers(first: str, wrapper: str) -> None:
    system = cart(first)
    state = {name: np.zeros(1) for name in system.variables} | {"x": np.array([1.5])}
    xs, forces = [], []
    for _ in range(7):
        batch = Batch(state)
        xs.append(float(state["x"][0]))
        forces.append(float(batch.value(system.agents[0].expr)[0]))
        state = {**state, **{name: batch.value(e) for name, e in system.branches[0].updates}}
    np.testing.assert_allclose(forces, [NET.evaluate(shown)[0] for shown in frames(wrapper, xs)])


@pytest.mark.parametrize("first", ["zero", "repeat"])
def test_a_property_and_a_witness(first: str) -> None:
    system = cart(first)
    assert verify(system, "AG^5 (x <= 2.5)", timeout=60).satisfied
    report = verify(system, "AG^3 (v <= -9)", timeout=60)
    assert report.violated and report.witness is not None
    second = report.witness.nodes[1].point
    assert second["past[2]"] == report.witness.nodes[0].point["x"]


def test_ranges_are_those_of_what_is_seen() -> None:
    system = System("s")
    i, x = system.integer("i", 2, 5), system.real("x", -1, 1)
    shown = system.stacked([i, x * 2], 2, "seen", ends=(-2, 6))
    assert len(shown) == 4 and [system.box[f"seen[{k}]"] for k in (1, 2)] == [(-2, 6), (-2, 6)]
    other = System("s")
    other.stacked([other.integer("i", 2, 5)], 3)
    assert [other.box[f"past[{k}]"] for k in (1, 2)] == [(0, 5), (0, 5)] and other.variables["past[1]"].integral
    assert len(other.stacked([other["i"]], 1, "none")) == 1 and "none[1]" not in other


def test_mistakes_name_the_remedy() -> None:
    system = System("s")
    x = system.real("x", -1, 1)
    for message, given in {
        r"ends=\(least, greatest\)": ([x * 2], 2),
        "whole number above 0": ([x], 0),
    }.items():
        with pytest.raises(ModelError, match=message):
            system.stacked(*given)
    with pytest.raises(ModelError, match='first is "zero" or "repeat"'):
        system.stacked([x], 2, first="last")
    system.branch("go", {})
    with pytest.raises(ModelError, match="declare it before branches"):
        system.stacked([x], 2)


def test_the_page_names_it() -> None:
    assert "system.stacked(" in (Path(__file__).parents[2] / "docs" / "own-network.md").read_text(encoding="utf-8")
