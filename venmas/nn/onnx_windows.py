"""Operators of ONNX that look at windows or channels of an image: convolutions, pools, normalisation of batches."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from reprlib import repr as shortened

import numpy as np

from venmas.errors import NetworkError
from venmas.nn import pieces
from venmas.nn.chain import Chain
from venmas.nn.network import Array
from venmas.nn.onnx_table import Call


def convolve(chain: Chain, call: Call, number: Callable[[str], Array]) -> None:
    """Conv; number: the constant of a name."""
    w = number(call.inputs[1])
    space, given = w.ndim - 2, call.attributes["kernel_shape"]
    if given not in (None, list(w.shape[2:])):
        raise NetworkError(f"kernel_shape {shortened(given)} and kernels of shape {list(w.shape)}")
    chain.convolve(w, *_steps(call, space))
    if name := call.optional(2):
        bias = number(name)
        if bias.shape != w.shape[:1]:
            raise NetworkError(f"a bias of shape {list(bias.shape)} for {len(w)} kernels")
        chain.add(bias.reshape(1, -1, *[1] * space))


def max_pool(chain: Chain, call: Call) -> None:
    """MaxPool and GlobalMaxPool."""
    pieces.max_pool(chain, *_window(chain, call))


def average_pool(chain: Chain, call: Call) -> None:
    """AveragePool and GlobalAveragePool."""
    pieces.average_pool(chain, *_window(chain, call), bool(call.attributes.get("count_include_pad")))


def batch_normalize(chain: Chain, call: Call, number: Callable[[str], Array]) -> None:
    """BatchNormalization for inference: a division by the float64 nearest to ``sqrt(var + epsilon)``."""
    scale, bias, mean, variance = (number(name) for name in call.inputs[1:5])
    shape = chain.shape
    channels = shape[1] if len(shape) > 1 else 1
    if any(c.shape != (channels,) for c in (scale, bias, mean, variance)):
        shapes = [list(c.shape) for c in (scale, bias, mean, variance)]
        raise NetworkError(f"scale, bias, mean and variance of shapes {shapes} for a tensor of shape {list(shape)}")
    epsilon = call.attributes["epsilon"]
    if not np.isfinite(epsilon):
        raise NetworkError(f"epsilon is {epsilon}: every weight must be a finite number")
    deviation = np.array([pieces.root(Fraction(v) + Fraction(epsilon)) for v in variance.tolist()])
    aligned = (c.reshape(-1, *[1] * (len(shape) - 2)) for c in (scale, bias, mean, deviation))
    pieces.batch_normalize(chain, *aligned)


def _window(chain: Chain, call: Call) -> tuple[list[int], list[int], list[int], list[int]]:
    """Kernel, strides, dilations and pads of a pool; of a global one, over all of space."""
    if call.op.startswith("Global"):
        kernel = list(chain.shape[2:])
        return kernel, [1] * len(kernel), [1] * len(kernel), [0] * 2 * len(kernel)
    kernel = call.attributes["kernel_shape"]
    if len(kernel) != len(chain.shape) - 2:
        raise NetworkError(f"a kernel {shortened(kernel)} over a tensor of shape {list(chain.shape)}")
    return kernel, *_steps(call, len(kernel))


def _steps(call: Call, space: int) -> tuple[list[int], list[int], list[int]]:
    """Strides, dilations and pads."""
    given = call.attributes
    pads = [0] * 2 * space if given["pads"] is None else given["pads"]
    if given["auto_pad"] == "VALID" and any(pads):
        raise NetworkError(f"pads {shortened(pads)} and auto_pad VALID, which means none: expected one of the two")
    return given["strides"] or [1] * space, given.get("dilations") or [1] * space, pads
