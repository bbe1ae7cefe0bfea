"""Steps of random ONNX graphs that are piecewise linear, look at windows, or come back to earlier tensors."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tests.nn.fuzz.onnx_steps import (
    Graph,
    conv,
    elementwise,
    flatten,
    gemm,
    matmul,
    nothing,
    relu,
    reshape,
    squeeze,
    transpose,
    unsqueeze,
    view,
)


def skip(g: Graph) -> None:
    """An operator of several computed values, one of them from before: sums, differences, extremes, Concat."""
    op = g.one("Add", "Sub", "Max", "Min", "Sum", "Concat")
    fitting = [k for k in g.kept if k[4] == g.type and _fits(g, op, k[1])]
    if not fitting:
        return
    others = [fitting[int(g.rng.integers(len(fitting)))] for _ in range(g.one(1, 1, 1, 2))]
    if op in ("Add", "Sub"):
        others = others[:1]
    operands = [(g.current, g.shape, g.top, g.unit, g.type), *others]
    operands = [operands[int(i)] for i in g.rng.permutation(len(operands))]
    shapes, more = [k[1] for k in operands], {}
    top, unit = sum(k[2] for k in operands), min(k[3] for k in operands)
    if op == "Concat":
        axis = int(g.rng.integers(len(g.shape)))
        if any(s[:axis] != g.shape[:axis] or s[axis + 1 :] != g.shape[axis + 1 :] for s in shapes):
            return
        shape = (*g.shape[:axis], sum(s[axis] for s in shapes), *g.shape[axis + 1 :])
        more = {"axis": axis - len(shape) if g.opset >= 11 and g.chance() else axis}
    else:
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            return  # each fits the last tensor, but they do not fit each other
    if g.grows(top, unit, prod(shape)):
        g.step(op, [k[0] for k in operands], shape, **more)


def _fits(g: Graph, op: str, shape: tuple[int, ...]) -> bool:
    if op == "Concat":
        return len(shape) == len(g.shape) > 0
    if g.opset < (8 if op in ("Max", "Min", "Sum") else 7):
        return shape == g.shape
    try:
        np.broadcast_shapes(g.shape, shape)
    except ValueError:
        return False
    return True


def bend(g: Graph) -> None:
    """A piecewise linear operator on every entry."""
    op = g.one("LeakyRelu", "LeakyRelu", "Abs", "Neg", "Clip", "Clip", "Max", "Min", "Sum")
    if op == "LeakyRelu":
        alpha = g.one(0.5, 0.25, 2.0, -0.5, -1.0, 0.0, 1.0)
        if g.grows(max(1.0, abs(alpha)) * g.top, g.unit / 4):
            g.step(op, [g.current], g.shape, alpha=alpha)
    elif op in ("Abs", "Neg"):
        g.step(op, [g.current], g.shape)
    elif op == "Clip":
        low, high = sorted(float(v) for v in g.rng.choice([-4, -1, -0.5, 0, 0.5, 1, 2, 8], 2))
        given = g.one({"min": low, "max": high}, {"min": low, "max": high}, {"min": low}, {"max": high})
        if not g.grows(max(g.top, 8), min(g.unit, 0.5)):
            return
        if g.opset < 11:
            g.step(op, [g.current], g.shape, **given)
        else:
            limits = [g.constant(np.asarray(given[k], g.type)) if k in given else "" for k in ("min", "max")]
            g.step(op, [g.current, *(limits if limits[1] else limits[:1])], g.shape)
    else:
        shapes = [g.shape] if g.opset < 8 else [g.shape, (), (1,), g.shape[1:], (2, *(1 for _ in g.shape))]
        constants = [g.weights(*g.one(*shapes)) for _ in range(g.one(1, 1, 2))]
        shape = np.broadcast_shapes(g.shape, *(c.shape for c in constants))
        if not g.grows(g.top + 4, min(g.unit, 0.5), prod(shape)):
            return
        names = [g.current, *(g.constant(c) for c in constants)]
        g.step(op, [names[int(i)] for i in g.rng.permutation(len(names))], shape)


def pool(g: Graph) -> None:
    """The largest, or the average over a number of entries that is a power of two, of windows of an image."""
    if len(g.shape) not in (3, 4) or g.shape[0] != 1:
        return
    space, largest = g.shape[2:], g.chance()
    op = "MaxPool" if largest else "AveragePool"
    if g.chance(0.2):
        if largest or (prod(space) in (1, 2, 4, 8) and g.grows(prod(space) * g.top, g.unit / prod(space))):
            g.step(f"Global{op}", [g.current], (*g.shape[:2], *[1] * len(space)))
        return
    kernel = [int(g.rng.integers(1, 4 if largest else 3)) for _ in space]
    strides = [int(g.rng.integers(1, 3)) for _ in space]
    dilated = g.opset >= (10 if largest else 19)
    dilations = [int(g.rng.integers(1, 3)) if dilated else 1 for _ in space]
    pads = [int(g.rng.integers(0, k)) if d == 1 else 0 for k, d in 2 * list(zip(kernel, dilations, strict=True))]
    auto = g.one(None, None, "NOTSET", "VALID")
    if auto == "VALID":
        pads = [0] * len(pads)
    padded = [n + a + b for n, a, b in zip(space, pads, pads[len(space) :], strict=False)]
    out = [(p - d * (k - 1) - 1) // s + 1 for p, d, k, s in zip(padded, dilations, kernel, strides, strict=True)]
    if min(out) < 1 or not (largest or g.grows(4 * g.top, g.unit / 4)):
        return
    more: dict[str, Any] = {"kernel_shape": kernel} | ({} if auto is None else {"auto_pad": auto})
    for key, value, default in (("strides", strides, 1), ("dilations", dilations, 1), ("pads", pads, 0)):
        known = key != "dilations" or dilated
        if any(v != default for v in value) or (known and g.chance(0.3) and not (key == "pads" and auto == "VALID")):
            more[key] = value
    if g.opset >= 10 and g.chance(0.3):
        more["ceil_mode"] = 0
    if largest and g.opset >= 8 and g.chance(0.2):
        more["storage_order"] = 0
    if not largest and g.opset >= 7 and g.chance():
        more["count_include_pad"] = g.one(0, 1)
    g.step(op, [g.current], (1, g.shape[1], *out), **more)


def batch(g: Graph) -> None:
    """A normalisation of batches whose deviations are powers of two."""
    if len(g.shape) < 2 or g.shape[0] != 1:
        return
    channels, epsilon = g.shape[1], g.one(0.25, 0.125, None)
    deviation = g.rng.choice([0.5, 1.0, 2.0], channels)
    scale, bias, mean = (g.weights(channels) for _ in range(3))
    if epsilon is None or not g.grows(2 * (2 * (g.top + 2)) + 2, min(g.unit, 0.5) / 4):
        return
    inputs = [g.current, *(g.constant(c) for c in (scale, bias, mean, (deviation**2 - epsilon).astype(g.type)))]
    more = {"epsilon": epsilon} | ({"momentum": 0.5} if g.chance(0.3) else {})
    if g.opset >= 14 and g.chance(0.3):
        more["training_mode"] = 0
    if g.opset < 9 and g.chance(0.3):
        more["spatial"] = 1
    twin = (inputs, dict(more))
    if g.opset == 6:
        more["is_test"] = 1
    g.step("BatchNormalization", inputs, g.shape, twin=twin, **more)


STEPS: dict[str, Callable[[Graph], None]] = {
    step.__name__: step
    for step in (
        *(gemm, matmul, elementwise, relu, bend, skip, nothing, flatten, transpose, reshape, squeeze, unsqueeze, conv),
        *(pool, batch, view),
    )
}
