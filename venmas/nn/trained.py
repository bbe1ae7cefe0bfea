"""Trained models of PyTorch and Stable-Baselines3, as far as they are networks.

`network_of_trained` is what `apply_network` makes of them, `converted` the one way from a module to a network. A module
is asked at random inputs, and has to answer as the network does.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.errors import NetworkError
from venmas.nn.load import load_network
from venmas.nn.network import Network

SAMPLES, NEAR = 64, 1e-4
"""How many observations a model is asked at, and the part of an answer that single precision is believed to change."""
_MOST = 3.0
"""Size of the observations that models of unknown ranges are asked at."""


def is_of(policy: object, package: str, name: str) -> bool:
    """Whether a class of another package is among those of an object, without importing that package."""
    return any(c.__name__ == name and c.__module__.startswith(package) for c in type(policy).__mro__)


def scores_of(model: Any, seen: str, expected: str) -> Any:
    """The part of a model of Stable-Baselines3 that maps what it sees to scores or forces, as a torch module.

    seen, expected: what it sees and what could be given instead, for the message. Raises `NetworkError`.
    """
    import torch

    policy = model.policy
    if hasattr(policy, "lstm_actor"):
        raise NetworkError(
            f"{type(model).__name__} has a memory: write model.save('policy.zip'), and give system.recurrent what "
            "load_recurrent('policy.zip') reads"
        )
    extractor = type(getattr(policy, "features_extractor", None) or getattr(policy, "pi_features_extractor", None))
    if hasattr(policy, "q_net"):
        extractor = type(policy.q_net.features_extractor)
        parts = [policy.q_net.q_net]
    elif hasattr(policy, "mlp_extractor") and hasattr(policy, "action_net"):
        parts = [policy.mlp_extractor.policy_net, policy.action_net]
    else:
        parts = []
    if not parts or extractor.__name__ != "FlattenExtractor":
        raise NetworkError(
            f"{type(model).__name__} with {type(policy).__name__} and {extractor.__name__}: {expected}; give its part "
            f"from {seen} to its answer as a torch module"
        )
    return torch.nn.Sequential(*parts)


def points_of(model: Any, seen: list[NDArray[Any]]) -> NDArray[np.float64]:
    """Inputs of the first layer of a model of Stable-Baselines3, (n, inputs): images as parts of 255.

    Raises `NetworkError` where the model was trained on others.
    """
    from stable_baselines3.common.preprocessing import preprocess_obs

    normalized = model.get_vec_normalize_env()
    if normalized is not None and normalized.norm_obs:
        raise NetworkError("the model sees what VecNormalize makes of observations: train without")
    try:
        tensor, several = model.policy.obs_to_tensor(np.stack(seen))
    except Exception as error:  # whatever shapes make it raise
        raise NetworkError(
            f"the model sees {model.observation_space}, the environment shows {seen[0].shape} {seen[0].dtype}: give it "
            f"in the wrappers of observations that the model was trained with ({type(error).__name__}: {error})"
        ) from error
    if not several:
        raise NetworkError(f"the model sees {model.observation_space}, the environment one observation of another form")
    given: Any = preprocess_obs(tensor, model.policy.observation_space, model.policy.normalize_images)
    return np.asarray(given.flatten(1).cpu().numpy(), dtype=np.float64)


def is_trained(policy: object) -> bool:
    """Whether it is a model of Stable-Baselines3 or a torch module."""
    return is_of(policy, "stable_baselines3.", "BaseAlgorithm") or is_of(policy, "torch.nn.", "Module")


def network_of_trained(policy: Any, size: int) -> Network:
    """The network of a torch module, or of a model of Stable-Baselines3: from `size` inputs to what it answers with.

    That is the scores of actions, of which the greatest is taken, or the actions before they are cut off at the ends of
    their space. Raises `NetworkError` for a model with another number of inputs, and where something that is no part of
    the network stands between its inputs and its answers.
    """
    points = np.random.default_rng(0).uniform(-_MOST, _MOST, (SAMPLES, size)).astype(np.float32)
    form = f"inputs of shape (batch, {size})"
    if not is_of(policy, "stable_baselines3.", "BaseAlgorithm"):
        return converted(policy, points, form)
    seen, space = policy.observation_space, policy.action_space
    if getattr(seen, "shape", None) != (size,):
        raise NetworkError(
            f"the model sees {seen}, and apply_network gives it {size} inputs: give it one for each number that it "
            "sees, in their order; of images and discrete observations give its part behind them as a torch module"
        )
    if policy.get_vec_normalize_env() is not None:
        raise NetworkError(
            "the model sees what VecNormalize makes of observations, which is no part of the model: train without, or "
            "give a torch module that does it"
        )
    network = converted(scores_of(policy, "the observation", "expected PPO, A2C or DQN with MlpPolicy"), points, form)
    taken = np.asarray(policy.predict(points, deterministic=True)[0]).reshape(SAMPLES, -1)
    if hasattr(space, "n"):
        check_taken(network.evaluate(points.astype(np.float64)), taken[:, 0], points, int(space.n))
    elif hasattr(space, "low"):
        check_forces(network.evaluate(points.astype(np.float64)), taken, points, space.low.ravel(), space.high.ravel())
    else:
        raise NetworkError(f"the model acts in {space}: expected Discrete or Box; give its network as a torch module")
    return network


def converted(module: Any, points: NDArray[Any], form: str) -> Network:
    """The network of a torch module, which answers as the module at points, (n, inputs). Raises `NetworkError`."""
    with exported(module, points, form) as (file, answers):
        network = load_network(file)
    if answers.shape == (len(points), network.output_size) and network.input_size == points.shape[1]:
        _check_values(network, points, answers)
    return network


@contextmanager
def exported(module: Any, points: NDArray[Any], form: str) -> Iterator[tuple[Path, NDArray[Any]]]:
    """The ONNX file that PyTorch writes of a module, for a while, and what the module says at points, (n, inputs).

    form: what it has to take, for the message. Raises `NetworkError` where it does not, or cannot be exported.
    """
    import torch

    modes = [(part, part.training) for part in module.modules()]
    first = next(module.parameters(), torch.zeros(0))
    module.eval()
    try:
        with _quiet(), torch.no_grad(), TemporaryDirectory() as folder:
            file = Path(folder) / "policy.onnx"
            given = torch.tensor(points, dtype=first.dtype, device=first.device)
            try:
                answers = module(given).cpu().numpy().reshape(len(points), -1)
                torch.onnx.export(module, (given[:1],), file, dynamo=False, do_constant_folding=False)
            except Exception as error:  # whatever the code of a module raises
                raise NetworkError(
                    f"the module does not take {form} or cannot be exported: {type(error).__name__}: {str(error)[:300]}"
                ) from error
            yield file, np.asarray(answers)
    finally:
        for part, mode in modes:
            part.training = mode


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what the exporter says of itself."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


def _check_values(network: Network, points: NDArray[Any], found: NDArray[Any]) -> None:
    """Compare a network with what its module says, both of shape (samples, outputs)."""
    values = network.evaluate(points.astype(np.float64))
    off = np.abs(values - found).max(axis=1)
    if not off.max() <= NEAR * (1 + np.abs(values).max()):
        worst = int(off.argmax())
        raise NetworkError(
            f"at {points[worst].tolist()} the module says {found[worst].tolist()} and the file that PyTorch writes of "
            f"it {values[worst].tolist()}: give the file of another exporter"
        )


def check_taken(values: NDArray[Any], taken: NDArray[Any], points: NDArray[Any], actions: int) -> None:
    """Compare the actions that a model takes, shape (samples,), with the scores of its network. Raises `NetworkError`.

    Each has one of the greatest scores.
    """
    if values.shape[1] != actions:
        raise NetworkError(f"the network of the model has {values.shape[1]} outputs for {actions} actions: {_WHOLE}")
    off = values.max(axis=1) - np.take_along_axis(values, taken.astype(int)[:, None], 1)[:, 0]
    _check_off(off, values, taken, points)


def check_forces(values: NDArray[Any], taken: NDArray[Any], points: NDArray[Any], low: Any, high: Any) -> None:
    """Compare the actions of a model, shape (samples, n), with those of its network that are cut off at low and high.

    Raises `NetworkError`.
    """
    if values.shape != taken.shape:
        raise NetworkError(f"the network of the model has {values.shape[1]} outputs, it acts with {taken.shape[1]}")
    _check_off(np.abs(np.clip(values, low, high) - taken).max(axis=1), values, taken, points)


def _check_off(off: NDArray[Any], values: NDArray[Any], taken: NDArray[Any], points: NDArray[Any]) -> None:
    if not off.max() <= NEAR * (1 + np.abs(values).max()):
        worst = int(off.argmax())
        raise NetworkError(
            f"in observation {points[worst].tolist()} the model answers {taken[worst]} and its network "
            f"{values[worst].tolist()}: {_WHOLE}"
        )


_WHOLE = "something between them is no part of the network; give a torch module of the whole way from the observation"
