"""Operators of ONNX that move entries and compute nothing: the same ones serve constants and positions."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from reprlib import repr as shortened
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.nn.onnx_table import Call

MOVES = ("Identity", "Flatten", "Reshape", "Transpose", "Squeeze", "Unsqueeze")


def move(call: Call, whole: Callable[[str], list[int]], t: NDArray[Any]) -> NDArray[Any]:
    """Carry out one of `MOVES`; whole: the whole numbers of a constant.

    Raises `ValueError` or `IndexError` where it does not fit, also where only numpy would let it pass.
    """
    match call.op:
        case "Flatten":
            axis = call.attributes["axis"]
            if not -t.ndim <= axis <= t.ndim:
                raise IndexError(f"axis {axis} is out of bounds")
            axis += t.ndim if axis < 0 else 0
            return t.reshape(prod(t.shape[:axis]), prod(t.shape[axis:]))
        case "Reshape":
            return t.reshape(_target(whole(call.inputs[1]), t.shape, bool(call.attributes.get("allowzero"))))
        case "Transpose":
            perm = call.attributes["perm"]
            if perm is not None and sorted(perm) != list(range(t.ndim)):
                raise ValueError(f"perm {shortened(perm)} is no order of its axes")
            return np.transpose(t, perm)
        case "Squeeze" | "Unsqueeze":
            name = call.optional(1)
            axes = whole(name) if name else call.attributes.get("axes")
            if axes is None:
                return np.squeeze(t)
            if not axes:
                raise ValueError("its axes are empty, which runtimes take differently")
            return np.squeeze(t, tuple(axes)) if call.op == "Squeeze" else np.expand_dims(t, tuple(axes))
    return t


def _target(dims: list[int], shape: tuple[int, ...], zeros: bool) -> list[int]:
    """The shape that Reshape asks for, perhaps with one -1; zeros: 0 means 0, and not the old dimension."""
    if min(dims, default=0) < -1 or dims.count(-1) > 1 or (zeros and 0 in dims and -1 in dims):
        raise ValueError(f"{shortened(dims)} is no shape")
    return dims if zeros else [shape[i] if d == 0 else d for i, d in enumerate(dims)]
