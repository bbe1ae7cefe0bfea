"""Queries under the rules of VNN-COMP: float32 decides."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.needs import needs
from venmas import load_network
from venmas.cli.main import main
from venmas.engine.query.decide import QueryReport, decide_query
from venmas.engine.query.deployed import decide_deployed
from venmas.engine.query.joint import decide_joint
from venmas.engine.query.relaxed import as_float32, loosened
from venmas.formats.vnnlib.query import Query
from venmas.formats.vnnlib.reader import parse_vnnlib
from venmas.nn import Network, relu_network
from venmas.nn.network import Activation, Layer
from venmas.nn.runtime import onnx_model

SUM = relu_network([[[1.0, 1.0]], [[1.0]]], [[0.0], [0.0]], name="sum")
"""x + y: in float32 2^24 + 1/2 is 2^24, and 2^24 + 5/4 is 2^24 + 2."""


def asked(text: str, ends: str = "(assert (>= X_0 16777216.0)) (assert (<= X_0 16777216.0))") -> Query:
    names = "(declare-const X_0 Real) (declare-const X_1 Real) (declare-const Y_0 Real)"
    return parse_vnnlib(f"{names} {ends} (assert (>= X_1 0.0)) (assert (<= X_1 1.25)) {text}")


def decided(network: Network, query: Query, tmp_path: Path) -> QueryReport:
    path = tmp_path / f"{network.name}.onnx"
    path.write_bytes(onnx_model(network, "float32"))
    return decide_deployed([path], [load_network(path)], query, timeout=20)


def test_float32_brings_about_what_the_real_function_does_not(tmp_path: Path) -> None:
    query = asked("(assert (>= Y_0 16777217.5))")
    assert decide_query(SUM, query).verdict == "unsat"
    found = decided(SUM, query, tmp_path)
    assert found.verdict == "sat" and found.deployed and found.outputs == (Fraction(2**24 + 2),)
    assert query.holds(query.at(found.inputs, found.outputs))
    assert any("in real numbers it does not hold" in note for note in found.notes)


def test_what_no_rounding_reaches_is_unsat(tmp_path: Path) -> None:
    assert decided(SUM, asked("(assert (>= Y_0 16777240.0))"), tmp_path).verdict == "unsat"
    query = asked("(assert (> Y_0 16777218.0))")  # no order of summation does, but another error of its size would
    found = decided(SUM, query, tmp_path)
    assert found.verdict == "unknown" and "as deployed none was found" in found.reason
    assert decide_query(SUM, query).verdict == "unsat"


def test_a_counterexample_that_float32_loses_counts_within_the_tolerance_only(tmp_path: Path) -> None:
    query = asked("(assert (>= Y_0 16777216.25)) (assert (<= Y_0 16777216.75))")
    assert decide_query(SUM, query).verdict == "sat"
    assert decided(SUM, query, tmp_path).verdict == "unknown"
    small = asked(
        "(assert (>= Y_0 1.00000003)) (assert (<= Y_0 1.00000004))", "(assert (>= X_0 1)) (assert (<= X_0 1))"
    )
    assert decided(SUM, small, tmp_path).verdict == "sat"


def test_ends_of_inputs_count_as_read_in_float32() -> None:
    query = as_float32(asked("(assert (> Y_0 1.0))", "(assert (>= X_0 0.1)) (assert (< X_0 0.7))"))
    (box,) = query.cases[0].boxes
    assert box[0] == (Fraction(1, 10), Fraction(7, 10))  # float32 has 0.1 above and 0.7 below
    query = as_float32(asked("(assert (> Y_0 1.0))", "(assert (>= X_0 0.7)) (assert (< X_0 1.1))"))
    (box,) = query.cases[0].boxes
    assert box[0] == tuple(Fraction(float(np.float32(v))) for v in (0.7, 1.1))
    values = {"X_0": box[0][0], "X_1": Fraction(1), "Y_0": Fraction(2)}
    assert query.holds(values) and not query.holds(values | {"X_0": box[0][0] - Fraction(1, 10**9)})


def test_loosened_comparisons_are_met_by_every_move_of_the_outputs() -> None:
    rng = np.random.default_rng(0)
    text = "(assert (or (< (* 2 Y_0) X_1) (and (>= Y_0 0.5) (not (= Y_0 0.75)) (<= Y_0 X_0)) (= Y_0 0.25)))"
    query = asked(text, "(assert (>= X_0 0)) (assert (<= X_0 1))")
    error = Fraction(1, 8)
    loose = loosened(query, [error])
    for _ in range(500):
        x0, x1, y = (Fraction(int(v), 32) for v in rng.integers(0, 33, 3))
        move = error * int(rng.integers(-4, 5)) / 4
        if query.holds(query.at((x0, x1), (y + move,))):
            assert loose.holds(loose.at((x0, x1), (y,)))


def test_operations_that_runtimes_evaluate_in_other_ways_are_unknown(tmp_path: Path) -> None:
    huge = relu_network([[[1e38, 1.0]], [[1.0]]], [[0.0], [0.0]], name="huge")
    found = decided(huge, asked("(assert (<= Y_0 -1.0))"), tmp_path)
    assert found.verdict == "unknown" and "overflow" in found.reason


def test_the_command(tmp_path: Path) -> None:
    needs("onnxruntime")
    network, prop = tmp_path / "sum.onnx", tmp_path / "p.vnnlib"
    network.write_bytes(onnx_model(SUM, "float32"))
    prop.write_text(
        "(declare-const X_0 Real) (declare-const X_1 Real) (declare-const Y_0 Real) (assert (>= X_0 16777216.0))"
        "(assert (<= X_0 16777216.0)) (assert (>= X_1 0.0)) (assert (<= X_1 1.25)) (assert (>= Y_0 16777217.5))"
    )
    done = CliRunner().invoke(main, ["vnnlib", str(network), str(prop), "--rules", "vnncomp"])
    assert done.exit_code == 10 and "(Y_0 16777218.0)" in done.stdout
    assert "in single precision" in done.stderr and "in real numbers it does not hold" in done.stderr
    assert CliRunner().invoke(main, ["vnnlib", str(network), str(prop), "-q"]).stdout == "unsat\n"


@pytest.mark.parametrize("number", range(6))
def test_random_networks_agree_with_samples(number: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(number)
    weights = [rng.normal(size=(6, 2)), rng.normal(size=(1, 6))]
    network = relu_network([w.tolist() for w in weights], [rng.normal(size=6).tolist(), [0.1]], name="random")
    x = np.stack([rng.uniform(0, 1, 20_000), rng.uniform(0, 1.25, 20_000)], 1).astype(np.float32)
    y = network.evaluate_float32(x)[:, 0]
    ends = "(assert (>= X_0 0)) (assert (<= X_0 1))"
    for level, expected in ((float(y.max()) - 1e-3, "sat"), (float(y.max()) + 0.1, "unsat")):
        found = decided(network, asked(f"(assert (>= Y_0 {level!r}))", ends), tmp_path)
        assert found.verdict == expected


@pytest.mark.parametrize(
    ("bound", "real", "deployed"),
    [("16777217.5", "unsat", "sat"), ("16777240.0", "unsat", "unsat"), ("1.0", "sat", "sat")],
)
def test_both_arithmetics_stand_beside_each_other(bound: str, real: str, deployed: str, tmp_path: Path) -> None:
    (tmp_path / "sum.onnx").write_bytes(onnx_model(SUM, "float32"))
    (tmp_path / "p.vnnlib").write_text(
        "(declare-const X_0 Real) (declare-const X_1 Real) (declare-const Y_0 Real) (assert (>= X_0 16777216.0))"
        f"(assert (<= X_0 16777216.0)) (assert (>= X_1 0.0)) (assert (<= X_1 1.25)) (assert (>= Y_0 {bound}))"
    )
    stored = tmp_path / "answer.json"
    given = ["vnnlib", str(tmp_path / "sum.onnx"), str(tmp_path / "p.vnnlib"), "--rules", "both", "--json", str(stored)]
    done = CliRunner().invoke(main, given)
    assert done.stdout.splitlines()[0] == real
    assert f"in real numbers: {real}; as deployed (float32, any order of operations): {deployed}" in done.stderr
    assert ("as deployed: ((X_0 16777216) (X_1" in done.stderr) is (real != deployed)
    found = json.loads(stored.read_text())
    assert (found["verdict"], found["rules"], found["deployed"]["verdict"]) == (real, "both", deployed)


@pytest.mark.parametrize("kind", ["tanh", "sigmoid"])
def test_smooth_units_in_both_arithmetics(kind: Activation, tmp_path: Path) -> None:
    """A threshold far from the greatest output, one within what float32 may differ by, and one that is met."""
    floats = np.random.default_rng(4)
    hidden = Layer(floats.normal(size=(6, 2)), floats.normal(size=6), kind)
    network = Network((hidden, Layer(floats.normal(size=(1, 6)), np.zeros(1))), kind)
    x = np.stack(np.meshgrid(*[np.linspace(0, 1, 201)] * 2), -1).reshape(-1, 2)
    most = float(network.evaluate(x).max())
    ends = "(assert (>= X_0 0.0)) (assert (<= X_0 1.0)) (assert (<= X_1 1.0))"
    for above, told in ((1e-2, ("unsat", "unsat")), (-0.1, ("sat", "sat"))):
        query = asked(f"(assert (>= Y_0 {most + above:.9f}))", ends)
        assert (decide_joint([network], query, timeout=20).verdict, decided(network, query, tmp_path).verdict) == told
    point = "(assert (>= X_0 0.5)) (assert (<= X_0 0.5)) (assert (>= X_1 0.25)) (assert (<= X_1 0.25))"
    value = Fraction(float(network.evaluate([0.5, 0.25])[0])) + Fraction(1, 10**8)
    query = asked(f"(assert (>= Y_0 {float(value):.15f}))", point)
    assert decide_joint([network], query, timeout=20).verdict == "unsat"
    assert decided(network, query, tmp_path).verdict != "unsat"
