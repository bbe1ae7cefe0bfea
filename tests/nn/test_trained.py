"""Torch modules and models of Stable-Baselines3, given to `apply_network` as they are."""

import numpy as np
import pytest

from venmas import verify
from venmas.errors import InputError
from venmas.model import System, apply_network, argmax, clip
from venmas.model.simulate import step_batch

torch = pytest.importorskip("torch")
gymnasium = pytest.importorskip("gymnasium")


def cart(policy: object, continuous: bool = True) -> System:
    """A cart that a policy pushes, by a force or to one of two sides."""
    system = System("cart")
    x, v = system.real("x", -50, 50), system.real("v", -50, 50)
    answer = apply_network(policy, [x, v])
    push = system.agent(clip(answer[0], -1, 1) if continuous else 2 * argmax(answer) - 1, "push")
    system.branch("go", x=x + v / 10, v=v + push / 10)
    system.initial(x >= -1, x <= 1, v == 0)
    return system


def module(activation: type) -> object:
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(2, 8), activation(), torch.nn.Linear(8, 1))


@pytest.mark.parametrize("activation", [torch.nn.ReLU, torch.nn.Tanh])
def test_a_module_is_its_network(activation: type) -> None:
    net, points = module(activation), np.random.default_rng(0).uniform(-1, 1, (50, 2))
    system = cart(net)
    state = {"x": points[:, 0], "v": points[:, 1]}
    after, _ = step_batch(system, state, np.zeros(50, dtype=int))
    with torch.no_grad():
        force = net(torch.tensor(points, dtype=torch.float32)).numpy()[:, 0]  # type: ignore[operator]
    assert np.allclose(after["v"], points[:, 1] + np.clip(force, -1, 1) / 10, atol=1e-6)
    assert verify(system, "AG^3 (x < 2)").satisfied
    assert verify(system, "AG^3 (x < 0)").violated


class World(gymnasium.Env):  # type: ignore[misc,name-defined]
    """What models of two inputs are trained in."""

    observation_space = gymnasium.spaces.Box(-50, 50, (2,))

    def __init__(self, space: object) -> None:
        self.action_space = space

    def reset(self, *, seed: int | None = None, options: object = None) -> object:
        return np.zeros(2, np.float32), {}

    def step(self, action: object) -> object:
        return np.zeros(2, np.float32), 0.0, False, False, {}


@pytest.mark.parametrize("kind", ["PPO", "A2C", "DQN"])
def test_models_of_stable_baselines(kind: str) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    spaces = [gymnasium.spaces.Discrete(2)] + ([gymnasium.spaces.Box(-1, 1, (1,))] if kind != "DQN" else [])
    for space in spaces:
        model = getattr(sb3, kind)("MlpPolicy", World(space), seed=1, device="cpu")
        system = cart(model, continuous=not hasattr(space, "n"))
        points = np.random.default_rng(0).uniform(-3, 3, (20, 2)).astype(np.float32)
        after, _ = step_batch(
            system, {"x": points[:, 0].astype(float), "v": points[:, 1].astype(float)}, np.zeros(20, int)
        )
        taken = np.asarray(model.predict(points, deterministic=True)[0]).reshape(20)
        push = 2 * taken - 1 if hasattr(space, "n") else taken
        assert np.allclose(after["v"], points[:, 1] + push / 10, atol=1e-5)


def test_what_is_no_network_of_these_inputs_is_refused() -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    system = System("s")
    x = system.real("x", 0, 1)
    with pytest.raises(InputError, match=r"does not take inputs of shape \(batch, 1\)"):
        apply_network(module(torch.nn.ReLU), [x])
    model = sb3.PPO("MlpPolicy", World(gymnasium.spaces.Discrete(2)), device="cpu")
    with pytest.raises(InputError, match="gives it 1 inputs: give it one for each number that it sees"):
        apply_network(model, [x])
    normalized = VecNormalize(DummyVecEnv([lambda: World(gymnasium.spaces.Discrete(2))]))
    with pytest.raises(InputError, match="VecNormalize"):
        apply_network(sb3.PPO("MlpPolicy", normalized, device="cpu"), [x, x])
    with pytest.raises(InputError, match=r"or cannot be exported|LSTM"):
        apply_network(torch.nn.LSTM(2, 2), [x, x])
    with pytest.raises(InputError, match="squashed"):
        apply_network(Odd(), [x, x])


class Odd(torch.nn.Module):  # type: ignore[misc,name-defined]
    """A module whose code fails."""

    def forward(self, _given: object) -> object:
        raise ValueError("squashed")


def test_a_model_of_keras_is_told_to_be_saved() -> None:
    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
    with pytest.raises(InputError, match=r'Sequential of Keras; write model.save\("policy.keras"\)'):
        apply_network(model, [1, 2])
