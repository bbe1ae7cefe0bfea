"""Layers of Keras that look at windows or channels of an image (1, height, width, channels)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.errors import NetworkError
from venmas.nn import pieces
from venmas.nn.chain import Chain
from venmas.nn.keras_known import Config
from venmas.nn.network import Array


def convolve(chain: Chain, config: Config, kernel: Array, bias: Array | None) -> None:
    """Conv2D; kernel: (height, width, channels, filters)."""
    strides, pads = _steps(chain, config, list(kernel.shape[:2]))
    chain.rearrange(_channels_first)
    chain.convolve(kernel.transpose(3, 2, 0, 1), strides, [1, 1], pads)
    if bias is not None:
        chain.add(bias.reshape(1, -1, 1, 1))
    chain.rearrange(_channels_last)


def pool(chain: Chain, kind: str, config: Config) -> None:
    """Pools of maxima and averages, over windows or over all of an image; padding does not count."""
    over_all = kind.startswith("Global")
    check_image(chain, config)
    window = list(chain.shape[1:3]) if over_all else config["pool_size"]
    strides, pads = ([1, 1], [0] * 4) if over_all else _steps(chain, config, window)
    chain.rearrange(_channels_first)
    if "Max" in kind:
        pieces.max_pool(chain, window, strides, [1, 1], pads)
    else:
        pieces.average_pool(chain, window, strides, [1, 1], pads, False)
    chain.rearrange(_channels_last)
    if over_all and not config["keepdims"]:
        chain.rearrange(lambda t: t.reshape(1, -1))


def batch_normalize(chain: Chain, axis: int, weights: dict[str, Array], epsilon: float) -> None:
    """BatchNormalization for inference: a division by the float64 nearest to ``sqrt(variance + epsilon)``."""
    variance = weights["moving_variance"].tolist()
    deviation = np.array([pieces.root(Fraction(v) + Fraction(epsilon)) for v in variance])
    one = np.ones(len(variance))
    values = weights.get("gamma", one), weights.get("beta", 0 * one), weights["moving_mean"], deviation
    shape = [-1 if at == axis else 1 for at in range(len(chain.shape))]
    pieces.batch_normalize(chain, *(v.reshape(shape) for v in values))


def _channels_first(t: NDArray[Any]) -> NDArray[Any]:
    return np.moveaxis(t, -1, 1)


def _channels_last(t: NDArray[Any]) -> NDArray[Any]:
    return np.moveaxis(t, 1, -1)


def check_image(chain: Chain, config: Config) -> None:
    """Raise `NetworkError` unless the current tensor is an image, and the layer says in which form."""
    if len(chain.shape) != 4 or "data_format" not in config:
        raise NetworkError(
            f"takes a tensor of shape {list(chain.shape)}: expected (batch, height, width, channels), and data_format"
        )


def _steps(chain: Chain, config: Config, window: list[int]) -> tuple[list[int], list[int]]:
    """Strides, and pads as begins and then ends: "same" has as few as let every stride begin a window, more at ends."""
    check_image(chain, config)
    strides: list[int] = config["strides"]
    if config["padding"] == "valid":
        return strides, [0] * 4
    steps = zip(chain.shape[1:3], window, strides, strict=True)
    pads = [max(0, (-(-size // stride) - 1) * stride + reach - size) for size, reach, stride in steps]
    return strides, [*(p // 2 for p in pads), *(p - p // 2 for p in pads)]
