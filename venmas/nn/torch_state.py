"""Weights of a module of PyTorch by name, as `torch.save` writes its state_dict: read as data, without torch."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from io import BytesIO
from reprlib import repr as short
from typing import Any

import numpy as np

from venmas.errors import NetworkError
from venmas.nn.files import read_member
from venmas.nn.network import Array
from venmas.nn.pickled import Made, Named, read_pickle

_TENSOR, _TABLE = "torch._utils._rebuild_tensor_v2", "collections.OrderedDict"
_STORAGES = {"torch.FloatStorage": "<f4", "torch.DoubleStorage": "<f8"}
_WHAT = "a file of weights that torch.save wrote, with torch 1.6 or later"


class Weights:
    """Tensors by name, each of which is taken once."""

    def __init__(self, tensors: dict[Any, Any], data: bytes, folder: str) -> None:
        self._left, self._data, self._folder = tensors, data, folder

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def rest(self, known: Sequence[str]) -> list[str]:
        """The names that were not taken and begin in no known way."""
        return [str(name) for name in self._left if not str(name).startswith(tuple(known))]

    def take(self, name: str) -> Array:
        """A tensor in float64. Raises `NetworkError`."""
        if name not in self._left:
            raise NetworkError(f"it has no weights {name!r}")
        tensor = self._left.pop(name)
        try:
            return self._read(tensor)
        except (NetworkError, ValueError, TypeError, AttributeError, IndexError) as error:
            raise NetworkError(f"its weights {name!r}: {error}") from error

    def _read(self, tensor: Any) -> Array:
        if not isinstance(tensor, Made) or tensor.of != _TENSOR:
            raise NetworkError(f"expected a tensor, it holds {short(tensor)}")
        storage, offset, shape, strides, *_ = tensor.args
        word, kind, key, _, _ = storage.args[0]
        if word != "storage" or not isinstance(kind, Named) or kind.name not in _STORAGES:
            raise NetworkError(f"expected float32 or float64, it is kept in {short(kind)}")
        steps = np.cumprod((1, *shape[:0:-1]))[::-1]
        if tuple(strides) != tuple(steps) or min(shape, default=1) < 1 or offset < 0:
            raise NetworkError(f"of the shape {shape} with strides {strides}: expected a tensor in one piece")
        values = np.frombuffer(read_member(self._data, f"{self._folder}/data/{key}", _WHAT), _STORAGES[kind.name])
        read = values[offset : offset + int(np.prod(shape))].reshape(shape).astype(np.float64)
        if not np.all(np.isfinite(read)):
            raise NetworkError("they hold NaN or infinite values: every weight must be a finite number")
        return read


def read_state(data: bytes) -> Weights:
    """The weights in a file of them. Raises `NetworkError`."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            folders = [name.removesuffix("/data.pkl") for name in archive.namelist() if name.endswith("/data.pkl")]
            orders = [name for name in archive.namelist() if name.endswith("/byteorder")]
    except Exception as error:  # the errors of zipfile have no common base
        raise NetworkError(f"not {_WHAT}: {error}") from error
    if len(folders) != 1:
        raise NetworkError(f"not {_WHAT}: it holds {len(folders)} tables of them")
    if any(read_member(data, name, _WHAT) != b"little" for name in orders):
        raise NetworkError("its numbers begin with the highest byte: save it on a machine that begins with the lowest")
    table = read_pickle(read_member(data, f"{folders[0]}/data.pkl", _WHAT))
    if not isinstance(table, Made) or table.of != _TABLE:
        raise NetworkError(f"not {_WHAT}: it holds {short(table)}")
    return Weights(dict(table.items), data, folders[0])
