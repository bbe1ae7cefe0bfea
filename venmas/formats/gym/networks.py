"""Policies over real observations as networks: `network_of(policy, ..)`, whatever trained them.

The network is the part of a model between the observation and what it answers with: a force, or the scores of actions.
Its weights are those of the model, exactly; activations are the real functions (tanh, sigmoid), where the model has
floats. So that nothing is left out in between, modules and models are asked at random observations, and have to answer
as the network does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.errors import NetworkError
from venmas.formats.gym.worlds import check_wrappers
from venmas.nn import Network, load_network
from venmas.nn.trained import SAMPLES, check_forces, check_taken, converted, is_of, scores_of

_EXPECTED = (
    "expected a model of Stable-Baselines3 (PPO, A2C, DQN with MlpPolicy), a torch module, a network file, or a Network"
)
Answers: TypeAlias = "int | tuple[int, int]"
"""How many actions there are, of which that of the greatest score is taken; or the ends a force is cut off at."""


def network_of(policy: Any, most: NDArray[Any], answers: Answers) -> Network:
    """The network of a policy from observations to answers, before they are compared or cut off.

    most: shape (n,), the sizes of observations to ask at. Raises `NetworkError` where the policy is of no known kind,
    of another shape, or answers otherwise than its network.
    """
    size, outputs = most.size, answers if isinstance(answers, int) else 1
    points = np.random.default_rng(0).uniform(-most, most, (SAMPLES, size)).astype(np.float32)
    if isinstance(policy, Network):
        network = policy
    elif isinstance(policy, (str, Path)):
        network = load_network(policy)
    else:
        if is_of(policy, "stable_baselines3.", "BaseAlgorithm"):
            _check_model(policy, size, answers)
            module = scores_of(policy, "the observation", _EXPECTED)
        elif is_of(policy, "torch.nn.", "Module"):
            module = policy
        else:
            raise NetworkError(f"{str(policy)[:80]!r} is no policy: {_EXPECTED}")
        network = converted(module, points, f"observations of shape (batch, {size})")
    if (network.input_size, network.output_size) != (size, outputs):
        meant = "the scores of the actions" if isinstance(answers, int) else "the force before it is cut off"
        raise NetworkError(
            f"network {network.name!r} has {network.input_size} inputs and {network.output_size} outputs: expected "
            f"{size} (the observation) and {outputs} ({meant})"
        )
    if is_of(policy, "stable_baselines3.", "BaseAlgorithm"):
        taken = np.asarray(policy.predict(points, deterministic=True)[0]).reshape(SAMPLES, 1)
        values = network.evaluate(points.astype(np.float64))
        if isinstance(answers, int):
            check_taken(values, taken[:, 0], points, answers)
        else:
            check_forces(values, taken, points, *answers)
    return network


def _check_model(model: Any, size: int, answers: Answers) -> None:
    """Refuse a model whose observations or actions are changed on their way, as far as it says so."""
    seen, space = model.observation_space, model.action_space
    if isinstance(answers, int):
        fits, expected = getattr(space, "n", None) == answers, f"Discrete({answers})"
    else:
        ends = [np.asarray(getattr(space, end, np.nan)).ravel().tolist() for end in ("low", "high")]
        fits, expected = ends == [[answers[0]], [answers[1]]], f"Box({answers[0]}, {answers[1]}, (1,))"
    if getattr(seen, "shape", None) != (size,) or not fits:
        raise NetworkError(
            f"the model sees {seen} and acts in {space}: expected {size} numbers and {expected}, as the environment "
            "itself has them; a wrapper that changes them is no part of the model: train without"
        )
    if model.get_vec_normalize_env() is not None:
        raise NetworkError(
            "the model sees what VecNormalize makes of observations, which is no part of the model: train without, or "
            "give a torch module that does it"
        )
    for env in getattr(getattr(model.get_env(), "unwrapped", None), "envs", ()):
        check_wrappers(env)
