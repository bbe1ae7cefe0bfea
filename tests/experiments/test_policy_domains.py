"""Own domains: each model against the simulator that its policies are trained on, and against counts that are known."""

from __future__ import annotations

from itertools import permutations
from math import comb

import numpy as np
import pytest

from experiments.domains import puzzle, racetrack, transport
from experiments.domains.follow import enumerated
from experiments.domains.learn import others
from experiments.domains.make import KEPT, SHAPES, known, make
from experiments.domains.tasks import tasks
from experiments.policies.instances import own
from venmas import load_jani, verify
from venmas.model.evaluation.simulate import successors
from venmas.procedures.explicit.graph.graph import StateGraph

SMALL = {"puzzle_8_ignoring": None, "transport_4": None, "racetrack_small": None}
FREE = {"item_cost_bound": 1, "failing_probability": 0}
"""No failures."""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """By name: task, system without a policy and failures, which of its variables a row of the simulator has."""
    found = {}
    for name in SMALL:
        task, folder = tasks()[name](), tmp_path_factory.mktemp(name)
        task.write(folder, "none.jani2nnet")
        asked = None if name.startswith("puzzle") else folder / "property.jani"
        system = load_jani(folder / "model.jani", asked, "none", FREE if task.limits else {}).system()
        found[name] = task, system, list(system.variables)[: task.start.shape[1]]
    return found


@pytest.mark.parametrize("name", SMALL)
def test_steps_are_those_of_the_model(name, built):
    """Random walks: every label is applicable in both or in none, and leads to the same state."""
    task, system, columns = built[name]
    rng = np.random.default_rng(3)
    s = task.start[rng.integers(0, len(task.start), 40)]
    for _ in range(4):
        for row in s:
            state = dict.fromkeys(system.variables, 0) | dict(zip(columns, map(int, row), strict=True))
            model = {
                (step.branch.split("#")[0], tuple(step.state[c] for c in columns)) for step in successors(system, state)
            }
            after, fits = task.step(np.repeat(row[None], len(task.labels), 0), np.arange(len(task.labels)))
            ours = {(task.labels[i], tuple(after[i].tolist())) for i in np.flatnonzero(fits)}
            assert ours == model, (name, row)
        after, fits = task.step(s, rng.integers(0, len(task.labels), len(s)))
        s = np.where(fits[:, None], after, s)


@pytest.mark.parametrize("name", ["transport_4", "racetrack_small"])
def test_all_states_without_a_policy(name, built):
    """Closure of the model and of the simulator."""
    task, system, _ = built[name]
    graph = StateGraph(system, lambda: None, transitions=True, limit=10**6)
    graph.reach(10**6)
    front = known = task.start
    while len(front):
        steps = [task.step(front, np.full(len(front), label)) for label in range(len(task.labels))]
        front = others(np.concatenate([after[fits] for after, fits in steps]), known)
        known = np.concatenate([known, front])
    assert (graph.initial, graph.count) == (len(task.start), len(known))
    if name == "transport_4":  # six packages on four places or the truck, which is anywhere
        assert (graph.initial, len(known)) == (3 * comb(8, 2), 4 * comb(10, 4))


def test_the_puzzle_has_half_of_the_arrangements(built):
    _, system, _ = built["puzzle_8_ignoring"]
    graph = StateGraph(system, lambda: None, transitions=True, limit=10**6)
    graph.reach(10**6)
    assert (graph.initial, graph.count) == (1, 181_440)


def test_starts_of_the_puzzle():
    """By parity, not by search: even permutations, where the empty place is an even number of steps from the corner."""
    far = puzzle.distances()
    assert far[puzzle.code(puzzle.arrangements())].tolist() == far.tolist()
    found = set()
    for first in permutations(range(9), 3):
        if first != tuple(sorted(first)):
            continue
        rest = [p for p in range(9) if p not in first]
        for second in permutations(rest, 3):
            if second != tuple(sorted(second)):
                continue
            third = [p for p in rest if p not in second]
            for empty in third:
                row = (empty, *first, *second, *(p for p in third if p != empty))
                odd = sum(a > b for i, a in enumerate(row) for b in row[i + 1 :])
                if (odd + empty // 3 + empty % 3) % 2 == 0 and row[3] != 4:
                    found.add(row)
    assert {tuple(row) for row in puzzle.starts().tolist()} == found
    assert not puzzle.unsafe(puzzle.starts()).any() and len(puzzle.hard()) == puzzle.HARD


def test_the_rule_of_transport_delivers_everything():
    """Without ever being too heavy on the bridge, from every start state of a small road."""
    s = transport.task(4, 6).start
    for _ in range(200):
        s, _ = transport.step(s, transport.rule(s).argmax(1))
        assert not transport.unsafe(s).any()
    assert (s[:, -1] == 6).all()


def test_the_planner_of_the_track_arrives():
    s = racetrack.starts()
    far = racetrack.distances()[racetrack.code(s)]
    for _ in range(int(far.max())):
        _, good = racetrack.lesson(s, np.random.default_rng(0))
        s, _ = racetrack.step(s, good.argmax(1))
        assert not racetrack.unsafe(s).any()
    assert (s[:, 1] == 0).all() and len(far) == 1000


def test_policies_are_kept_with_what_they_are():
    assert sum(path.stat().st_size for path in KEPT.rglob("*.onnx")) < 500_000
    for name in tasks():
        for shape, hidden in SHAPES.items():
            entry = known(KEPT / name, shape)
            assert entry is not None, f"{name} {shape} is not what its manifest says"
            assert entry["task"] == name and entry["architecture"][1:-1] == list(hidden)


@pytest.mark.parametrize(("name", "expected"), [("transport_4", "satisfied"), ("racetrack_small", "violated")])
def test_verdicts_are_those_of_enumeration(name, expected, tmp_path):
    make(tasks()[name](), tmp_path / name, {"16_16": (16, 16)})
    (instance,) = own(tmp_path)
    scenario = instance.load()
    assert scenario.formula is not None
    system = scenario.system()
    for mode in ("invariant", "abstraction"):
        assert verify(system, scenario.formula, mode=mode, timeout=60).verdict.value == expected
    assert enumerated(tasks()[name], tmp_path / name / "16_16.onnx")["verdict"] == expected
