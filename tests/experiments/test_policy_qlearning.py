"""Policies by deep Q-learning: what the environment rewards, what training makes, and the kept ones."""

from __future__ import annotations

from tests.needs import needs

needs("gymnasium")

import json

import numpy as np
import pytest

from experiments.domains import blocksworld
from experiments.domains.environment import GOAL, STUCK, UNSAFE, TaskEnvironment
from experiments.domains.jani import facts
from experiments.domains.make import known
from experiments.domains.qlearning import FOLDER, Setting, apart, goals, instances, learnt
from experiments.domains.tasks import tasks
from experiments.policies.cells import abstraction
from experiments.training.export import evaluate, read_onnx
from venmas import verify


@pytest.fixture(scope="module")
def task():
    return tasks()["blocks_4_ignoring"]()


def at(environment: TaskEnvironment, state: list[int]) -> TaskEnvironment:
    environment.reset(seed=0)
    environment._state = np.array(state)
    return environment


def test_rewards_of_goal_unsafe_and_stuck(task) -> None:
    """Blocks 0 to 3 at places; 0: in the hand, 1: on the table, others: on a block."""
    environment = TaskEnvironment(task)
    tower = [1, *(blocksworld.on(b, b - 1) for b in (1, 2))]
    _, reward, over, _, _ = at(environment, [*tower, 0]).step(1 + 2)  # the last block on the third one
    assert over and reward > GOAL
    _, reward, over, _, _ = at(environment, [1, 1, 1, 0]).step(blocksworld.TABLE)
    assert over and reward == UNSAFE
    _, reward, over, _, _ = at(environment, [*tower, 1]).step(blocksworld.TABLE)  # nothing is in the hand
    assert over and reward == STUCK


def test_unsafe_states_may_cost_more_or_be_states_as_all_others(task) -> None:
    for penalty, expected in ((5.0, 5 * UNSAFE), (0.0, None)):
        environment = at(TaskEnvironment(task, penalty), [1, 1, 1, 0])
        _, reward, over, _, _ = environment.step(blocksworld.TABLE)
        assert over == (penalty > 0) and (expected is None or reward == expected)


def test_no_cycle_earns_anything(task) -> None:
    environment = at(TaskEnvironment(task), [1, blocksworld.on(1, 0), 1, blocksworld.on(3, 2)])
    first = environment.step(1 + 1)[1]  # take block 1 off its goal
    back = environment.step(1 + 0)[1]
    assert first < 0 < back and first + back < 0


def test_aware_policies_see_counters_and_pay() -> None:
    environment = TaskEnvironment(tasks()["blocks_4_aware"]())
    seen = []
    for seed in range(30):
        environment.reset(seed=seed)
        before = environment._spent.copy()
        label = int(environment.task.lesson(environment._state[None], environment.np_random)[1][0].argmax())
        observed, *_ = environment.step(label)
        spent = observed[-4:] * environment.task.scale[-4:]
        assert np.allclose(spent, environment._spent)
        seen.append(int((environment._spent - before).sum()))
    assert {0, 1} == set(seen)


def test_training_gives_the_policy_of_unscaled_inputs(task) -> None:
    needs("stable_baselines3")
    one, other = learnt(task, 4, 3, Setting(200)), learnt(task, 4, 3, Setting(200))
    assert [w.shape for w, _ in one] == [(4, len(task.inputs)), (4, 4), (len(task.labels), 4)]
    assert all((a == c).all() and (b == d).all() for (a, b), (c, d) in zip(one, other, strict=True))


def test_episodes_begin_in_unsafe_runs_again(task) -> None:
    environment = TaskEnvironment(task)
    environment.again = np.array([[1, 1, 1, 0]])
    begun = []
    for seed in range(60):
        environment.reset(seed=seed)
        begun.append(bool((environment._state == environment.again).all()))
    assert 15 <= sum(begun) <= 45


@pytest.mark.parametrize(("policy", "count"), [("64_64_5", 8), ("64_64_7", 0)])
def test_unsafe_runs_are_counted_with_what_is_before(policy: str, count: int) -> None:
    needs("stable_baselines3")
    from experiments.domains.correcting import LAST, unsafe_runs

    track = tasks()["racetrack_small"]()
    found, before = unsafe_runs(track, read_onnx(FOLDER / track.name / f"{policy}.onnx"))
    assert found == count and len(before) == LAST * count and not track.unsafe(before).any()


@pytest.mark.parametrize(("policy", "none"), [("32_32_0", True), ("16_16_0", False)])
def test_states_that_some_counters_leave_to_an_unsafe_one(policy: str, none: bool) -> None:
    needs("stable_baselines3")
    from experiments.domains.correcting import unsafe_states

    aware = tasks()["blocks_4_aware"]()
    layers = read_onnx(FOLDER / aware.name / f"{policy}.onnx")
    found, rng = unsafe_states(aware, layers, 0), np.random.default_rng(1)
    assert (len(found) == 0) == none
    for state in found:
        x, _ = aware.lesson(np.repeat(state[None], 2000, 0), rng)
        after, fits = aware.step(np.repeat(state[None], 2000, 0), evaluate(layers, x).argmax(1))
        assert (fits & aware.unsafe(after)).any()


@pytest.mark.slow
def test_the_8_puzzle_with_counters_is_proved_by_telling_places_apart(tmp_path) -> None:
    task = tasks()["puzzle_8_aware"]()
    (instance,) = instances(task, tmp_path, ["16_16_7"])
    scenario = instance.load()
    found = verify(scenario.system(), scenario.formula, timeout=500, **abstraction(first=apart(task)))
    assert found.verdict == "satisfied" and found.invariant["iterations"] == 1


def test_training_that_corrects_itself_keeps_the_best_network(task, monkeypatch) -> None:
    needs("stable_baselines3")
    from experiments.domains import correcting

    looked = []

    def runs(task, layers):
        looked.append([w.copy() for w, _ in layers])
        return (9, 5, 7, 6)[(len(looked) - 1) % 4], task.start[:1]

    monkeypatch.setattr(correcting, "unsafe_runs", runs)
    monkeypatch.setattr(correcting, "BEGIN", (1008, 0))
    monkeypatch.setattr(correcting, "EVERY", (100, 0))
    kept = learnt(task, 4, 3, Setting(1320, corrects=True))
    assert len(looked) == 4
    assert all((w == best).all() for (w, _), best in zip(kept, looked[1], strict=True))
    assert any((w != last).any() for (w, _), last in zip(kept, looked[3], strict=True))


KEPT = [
    (place.parent.name, e["file"])
    for place in sorted(FOLDER.glob("*/*.json"))
    for e in json.loads(place.read_text())["files"]
]


@pytest.mark.parametrize(("name", "file"), KEPT)
def test_kept_policies_are_those_of_their_manifest(name: str, file: str) -> None:
    entry = known(FOLDER / name, file.removesuffix(".onnx"))
    assert entry is not None and entry["task"] == name in tasks()


@pytest.mark.parametrize(
    ("name", "safe", "unsafe"),
    [
        ("blocks_4_ignoring", "32_32_0", "16_16_3"),
        ("blocks_4_aware", "32_32_0", "16_16_0"),
        ("blocks_6_ignoring", "16_16_1", "32_32_6"),
        pytest.param("blocks_6_aware", "16_16_2", "16_16_3", marks=pytest.mark.slow),
        pytest.param("puzzle_8_ignoring", "32_32_0", "16_16_2", marks=pytest.mark.slow),
        ("racetrack_small", "64_64_7", "64_64_5"),
        ("transport_4", "64_64_4", "32_32_6"),
    ],
)
def test_one_is_safe_and_one_is_not(name: str, safe: str, unsafe: str, tmp_path) -> None:
    for policy, verdict in ((safe, "satisfied"), (unsafe, "violated")):
        (instance,) = instances(tasks()[name](), tmp_path, [policy])
        scenario = instance.load()
        assert verify(scenario.system(), scenario.formula, timeout=60).verdict == verdict


@pytest.mark.parametrize(("name", "policy"), [("blocks_4_ignoring", "32_32_0"), ("transport_4", "64_64_4")])
def test_some_reach_the_goal(name: str, policy: str) -> None:
    assert goals(tasks()[name](), FOLDER / name / f"{policy}.onnx") > 0.9


def test_goals_are_conjunctions_of_equations(task) -> None:
    assert facts(task.goal) == {"block_0": 1, "block_1": 2, "block_2": 3, "block_3": 4}
