"""Weights in the HDF5 files of Keras, in both layouts, read without following links out of the file."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.errors import NetworkError
from venmas.nn.chain import Budget
from venmas.nn.network import Array

_MOST = 10_000
_MOST_OBJECTS = 50_000
_LONGEST_PATH = 2000
_MAX_CHUNK = 64 << 20  # bytes: a chunk is decompressed as a whole, however little of it is the data set
_CONTAINERS = ("layers", "_layer_checkpoint_dependencies")


class KerasWeights:
    """The data sets of an open `h5py.File`; links to other places, external and virtual storage are not followed."""

    def __init__(self, file: Any) -> None:
        import h5py

        self.budget = Budget()
        self.float_types: set[str] = set()
        self.data: dict[str, Any] = {}

        visited = 0

        def keep(path: str, item: Any) -> None:
            nonlocal visited
            visited += 1
            if visited > _MOST_OBJECTS or len(path) > _LONGEST_PATH:
                raise NetworkError("the file holds too many groups, or groups nested too deeply, for a network")
            if isinstance(item, h5py.Dataset):
                self.data[path.replace("\\", "/")] = item
                if len(self.data) > _MOST:
                    raise NetworkError(f"the file holds more than {_MOST} data sets: too many for a network")

        file.visititems(keep)

    def of_layer(self, name: str, kind: str, position: int, fields: tuple[str, ...]) -> dict[str, Any]:
        """The data sets of one layer by field.

        name: of the layer, under which whole-model .h5 files keep ``.../kernel:0``. kind, position: its class in snake
        case and its number among the layers of that class, under which .keras archives keep ``vars/0, ...`` in the
        order of `fields`.
        """
        key = kind if position == 0 else f"{kind}_{position}"
        for container in _CONTAINERS:
            prefix = f"{container}/{key}/vars/"
            if found := {f: self.data[prefix + str(i)] for i, f in enumerate(fields) if prefix + str(i) in self.data}:
                return found
        for prefix in (f"model_weights/{name}/", f"{name}/"):
            found = {}
            for path, item in self.data.items():
                if path.startswith(prefix) and (field := path.rsplit("/", 1)[-1].split(":")[0]) in fields:
                    if field in found:
                        raise NetworkError(f"two data sets of the file could be the {field} of the layer")
                    found[field] = item
            if found:
                return found
        return {}

    def read(self, found: dict[str, Any], field: str, shape: tuple[int, ...]) -> Array:
        """Read one data set, which must have this shape, as float64 (exact). Raises `NetworkError`."""
        if field not in found:
            raise NetworkError(f"its {field} is missing in the file of weights: save the whole model again")
        item = found[field]
        if item.shape != shape:
            raise NetworkError(
                f"its {field} has the shape {list(item.shape or ())}, its configuration says {list(shape)}"
            )
        if item.external is not None or item.is_virtual:
            raise NetworkError(f"its {field} is stored in another file, which is refused: save the model into one file")
        if item.dtype not in (np.float32, np.float64):
            raise NetworkError(f"its {field} has the type {item.dtype}: expected float32 or float64 weights")
        self.budget.spend(item.size, f"its {field}")
        if item.chunks is not None and prod(item.chunks) * item.dtype.itemsize > _MAX_CHUNK:
            raise NetworkError(f"its {field} is stored in chunks of {list(item.chunks)}: larger than its data")
        value: NDArray[Any] = item[()]
        if not np.all(np.isfinite(value)):
            raise NetworkError(f"its {field} holds NaN or infinite values: every weight must be a finite number")
        self.float_types.add(np.dtype(value.dtype).name)
        return value.astype(np.float64)
