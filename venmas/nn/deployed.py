"""A network file as deployed: run at one input, in single precision, by onnxruntime where that can be had."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from venmas.nn.network import Network
from venmas.nn.runtime import OnnxRuntime, refusals


def run_deployed(
    path: str | PathLike[str], network: Network, point: Sequence[Fraction]
) -> tuple[str, NDArray[np.float32], NDArray[np.float32]]:
    """What runs, the input (n,) as it sees it, and its outputs (out,), both in float32.

    An .onnx file is given to onnxruntime as it is, with the input in the shape it declares. Other files, or where
    onnxruntime is not installed, are run by numpy. Raises `NetworkError` where onnxruntime refuses the file.
    """
    with np.errstate(over="ignore"):
        x = np.array([float(v) for v in point], dtype=np.float32)
    if Path(path).suffix.lower() == ".onnx":
        try:
            runtime = OnnxRuntime()
        except ImportError:
            pass
        else:
            return f"onnxruntime {runtime.version}", x, _run(runtime, Path(path), x)
    return "numpy", x, network.evaluate_float32(x)


def _run(runtime: OnnxRuntime, path: Path, x: NDArray[np.float32]) -> NDArray[np.float32]:
    with refusals(str(path)):
        session = runtime.session(str(path))
        (given,) = session.get_inputs()
        known = prod(d for d in given.shape if isinstance(d, int) and d > 0)
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in given.shape]
        if known != len(x):  # the only open dimension takes what is left
            shape = [
                len(x) // known if not isinstance(d, int) and i else s
                for i, (d, s) in enumerate(zip(given.shape, shape, strict=True))
            ]
        kind = np.float64 if "double" in given.type else np.float32
        outputs = session.run(None, {given.name: x.reshape(shape).astype(kind)})
        with np.errstate(over="ignore"):
            return np.asarray(outputs[0], dtype=np.float32).ravel()
