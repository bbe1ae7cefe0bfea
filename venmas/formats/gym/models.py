"""Trained models of PyTorch and Stable-Baselines3, as far as they are networks."""

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


def is_of(policy: object, package: str, name: str) -> bool:
    """Whether a class of another package is among those of an object, without importing that package."""
    return any(c.__name__ == name and c.__module__.startswith(package) for c in type(policy).__mro__)


def scores_of(model: Any, seen: str, expected: str) -> Any:
    """The part of a model of Stable-Baselines3 that maps what it sees to scores or forces, as a torch module.

    seen, expected: what it sees and what could be given instead, for the message. Raises `NetworkError`.
    """
    import torch

    policy = model.policy
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
    """What the first layer of a model of Stable-Baselines3 sees of observations, (n, inputs): images as parts of 255.

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
