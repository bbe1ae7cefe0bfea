"""Flowpipes of networks in float32: no order of evaluation leaves them, and their certificates say what they prove."""

from __future__ import annotations

from tests.needs import needs

needs("flint")

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest
from flint import arb

from tests.soundness.smooth.nets import random_network
from tests.soundness.smooth.singles import evaluated
from venmas import System, verify
from venmas.bounds.affine.tube import Tube
from venmas.checker.file import check_certificate, check_claim, read_certificate
from venmas.checker.flowpipes.target import states_of
from venmas.checker.flowpipes.univariate import OutsideError
from venmas.checker.format.numbers import CheckError
from venmas.errors import UsageError
from venmas.model import apply_network, argmax, switch
from venmas.model.evaluation.cuts import Fineness
from venmas.nn import Network
from venmas.nn.network import Layer

FINE = Fineness(order=4, substeps=1, slices=1, symbols=20)
STEPS = 3


def looped(network: Network) -> System:
    """One step: x := (network)_0 y / 4, y := (network)_1 / 4 - x / 2, of a network of two outputs."""
    system = System("looped")
    x, y = system.real("x", -(2**40), 2**40), system.real("y", -(2**40), 2**40)
    one, other = apply_network(network, (x, y)[: network.input_size])
    system.branch("go", {x: one * y / 4, y: other / 4 - x / 2})
    system.initial(x >= 0, x <= 1, y >= -1, y <= 0)
    return system


@pytest.mark.parametrize("seed", range(6))
def test_no_evaluation_leaves_its_tubes(seed: int) -> None:
    """Of the engine, and of the checker; one that knows of no rounding is left."""
    rng, left = Random(seed), {True: 0, False: 0}
    for _ in range(8):
        network = random_network(rng)
        if network.input_size > 2:
            continue
        system = looped(network)
        points = {n: Fraction(rng.randint(-64, 64), 64) for n in ("x", "y")}
        width = rng.choice((0, Fraction(1, 1024)))
        box = {n: (at, at + width) for n, at in points.items()}
        for single in (True, False):
            ends: list[dict[str, list[tuple[arb, arb]]]] = []
            tube = Tube(system, [box], FINE, single)
            states = states_of(system, tuple(box.values()), 60, FINE, single)
            for _ in range(STEPS):
                tube.advance()
                both = {n: [(arb(float(lo[0])), arb(float(hi[0])))] for n, (lo, hi) in tube.ends().items()}
                try:
                    (states,) = states.after(system.branches[0])
                    for name, form in states.forms.items():
                        both[name].append((arb(form.range[0]) / 2**60, arb(form.range[1]) / 2**60))
                except OutsideError:
                    break
                ends.append(both)
            for _ in range(10):
                x, y = (arb(at.numerator) / at.denominator for at in points.values())
                for both in ends:
                    one, other = evaluated(rng, network, (x, y)[: network.input_size])
                    x, y = one * y / 4, other / 4 - x / 2
                    for name, value in (("x", x), ("y", y)):
                        outside = any(value < lo or value > hi or value.is_nan() for lo, hi in both[name])
                        left[single] += outside
    assert left[True] == 0 < left[False]


def tight(activation: str = "tanh") -> tuple[System, Fraction]:
    """x := (tanh(x / 3) + 1) x from 1, and a number a little above the real value after one step."""
    network = Network((Layer([[1 / 3]], [0.0], activation), Layer([[1.0]], [1.0])))
    system = System("tight")
    x = system.real("x", -100, 100)
    (factor,) = apply_network(network, (x,))
    system.branch("go", {x: factor * x})
    system.initial(x == 1)
    value = {"tanh": np.tanh(1 / 3), "sigmoid": 1 / (1 + np.exp(-1 / 3)), "relu": 1 / 3}[activation]
    return system, Fraction(float(value)) + 1 + Fraction(1, 10**9)


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
def test_certificates_say_of_which_arithmetic_they_are(activation: str, tmp_path: Path) -> None:
    system, most = tight(activation)
    text, proof = f"AX x < {most}", tmp_path / "tight.proof"
    assert verify(system, text, certificate=proof).satisfied
    assert check_certificate(proof, system).leaves == 1
    header, lines = read_certificate(proof)
    relabelled = replace(header, claim=replace(header.claim, semantics="float32"))
    with pytest.raises(CheckError, match="not shown free"):
        check_claim(relabelled, lines, system)
    assert not verify(system, text, semantics="float32", timeout=1).satisfied
    text = f"AX x < {most + Fraction(1, 10**5)}"
    assert verify(system, text, semantics="float32", certificate=proof).satisfied
    assert check_certificate(proof, system).leaves == 1
    assert read_certificate(proof)[0].claim.semantics == "float32"


def test_for_ever(tmp_path: Path) -> None:
    """x := tanh(x) (1 - x^2 / 8) / 2."""
    network = Network((Layer([[1.0]], [0.0], "tanh"),))
    system, proof = System("falling"), tmp_path / "falling.proof"
    x = system.real("x", -4, 4)
    system.branch("go", {x: apply_network(network, (x,))[0] * (1 - x * x / 8) / 2})
    system.initial(x >= -1, x <= 1)
    assert verify(system, "AG (x < 1.5)", semantics="float32", certificate=proof, timeout=60).satisfied
    assert check_certificate(proof, system).lines > 1


def test_what_runtimes_fold_is_refused() -> None:
    network = Network((Layer([[1.0]], [0.0], "tanh"),), "folded", float32_refusal="has a factor of its own")
    system = System("folded")
    x = system.real("x", -4, 4)
    system.branch("go", {x: apply_network(network, (x,))[0] * x})
    system.initial(x == 1)
    with pytest.raises(UsageError, match="'folded' has a factor of its own"):
        verify(system, "AX x < 4", semantics="float32")
    tube = Tube(system, [{"x": (Fraction(1), Fraction(1))}], FINE, single=True)
    tube.advance()
    assert not np.isfinite(tube.ends()["x"][1]).any()
    with pytest.raises(OutsideError, match="a factor of its own"):
        states_of(system, ((Fraction(1), Fraction(1)),), 60, FINE, single=True).after(system.branches[0])


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize(("margin", "told"), [(1e-9, False), (1e-3, True)])
def test_a_policy_that_float32_may_turn(margin: float, told: bool, smooth: bool, tmp_path: Path) -> None:
    """Two scores that are `margin` apart; x := x^2 / 2, or x / 2, by the first action, x + 1 by the other."""
    network = Network((Layer([[1.0], [1.0]], [margin, 0.0]),))
    system, proof = System("turned"), tmp_path / "turned.proof"
    x = system.real("x", -4, 4)
    system.branch(
        "go", {x: switch(argmax(apply_network(network, (x,))), {0: x * x / 2 if smooth else x / 2, 1: x + 1})}
    )
    system.initial(x >= "0.5", x <= 1)
    assert verify(system, "AX x < 1", timeout=20).satisfied
    report = verify(system, "AX x < 1", semantics="float32", certificate=proof, timeout=20 if told else 2)
    assert report.satisfied == told
    assert not told or check_certificate(proof, system)
