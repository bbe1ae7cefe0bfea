"""Train the nine VerticalCAS networks 3-20-20-20-20-20-9, one for each previous advisory.

    python experiments/training/vcas.py [--quick | --figures] [--output FOLDER]

The decision process of ``vcas_table.py`` is solved by value iteration, then all nine networks are fitted at once (one
batched graph) to its table at "the pilot does not respond yet". The stored networks take x = (h/16000, climb/5000,
(tau-20)/40); they are trained on better-scaled inputs, and that scaling is folded into their first layer.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import vcas_loop
from export import (
    ROOT,
    Layers,
    evaluate,
    fold_input_scaling,
    he_layers,
    read_onnx,
    start_tensorflow,
    update_figures,
    write_manifest,
    write_onnx,
)
from vcas_table import ADVISORIES, SEPARATION_COST, TAUS, H, V, solve

Array = npt.NDArray[Any]

SEED = 7
SIZES = (3, 20, 20, 20, 20, 20, 9)
STEPS, BATCH, RATE = 12_000, 4096, 4e-3
# Units of the inner inputs: ft, ft/s, s.
UNITS = (600.0, 30.0, 15.0)
# x = (h/16000, climb/5000, (tau-20)/40); the inner input is (h/600, climb/30, (tau-20)/15).
FOLD_SCALE = (16000 / UNITS[0], 5000 / UNITS[1], 40 / UNITS[2])
ASYMMETRY = 40.0
KNEE = 1e-3  # advantages below this are kept in proportion, larger ones logarithmically


def grid_points() -> Array:
    """(h ft, climb ft/s, tau s) of every table row, shape (tau * climb * h, 3), the order of the table."""
    tau, v, h = np.meshgrid(TAUS.astype(float), V, H, indexing="ij")
    return np.stack([h.ravel(), v.ravel(), tau.ravel()], 1)


def scaled(points: Array) -> Array:
    """The networks' own inputs for points (h, climb, tau)."""
    return np.stack([points[:, 0] / 16000, points[:, 1] / 5000, (points[:, 2] - 20) / 40], 1)


def is_core(points: Array) -> Array:
    """Rows in the region that encounters visit."""
    return (np.abs(points[:, 0]) <= 1000) & (np.abs(points[:, 1]) <= 60)


def targets(table: Array) -> Array:
    """What is fitted, shape (9, rows, 9): 0 for the best advisory, and -log(1 + loss / KNEE) for the others.

    The order of the Q-values stays. Fitting them as they are would spend the network on penalties of 1 for advisories
    that are out of the question, while those in question differ by a thousandth of that.
    """
    q = table.reshape(len(ADVISORIES), -1, len(ADVISORIES))
    return -np.log1p((q.max(2, keepdims=True) - q) / KNEE)


def fit(table: Array, seed: int, steps: int) -> list[Layers]:
    """Nine networks in the inner scaling; Adam, cosine decay, asymmetric squared error."""
    tf = start_tensorflow(seed)
    rng = np.random.default_rng(seed)
    points = grid_points()
    inner = ((points - [0, 0, 20]) / UNITS).astype(np.float32)
    weight = np.where(is_core(points), 6.0, 1.0)
    cumulative = np.cumsum(weight / weight.sum())
    y = targets(table)
    best = y.argmax(2).astype(np.int32)
    y = y.astype(np.float32)

    start = [he_layers(SIZES, rng) for _ in ADVISORIES]
    depth = len(SIZES) - 1
    weights = [tf.Variable(np.stack([net[i][0].T for net in start])) for i in range(depth)]
    biases = [tf.Variable(np.stack([net[i][1][None] for net in start])) for i in range(depth)]
    variables = [*weights, *biases]
    first = [tf.Variable(tf.zeros_like(v)) for v in variables]
    second = [tf.Variable(tf.zeros_like(v)) for v in variables]
    x_all, y_all, best_all = tf.constant(inner), tf.constant(y), tf.constant(best)

    def loss_of(rows: Any) -> Any:
        a = tf.tile(tf.gather(x_all, rows)[None], [len(ADVISORIES), 1, 1])
        for i in range(depth):
            a = tf.matmul(a, weights[i]) + biases[i]
            if i + 1 < depth:
                a = tf.nn.relu(a)
        label = tf.one_hot(tf.gather(best_all, rows, axis=1), len(ADVISORIES))
        short = tf.gather(y_all, rows, axis=1) - a  # positive: prediction too low
        wrong = label * tf.nn.relu(short) * (len(ADVISORIES) - 1) + (1 - label) * tf.nn.relu(-short)
        return tf.reduce_mean(short**2 + ASYMMETRY * (wrong**2 + wrong))

    @tf.function(jit_compile=True)
    def update(rows: Any, rate: Any, count: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(rows)
        gradients = tape.gradient(loss, variables)
        for v, g, m, s in zip(variables, gradients, first, second, strict=True):
            # Each of the nine networks is clipped by its own norm.
            norm = tf.sqrt(tf.reduce_sum(g**2, axis=[1, 2], keepdims=True))
            g = g / tf.maximum(1.0, norm / 10.0)
            m.assign(0.9 * m + 0.1 * g)
            s.assign(0.999 * s + 0.001 * g**2)
            v.assign_sub(rate * (m / (1 - 0.9**count)) / (tf.sqrt(s / (1 - 0.999**count)) + 1e-7))
        return loss

    for step in range(steps):
        rows = np.searchsorted(cumulative, rng.random(BATCH)).clip(max=len(points) - 1)
        rate = RATE * (0.5 * (1 + np.cos(np.pi * step / steps)) + 1e-3)
        loss = update(tf.constant(rows), tf.constant(rate, tf.float32), tf.constant(step + 1.0))
        if step % 2000 == 0:
            print(f"step {step:6d}  loss {float(loss):.4f}", flush=True)
    ws, bs = [w.numpy() for w in weights], [b.numpy() for b in biases]
    return [[(ws[i][n].T, bs[i][n, 0]) for i in range(depth)] for n in range(len(ADVISORIES))]


def agreement(layers: Layers, table: Array, previous: int) -> dict[str, float]:
    """Share of table rows whose best advisory the network names, and the mean Q-value lost by those it names."""
    points = grid_points()
    q = table[previous].reshape(len(points), -1)
    chosen = evaluate(layers, scaled(points)).argmax(1)
    right, core = chosen == q.argmax(1), is_core(points)
    regret = q.max(1) - q[np.arange(len(q)), chosen]
    # Points the fit has not seen: within the core, off the grid, against the interpolated table.
    rng = np.random.default_rng(previous)
    off = rng.uniform((-1000, -60, 0), (1000, 60, 41), (20_000, 3))
    off[:, 2] = np.floor(off[:, 2])
    wanted, given = np.empty(len(off), int), evaluate(layers, scaled(off)).argmax(1)
    for tau in TAUS:
        rows = off[:, 2] == tau
        wanted[rows] = vcas_loop.table_policy(table)(off[rows, 0], off[rows, 1], int(tau), previous)
    return {
        "agreement": round(float(right.mean()), 4),
        "agreement_core": round(float(right[core].mean()), 4),
        "agreement_core_off_grid": round(float((wanted == given).mean()), 4),
        "mean_regret_core": round(float(regret[core].mean()), 6),
    }


def closed_loop(networks: list[Layers], steps: int, samples: int) -> dict[str, list[float]]:
    policy = vcas_loop.network_policy(lambda previous, x: evaluate(networks[previous], x))
    result = {}
    for climb in vcas_loop.CLIMBS:
        report = vcas_loop.run(policy, climb, steps, samples)
        result[str(climb)] = [r["min_abs_h"] for r in report]
        print(f"{climb:6.1f} ", " ".join(f"{v:7.2f}" for v in result[str(climb)]))
        print("       ", *("/".join(ADVISORIES[a] for a in np.flatnonzero(r["advisories"])) for r in report))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few steps only, to see that the script runs")
    parser.add_argument("--figures", action="store_true", help="no training; figures of the stored networks")
    parser.add_argument("--output", type=Path, default=ROOT / "networks" / "vcas")
    options = parser.parse_args()

    began = time.monotonic()
    table = solve()
    print(f"table {table.shape} in {time.monotonic() - began:.1f} s")
    names = [f"{index}.onnx" for index in range(1, 1 + len(ADVISORIES))]
    if not options.figures:
        inner = fit(table, SEED, 40 if options.quick else STEPS)
        for name, net in zip(names, inner, strict=True):
            layers = fold_input_scaling(net, FOLD_SCALE, (0.0, 0.0, 0.0))
            write_onnx(options.output / name, layers, f"vcas_{name.removesuffix('.onnx')}")
    minutes = (time.monotonic() - began) / 60
    networks = [read_onnx(options.output / name) for name in names]
    fits = {}
    for previous, name in enumerate(names):
        fits[name] = {"previous_advisory": ADVISORIES[previous], **agreement(networks[previous], table, previous)}
        print(name, fits[name])
    print("least |h| over sampled altitudes and all pilots, per initial climb rate and step")
    loop = closed_loop(networks, *((2, 5) if options.quick else (8, 81)))
    if options.figures:
        update_figures(options.output, fits, closed_loop_min_abs_h=loop)
        return
    write_manifest(
        options.output,
        files=fits,
        command="python experiments/training/vcas.py",
        seed=SEED,
        minutes=minutes,
        packages=("numpy", "onnx", "tensorflow_cpu"),
        about="VerticalCAS, one network for each previous advisory; argmax of the outputs is the next advisory",
        inputs=["h / 16000 (ft)", "climb / 5000 (ft/s)", "(tau - 20) / 40 (s)"],
        outputs=list(ADVISORIES),
        separation_cost=SEPARATION_COST,
        closed_loop_min_abs_h=loop,
    )


if __name__ == "__main__":
    main()
