"""The sweep of `venmas.search.stacked` compiled by numba (``venmas[fast]``): the same bounds, box by box.

The order of additions differs from that of numpy, which the a-priori rounding bounds allow for.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import config, njit, prange, set_num_threads
from numpy.typing import NDArray

from venmas.bounds.forms import _TINY, Floats, gamma
from venmas.search.forms import pairs
from venmas.search.stacked import Stack

_WORTH_THREADS = 4096
"""Boxes from which several threads sweep them; waking them for less costs more than it saves."""


@lru_cache(maxsize=1)
def gammas(most: int) -> Floats:
    """The rounding bounds of up to `most` terms."""
    return np.array([gamma(n) for n in range(most)])


@lru_cache(maxsize=64)
def _prepared(found: Stack, rows: int) -> tuple[object, ...]:
    """What the compiled sweep reads of networks, for forms of so many rows."""
    last, bias = found.weights[-1], found.biases[-1]
    _, first, second = pairs(last.shape[1])
    turned = (*found.weights[:-1], last[:, first] - last[:, second], np.abs(last[:, first]) + np.abs(last[:, second]))
    *weights, gap, size = (np.ascontiguousarray(w.swapaxes(1, 2)) for w in turned)
    return (
        tuple(weights),
        tuple(np.ascontiguousarray(b) for b in found.biases[:-1]),
        np.array(found.errors),
        np.array(found.relus),
        gap,
        size,
        bias[:, first] - bias[:, second],
        np.abs(bias[:, first]) + np.abs(bias[:, second]),
        first,
        second,
        # what compiled code reads beyond the end of an array is no error
        gammas(1 << (sum(max(w.shape[1:]) for w in found.weights) + rows + 16).bit_length()),
        last.shape[1],
    )


def winners(
    found: Stack, index: NDArray[np.intp], z: Floats, e: Floats, threads: int
) -> tuple[NDArray[np.int64], Floats]:
    """Which outputs can be the greatest, as bits (B,), and the influence of each root on open differences (B, m).

    index: (B,) row of the stack for each box. z: (B, 1+m, n), e: (B, n) are the inputs.
    """
    most = int(getattr(config, "NUMBA_NUM_THREADS"))  # noqa: B009
    set_num_threads(min(threads, most) if len(z) >= _WORTH_THREADS else 1)
    boxes = (np.ascontiguousarray(index), np.ascontiguousarray(z), np.ascontiguousarray(e))
    bits, influence = _sweep(*_prepared(found, z.shape[1]), *boxes)  # type: ignore[call-arg]  # numba's own types
    return bits, influence


@njit(parallel=True, cache=True, error_model="numpy")
def _sweep(  # type: ignore[no-untyped-def]  # numba infers the types
    weights, biases, errors, relus, gap, size, gap_bias, size_bias, first, second, gammas, outputs, index, z0, e0
):
    count, rows, inputs = z0.shape
    widest = max(inputs, gap.shape[2])
    for k in range(len(weights)):
        widest = max(widest, weights[k].shape[2])
    bits = np.zeros(count, np.int64)
    influence = np.zeros((count, rows - 1))
    chunk = 64
    for part in prange((count + chunk - 1) // chunk):
        z, new = np.empty((rows, widest)), np.empty((rows, widest))
        e, err = np.empty(widest), np.empty(widest)
        beaten = np.empty(outputs, np.bool_)
        for b in range(part * chunk, min(count, (part + 1) * chunk)):
            net = index[b]
            n = inputs
            for j in range(n):
                e[j] = e0[b, j]
                for r in range(rows):
                    z[r, j] = z0[b, r, j]
            for k in range(len(weights)):
                _layer(weights[k][net], biases[k][net], errors[k], relus[k], z, e, new, err, n, rows, gammas)
                n = weights[k].shape[2]
            # all differences of two outputs
            matrix, sizes = gap[net], size[net]
            total = matrix.shape[1]
            extra = gammas[outputs] + 2 * errors[len(weights)]
            _times(matrix, gammas[n + rows], z, e, new, err, n, rows)
            for j in range(n):
                more = extra * _mass(z, e, j, rows)
                for q in range(total):
                    err[q] += more * sizes[j, q]
            for i in range(outputs):
                beaten[i] = False
            for q in range(total):
                offset = gap_bias[net, q]
                new[0, q] += offset
                err[q] = (err[q] + gammas[2] * abs(offset) + extra * size_bias[net, q] + _TINY * n) * (
                    1 + gammas[n + outputs + 8]
                )
            for q in range(total):
                lo, hi = _ends(new, err[q], q, rows, gammas)
                if not hi >= 0:
                    beaten[first[q]] = True
                if not lo < 0:
                    beaten[second[q]] = True
            able = 0
            for i in range(outputs):
                if not beaten[i]:
                    able |= 1 << i
            if able == 0:
                able = (1 << outputs) - 1
            bits[b] = able
            if able & (able - 1):
                for q in range(total):
                    if able >> first[q] & 1 and able >> second[q] & 1:
                        lo, hi = _ends(new, err[q], q, rows, gammas)
                        if lo < 0 and hi >= 0:
                            for r in range(1, rows):
                                influence[b, r - 1] += abs(new[r, q])
    return bits, influence


@njit(cache=True, error_model="numpy")
def _ends(z, error, q, rows, gammas):  # type: ignore[no-untyped-def]
    radius = error
    for r in range(1, rows):
        radius += abs(z[r, q])
    slack = gammas[rows + 1] * (radius + abs(z[0, q])) + _TINY
    lo, hi = z[0, q] - radius - slack, z[0, q] + radius + slack
    return (-np.inf if np.isnan(lo) else lo), (np.inf if np.isnan(hi) else hi)


@njit(cache=True, error_model="numpy")
def _mass(z, e, j, rows):  # type: ignore[no-untyped-def]
    m = e[j]
    for r in range(rows):
        m += abs(z[r, j])
    return m


@njit(cache=True, error_model="numpy")
def _times(weight, slack, z, e, new, err, n, rows):  # type: ignore[no-untyped-def]
    """``weight.T @ z`` into `new`, and what its radius and rounding come to into `err`."""
    for q in range(weight.shape[1]):
        err[q] = 0.0
        for r in range(rows):
            new[r, q] = 0.0
    for j in range(n):
        own = e[j] + slack * _mass(z, e, j, rows)
        for q in range(weight.shape[1]):
            err[q] += own * abs(weight[j, q])
        for r in range(rows):
            value = z[r, j]
            for q in range(weight.shape[1]):
                new[r, q] += value * weight[j, q]


@njit(cache=True, error_model="numpy")
def _layer(  # type: ignore[no-untyped-def]
    weight, bias, weight_error, relu, z, e, new, err, n, rows, gammas
):
    """One affine layer and its ReLU, in place."""
    outputs = weight.shape[1]
    _times(weight, gammas[n + rows] + weight_error, z, e, new, err, n, rows)
    for q in range(outputs):
        error = (err[q] + gammas[2] * abs(bias[q]) + _TINY * n) * (1 + gammas[n + 2])
        new[0, q] += bias[q]
        if relu:
            lo, hi = _ends(new, error, q, rows, gammas)
            if hi <= 0:
                error = 0.0
                for r in range(rows):
                    new[r, q] = 0.0
            elif lo < 0:
                slope = hi / (hi - lo)
                if np.isnan(slope):
                    slope = 1.0
                slope = min(max(slope, 0.0), 1.0)
                lift = max(-slope * lo, (1 - slope) * hi) / 2
                total = lift + error
                for r in range(rows):
                    total += abs(new[r, q])
                    new[r, q] *= slope
                new[0, q] += lift
                error = error * slope + lift + gammas[6] * total
        e[q] = error
        for r in range(rows):
            z[r, q] = new[r, q]
