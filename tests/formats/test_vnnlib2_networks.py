"""VNN-LIB 2.0 about several networks: sampled answers, relations that are checked, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from click.testing import CliRunner

from tests.needs import needs
from venmas.cli.main import main
from venmas.engine.query.joint import decide_joint
from venmas.errors import UsageError
from venmas.formats.vnnlib.reader import parse_vnnlib
from venmas.nn import Network, relu_network
from venmas.nn.runtime import onnx_model

HEAD = """(vnnlib-version <2.0>)
(declare-network f (declare-input X float32 [2]) (declare-output Y float32 [1]))
(declare-network g {} (declare-input U float32 [2]) (declare-output V float32 [1]))
(assert (and (>= X[0] -1.0) (<= X[0] 1.0) (>= X[1] -1.0) (<= X[1] 1.0)))
"""
SAME = "(assert (and (== X[0] U[0]) (== X[1] U[1])))"


def network(rng: Random, hidden: int = 3, layers: int = 1) -> Network:
    sizes = [2, *[hidden] * layers, 1]
    rows = [[[rng.randrange(-4, 5) / 2 for _ in range(n)] for _ in range(m)] for n, m in pairwise(sizes)]
    biases = [[rng.randrange(-2, 3) / 2 for _ in range(hidden)] for _ in range(layers)]
    return relu_network(rows, [*biases, [0.0]], name="random")


def test_random_queries_about_two_networks_agree_with_samples() -> None:
    needs("vnnlib")
    rng, verdicts = Random(5), []
    for _ in range(22):
        f, g = network(rng), network(rng, layers=rng.choice((1, 2)))
        bound = rng.randrange(0, 17) / 2
        query = parse_vnnlib(
            HEAD.format("")
            + f"(assert (and (== X[0] U[0]) (<= U[1] X[1]) (>= U[1] -1.0)))(assert (> Y[0] (+ V[0] {bound})))"
        )
        report = decide_joint([f, g], query, timeout=20)
        verdicts.append(report.verdict)
        x = np.random.default_rng(0).uniform(-1, 1, (300, 3))
        reached = 0
        for a, b, c in x:
            point = [Fraction(v) for v in (a, max(b, c), a, min(b, c))]
            outputs = (*f.evaluate_exact(point[:2]), *g.evaluate_exact(point[2:]))
            values = {f"X_{i}": v for i, v in enumerate(point)} | {f"Y_{i}": v for i, v in enumerate(outputs)}
            reached += query.holds(values)
        assert report.verdict == "sat" or not reached
        if report.verdict == "sat":
            assert report.outputs == (*f.evaluate_exact(report.inputs[:2]), *g.evaluate_exact(report.inputs[2:]))
            assert report.inputs[0] == report.inputs[2] and report.inputs[3] <= report.inputs[1]
    assert verdicts.count("sat") > 5 and verdicts.count("unsat") > 5


def test_strictness_is_exact_between_equal_networks() -> None:
    needs("vnnlib")
    f = network(Random(1))
    for sign, verdict in ((">", "unsat"), ("!=", "unsat"), (">=", "sat"), ("==", "sat")):
        query = parse_vnnlib(HEAD.format("(equal-to f)") + SAME + f"(assert ({sign} Y[0] V[0]))")
        assert decide_joint([f, f], query, timeout=20).verdict == verdict


def test_relations_are_checked() -> None:
    needs("vnnlib")
    f, same_shape, wider = network(Random(1)), network(Random(2)), network(Random(3), hidden=4)
    equal, shape = (
        parse_vnnlib(HEAD.format(f"({r} f)") + SAME + "(assert (>= Y[0] V[0]))") for r in ("equal-to", "isomorphic-to")
    )
    assert decide_joint([f, same_shape], shape, timeout=20).verdict in ("sat", "unsat")
    with pytest.raises(UsageError, match=r"equal-to f.*the same file"):
        decide_joint([f, same_shape], equal)
    with pytest.raises(UsageError, match="another shape"):
        decide_joint([f, wider], shape)
    with pytest.raises(UsageError, match="declares 2 inputs of network g"):
        decide_joint([f, relu_network([[[1.0]]], [[0.0]])], parse_vnnlib(HEAD.format("") + SAME))


def test_inputs_without_a_bound_are_refused() -> None:
    needs("vnnlib")
    with pytest.raises(UsageError, match=r"input U\[1\] has no lower bound"):
        parse_vnnlib(HEAD.format("") + "(assert (and (== X[0] U[0]) (<= U[1] X[1])))(assert (> Y[0] V[0]))")


def test_networks_are_given_by_name(tmp_path: Path) -> None:
    needs("vnnlib")
    file, prop = tmp_path / "a b.onnx", tmp_path / "p.vnnlib"
    file.write_bytes(onnx_model(network(Random(1)), "float32"))
    prop.write_text(HEAD.format("(equal-to f)") + SAME + "(assert (== Y[0] V[0]))")

    def run(*arguments: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(main, ["vnnlib", *arguments, str(prop)])
        return done.exit_code, done.stdout, done.stderr

    for arguments in (
        ["--network", f"f={file}", "--network", f"g={file}"],
        ["--network", f"f={file}"],
        [f"[(f, {file}), (g, {file})]"],
        [f"[('f', '{file}'), ('g', '{file}')]"],
    ):
        status, shown, _ = run(*arguments)
        assert status == 10 and shown.startswith("sat\n((X_0 ") and shown.count("(Y_") == 2
        assert [line.split()[0].strip("(") for line in shown.splitlines()[1:]] == [
            "X_0",
            "X_1",
            "X_2",
            "X_3",
            "Y_0",
            "Y_1",
        ]
    for arguments, message in (
        ([str(file)], "--network f=FILE --network g=FILE"),
        (["--network", f"h={file}"], "declares no network h: expected f, g"),
        (["--network", f"g={file}"], "network f"),
        (["--network", str(file)], "expected NAME=FILE"),
        (["--network", f"f={file}", "--network", f"f={file}"], "2 files"),
        (["--network", f"f={file}", str(file)], "either NETWORK or --network"),
        ([f"[(f, {file}) (g, {file})]"], "not understood from column"),
        ([f"[(f, {tmp_path / 'gone.onnx'})]"], "gone.onnx"),
    ):
        status, _, error = run(*arguments)
        assert status == 2 and message in " ".join(error.split()), (arguments, error)
