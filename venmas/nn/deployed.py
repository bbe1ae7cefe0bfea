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
from venmas.nn.onnx_ends import with_outputs
from venmas.nn.runtime import OnnxRuntime, refusals


def run_deployed(
    path: str | PathLike[str],
    network: Network,
    point: Sequence[Fraction],
    outputs: int = 1,
    hidden: Sequence[str] = (),
) -> tuple[str, NDArray[np.float32], NDArray[np.float32]]:
    """The runtime, the input (n,) as it sees it, and its outputs (out,), both in float32.

    An .onnx file is given to onnxruntime as it is, with inputs in the shapes it declares; its first `outputs` follow
    each other. hidden: names, as in `venmas.nn.onnx_ends.read_declared`, of tensors that follow them, which a copy in
    memory has as outputs. Other files, or where onnxruntime is not installed, are run by numpy. Raises `NetworkError`
    where onnxruntime refuses the file.
    """
    with np.errstate(over="ignore"):
        x = np.array([float(v) for v in point], dtype=np.float32)
    if Path(path).suffix.lower() == ".onnx":
        try:
            runtime = OnnxRuntime()
        except ImportError:
            pass
        else:
            return f"onnxruntime {runtime.version}", x, _run(runtime, Path(path), x, outputs, hidden)
    return "numpy", x, network.evaluate_float32(x)


def _run(
    runtime: OnnxRuntime, path: Path, x: NDArray[np.float32], outputs: int, hidden: Sequence[str]
) -> NDArray[np.float32]:
    model, names = with_outputs(path, hidden) if hidden else (str(path), [])
    with refusals(str(path)):
        session = runtime.session(model)
        ends, feed = session.get_inputs(), {}
        for number, given in enumerate(ends):
            shape = [d if isinstance(d, int) and d > 0 else 1 for d in given.shape]
            if len(ends) == 1 and prod(shape) != len(x):  # the only open dimension takes what is left
                shape = [
                    len(x) // prod(shape) if not isinstance(d, int) and i else s
                    for i, (d, s) in enumerate(zip(given.shape, shape, strict=True))
                ]
            kind = np.float64 if "double" in given.type else np.float32
            count = prod(shape) if number < len(ends) - 1 else len(x)
            feed[given.name], x = x[:count].reshape(shape).astype(kind), x[count:]
        names = [*(output.name for output in session.get_outputs()[:outputs]), *names]
        distinct = [*dict.fromkeys(names)]
        given = dict(zip(distinct, session.run(distinct, feed), strict=True))
        with np.errstate(over="ignore"):
            return np.concatenate([np.asarray(given[name], dtype=np.float32).ravel() for name in names])
