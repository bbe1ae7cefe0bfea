"""Worlds of MiniGrid: tables are what stepping the environment itself does, verdicts are those of its episodes."""

from tests.needs import needs

needs("gymnasium", "minigrid", "stable_baselines3", "torch")

import random
import threading

import gymnasium
import numpy as np
import pytest
import torch
from minigrid.core.world_object import Goal
from minigrid.envs import DoorKeyEnv, EmptyEnv
from minigrid.wrappers import (
    ActionBonus,
    FlatObsWrapper,
    FullyObsWrapper,
    ImgObsWrapper,
    OneHotPartialObsWrapper,
    ReseedWrapper,
    StochasticActionWrapper,
    SymbolicObsWrapper,
    ViewSizeWrapper,
)
from stable_baselines3 import DQN, PPO
from torch import nn

from venmas.engine.verify import verify
from venmas.errors import NetworkError, ScenarioError
from venmas.formats.gym import grids, tabular
from venmas.formats.gym.grids import read_grid
from venmas.nn.network import relu_network

torch.set_num_threads(1)


class Hall(EmptyEnv):
    """Two cells and a goal."""

    def __init__(self):
        super().__init__(size=5)

    def _gen_grid(self, width, height):
        super()._gen_grid(width, height)
        self.grid.horz_wall(1, 2, 3)
        self.grid.horz_wall(1, 3, 3)
        self.put_obj(Goal(), 3, 1)


WORLDS = {
    "hall": (Hall, None),
    "empty": (lambda: gymnasium.make("MiniGrid-Empty-5x5-v0"), None),
    "lava": (lambda: gymnasium.make("MiniGrid-LavaGapS5-v0"), [3, 4]),
    "doors": (lambda: gymnasium.make("MiniGrid-GoToDoor-5x5-v0"), [1]),
    "memory": (lambda: gymnasium.make("MiniGrid-MemoryS7-v0"), [0]),
    "reseeded": (lambda: ReseedWrapper(gymnasium.make("MiniGrid-Empty-Random-5x5-v0"), seeds=(5,)), None),
}


@pytest.mark.parametrize("name", WORLDS)
def test_tables_are_what_the_environment_does(name):
    """Every state and action, come to by the environment's own resets and steps, from its start on."""
    make, seeds = WORLDS[name]
    world = read_grid(make(), seeds)
    env = make().unwrapped
    wanted = {"reseeded": [5]}.get(name, seeds or [None])
    paths, met = {}, {}
    for seed in wanted:
        env.reset(seed=seed)
        met[seed] = observed(env)
    starts = list(world.starts)
    assert sorted(shown(world, s) for s in starts) == sorted({*met.values()})
    paths = {s: (seed, ()) for s in starts for seed in wanted if met[seed] == shown(world, s)}
    todo, tried = list(paths), 0
    while todo:
        state = todo.pop(0)
        seed, path = paths[state]
        for action in range(len(world.actions)):
            env.reset(seed=seed)
            for step in path:
                _, _, ended, _, _ = env.step(step)
                assert not ended
            assert observed(env) == shown(world, state)
            seen, reward, ended, _, _ = env.step(action)
            ((after, sign, over),) = world.outcomes[state, action]
            assert (sign, over) == (np.sign(reward), ended)
            assert (int(env.agent_pos[0]), int(env.agent_pos[1]), env.agent_dir) == world.rows[after][1:4]
            tried += 1
            if not ended:
                assert np.array_equal(seen["image"], world.seen[after])
                if after not in paths:
                    paths[after] = seed, (*path, action)
                    todo.append(after)
    assert tried == len(paths) * len(world.actions) and len(paths) == sum(v is not None for v in world.seen)


def observed(env):
    return (*map(int, env.agent_pos), env.agent_dir, env.gen_obs()["image"].tobytes())


def shown(world, state):
    return (*world.rows[state][1:4], world.seen[state].tobytes())


def episode(env, seed, act, steps):
    """Whether the goal is reached by then, and in how many steps the episode ended."""
    seen, _ = env.reset(seed=seed)
    for step in range(1, steps + 1):
        seen, reward, ended, _, _ = env.step(act(seen))
        if ended:
            return reward > 0, step
    return False, None


VIEWS = {
    "image": ImgObsWrapper,
    "flat": FlatObsWrapper,
    "all": lambda e: gymnasium.wrappers.FlattenObservation(ImgObsWrapper(FullyObsWrapper(e))),
    "small": lambda e: ImgObsWrapper(OneHotPartialObsWrapper(ViewSizeWrapper(e, 3))),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", [PPO, DQN], ids=lambda k: k.__name__)
def test_trained_policies_in_their_views(kind, view):
    env = VIEWS[view](ReseedWrapper(gymnasium.make("MiniGrid-LavaGapS5-v0"), seeds=(3, 8)))
    options = {"n_steps": 64} if kind is PPO else {"learning_starts": 20}
    policy = kind("MlpPolicy", env, seed=2, device="cpu", **options).learn(64)
    policy.set_random_seed(0)
    with torch.no_grad():  # another policy than one that turns on the spot: much more of everything
        for weight in policy.policy.parameters():
            weight += torch.randn_like(weight) * 2
    act = lambda seen: int(policy.predict(seen, deterministic=True)[0])  # noqa: E731
    system = tabular(model_env(policy), policy)
    found = [episode(env, None, act, 40) for _ in range(2)]
    assert verify(system, "AF^40 on == goal").satisfied == all(won for won, _ in found)
    assert verify(system, "AF^40 on == lava").satisfied == all(step and not won for won, step in found)
    for steps in {step for _, step in found if step}:
        assert verify(system, f"AF^{steps} terminated").satisfied == all(s and s <= steps for _, s in found)


def model_env(policy):
    return policy.get_env().envs[0]


class Walk(nn.Module):
    """Of the flat image: forward unless a wall is in front, else to the right; smooth, and with no tie."""

    def __init__(self):
        super().__init__()
        self.front, self.scores = nn.Linear(147, 2), nn.Linear(2, 7)
        with torch.no_grad():
            self.front.weight.zero_()[:, 3 * (3 * 7 + 5)] = 1  # 1: empty, 2: wall, 8: goal, 9: lava
            self.front.bias.copy_(torch.tensor([-1.0, -2.0]))
            self.scores.weight.zero_()[1] = torch.tensor([1.0, -2.0])
            self.scores.bias.copy_(torch.tensor([-2, 0, 0.5, -3, -4, -5, -6]))

    def forward(self, image):
        return torch.tanh(self.scores(torch.relu(self.front(image))))


def test_a_module_and_its_file_in_named_states(tmp_path):
    """Right-hand walls of an empty room lead to the goal."""
    env = gymnasium.make("MiniGrid-Empty-5x5-v0")
    system = tabular(env, Walk())
    won, steps = episode(env, None, lambda s: int(Walk()(torch.tensor(s["image"].reshape(1, -1)).float()).argmax()), 9)
    assert (won, steps) == (True, 5)
    assert verify(system, "AF^5 (on == goal & terminated & x == 3 & y == 3)").satisfied
    assert verify(system, "AF^4 on == goal").violated
    assert verify(system, "AX^5 success & AX^6 (on == goal & !success)").satisfied
    assert verify(system, "AG^9 (carrying == nothing & direction != up & (on == goal | on == nothing))").satisfied
    torch.onnx.export(Walk(), (torch.zeros(1, 147),), tmp_path / "walk.onnx", dynamo=False)
    assert verify(tabular(env, tmp_path / "walk.onnx"), "AX^5 success").satisfied


@pytest.mark.slow
def test_keys_and_doors_by_their_names():
    """A run by hand through one layout, all other states in place: the list of actions names the way."""
    env = gymnasium.make("MiniGrid-DoorKey-5x5-v0")
    world = read_grid(env, [2])
    assert [f.name for f in world.features[4:]] == ["on", "carrying", "door"]
    actions, way, won, names = [6] * world.states, [], [], [f.name for f in world.features]
    todo, before = [world.starts[0]], {world.starts[0]: None}
    while todo:  # the shortest way
        state = todo.pop(0)
        for action in range(7):
            (end,) = world.outcomes[state, action]
            if end.state not in before:
                before[end.state] = state, action
                todo.append(end.state)
                won += [end.state] * (end.reward == 1)
    at = won[0]
    while before[at]:
        at, action = before[at]
        actions[at] = action
        way.insert(0, action)
    env.reset(seed=2)
    rewards = [env.step(a)[1] for a in way]
    assert rewards[-1] > 0 and not any(rewards[:-1]) and {3, 5} <= {*way}
    system = tabular(env, actions, start=[2])
    assert names == [*system.variables][:-2]
    steps = len(way)  # the key is still carried, as doors take none away
    assert verify(system, f"AX^{steps} (on == goal & success & carrying == yellow_key & door == open)").satisfied
    assert verify(system, "door == locked & carrying == nothing & AF^99 carrying == yellow_key").satisfied


class Drifting(Hall):
    def step(self, action):
        return super().step(self.np_random.integers(3))


class Legacy(Hall):
    def step(self, action):
        return super().step(int(np.random.randint(3)))


class Sampled(Hall):
    def step(self, action):
        return super().step(int(self.action_space.sample()))


class Shuffled(Hall):
    def step(self, action):
        return super().step(random.randrange(3))


class Tired(Hall):
    def step(self, action):
        return super().step(action if self.step_count < 9 else 6)


class Clock(Hall):
    def gen_obs(self):
        seen = super().gen_obs()
        return {**seen, "image": seen["image"] + np.uint8(self.step_count > 3)}


class Counting(Hall):
    """Of endlessly many states."""

    ticks = 0

    def step(self, action):
        self.ticks += 1
        return super().step(action)


class Lot(Hall):
    def __init__(self):
        super().__init__()
        self.lot = iter([1, 2])


class Held(Hall):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


class Mixed(Hall):
    def __init__(self):
        super().__init__()
        self.been = {(1, 1)}


class Endless(Hall):
    def step(self, action):
        seen, _, ended, cut, said = super().step(action)
        return seen, float("inf"), ended, cut, said


class Shared(Hall):
    def __init__(self):
        super().__init__()
        log = self.log = []
        self.note = lambda: log.append(1)

    def step(self, action):
        self.note()
        return super().step(action)


REFUSED = {
    "action 0 draws random numbers": Drifting,
    "one thing at the first step .* a world that is deterministic|changes what copies share, or": Legacy,
    "one thing at the first step of an episode|changes what copies share": Sampled,
    "draws random numbers: expected neither|one thing at the first": Shuffled,
    "does one thing at the first step of an episode and another": Tired,
    "shows something else than the state it leads to": Clock,
    "has more than 100 states that can be reached": Counting,
    "holds a builtins.list_iterator, whose state is not known": Lot,
    "cannot be copied: TypeError: .*lock": Held,
    "holds a builtins.set, whose state is not known": Mixed,
    "gives reward inf": Endless,
    "holds the function .*lambda.* with a closure": Shared,
    "the wrapper ActionBonus may change": lambda: ActionBonus(Hall()),
    "the wrapper StochasticActionWrapper may change": lambda: StochasticActionWrapper(Hall()),
    "reset draws a layout: say of which seeds": lambda: DoorKeyEnv(size=5),
    "a step with action 0 draws random numbers: expected a world": lambda: ReseedWrapper(
        gymnasium.make("MiniGrid-Dynamic-Obstacles-5x5-v0")
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_worlds_of_grids_that_are_refused(message, monkeypatch):
    monkeypatch.setattr(grids, "MOST_STATES", 100)
    env = REFUSED[message]()
    with pytest.raises(ScenarioError, match=message):
        tabular(env, [])


@pytest.mark.parametrize("start", [[], [-1], ["a"], 3])
def test_seeds_that_are_none(start):
    with pytest.raises(ScenarioError, match="start: expected seeds of reset"):
        tabular(Hall(), [], start=start)


def test_policies_of_other_observations():
    with pytest.raises(NetworkError, match=r"expected 147 \(the observation flattened\) and 7"):
        tabular(Hall(), relu_network([np.zeros((7, 16))], [np.eye(7)[0]]))
    with pytest.raises(NetworkError, match=r"observation 0 \(x 1, y 1, direction right, .*: they are equal"):
        tabular(Hall(), relu_network([np.zeros((7, 147))], [np.zeros(7)]))
    policy = PPO("MlpPolicy", ImgObsWrapper(Hall()), n_steps=8, device="cpu")
    with pytest.raises(NetworkError, match=r"the environment shows \(5, 5, 3\) uint8: give it in the wrappers"):
        tabular(ImgObsWrapper(FullyObsWrapper(Hall())), policy)
    symbols = read_grid(SymbolicObsWrapper(Hall()))
    assert symbols.seen[0].shape == (5, 5, 3) and symbols.seen[0][1, 1, 2] == 10


def test_the_world_is_left_as_it_was():
    one, two = Hall(), Hall()
    for env in (one, two):
        env.reset(seed=5)
    chance = np.random.get_state()[1].tolist()
    tabular(one, relu_network([np.zeros((7, 147))], [np.eye(7)[2]]))
    assert np.random.get_state()[1].tolist() == chance
    assert one.step_count == 0 and one.agent_pos == two.agent_pos
    assert one.np_random.integers(1000) == two.np_random.integers(1000)
