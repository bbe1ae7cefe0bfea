"""Constant tensors of ONNX files, decoded with every claim about their size checked first."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.errors import NetworkError
from venmas.nn.chain import Budget
from venmas.nn.files import read_bytes

FLOAT, INT32, INT64, BOOL, DOUBLE = 1, 6, 7, 9, 11
"""Element types of the ONNX format (TensorProto.DataType) that occur in the networks read here."""

DTYPES = {FLOAT: "<f4", DOUBLE: "<f8", INT32: "<i4", INT64: "<i8", BOOL: "|b1"}
_FIELDS = {FLOAT: "float_data", DOUBLE: "double_data", INT32: "int32_data", INT64: "int64_data", BOOL: "int32_data"}
_PLACES = ("raw_data", "external_data", "uint64_data", "string_data", *dict.fromkeys(_FIELDS.values()))
FLOAT_TYPES = (FLOAT, DOUBLE)
EXTERNAL = 1
_MOST_DIMENSIONS = 32


def read_tensor(tensor: Any, folder: Path, budget: Budget) -> NDArray[Any]:
    """Decode a TensorProto; external data is looked for below `folder` only. Raises `NetworkError`."""
    what = f"tensor {tensor.name!r}"
    if tensor.data_type not in DTYPES:
        raise NetworkError(
            f"{what} has the ONNX element type {tensor.data_type}: expected FLOAT (1) or DOUBLE (11) weights; "
            "export the model in float32"
        )
    if tensor.HasField("segment"):
        raise NetworkError(f"{what} is a segment of a larger one, which is not supported: save it in one piece")
    stored = [place for place in _PLACES if len(getattr(tensor, place))]
    if len(stored) > 1:
        raise NetworkError(f"{what} holds its numbers twice, as {' and '.join(stored)}: expected one of them")
    if len(tensor.dims) > _MOST_DIMENSIONS:
        raise NetworkError(f"{what} has {len(tensor.dims)} dimensions: at most {_MOST_DIMENSIONS} are supported")
    shape = tuple(tensor.dims)
    if any(d < 0 for d in shape):
        raise NetworkError(f"{what} claims the shape {list(shape)}")
    budget.spend(prod(shape), what)
    dtype = np.dtype(DTYPES[tensor.data_type])
    if tensor.data_location == EXTERNAL:
        data = _external(tensor, folder, prod(shape) * dtype.itemsize)
    elif tensor.HasField("raw_data"):
        data = tensor.raw_data
    else:
        values = getattr(tensor, _FIELDS[tensor.data_type])
        if len(values) > prod(shape):  # said before they are copied
            raise NetworkError(f"{what} claims the shape {list(shape)}, but holds {len(values)} numbers")
        data = np.array(values).astype(dtype).tobytes()
    if len(data) != prod(shape) * dtype.itemsize:
        raise NetworkError(
            f"{what} claims the shape {list(shape)}, {prod(shape) * dtype.itemsize} bytes, but holds {len(data)} bytes"
        )
    return np.frombuffer(data, dtype).reshape(shape)


def _external(tensor: Any, folder: Path, expected: int) -> bytes:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    try:
        root = folder.resolve()
        file = (root / location).resolve()
        inside = bool(location) and file.is_relative_to(root) and file != root
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", expected))
    except (OSError, ValueError, RuntimeError) as error:
        raise NetworkError(f"tensor {tensor.name!r}: its external data cannot be found: {error}") from error
    if not inside:
        raise NetworkError(
            f"tensor {tensor.name!r} keeps its data in {location!r}, outside the folder of the model: refused; "
            "save the model into one file, or its data beside it"
        )
    if offset < 0 or length != expected:
        raise NetworkError(f"tensor {tensor.name!r}: {length} bytes at offset {offset}, its shape needs {expected}")
    return read_bytes(file, offset=offset, length=length)
