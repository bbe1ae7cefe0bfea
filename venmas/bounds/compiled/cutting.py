"""The sweep of `zonotope_stacked` compiled by numba: the same bounds, several boxes at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.compiled.zonotope_kernel import cut
from venmas.bounds.rounding import Floats, Index, Ints, gammas
from venmas.bounds.zonotope import pairs
from venmas.bounds.zonotope_stacked import Stack

MOST_OUTCOMES = 1 << 20
"""Outcomes, of all groups together, up to which there is a table of them."""
_WORTH_THREADS = 512
"""Boxes from which several threads cut them; waking them for less costs more than it saves."""
_PART = 512
"""Boxes that a thread takes at a time, and ..."""
_PRODUCTS = 200_000_000
"""... how many products all parts may take before they come back (some 0.1 s)."""


@lru_cache(maxsize=64)
def _prepared(found: Stack, terms: int) -> tuple[tuple[object, ...], Floats]:
    """Arrays of networks for compiled code, and rounding bounds for sums of `terms` more terms than layers have.

    Flat arrays, so that networks of any depth are of one type to the compiler.
    """
    last, bias = found.weights[-1], found.biases[-1]
    _, first, second = pairs(last.shape[1])
    sizes = np.array([w.shape[2] for w in found.weights], dtype=np.int64)
    parts, starts, end = [np.zeros(0)], [], 0
    for weight, shift in zip(found.weights[:-1], found.biases[:-1], strict=True):
        starts.append(end)
        parts += [np.concatenate([w.ravel(), b]) for w, b in zip(weight, shift, strict=True)]
        end += weight.size + shift.size
    widest = int(max(*sizes, len(first), 1))
    differences = (last[:, first] - last[:, second], bias[:, first] - bias[:, second])
    masses = (np.abs(last[:, first]) + np.abs(last[:, second]), np.abs(bias[:, first]) + np.abs(bias[:, second]))
    nets = (
        (sizes, np.array(starts, np.int64), np.array(found.relus[:-1]), np.array(found.errors), np.concatenate(parts)),
        tuple(np.ascontiguousarray(a) for a in (*differences, *masses)),
        (first.astype(np.int64), second.astype(np.int64), last.shape[1]),
        widest,
    )
    # what compiled code reads beyond the end of an array is no error
    return nets, gammas(1 << (int(sizes.sum()) + last.shape[1] + terms + 16).bit_length())


@dataclass(frozen=True, eq=False)
class Undecided:
    """Open choices in G groups of boxes: the argmax of a network, signs of affine expressions, and atoms.

    network: (G,) rows of the stack. coefficients (G, k, n), constants (G, k): inputs of the networks over the boxes'
    coordinates. lines: signs and atoms, see `zonotope_kernel.cut`. outcomes: 2^q 8^S, how many may be told apart.
    """

    found: Stack
    network: Index
    coefficients: Floats
    constants: Floats
    lines: tuple[Ints, Ints, Ints]
    outcomes: int


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts of boxes: which box each is of, its ends, and its outcomes, -1 where it was not swept yet.

    Outcomes are the winners as bits, and above these three bits for each sign: negative, zero, positive.
    """

    source: Index
    low: Ints
    high: Ints
    outcomes: Ints


def cut_boxes(
    asked: Undecided,
    table: NDArray[np.uint8],
    group: Index,
    low: Ints,
    high: Ints,
    least: Ints,
    threads: int,
    join: bool,
) -> Parts:
    """Cut boxes (B, n) until outcomes and atoms settle what happens, or their sides are at most `least`.

    table: (G, outcomes), see `zonotope_kernel.UNKNOWN`. Where it does not know the outcomes, a box is left as it
    is; one that takes long may be left, to be given again. join: halves of one outcome are one part again.
    """
    n = low.shape[1]
    roots = np.flatnonzero((high > low).any(0))
    nets, bounds = _prepared(asked.found, 1 + len(roots) + n)
    inputs = (asked.coefficients, asked.constants, asked.network)
    threads = threads if len(low) >= _WORTH_THREADS else 1
    size = max(1, min(_PART, -(-len(low) // (4 * threads)))) if threads > 1 else _PART
    firsts = range(0, len(low), size)
    products = sum(w[0].size for w in asked.found.weights) * (2 + len(roots)) * len(firsts)
    sweeps = max(1, _PRODUCTS // products)

    def part(first: int) -> Ints:
        at = slice(first, first + size)
        tree: Ints = cut(
            nets, bounds, inputs, asked.lines, table, (least, roots, join), group[at], low[at], high[at], sweeps
        )
        rows = tree[tree[:, 2 * n + 1] >= -1]
        rows[:, 2 * n] += first
        return rows

    results = _in_threads(threads, part, firsts) if threads > 1 else [part(first) for first in firsts]
    rows = np.concatenate(results)
    return Parts(rows[:, 2 * n], rows[:, :n], rows[:, n : 2 * n], rows[:, 2 * n + 1])


def _in_threads(threads: int, part: Callable[[int], Ints], firsts: range) -> list[Ints]:
    executor = _executor(threads)
    try:
        return list(executor.map(part, firsts))
    except BaseException:
        # a thread that was being started when an interrupt came is none of the executor's: it would wait for ever
        _executor.cache_clear()
        executor.shutdown(wait=False, cancel_futures=True)
        raise


@lru_cache(maxsize=1)
def _executor(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "venmas-cut")


os.register_at_fork(after_in_child=_executor.cache_clear)  # threads do not live on in a child
