"""One entry to all network files."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Literal, TypeAlias

from venmas.errors import NetworkError
from venmas.nn.network import Network

Normalization: TypeAlias = Literal["apply", "ignore"]
EXTENSIONS = (".onnx", ".h5", ".hdf5", ".keras", ".json", ".nnet")


def load_network(path: str | PathLike[str], *, normalization: Normalization = "apply") -> Network:
    """Read a fully connected ReLU network; the extension says how, and no code of the file is run.

    .onnx: see `venmas.nn.onnx_reader`. .h5, .hdf5, .keras, .json (the configuration of a Keras model, its weights in
    an .h5 beside it): see `venmas.nn.keras_reader`. .nnet: see `venmas.nn.nnet_reader`.

    normalization: what to do with the means and ranges in the header of a .nnet file; "ignore" where the caller
    normalises in another way (the headers of the published VerticalCAS networks differ from what analyses use). The
    smallest and largest inputs of the header are never used, as clipping to them would change the function. Other
    formats carry their normalisation as layers, which always count.

    Raises `NetworkError` for whatever cannot be read as such a network, with file, place and remedy.
    """
    if normalization not in ("apply", "ignore"):
        raise NetworkError(f'normalization {normalization!r}: expected "apply" or "ignore"')
    file = Path(path)
    extension = file.suffix.lower()
    if extension not in EXTENSIONS:
        given = f"the extension {extension!r}" if extension else "no extension"
        raise NetworkError(f"network file {file} has {given}: expected one of {', '.join(EXTENSIONS)}")
    if extension == ".nnet":
        from venmas.nn.nnet_reader import read_nnet

        return read_nnet(file, normalization)
    if extension == ".onnx":
        from venmas.nn.onnx_reader import read_onnx

        return read_onnx(file)
    from venmas.nn.keras_reader import read_keras

    return read_keras(file)
