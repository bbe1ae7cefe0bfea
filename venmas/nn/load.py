"""Loading of network files: the extension chooses the reader, ours or one of another package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Literal, TypeAlias, cast

from venmas.errors import NetworkError
from venmas.nn.network import Network
from venmas.nn.recurrent import Recurrent
from venmas.runtime import plugins

Normalization: TypeAlias = Literal["apply", "ignore"]
_ONNX, _KERAS, _NNET = "onnx_reader:read_onnx", "keras_reader:read_keras", "nnet_reader:read_nnet"
_POLAR, _PKL = "polar_reader:read_polar", "vec_normalize:read_vec_normalize"
_OWN = {
    "onnx": _ONNX,
    **dict.fromkeys(("h5", "hdf5", "keras", "json"), _KERAS),
    "nnet": _NNET,
    "polar": _POLAR,
    "pkl": _PKL,
}
_READERS: plugins.Registry[Callable[..., object]] = plugins.Registry(
    "reader",
    plugins.READERS,
    {extension: f"venmas.nn.{place}" for extension, place in _OWN.items()},
    lambda _name, made: "" if callable(made) else "it is no function",
)
_RECURRENT = {
    "onnx": "onnx_recurrent",
    **dict.fromkeys(("h5", "hdf5", "keras", "json"), "keras_reader"),
    "zip": "sb3_reader",
}
"""Readers of networks with memory."""


def extensions() -> tuple[str, ...]:
    """Of the files that can be read, such as ``.onnx``."""
    return tuple(f".{name}" for name in _READERS.names)


def load_network(
    path: str | PathLike[str],
    *,
    normalization: Normalization = "apply",
    outputs: str | Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
) -> Network:
    """Read a network with ReLU, tanh or sigmoid units; the extension says how, and no code of the file is run.

    .onnx: see `venmas.nn.onnx_reader`. .h5, .hdf5, .keras, .json (the configuration of a Keras model, its weights in
    an .h5 beside it): see `venmas.nn.keras_reader`. .nnet: see `venmas.nn.nnet_reader`. .polar: see
    `venmas.nn.polar_reader`. .pkl, the statistics of VecNormalize: see `venmas.nn.vec_normalize`. Other
    extensions: readers that other packages plug in (docs/plugins.md).

    normalization: what to do with the means and ranges in the header of a .nnet file; "ignore" where the caller
    normalises in another way (the headers of the published VerticalCAS networks differ from what analyses use). The
    smallest and largest inputs of the header are never used, as clipping to them would change the function. Other
    formats carry their normalisation as layers, which always count.

    outputs: names of the outputs of an .onnx file that the network has, one after the other, flat; what the others need
    is not read. A file with one output needs none. inputs: all inputs of an .onnx file in the order in which the
    network takes them, flat and one after the other; without, the order of the file.

    Raises `NetworkError` for whatever cannot be read as such a network, with file, place and remedy.
    """
    if normalization not in ("apply", "ignore"):
        raise NetworkError(f'normalization {normalization!r}: expected "apply" or "ignore"')
    if not isinstance(path, str | PathLike):
        raise NetworkError(f"a network is loaded from a file, load_network('policy.onnx'), got {str(path)[:80]!r}")
    file = Path(path)
    extension = file.suffix.lower().removeprefix(".")
    if (outputs is not None or inputs is not None) and extension != "onnx":
        raise NetworkError(f"network file {file}: outputs and inputs are named in .onnx files only: give none")
    if extension in _OWN:
        named = [outputs] if isinstance(outputs, str) else outputs, [inputs] if isinstance(inputs, str) else inputs
        options = {"nnet": (normalization,), "onnx": named}.get(extension, ())
        return cast(Network, _READERS.get(extension)(file, *options))
    if extension not in _READERS.names:
        given = f"the extension {'.' + extension!r}" if extension else "no extension"
        raise NetworkError(f"network file {file} has {given}: expected one of {', '.join(extensions())}")
    try:
        network = _READERS.get(extension)(file)
    except (NetworkError, MemoryError):
        raise
    except Exception as error:  # code of another package
        raise NetworkError(
            f"network file {file}: the reader of .{extension} files, which is not part of VenMAS, failed: "
            f"{type(error).__name__}: {error}; tell its author"
        ) from error
    if not isinstance(network, Network):
        raise NetworkError(
            f"network file {file}: the reader of .{extension} files, which is not part of VenMAS, gave a "
            f"{type(network).__name__}, no venmas.Network; tell its author"
        )
    return network


def load_recurrent(
    path: str | PathLike[str],
    *,
    outputs: str | Sequence[str] | None = None,
    normalization: str | PathLike[str] | None = None,
) -> Recurrent:
    """Read a network with LSTM, GRU or RNN cells; the extension says how, and no code of the file is run.

    .onnx: see `venmas.nn.onnx_recurrent`. .h5, .hdf5, .keras, .json: see `venmas.nn.keras_reader`. .zip, of
    RecurrentPPO: see `venmas.nn.sb3_reader`.

    outputs: names of the outputs that an .onnx file has, besides its memory. normalization: the .pkl file of
    VecNormalize that a .zip was trained with. Raises `NetworkError` for whatever cannot be read as such a network, with
    file, place and remedy.
    """
    file = Path(path)
    extension = file.suffix.lower().removeprefix(".")
    options = {"outputs": ("onnx", outputs), "normalization": ("zip", normalization)}
    if extension not in _RECURRENT:
        ends = ", ".join(f".{name}" for name in _RECURRENT)
        raise NetworkError(f"network file {file}: networks with memory are read from {ends} files: export it")
    for name, (of, value) in options.items():
        if value is not None and extension != of:
            raise NetworkError(f"network file {file}: {name} is for .{of} files only: give none")
    given = {
        "onnx": [outputs] if isinstance(outputs, str) else outputs,
        "zip": None if normalization is None else Path(normalization),
    }
    return cast(
        Recurrent, import_module(f"venmas.nn.{_RECURRENT[extension]}").read_recurrent(file, given.get(extension))
    )
