"""VNN-LIB 2.0 with products: answers against exact values at samples."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from tests.needs import needs
from venmas.engine.query.joint import decide_joint
from venmas.errors import FormulaError, UsageError
from venmas.formats.vnnlib.reader import parse_vnnlib
from venmas.nn import Network, relu_network
from venmas.nn.network import Layer

HEAD = """(vnnlib-version <2.0>)
(declare-network f (declare-input X real [2]) (declare-output Y real [1]))
(assert (and (>= X[0] -1.0) (<= X[0] 1.0) (>= X[1] 0.5) (<= X[1] 1.0)))
"""


def network(rng: Random) -> Network:
    rows = [[[rng.randrange(-4, 5) / 2 for _ in range(2)] for _ in range(3)]]
    rows.append([[rng.randrange(-4, 5) / 2 for _ in range(3)]])
    return relu_network(rows, [[rng.randrange(-2, 3) / 2 for _ in range(3)], [0.25]], name="random")


def test_a_product_is_the_exact_product_of_its_factors() -> None:
    needs("vnnlib")
    query = parse_vnnlib(HEAD + "(assert (== (* (+ X[0] 1.0) Y[0] X[1]) 0.3))")
    values = {"X_0": Fraction(1, 2), "X_1": Fraction(2, 3), "Y_0": Fraction(3, 10)}
    assert query.holds(values)
    assert not query.holds(values | {"Y_0": Fraction(3, 10) + Fraction(1, 10**30)})


def test_random_products_agree_with_samples() -> None:
    needs("vnnlib")
    rng, verdicts = Random(8), []
    for _ in range(24):
        f, bound = network(rng), rng.randrange(0, 13) / 4
        text = f"(assert (and (> (* X[0] Y[0]) (+ (* X[1] X[1]) {bound})) (or (!= Y[0] 0.0) (> (* Y[0] Y[0]) 1.0))))"
        query = parse_vnnlib(HEAD + text)
        report = decide_joint([f], query, timeout=10)
        verdicts.append(report.verdict)
        if report.verdict == "unsat":
            for _ in range(300):
                x = [Fraction(rng.randrange(-100, 101), 100), Fraction(rng.randrange(50, 101), 100)]
                (y,) = f.evaluate_exact(x)
                assert not (x[0] * y > x[1] ** 2 + Fraction(bound) and y != 0)
        elif report.verdict == "sat":
            (x0, x1), (y,) = report.inputs, report.outputs
            assert f.evaluate_exact([x0, x1]) == (y,) and x0 * y > x1 * x1 + Fraction(bound) and y != 0
    assert verdicts.count("sat") > 3 and verdicts.count("unsat") > 3


def test_products_of_two_networks() -> None:
    needs("vnnlib")
    f, g = relu_network([[[1.0]]], [[0.0]], name="f"), relu_network([[[2.0]]], [[0.0]], name="g")
    text = """(vnnlib-version <2.0>)
    (declare-network f (declare-input X real [1]) (declare-output Y real [1]))
    (declare-network g (declare-input U real [1]) (declare-output V real [1]))
    (assert (and (>= X[0] 1.0) (<= X[0] 2.0) (== U[0] 3.0)))
    """
    for bound, verdict in (("11.5", "sat"), ("12.5", "unsat")):
        query = parse_vnnlib(text + f"(assert (>= (* Y[0] V[0]) {bound}))")
        assert decide_joint([f, g], query, timeout=10).verdict == verdict


def test_products_are_not_read_in_the_first_version_and_sizes_are_checked() -> None:
    needs("vnnlib")
    first = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (<= (* X_0 Y_0) 1))"
    with pytest.raises(FormulaError, match="not linear"):
        parse_vnnlib(first)
    with pytest.raises(UsageError, match="declares 2 inputs of network f"):
        decide_joint([relu_network([[[1.0]]], [[0.0]])], parse_vnnlib(HEAD + "(assert (> (* X[0] Y[0]) 1.0))"))


def test_ties_are_never_decided_by_a_margin() -> None:
    needs("vnnlib")
    f = relu_network([[[1.0]]], [[0.0]], name="identity")
    text = """(vnnlib-version <2.0>)
    (declare-network f (declare-input X real [1]) (declare-output Y real [1]))
    (assert (and (>= X[0] 0.0) (<= X[0] 2.0)))
    """
    for sign, bound, verdicts in (
        ("<=", "0.0", {"sat"}),
        (">=", "4.0", {"sat"}),
        ("==", "1.0", {"sat"}),
        ("==", "2.0", {"unknown"}),  # at an irrational input only
        ("<", "0.0", {"unsat", "unknown"}),
        (">", "4.0", {"unsat", "unknown"}),
    ):
        report = decide_joint([f], parse_vnnlib(text + f"(assert ({sign} (* X[0] Y[0]) {bound}))"), timeout=5)
        assert report.verdict in verdicts, (sign, bound)
        assert report.verdict != "unknown" or report.reason


def test_products_of_tanh_units() -> None:
    """Whose violation is shown in enclosures: outputs are told in doubles."""
    needs("vnnlib")
    f = Network((Layer(np.array([[1.0, 0.5]]), np.zeros(1), "tanh"),), "squashed")
    for bound, verdict in (("0.5", "sat"), ("1.0", "unsat")):
        query = parse_vnnlib(HEAD + f"(assert (> (* X[1] Y[0]) {bound}))")
        report = decide_joint([f], query, timeout=20)
        assert report.verdict == verdict
        if verdict == "sat":
            (x0, x1), (y,) = report.inputs, report.outputs
            assert report.enclosed and abs(y - Fraction(math.tanh(x0 + x1 / 2))) < 1e-12 and x1 * y > Fraction(bound)


@pytest.mark.parametrize(
    ("bound", "error", "verdict"), [("1.1", "0", "unsat"), ("1.1", "0.2", "sat"), ("1.5", "0.2", "unsat")]
)
def test_outputs_that_may_be_off_are_multiplied_as_well(bound: str, error: str, verdict: str) -> None:
    needs("vnnlib")
    identity = Network((Layer([[1.0, 0.0]], [0.0]),), "identity")
    query = parse_vnnlib(HEAD + f"(assert (>= (* Y[0] Y[0]) {bound}))")
    errors = [Fraction(error)] if error != "0" else []
    assert decide_joint([identity], query, timeout=10, errors=errors).verdict == verdict


def test_a_limit_holds_while_disjuncts_are_ruled_out() -> None:
    needs("vnnlib")
    atoms = [
        f"(or (<= (* X[0] Y[0]) {-3 - i}.0) (>= (* X[1] Y[0]) {4 + i}.0) (!= (* Y[0] Y[0]) {i}.5))" for i in range(7)
    ]
    identity = Network((Layer([[1.0, 0.0]], [0.0]),), "identity")
    query = parse_vnnlib(HEAD + "".join(f"(assert {a})" for a in atoms))
    report = decide_joint([identity], query, timeout=0.05)
    assert report.verdict in ("timeout", "sat") and report.seconds < 3
