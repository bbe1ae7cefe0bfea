"""Networks in a program (paper, Definition 2): affine maps are substituted, stable units cost nothing.

Only a unit whose pre-activation may have either sign gets a variable and a binary; everything else stays an affine term
over the network's inputs and the unstable units before it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.methods import Activations
from venmas.solvers.milp.program import Kind
from venmas.solvers.milp.terms import GatedBuilder, Term


class NetworkTerms:
    """The outputs of an encoded network as one matrix over columns: rows of outputs, last column the constant."""

    def __init__(self, columns: list[int], matrix: NDArray[np.float64]) -> None:
        self.columns, self.matrix = columns, matrix

    def combination(self, weights: NDArray[np.float64]) -> Term:
        """``weights . outputs`` as a term."""
        row = weights @ self.matrix
        return Term({c: float(v) for c, v in zip(self.columns, row[:-1], strict=True) if v}, float(row[-1]))


def encode_network(builder: GatedBuilder, activations: Activations, row: int, inputs: Sequence[Term]) -> NetworkTerms:
    """Add the unstable units of one network application; `row` is the abstract state whose bounds are used."""
    columns = sorted({c for t in inputs for c in t.columns})
    position = {c: i for i, c in enumerate(columns)}
    current = np.zeros((len(inputs), len(columns) + 1))
    for i, term in enumerate(inputs):
        current[i, -1] = term.constant
        for column, coefficient in term.columns.items():
            current[i, position[column]] = coefficient
    for layer, pre in zip(activations.network.layers, activations.pre, strict=False):
        z = layer.weight @ current
        z[:, -1] += layer.bias
        if not layer.rectified:
            current = z
            continue
        assert pre is not None  # bounds are known of each unit that has a ReLU
        low, high = pre[0][row], pre[1][row]
        unstable = np.flatnonzero((low < 0) & (high > 0))
        fresh = [_unit(builder, columns, z[j], float(low[j]), float(high[j])) for j in unstable]
        z[(high <= 0) | (low < 0)] = 0.0
        grown = np.zeros((len(z), len(columns) + len(fresh) + 1))
        grown[:, : len(columns)], grown[:, -1] = z[:, :-1], z[:, -1]
        grown[unstable, len(columns) + np.arange(len(fresh))] = 1.0
        columns, current = columns + fresh, grown
    outputs = activations.last.weight @ current
    outputs[:, -1] += activations.last.bias
    return NetworkTerms(columns, outputs)


def _unit(builder: GatedBuilder, columns: list[int], z: NDArray[np.float64], low: float, high: float) -> int:
    """``y = max(z, 0)`` for z of either sign, by big-M (paper, section 3.2) or by indicators."""
    y = builder.variable(0.0, high)
    term = Term({c: float(v) for c, v in zip(columns, z[:-1], strict=True) if v}, float(z[-1]))
    active = builder.variable(0.0, 1.0, Kind.BINARY)
    below = Term({y: 1.0}).plus(term, -1.0)  # y - z, in [0, -low]
    builder.row(below, 0.0, np.inf)
    on, off = Term({active: 1.0}), Term({active: -1.0}, 1.0)
    builder.implied(on, below, -np.inf, 0.0, (0.0, -low))
    builder.implied(off, Term({y: 1.0}), -np.inf, 0.0, (0.0, high))
    if builder.encoding == "indicator":
        builder.implied(on, term, 0.0, np.inf, (low, high))
        builder.implied(off, term, -np.inf, 0.0, (low, high))
    return y
