"""Weights in the HDF5 files of Keras, in all their layouts, read without following links out of the file."""

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
_MAX_NAMES = 1 << 29  # bytes that a list of names could claim: many of them may be one long text
_CONTAINERS = ("layers", "_layer_checkpoint_dependencies")
_WHOLE = "model_weights"
_STATISTICS = "count"  # of samples that a Normalization has seen
_CELL = "cell/"  # of a layer with a memory
_SEED = "seed_generator/vars/0"
_TRAINING = {_WHOLE: ("optimizer_weights/",), "": ()} | dict.fromkeys(_CONTAINERS, ("optimizer/", "metrics/"))


class KerasWeights:
    """The data sets of an open `h5py.File`; links to other places, external and virtual storage are not followed.

    There are three layouts: below ``model_weights`` in whole-model .h5 files, and at the top of files of weights that
    Keras 2 saved, each layer has a group of its name that holds ``.../kernel:0``; in .keras archives and .weights.h5
    files a group is named after the class of its layer and its number among the layers of this class, and holds
    ``vars/0, ...``.
    """

    def __init__(self, file: Any, size: int) -> None:
        """file: open for reading; size: its length in bytes. Raises `NetworkError`."""
        import h5py

        self.file, self.size = file, size
        self.budget = Budget()
        self.float_types: set[str] = set()
        self.data: dict[str, Any] = {}
        self.groups: set[str] = set()  # of this file: a path that is not visited may be a link to another one
        self.used: set[str] = set()
        self.named: list[str] = []

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
            else:
                self.groups.add(path)

        file.visititems(keep)
        first = {path.replace("\\", "/").split("/")[0] for path in self.groups}  # Keras 2 on Windows: layers\\dense
        archived = [c for c in _CONTAINERS if c in first and "layer_names" not in file.attrs]
        self.root = _WHOLE if _WHOLE in self.groups else archived[0] if archived else ""

    def of_layer(self, name: str, key: str, fields: tuple[str, ...]) -> LayerWeights:
        """The data sets of one layer, which are all known. Raises `NetworkError`, naming what is not.

        key: its group in archives. fields: the names of its weights, in the order of Keras.
        """
        by_number = self.root in _CONTAINERS
        prefix = f"{self.root}/{key}/" if by_number else f"{self.root}/{name}/".removeprefix("/")
        known = (*fields, _STATISTICS) if fields[:1] == ("mean",) else fields
        arrays: dict[str, Any] = {}
        for path in [p for p in self.data if p.startswith(prefix)]:
            rest = path.removeprefix(prefix)
            if by_number:
                inner = f"{_CELL if fields[1:2] == ('recurrent_kernel',) else ''}vars/"
                field = next((f for number, f in enumerate(known) if rest == f"{inner}{number}"), None)
            else:
                last = rest.rsplit("/", 1)[-1]
                field = next((f for f in known if last in (f, f"{f}:0")), None)
            if field in arrays:
                raise NetworkError(f"two data sets of the file could be the {field} of the layer")
            if field is None and not (by_number and rest == _SEED and not fields):
                raise NetworkError(
                    f"the file holds {path!r}, which no layer of this class and configuration reads; build and save "
                    "the model without it (merge what adapts the weights into them), or export it as ONNX"
                )
            if path in self.used:
                raise NetworkError(f"two layers read {path!r}")
            self.used.add(path)
            if field is not None:
                arrays[field] = self.data[path]
        if not by_number:
            self._check_names(prefix, [arrays[f].name for f in known if f in arrays])
            self.named += [name] if arrays else []
        return LayerWeights(self, arrays)

    def finish(self, layers: list[str]) -> None:
        """Raise `NetworkError` where the file holds weights that no layer has read, or gives them another order.

        layers: the names of all layers.
        """
        ignored = _TRAINING[self.root]
        if left := [p for p in self.data if p not in self.used and not p.startswith(ignored)]:
            raise NetworkError(
                f"the file of weights holds {left[0]!r}, which no layer reads: save the model and its weights anew"
            )
        if self.root in _CONTAINERS:
            return
        order = self._names(self.file[self.root] if self.root else self.file, "layer_names")
        if order is not None and ([n for n in order if n in self.named] != self.named or not {*order} <= {*layers}):
            raise NetworkError("its layer_names list other layers, or in another order, than the model has them")

    def _check_names(self, prefix: str, paths: list[str]) -> None:
        """Raise `NetworkError` unless the list of a layer's weights, where there is one, is these paths in this order.

        Keras goes by the order of this list and not by the names in it.
        """
        group = prefix.removesuffix("/")
        names = self._names(self.file[group], "weight_names") if group in self.groups else None
        if names is not None and [f"/{prefix}{name}" for name in names] != paths:
            raise NetworkError(
                f"its weight_names are {names[:5]}: expected {[p.removeprefix(f'/{prefix}') for p in paths]}"
            )

    def _names(self, group: Any, key: str) -> list[str] | None:
        """A list of names, which Keras splits over several attributes where it is long; None where there is none."""
        if key in group.attrs:
            keys = [key]
        else:
            keys = [f"{key}{number}" for number in range(len(group.attrs))]
            keys = keys[: next((at for at, k in enumerate(keys) if k not in group.attrs), len(keys))]
        names: list[str] = []
        for k in keys:
            stored = group.attrs.get_id(k)
            if len(stored.shape) != 1 or prod(stored.shape) * self.size > _MAX_NAMES:
                raise NetworkError(f"its list of {k} is too long to be checked: save the model as .keras")
            names += [n.decode("utf-8", "replace") if isinstance(n, bytes) else str(n) for n in group.attrs[k]]
        return names if keys else None


class LayerWeights:
    """The weights of one layer by field."""

    def __init__(self, file: KerasWeights, found: dict[str, Any]) -> None:
        self.file, self.found = file, found

    def read(self, fields: tuple[str, ...], shapes: list[tuple[int, ...]], float_type: str | None) -> list[Array]:
        """Read data sets, which must have these shapes and, unless it is None, this type, as float64 (exact).

        Raises `NetworkError`.
        """
        return [self._read(field, shape, float_type) for field, shape in zip(fields, shapes, strict=False)]

    def _read(self, field: str, shape: tuple[int, ...], float_type: str | None) -> Array:
        if field not in self.found:
            raise NetworkError(f"its {field} is missing in the file of weights: save the whole model again")
        item = self.found[field]
        if item.shape != shape:
            raise NetworkError(
                f"its {field} has the shape {list(item.shape or ())}, its configuration says {list(shape)}"
            )
        if item.external is not None or item.is_virtual:
            raise NetworkError(f"its {field} is stored in another file, which is refused: save the model into one file")
        if item.dtype not in (np.float32, np.float64):
            raise NetworkError(f"its {field} has the type {item.dtype}: expected float32 or float64 weights")
        if float_type not in (None, item.dtype.name):
            raise NetworkError(f"its {field} has the type {item.dtype}, its configuration says {float_type}")
        self.file.budget.spend(item.size, f"its {field}")
        if item.chunks is not None and prod(item.chunks) * item.dtype.itemsize > _MAX_CHUNK:
            raise NetworkError(f"its {field} is stored in chunks of {list(item.chunks)}: larger than its data")
        value: NDArray[Any] = item[()]
        if not np.all(np.isfinite(value)):
            raise NetworkError(f"its {field} holds NaN or infinite values: every weight must be a finite number")
        self.file.float_types.add(np.dtype(value.dtype).name)
        return value.astype(np.float64)
