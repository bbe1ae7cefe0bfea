"""Observations as `VecNormalize` of Stable-Baselines3 changes them: its .pkl file as a network.

``clip((x - mean) / sqrt(var + epsilon), -c, c)`` with the statistics of the file. It is read as data
(`venmas.nn.pickled`): no class or function that it names is looked up. Divisor and statistics are the float64 that
Stable-Baselines3 computes with; its result, which it rounds to float32, is the real one here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from venmas.errors import NetworkError
from venmas.nn.chain import Chain
from venmas.nn.files import read_bytes
from venmas.nn.network import Network
from venmas.nn.pickled import Made, array_of, read_pickle
from venmas.nn.pieces import clip

_CLASS = "stable_baselines3.common.vec_env.vec_normalize.VecNormalize"
_STATISTICS = "stable_baselines3.common.running_mean_std.RunningMeanStd"


def read_vec_normalize(path: Path) -> Network:
    """Read the file that ``VecNormalize.save`` writes. Raises `NetworkError`."""
    network = read_normalization(path)
    if network is None:
        raise NetworkError(f"{path}: it leaves observations as they are (norm_obs=False): do without it")
    return network


def read_normalization(path: Path) -> Network | None:
    """The same; none of a file that leaves observations as they are (of rewards alone). Raises `NetworkError`."""
    try:
        return _network(read_pickle(read_bytes(path)), path)
    except NetworkError as error:
        raise NetworkError(f"{path}: {error}") from error


def _network(saved: Any, path: Path) -> Network | None:
    if not isinstance(saved, Made) or saved.of != _CLASS:
        of = saved.of if isinstance(saved, Made) else type(saved).__name__
        raise NetworkError(f"it holds a {of}: expected VecNormalize of Stable-Baselines3, env.save('{path.name}')")
    if saved.get("norm_obs") is False:
        return None
    statistics = saved.get("obs_rms")
    if not isinstance(statistics, Made) or statistics.of != _STATISTICS:
        raise NetworkError("its statistics are those of observations in parts (Dict): expected one Box")
    mean, var = (array_of(statistics.get(name)).astype(np.float64) for name in ("mean", "var"))
    epsilon, most = (array_of(saved.get(name)).astype(np.float64) for name in ("epsilon", "clip_obs"))
    divisor = np.sqrt(var + epsilon)
    if (
        mean.shape != var.shape
        or mean.size < 1
        or epsilon.shape
        or most.shape
        or not (np.all(divisor > 0) and most > 0)
    ):
        raise NetworkError(f"its statistics have the shapes {[mean.shape, var.shape]}, or are negative")
    chain = Chain((mean.size,))
    chain.add(-mean.ravel())
    chain.divide(divisor.ravel())
    if np.isfinite(most):
        clip(chain, np.asarray(-most), np.asarray(most))
    return chain.network(path.stem, "float64", str(path))
