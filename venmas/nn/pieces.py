"""Piecewise linear operators as ReLUs and affine layers of a `Chain`, exactly.

``|x| = r(x) + r(-x)``, ``leaky(x) = r(x) - a r(-x)``, ``max(a, b) = a + r(b - a)`` and, where l <= h,
``clip(x) = l + r(x - l) - r(x - h)``, with r = ReLU. In float arithmetic these operators round nothing (`leaky`: its
one product), so that each result is among those that the layers allow for.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt, nextafter, prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from venmas.errors import NetworkError
from venmas.nn.chain import Chain, check_size
from venmas.nn.network import Array
from venmas.nn.values import Value, room

_FAR = 2.0**20
"""Limits beyond which ``x + r(l - x)`` is taken for ``max(x, l)``: subtracting them first would lose digits of x."""
FOLDED = (
    "has a {}, which runtimes compute in other ways than VenMAS reads it (factors folded before, or reciprocals): "
    "single precision cannot be spoken for"
)
"""Why there is no proof for float32."""


def absolute(chain: Chain) -> None:
    """``|tensor|``."""
    if not chain.not_negative(chain.current):
        (above, below), _ = chain.rectify([chain.current, -chain.current])
        chain.current = above + below


def leaky(chain: Chain, slope: float) -> None:
    """``x`` where x >= 0, else ``slope * x``."""
    if slope == 0:
        chain.relu()
    elif slope == -1:
        absolute(chain)
    elif slope != 1 and not chain.not_negative(chain.current):
        shape = chain.shape
        (above, below), _ = chain.rectify([chain.current, -chain.current])
        chain.affine(above.rows(chain.size) - slope * below.rows(chain.size), shape)


def clip(chain: Chain, low: Array | None, high: Array | None) -> None:
    """``min(max(tensor, low), high)`` with constants, broadcast to the tensor's shape. Raises `NetworkError`."""
    low, high = (None if c is None else _spread(chain, c) for c in (low, high))
    if low is not None and high is not None and np.any(low > high):
        raise NetworkError(f"its least value {low.max()} is above its largest {high.min()}: expected min <= max")
    for side, limit in ((1, low), (-1, high)):
        if limit is not None and np.any(np.abs(limit) > _FAR):
            value = chain.current if side == 1 else -chain.current
            (beyond,), (value,) = chain.rectify([-value], side * limit, [value])
            chain.current = value + beyond if side == 1 else -(value + beyond)
            low, high = (None, high) if side == 1 else (low, None)
    value, shape = chain.current, chain.shape
    if low is not None and high is not None:
        (above, beyond), _ = chain.rectify([value, value], np.concatenate([-low, -high]))
        result, start = above + -beyond, low
    elif low is not None:
        if not np.any(low):
            chain.relu()
            return
        (result,), _ = chain.rectify([value], -low)
        start = low
    elif high is not None:
        (below,), _ = chain.rectify([-value], high)
        result, start = -below, high
    else:
        return
    chain.current = result
    if np.any(start):
        chain.affine(result.rows(chain.size), shape, start)


def maximum(chain: Chain, values: Sequence[Value], least: bool = False) -> None:
    """The largest of tensors, entry by entry, broadcast, or the least of them: in rounds, two by two."""
    sign = -1 if least else 1
    shape = np.broadcast_shapes(*(v.shape for v in values))
    check_size(prod(shape) * len(values), "the operands")
    left = [v.rearranged(lambda t: np.broadcast_to(sign * t, shape)) for v in values]
    while len(left) > 1:
        chain.budget.spend(sum(v.size * len(v.parts) for v in left), "the operands")
        pairs = list(zip(left[::2], left[1::2], strict=False))
        rest = left[2 * len(pairs) :]
        ups, kept = chain.rectify([b + -a for a, b in pairs], None, [*(a for a, _ in pairs), *rest])
        left = [a + up for a, up in zip(kept, ups, strict=False)] + kept[len(pairs) :]
    chain.current = left[0] if sign == 1 else -left[0]


def max_pool(chain: Chain, kernel: list[int], strides: list[int], dilations: list[int], pads: list[int]) -> None:
    """The largest entry of every window of a tensor (1, channels, *space); padding does not count."""
    entries, shape = _windows(chain, kernel, strides, dilations, pads)
    first = entries[np.arange(len(entries)), np.argmax(entries >= 0, axis=1)]
    if np.any(first < 0):
        raise NetworkError(f"pads {pads} for a kernel {kernel}: a window has padding only, and no largest entry")
    entries = np.where(entries < 0, first[:, None], entries)
    flat = [p.ravel() for p in chain.current.parts]
    maximum(chain, [Value(tuple(p[column] for p in flat)) for column in entries.T])
    chain.rearrange(lambda t: t.reshape(shape))


def average_pool(
    chain: Chain, kernel: list[int], strides: list[int], dilations: list[int], pads: list[int], padding_counts: bool
) -> None:
    """The sum of every window of a tensor (1, channels, *space), divided by its entries, padding among them or not."""
    entries, shape = _windows(chain, kernel, strides, dilations, pads)
    inside = entries >= 0
    counts = np.full(len(entries), entries.shape[1]) if padding_counts else inside.sum(axis=1)
    if not np.all(counts):
        raise NetworkError(f"pads {pads} for a kernel {kernel}: a window has padding only, and no average")
    check_size(len(entries) * chain.size, "a weight matrix")
    codes = [np.where(inside, p.ravel()[entries], 0) for p in chain.current.parts]
    chain.affine(Value(tuple(np.concatenate(codes, axis=1).T)).rows(chain.size), shape)
    chain.divide(counts.reshape(shape).astype(float))
    if np.any(counts & (counts - 1)):
        chain.float32_refusal = FOLDED.format("pool of averages")


def batch_normalize(chain: Chain, scale: Array, bias: Array, mean: Array, deviation: Array) -> None:
    """``(tensor - mean) / deviation * scale + bias``, broadcast."""
    chain.add(-mean)
    chain.divide(deviation)
    chain.scale(scale)
    chain.add(bias)
    chain.float32_refusal = FOLDED.format("normalisation of batches")


def root(value: Fraction) -> float:
    """The float64 nearest to the square root, within 2**-53 of it; exact where the root is a float.

    Raises `NetworkError` for values that are not positive.
    """
    if value <= 0:
        raise NetworkError(f"a variance plus epsilon is {float(value)}: expected a positive number")
    bits = 2 * max(0, 128 + value.denominator.bit_length() - value.numerator.bit_length())
    whole = isqrt((value.numerator << bits) // value.denominator)
    near = [float(Fraction(whole, 1 << bits // 2))]
    near += [nextafter(near[0], 0), nextafter(near[0], float("inf"))]
    for low, high in ((near[1], near[0]), (near[0], near[2])):
        if Fraction(low) ** 2 <= value <= Fraction(high) ** 2:
            return low if ((Fraction(low) + Fraction(high)) / 2) ** 2 >= value else high
    return near[0]


def add_tensors(chain: Chain, values: Sequence[Value]) -> None:
    """The sum of tensors, broadcast."""
    total = Value(tuple(np.broadcast_arrays(*(p for v in values for p in v.parts))))
    check_size(total.size * chain.size, "a weight matrix")
    chain.affine(total.rows(chain.size), total.shape)


def _spread(chain: Chain, c: Array) -> Array:
    try:
        return np.broadcast_to(c, chain.shape).ravel()
    except ValueError:
        raise NetworkError(f"shapes {list(chain.shape)} and {list(c.shape)} do not fit together") from None


def _windows(
    chain: Chain, kernel: list[int], strides: list[int], dilations: list[int], pads: list[int]
) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Numbers of the entries in each window (windows, entries), -1 for padding; and the shape of what a pool gives."""
    shape = chain.shape
    if len(shape) < 3 or shape[0] != 1:
        raise NetworkError(f"a tensor of shape {list(shape)}: expected (1, channels, and dimensions of space)")
    ends, reach, out = room(shape[2:], kernel, strides, dilations, pads)
    if min(out) < 1:
        raise NetworkError(f"a kernel {kernel} does not fit into a tensor {list(shape)}")
    sizes = [n + a + b for n, (a, b) in zip(shape[2:], ends, strict=True)]
    chain.budget.spend(shape[1] * prod(sizes), "a padded tensor")
    chain.budget.spend(shape[1] * prod(out) * prod(kernel), "the windows of a pool")
    numbers = np.pad(np.arange(prod(shape)).reshape(shape[1:]), [(0, 0), *ends], constant_values=-1)
    seen = sliding_window_view(numbers, reach, axis=tuple(range(1, numbers.ndim)))
    steps = [slice(None, s * m, s) for s, m in zip(strides, out, strict=True)]
    seen = seen[(slice(None), *steps, *(slice(None, None, d) for d in dilations))]
    return seen.reshape(-1, prod(kernel)), (1, shape[1], *out)
