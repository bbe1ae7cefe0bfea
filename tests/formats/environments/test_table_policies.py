"""Policies as tables: enclosures hold the values, and actions are those that models take themselves."""

from tests.needs import needs

needs("gymnasium", "stable_baselines3", "torch")

from decimal import Decimal, getcontext

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import DQN, PPO
from torch import nn

from tests.formats.environments.test_tabular import compare
from venmas.errors import NetworkError
from venmas.formats.gym import tabular
from venmas.formats.gym.enclosures import BITS, enclose
from venmas.nn import Network
from venmas.nn.network import Layer


def module(states, actions):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(states, 8), nn.SiLU(), nn.Linear(8, 8), nn.ELU(), nn.Linear(8, actions))


@pytest.mark.parametrize("name", ["FrozenLake-v1", "CliffWalking-v1", pytest.param("Taxi-v4", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [PPO, DQN, module], ids=lambda k: k.__name__)
def test_trained_policies(name, kind):
    torch.set_num_threads(1)
    env = gymnasium.make(name)
    states = int(env.observation_space.n)
    if kind is module:
        policy = module(states, int(env.action_space.n))
        actions = policy(torch.eye(states)).argmax(1).tolist()
    else:
        options = {"n_steps": 64} if kind is PPO else {"learning_starts": 20}
        policy = kind("MlpPolicy", env, seed=1, device="cpu", **options).learn(64)
        actions = [int(policy.predict(np.array(s), deterministic=True)[0]) for s in range(states)]
    compare(tabular(env, policy), env, actions)


def decimals(model, row):
    getcontext().prec = 90
    values = [Decimal(float(v)) for v in row]
    for layer in model:
        if isinstance(layer, nn.Linear):
            w, b = layer.weight.tolist(), layer.bias.tolist()
            values = [
                sum((Decimal(x) * v for x, v in zip(r, values, strict=True)), Decimal(c))
                for r, c in zip(w, b, strict=True)
            ]
        elif isinstance(layer, nn.Tanh):
            values = [((2 * v).exp() - 1) / ((2 * v).exp() + 1) for v in values]
        elif isinstance(layer, nn.Sigmoid):
            values = [1 / (1 + (-v).exp()) for v in values]
        elif isinstance(layer, nn.ELU):
            values = [v if v > 0 else Decimal(layer.alpha) * (v.exp() - 1) for v in values]
        else:
            values = [v if v > 0 else Decimal(float(np.float32(layer.negative_slope))) * v for v in values]
    return values


@pytest.mark.parametrize("bend", [nn.Tanh(), nn.Sigmoid(), nn.ELU(0.5), nn.LeakyReLU(0.1)], ids=str)
@pytest.mark.parametrize("kind", [torch.float32, torch.float64], ids=str)
def test_enclosures_hold_the_values(bend, kind, tmp_path):
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(3, 5), bend, nn.Linear(5, 5), bend, nn.Linear(5, 2)).to(kind)
    torch.onnx.export(model, (torch.zeros(1, 3, dtype=kind),), tmp_path / "m.onnx", dynamo=False)
    points = np.random.default_rng(0).normal(size=(6, 3)) * 3
    found = enclose(tmp_path / "m.onnx", points)
    for row, mids, rads in zip(points, found.mid, found.rad, strict=True):
        for value, mid, rad in zip(decimals(model, row), mids, rads, strict=True):
            assert abs(value * 2**BITS - mid) <= rad + Decimal("1e-20") and rad < 1 << 24


def test_ties_and_what_is_not_enclosed():
    env = gymnasium.make("FrozenLake-v1")
    tie = nn.Sequential(nn.Linear(16, 4), nn.Tanh(), nn.Linear(4, 4))
    nn.init.zeros_(tie[2].weight)
    nn.init.ones_(tie[2].bias)
    with pytest.raises(NetworkError, match=r"observation 0 \(row 0, column 0\) no action .*160 bits cannot split them"):
        tabular(env, tie)
    with pytest.raises(NetworkError, match=r"\((Erf|Gelu)\): is not enclosed; known are Gemm"):
        tabular(env, nn.Sequential(nn.Linear(16, 4), nn.GELU()))
    with pytest.raises(NetworkError, match="does not take observations in one-hot form"):
        tabular(env, nn.Linear(9, 4))
    mixed = nn.Sequential(nn.Linear(16, 4), nn.Dropout(), nn.Tanh()).eval()
    mixed[1].train()
    tabular(env, mixed)
    assert mixed[1].training and not mixed.training


def test_a_smooth_network_that_is_no_file_is_refused():
    layers = (Layer(np.ones((4, 16)), np.zeros(4), "tanh"), Layer(np.eye(4), np.zeros(4)))
    with pytest.raises(NetworkError, match="has tanh units, which are enclosed in ONNX only: give its ONNX file"):
        tabular(gymnasium.make("FrozenLake-v1"), Network(layers, "smooth"))
