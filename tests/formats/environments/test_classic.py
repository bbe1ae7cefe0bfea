"""Pendulum and CartPole are Gymnasium's own, step by step, and policies trained with tanh are decided in them."""

from tests.needs import needs

needs("gymnasium", "stable_baselines3", "torch")

from fractions import Fraction

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from torch import nn

from venmas import load_network, load_scenario, verify
from venmas.checker.file import check_certificate
from venmas.errors import NetworkError, ScenarioError
from venmas.formats.gym import cartpole, pendulum
from venmas.model.evaluation.simulate import step_batch
from venmas.model.witness.build import satisfies
from venmas.nn.network import relu_network

torch.set_num_threads(1)


def names(system):
    return tuple(system.variables)


def constant(inputs, *answers):
    """A network that says the same everywhere."""
    return relu_network([np.zeros((len(answers), inputs))], [list(answers)])


def env_step(env, state, action):
    """The state after a step of the environment itself, in its own floats."""
    env.unwrapped.state = np.array(state, dtype=np.float64)
    env.unwrapped.steps_beyond_terminated = None
    _, _, ended, _, _ = env.unwrapped.step(action)
    return env.unwrapped.state, ended


def one_step(system, states):
    rows = {n: states[:, i] for i, n in enumerate(names(system))}
    after, enabled = step_batch(system, rows, np.zeros(len(states), int))
    assert enabled.all()
    return np.stack([after[n] for n in names(system)], 1)


@pytest.mark.parametrize("gravity", [10.0, 9.81])
def test_pendulum_steps_as_the_environment_does(gravity):
    env, rng = gymnasium.make("Pendulum-v1", g=gravity), np.random.default_rng(1)
    env.reset(seed=1)
    cut = 0
    for force in (*rng.uniform(-3, 3, 12), 2.0, -2.0, 0.0):
        system = pendulum(constant(3, force), gravity=gravity)
        states = np.concatenate([rng.uniform([-9, -8], [9, 8], (40, 2)), [[0, 0], [1.5, 8], [-1.5, -8], [1.5, 7.9]]])
        ours = one_step(system, states)
        theirs = np.array([env_step(env, s, np.array([force]))[0] for s in states])
        assert np.allclose(ours, theirs, rtol=0, atol=1e-13)
        cut += int((np.abs(theirs[:, 1]) == 8).sum())
    assert cut > 10  # the limit of speed is met


def test_pendulum_sees_what_the_environment_shows():
    env, rng = gymnasium.make("Pendulum-v1"), np.random.default_rng(2)
    torch.manual_seed(3)
    module = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)).double()
    states = rng.uniform([-9, -8], [9, 8], (100, 2))
    env.reset(seed=1)
    theirs = []
    for state in states:
        env.unwrapped.state = state
        shown = torch.tensor(env.unwrapped._get_obs(), dtype=torch.float64)
        theirs.append(env_step(env, state, module(shown).detach().numpy())[0])
    assert np.allclose(one_step(pendulum(module), states), theirs, rtol=0, atol=1e-6)  # it shows float32


def test_cartpole_steps_as_the_environment_does():
    env, rng = gymnasium.make("CartPole-v1"), np.random.default_rng(1)
    env.reset(seed=1)
    most = np.array([4.8, 6, 0.42, 6])
    for action in (0, 1):
        system = cartpole(constant(4, 1 - action, action))
        states = rng.uniform(-most, most, (300, 4))
        ours = one_step(system, states)
        steps = [env_step(env, s, action) for s in states]
        assert np.allclose(ours, [s for s, _ in steps], rtol=0, atol=1e-13)
        for after, ended in steps:
            exact = {n: Fraction(float(v)) for n, v in zip(names(system), after, strict=True)}
            assert satisfies(system, system.propositions["balanced"], exact) == (not ended)
        assert {ended for _, ended in steps} == {True, False}


@pytest.fixture(scope="module")
def swinging():
    env = gymnasium.make("Pendulum-v1")
    return PPO("MlpPolicy", env, seed=1, device="cpu", n_steps=512, batch_size=128, n_epochs=5).learn(2048)


@pytest.fixture(scope="module")
def balancing():
    env = gymnasium.make("CartPole-v1")
    return PPO("MlpPolicy", env, seed=1, device="cpu", n_steps=512, batch_size=128, n_epochs=5).learn(4096)


def driven(model, env, state, steps):
    """The states of the environment itself under the model, shape (steps + 1, n)."""
    found = [np.array(state, dtype=np.float64)]
    env.reset(seed=1)
    for _ in range(steps):
        env.unwrapped.state = found[-1]
        shown = env.unwrapped._get_obs() if hasattr(env.unwrapped, "_get_obs") else found[-1].astype(np.float32)
        found.append(env_step(env, found[-1], model.predict(shown, deterministic=True)[0])[0])
    return np.array(found)


def begins(start, runs, rng):
    """Corners first."""
    low, high = np.array([[float(e) for e in ends] for ends in start.values()]).T
    found = rng.uniform(low, high, (runs, len(low)))
    found[:2] = low, high
    return found


def decide(build, model, env, start, variable, margins, tmp_path):
    """A bound that no run passes, proved and checked; one that some run passes, violated in the environment itself.

    The bounds come from runs, as training differs between versions. margins: how far the first is beyond the greatest
    value met, and the second below it.
    """
    system, rng = build(model, start=start), np.random.default_rng(5)
    at = names(system).index(variable)
    greatest = max(driven(model, env, s, 20)[1:, at].max() for s in begins(start, 40, rng))
    above, below = (round(greatest + m, 4) for m in margins)

    proof = tmp_path / "proof.txt"
    held = verify(system, f"AG^20 ({variable} < {above})", certificate=proof, timeout=60)
    assert held.verdict == "satisfied", held
    check_certificate(proof, system)

    broken = verify(system, f"AG^20 ({variable} < {below})", timeout=60)
    assert broken.verdict == "violated", broken
    state = [float(broken.witness.initial[n]) for n in names(system)]
    assert all(low <= v <= high for v, (low, high) in zip(state, start.values(), strict=True))
    assert driven(model, env, state, 20)[1:, at].max() >= below


def test_pendulum_under_ppo(swinging, tmp_path):
    start = {"th": (3.0, 3.05), "thdot": (-0.05, 0.05)}
    decide(pendulum, swinging, gymnasium.make("Pendulum-v1"), start, "th", (0.1, -0.01), tmp_path)


def test_the_limit_of_speed_is_no_obstacle():
    system = pendulum(constant(3, 2), start={"th": (1, 1.1), "thdot": (7, 8)})
    assert verify(system, "AG^10 (th < 5.11 & thdot < 8.5)").satisfied
    assert verify(system, "AG^10 (th < 5)").violated  # 1.1 + 10 * 0.05 * 8 = 5.1


@pytest.mark.slow
def test_cartpole_under_ppo(balancing, tmp_path):
    start = {"x": (0.01, 0.012), "x_dot": (0, 0.002), "theta": (0.01, 0.012), "theta_dot": (0, 0.002)}
    env = gymnasium.make("CartPole-v1")
    decide(cartpole, balancing, env, start, "theta_dot", (0.3, -0.01), tmp_path)
    assert verify(cartpole(balancing, start=start), "AG^20 balanced", timeout=60).satisfied


def test_scenario_is_the_environment_with_its_own_controller():
    system = load_scenario("pendulum").system()
    assert names(system) == ("th", "thdot")
    env, rng = gymnasium.make("Pendulum-v1"), np.random.default_rng(4)
    env.reset(seed=1)
    controller = load_network(load_scenario("pendulum").networks / "controller.onnx")
    states = rng.uniform(-1, 1, (50, 2))
    seen = np.stack([np.cos(states[:, 0]), np.sin(states[:, 0]), states[:, 1]], 1)
    theirs = [env_step(env, s, u)[0] for s, u in zip(states, controller.evaluate(seen), strict=True)]
    assert np.allclose(one_step(system, states), theirs, rtol=0, atol=1e-12)


def test_starts_are_ranges_of_variables():
    net = constant(3, 0)
    with pytest.raises(ScenarioError, match="no variable 'angle'; the variables are th, thdot"):
        pendulum(net, start={"angle": (0, 1)})
    with pytest.raises(ScenarioError, match=r"'thdot' from 7 to 9: expected a range within -8 to 8"):
        pendulum(net, start={"thdot": (7, 9)})
    for wrong in (0.1, (1,), ("a", "b"), (float("nan"), 1)):
        with pytest.raises(ScenarioError, match="expected two numbers"):
            pendulum(net, start={"th": wrong})
    with pytest.raises(ScenarioError, match="expected a range"):
        cartpole(constant(4, 0, 1), start={"x": (1, 0)})


def test_policies_of_another_shape_are_refused(swinging, balancing):
    with pytest.raises(NetworkError, match=r"4 inputs and 2 outputs: expected 3 \(the observation\) and 1"):
        pendulum(constant(4, 0, 1))
    with pytest.raises(NetworkError, match=r"does not take observations of shape \(batch, 4\)"):
        cartpole(nn.Linear(3, 2))
    with pytest.raises(NetworkError, match="4 inputs and 3 outputs: expected 4"):
        cartpole(nn.Linear(4, 3))
    with pytest.raises(NetworkError, match="is no policy"):
        cartpole([0, 1])
    with pytest.raises(NetworkError, match="the model sees"):
        pendulum(balancing)
    with pytest.raises(NetworkError, match="the model sees"):
        cartpole(swinging)


def test_what_changes_observations_or_actions_is_refused():
    normal = VecNormalize(DummyVecEnv([lambda: gymnasium.make("Pendulum-v1")]))
    with pytest.raises(NetworkError, match="VecNormalize"):
        pendulum(PPO("MlpPolicy", normal, n_steps=64, device="cpu"))
    scaled = gymnasium.wrappers.RescaleAction(gymnasium.make("Pendulum-v1"), np.float32(-1), np.float32(1))
    with pytest.raises(NetworkError, match="a wrapper that changes them"):
        pendulum(PPO("MlpPolicy", scaled, n_steps=64, device="cpu"))
    shifted = gymnasium.wrappers.TransformObservation(gymnasium.make("CartPole-v1"), lambda o: o + 1, None)
    with pytest.raises(ScenarioError, match="changes observations"):
        cartpole(DQN("MlpPolicy", shifted, device="cpu", buffer_size=10))


def test_a_model_that_does_not_do_what_its_network_says_is_refused(monkeypatch):
    model = PPO("MlpPolicy", gymnasium.make("Pendulum-v1"), n_steps=64, device="cpu", seed=1)
    own = model.predict
    monkeypatch.setattr(model, "predict", lambda *a, **k: (own(*a, **k)[0] + np.float32(0.01), None))
    with pytest.raises(NetworkError, match="something between them"):
        pendulum(model)


def test_actions_of_dqn_are_the_greatest_value():
    model = DQN("MlpPolicy", gymnasium.make("CartPole-v1"), device="cpu", seed=1, buffer_size=10)
    env, rng = gymnasium.make("CartPole-v1"), np.random.default_rng(1)
    env.reset(seed=1)
    states = rng.uniform(-0.2, 0.2, (100, 4))
    chosen = model.predict(states.astype(np.float32), deterministic=True)[0]
    theirs = [env_step(env, s, int(a))[0] for s, a in zip(states, chosen, strict=True)]
    assert np.allclose(one_step(cartpole(model), states), theirs, rtol=0, atol=1e-9)
