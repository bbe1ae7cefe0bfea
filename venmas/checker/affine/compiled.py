"""The compiled pass on several threads; importing it takes numba."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from venmas.checker.affine.batch import Verdicts
from venmas.checker.affine.definition import Weights
from venmas.checker.affine.kernel import check_boxes
from venmas.checker.affine.scaled import Ints, Scaled, ScaledProgram, closes
from venmas.model.transform.program import INPUTS

_LOW = (1 << 19) - 1


class Compiled:
    """`batch.Batch` for one program, without influences."""

    def __init__(self, program: ScaledProgram, threads: int = 1) -> None:
        self.program, self.threads = program, threads
        self._starts = [0]
        for group in program.groups:
            self._starts.append(self._starts[-1] + len(group.strict))
        self._flat = _flat(program, self._starts)

    def check(self, low: Ints, high: Ints, weights: Sequence[Weights] | None = None) -> Verdicts:
        """As of `batch.Batch`."""
        count, groups = len(low), len(self.program.groups)
        chosen = np.zeros((count, self._starts[-1]), dtype=np.int64)
        given = np.zeros((count, groups), dtype=bool)
        for i, of_box in enumerate(weights or ()):
            for group, values in of_box.items():
                chosen[i, self._starts[group] : self._starts[group + 1]], given[i, group] = values, True
        shape = count, groups
        results = np.zeros(shape, dtype=np.int64), *np.zeros((2, *shape), dtype=bool), np.zeros(count, dtype=bool)
        low, high = np.ascontiguousarray(low), np.ascontiguousarray(high)
        size = max(1, -(-count // (4 * self.threads)))

        def part(first: int) -> None:
            at = slice(first, first + size)
            of_part = tuple(f[at] for f in results)
            check_boxes(self._flat, low[at], high[at], chosen[at], given[at], of_part)

        if self.threads == 1 or count < 2:
            size = max(1, count)
            part(0)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(part, range(0, count, size)))
        bounds, ranged, closed, bounded = results
        refuted = closes(self.program.formula, closed) & bounded
        return Verdicts(bounds, ranged, closed, bounded, refuted, np.zeros((count, 0)))


def _flat(program: ScaledProgram, starts: Sequence[int]) -> tuple[np.ndarray, ...]:
    """A program as arrays for the kernel."""
    distinct: dict[int, tuple[int, Scaled]] = {}
    for layer in (*program.layers, *program.rows.values(), *(g.rows for g in program.groups)):
        distinct.setdefault(id(layer), (len(distinct), layer))
    layers, sizes = [], np.zeros(4, dtype=np.int64)
    floats, weights, units, columns = [np.zeros(0)], [np.zeros(0, np.int64)], [np.zeros((0, 5), np.int64)], []
    for _, layer in distinct.values():
        out, width = layer.weight.shape
        layers.append((out, width, *sizes, layer.shift, layer.norm, layer.most, layer.largest))
        for across in (layer.weight.T, np.abs(layer.weight.T)):
            floats.append(np.concatenate([across & _LOW, across >> 19], axis=1).astype(np.float64).ravel())
        weights.append(layer.weight.ravel())
        of_units = layer.bias, layer.vague, layer.bias_vague, layer.whole_rows, layer.relu
        units.append(np.stack(of_units, axis=1).astype(np.int64))
        columns.append(layer.whole_columns)
        sizes += (4 * out * width, out * width, out, width)
    order = []
    for at in range(INPUTS, len(program.layers)):
        rows = program.rows.get(at)
        own = -1 if at == INPUTS else distinct[id(program.layers[at])][0]
        order.append((-1 if rows is None else distinct[id(rows)][0], own))
    groups = [
        (1 + g.layer, g.first, len(g.strict), start, distinct[id(g.rows)][0])
        for g, start in zip(program.groups, starts, strict=False)
    ]
    m, hidden = len(program.low), sum(layer.out_size for layer in program.layers)
    widest = max(m, 1, *(n for _, layer in distinct.values() for n in layer.weight.shape))
    most = widest, 1 + m + hidden, hidden
    return (
        np.array(layers, dtype=np.int64).reshape(-1, 10),
        np.concatenate(floats),
        np.concatenate(weights),
        np.concatenate(units),
        np.concatenate([np.zeros(0, dtype=bool), *columns]),
        np.array(order, dtype=np.int64).reshape(-1, 2),
        np.array(groups, dtype=np.int64).reshape(-1, 5),
        np.array([s for g in program.groups for s in g.strict], dtype=bool),
        np.array(most, dtype=np.int64),
    )
