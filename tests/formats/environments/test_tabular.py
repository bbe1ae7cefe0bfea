"""Tabular worlds: verdicts are those of enumeration over the environment's own table."""

from tests.needs import needs

needs("gymnasium")

import time
from itertools import product

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

from venmas.engine.verify import verify
from venmas.errors import NetworkError, ScenarioError
from venmas.formats.gym import tabular
from venmas.nn.network import relu_network

RNG = np.random.default_rng(3)


class Random(gymnasium.Env):
    """A table of random outcomes, with rewards that are no integers; nothing is known of it but the table."""

    def __init__(self, seed, states=6, actions=3, rewards=(-1, 0, 0.1, 2.5)):
        rng = np.random.default_rng(seed)
        self.observation_space = gymnasium.spaces.Discrete(states)
        self.action_space = gymnasium.spaces.Discrete(actions)

        def answers():
            count = rng.integers(1, 4)
            shares = [0.0, *np.full(count, 1 / count)]  # what has probability 0 is no answer
            return [(p, int(rng.integers(states)), rng.choice(rewards), rng.random() < 0.2) for p in shares]

        self.P = {s: {a: answers() for a in range(actions)} for s in range(states)}
        self.initial_state_distrib = np.eye(states)[rng.integers(states)]


WORLDS = {
    "lake": gymnasium.make("FrozenLake-v1", map_name="4x4"),
    "dry lake": gymnasium.make("FrozenLake-v1", desc=["SFFS", "FHFG"], is_slippery=False),
    "one row": gymnasium.make("FrozenLake-v1", desc=["SFFHG"]),
    "cliff": gymnasium.make("CliffWalking-v1"),
    "slippery cliff": gymnasium.make("CliffWalkingSlippery-v1"),
    "taxi": gymnasium.make("Taxi-v4"),
    "rainy taxi": gymnasium.make("Taxi-v4", is_rainy=True),
    **{f"random {seed}": Random(seed) for seed in range(8)},
    "whole rewards": Random(9, rewards=(-3, 0, 4)),
}


def graph(env, actions, starts=None):
    """Successors by (state, reward, terminated), and the initial ones: the table, read once more."""
    table, likely = env.unwrapped.P, env.unwrapped.initial_state_distrib
    first = [(s, 0, False) for s in (starts if starts is not None else np.flatnonzero(likely))]
    edges, todo = {}, list(first)
    while todo:
        node = state, _, over = todo.pop()
        if node not in edges:
            ends = {(int(s), float(r), bool(t)) for p, s, r, t in table[state][actions[state]] if p > 0}
            edges[node] = {(state, 0, True)} if over else ends
            todo += edges[node]
    return edges, first


def enumerated(edges, first, operator, holds, steps):
    """The verdict of AG, AF, EG, EF with a bound, or for ever (None), at the steps 1, 2, ..: by fixpoints.

    now: the states from which it holds of every (some) path, the state itself counted in.
    """
    good = {n for n in edges if holds(*n)}
    some = any if operator[0] == "E" else all
    now = set(good)
    for _ in range(steps - 1 if steps else len(edges) + 1):
        ahead = {n for n in edges if some(m in now for m in edges[n])}
        now = good & ahead if operator[1] == "G" else good | ahead
    return all(some(m in now for m in edges[n]) for n in first)


def questions(env, actions, starts=None):
    """Formulas with their verdicts."""
    edges, first = graph(env, actions, starts)
    seen = sorted({r for _, r, _ in edges})
    used = {float(r) for s, a in enumerate(actions) for p, _, r, _ in env.unwrapped.P[s][a] if p > 0} | {0.0}
    whole = all(r == int(r) for r in used)
    code = {r: int(r) if whole else i for i, r in enumerate(sorted(used))}
    name = "reward" if whole else "reward_rank"
    middle = seen[len(seen) // 2]
    leaves = {
        "terminated": lambda s, r, t: t,
        f"{name} >= {code[middle]}": lambda s, r, t: r >= middle,
        f"!terminated & {name} < {code[0]}": lambda s, r, t: not t and r < 0,
    }
    for (text, holds), operator, steps in product(leaves.items(), ("AG", "AF", "EG", "EF"), (1, 3, 12)):
        yield f"{operator}^{steps} ({text})", enumerated(edges, first, operator, holds, steps)
    for text, holds in leaves.items():
        yield f"AG[1,*] ({text})", enumerated(edges, first, "AG", holds, None)


def compare(system, env, actions, starts=None):
    for formula, holds in questions(env, actions, starts):
        begun = time.process_time()
        report = verify(system, formula)
        assert report.verdict == ("satisfied" if holds else "violated"), formula
        assert time.process_time() - begun < 1


SLOW, LONG = pytest.mark.slow, ("taxi", "rainy taxi", "slippery cliff", *(f"random {seed}" for seed in range(3, 8)))


@pytest.mark.parametrize("name", [pytest.param(n, marks=[SLOW] if n in LONG else []) for n in WORLDS])
def test_verdicts_are_those_of_enumeration(name):
    env = WORLDS[name]
    states, choices = env.observation_space.n, env.action_space.n
    for _ in range(1):
        actions = RNG.integers(choices, size=states)
        compare(tabular(env, actions), env, actions)
    starts = sorted({int(s) for s in RNG.integers(states, size=4)})
    compare(tabular(env, actions, start=starts), env, actions, starts)


def test_names_of_the_known_worlds():
    taxi = tabular(WORLDS["taxi"], [4] * 500)
    assert [*taxi.variables] == ["row", "column", "passenger", "destination", "reward", "terminated"]
    assert verify(taxi, "AG^9 (row <= 4 & (passenger == taxi | !aboard) & !delivered)").satisfied
    assert verify(tabular(WORLDS["taxi"], [4] * 500, start=[0]), "AX aboard & AX destination == red").satisfied
    assert verify(tabular(WORLDS["taxi"], [5] * 500), "AX illegal").satisfied
    env = WORLDS["taxi"].unwrapped
    for state in range(500):
        digits = dict(zip(("row", "column", "passenger", "destination"), map(int, env.decode(state)), strict=True))
        text = " & ".join(f"{k} == {v}" for k, v in digits.items())
        assert verify(tabular_at(state), text).satisfied if state % 97 == 0 else True
    cliff = tabular(WORLDS["cliff"], [1] * 48)
    assert verify(cliff, "AX (fallen & row == 3 & column == 0) & AG^20 !goal").satisfied
    ice = tabular(WORLDS["dry lake"], [2] * 8)
    assert verify(ice, "AG^9 !(hole | goal)").satisfied and verify(ice, "EF^9 goal").violated
    down = verify(tabular(WORLDS["dry lake"], [1] * 8), "AX goal")
    assert down.violated and "action" in str(down.witness.path[0]) + str(down)


def tabular_at(state):
    return tabular(WORLDS["taxi"], [4] * 500, start=[state])


def test_the_environment_is_left_as_it_was():
    one, two = (gymnasium.make("FrozenLake-v1") for _ in range(2))
    for env in (one, two):
        env.reset(seed=5)
    tabular(one, [0] * 16)
    assert one.unwrapped.np_random_seed == 5
    assert [one.step(2)[0] for _ in range(5)] == [two.step(2)[0] for _ in range(5)]


class Melting(FrozenLakeEnv):
    """The table is that of FrozenLake, its steps are not."""

    def step(self, action):
        return super().step(0)


def broken(**changes):
    env = Random(0)
    for name, value in changes.items():
        setattr(env, name, value)
    return env


def with_rows(rows):
    env = Random(0)
    env.P[2][1] = rows
    return env


REFUSED = {
    r"has no table: .* got .*CartPoleEnv.*venmas.formats.gym.pendulum and cartpole.*docs/own-environment\.md": lambda: (
        gymnasium.make("CartPole-v1")
    ),
    "has no table: .* got .*BlackjackEnv": lambda: gymnasium.make("Blackjack-v1"),
    "has no table: .* got builtins.str": lambda: "Taxi-v4",
    "passenger of this Taxi is fickle": lambda: gymnasium.make("Taxi-v4", fickle_passenger=True),
    "steps in another way than its table says: from state": Melting,
    "the wrapper TransformReward changes": lambda: gymnasium.wrappers.TransformReward(WORLDS["cliff"], lambda r: -r),
    "the wrapper StickyAction changes": lambda: gymnasium.wrappers.StickyAction(WORLDS["cliff"], 0.5),
    "has 1024 states: at most 1000": lambda: gymnasium.make("FrozenLake-v1", desc=["S" * 32] * 32),
    r"P\[2\]\[1\] lists .*: expected a probability, a state below 6": lambda: with_rows([(1.0, 6, 0, False)]),
    r"P\[2\]\[1\] has no outcome of positive": lambda: with_rows([(0.0, 1, 0, False)]),
    r"P\[2\]\[1\] is no list of \(probability": lambda: with_rows([(1.0, 6)]),
    "say where it starts, start=": lambda: broken(initial_state_distrib=()),
}


@pytest.mark.parametrize("message", REFUSED)
def test_worlds_that_are_refused(message):
    env = REFUSED[message]()
    states = getattr(getattr(env, "observation_space", None), "n", 1)
    with pytest.raises(ScenarioError, match=message):
        tabular(env, [0] * int(states))


@pytest.mark.parametrize("start", [[], [48], [-1], ["a"], 3])
def test_starts_that_are_none(start):
    with pytest.raises(ScenarioError, match="start: expected states from 0 to 47, one or more, got"):
        tabular(WORLDS["cliff"], [0] * 48, start=start)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([0] * 47, "a list of 47 actions: expected one for each of 48 states"),
        ([0] * 47 + [4], "the action in state 47 is 4: expected 0 to 3"),
        ([0] * 47 + [True], "the action in state 47 is True"),
        (None, "'None' is no policy: expected a model of Stable-Baselines3"),
        ("nowhere.onnx", "does not exist"),
        (relu_network([np.zeros((4, 9))], [np.eye(4)[0]]), "has 9 inputs and 4 outputs: expected 48 .* and 4"),
        (
            relu_network([np.zeros((4, 48))], [[0, 1, 1, 0]]),
            r"observation 0 \(row 0, column 0\) no action .* actions 1, 2;",
        ),
    ],
)
def test_policies_that_are_refused(policy, message):
    with pytest.raises(NetworkError, match=message):
        tabular(WORLDS["cliff"], policy)
