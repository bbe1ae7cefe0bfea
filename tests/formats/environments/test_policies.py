"""Policies as people have them: trained by Stable-Baselines3, exported by PyTorch, verified; checked by enumeration."""

from tests.needs import needs

needs("gymnasium", "stable_baselines3", "torch")

import logging
import warnings
from itertools import pairwise

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import DQN, PPO
from torch import nn

from venmas.engine.verify import verify
from venmas.formats.gym import frozen_lake
from venmas.nn import load_network

MLP = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4))


@pytest.fixture(autouse=True)
def _quiet():
    """One thread, as two workers share two cores; the exporters say much."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)
    torch.set_num_threads(threads)


def trained(algorithm, env):
    """A policy after about a second of training, and the part of it that gives scores to one-hot cells."""
    widths = {"net_arch": [16, 16], "activation_fn": nn.ReLU}
    if algorithm is DQN:
        model = DQN("MlpPolicy", env, policy_kwargs=widths, learning_starts=50, seed=1, device="cpu").learn(400)
        return model, model.q_net.q_net
    options = {"n_steps": 256, "batch_size": 64, "learning_rate": 5e-3, "seed": 1, "device": "cpu"}
    model = PPO("MlpPolicy", env, policy_kwargs=widths, **options).learn(1024)
    return model, nn.Sequential(model.policy.mlp_extractor.policy_net, model.policy.action_net)


def runs(env, actions, steps):
    """The cells that runs reach at each step, by the table of the environment."""
    reached = [{i for i, p in enumerate(env.unwrapped.initial_state_distrib) if p > 0}]
    for _ in range(steps):
        ends = [env.unwrapped.P[cell][actions[cell]] for cell in reached[-1]]
        reached.append({end for answers in ends for p, end, _, _ in answers if p > 0})
    return reached


@pytest.mark.parametrize("slippery", [True, False])
@pytest.mark.parametrize("algorithm", [DQN, PPO])
def test_a_trained_policy_is_verified(algorithm, slippery, tmp_path):
    env = gymnasium.make("FrozenLake-v1", is_slippery=slippery)
    model, scores = trained(algorithm, env)
    torch.onnx.export(scores.eval(), (torch.zeros(1, 16),), tmp_path / "policy.onnx", dynamo=False)
    system = frozen_lake(env, tmp_path / "policy.onnx")

    actions = [int(model.predict(np.array(cell), deterministic=True)[0]) for cell in range(16)]
    scored = load_network(tmp_path / "policy.onnx").evaluate(np.eye(16))
    assert scored.argmax(1).tolist() == actions

    letters = "".join(bytes(c).decode() for c in env.unwrapped.desc.ravel())
    reached = runs(env, actions, 20)
    for k in (1, 2, 5, 20):
        safe = all(letters[cell] != "H" for cells in reached[1 : k + 1] for cell in cells)
        report = verify(system, f"AG^{k} safe")
        assert report.verdict == ("satisfied" if safe else "violated")
        if not safe:
            path = [np.argmax([value.exact for value in node.state]) for node in report.witness.path]
            for here, there in pairwise(path):
                assert there in [end for p, end, _, _ in env.unwrapped.P[here][actions[here]] if p > 0]
            assert letters[path[-1]] == "H"
        there = any(letters[cell] == "G" for cells in reached[1 : k + 1] for cell in cells)
        assert verify(system, f"EF^{k} goal").satisfied is there


ONE, TWO = (torch.zeros(1, 16),), (torch.zeros(2, 16),)
BATCH = {0: torch.export.Dim("batch")}
EXPORTS = {  # what PyTorch writes: by the exporter of TorchScript and by the one that is the default now
    "legacy": (ONE, {"dynamo": False}),
    "legacy, any batch": (TWO, {"dynamo": False, "input_names": ["x"], "dynamic_axes": {"x": {0: "batch"}}}),
    "legacy, no batch": ((ONE[0][0],), {"dynamo": False}),
    "dynamo": (ONE, {"dynamo": True}),
    "dynamo, any batch": (TWO, {"dynamo": True, "dynamic_shapes": (BATCH,)}),
    "dynamo, one file": (ONE, {"dynamo": True, "external_data": False, "opset_version": 18}),
}


class Normalized(nn.Module):
    """Observations by mean and deviation, as many wrappers do, then a network in functions."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.rand(16))
        self.register_buffer("deviation", torch.rand(16) + 1)
        self.first, self.last = nn.Linear(16, 8), nn.Linear(8, 4, bias=False)

    def forward(self, x):
        hidden = self.first((x.float() - self.mean) / self.deviation).clamp(min=0)
        return self.last(torch.relu(hidden))


@pytest.mark.parametrize(
    ("model", "how"),
    [*((MLP, how) for how in EXPORTS), (Normalized(), "legacy, any batch"), (Normalized(), "dynamo")],
    ids=[*EXPORTS, "functions, legacy", "functions, dynamo"],
)
def test_exports_of_pytorch_are_read(model, how, tmp_path):
    example, options = EXPORTS[how]
    torch.onnx.export(model.eval(), example, tmp_path / "policy.onnx", verbose=False, **options)
    network = load_network(tmp_path / "policy.onnx")
    inputs = np.random.default_rng(0).normal(size=(5, 16)).astype(np.float32)
    with torch.no_grad():
        np.testing.assert_allclose(network.evaluate(inputs), model(torch.tensor(inputs)).numpy(), atol=1e-5)


def test_a_tanh_policy_is_read(tmp_path):
    """The default activation of PPO."""
    model = nn.Sequential(nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 4))
    torch.onnx.export(model, (torch.zeros(1, 16),), tmp_path / "policy.onnx", dynamo=False)
    network, inputs = load_network(tmp_path / "policy.onnx"), np.random.default_rng(0).normal(size=(5, 16))
    assert network.smooth == "tanh units"
    with torch.no_grad():
        expected = model(torch.tensor(inputs, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(network.evaluate(inputs), expected, atol=1e-5)
