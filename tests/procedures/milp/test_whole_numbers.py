"""Programs over integers: networks with whole weights have whole outputs, so that the loser of an argmax is behind."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.corpus.check import Config, check_finite
from tests.corpus.finite import finite_case
from venmas import System, verify
from venmas.model import apply_network, argmax
from venmas.model.expressions.domain import granularity, is_integral
from venmas.nn import Network
from venmas.nn.network import Layer

MODES = ("mono", "comp-seq")


def network(half: float = 0.0, activation: str = "relu") -> Network:
    """Scores m + n and 2 m of m, n >= 0: the first one wins at their ties, m == n."""
    first = Layer(np.array([[1.0, 1.0], [2.0, 0.0]]), np.array([half, 0.0]), activation)  # type: ignore[arg-type]
    return Network((first, Layer(np.eye(2), np.zeros(2))))


def system(made: Network, whole: bool = True) -> System:
    """What the network chooses of an m and the same n, as the next m."""
    found = System("tie")
    m, n = (found.integer(v, 0, 3) if whole else found.real(v, 0, 3) for v in ("m", "n"))
    found.branch("go", {m: found.agent(argmax(apply_network(made, (m, n))), name="choice")})
    found.initial(m == n)
    return found


@pytest.mark.parametrize("mode", MODES)
def test_a_tie_of_whole_scores_is_decided(mode: str) -> None:
    report = verify(system(network()), "AX m <= 0", mode=mode, solver="highs")
    assert report.satisfied, report.message


@pytest.mark.parametrize("mode", MODES)
def test_what_a_greater_score_reaches_is_met(mode: str) -> None:
    made = system(network())
    made.initial(made["m"] == 3, made["n"] == 2)
    report = verify(made, "AX m <= 0", mode=mode, solver="highs")
    assert report.violated and report.witness is not None


@pytest.mark.parametrize("seed", [905000007, 905000296, 905000593])
def test_random_systems_whose_scores_tie_are_decided(seed: int) -> None:
    found = check_finite("finite", finite_case(seed), [Config("comp-seq", "highs", "big-m")])
    assert found.wrong == []


@pytest.mark.parametrize("made", [network(half=0.5), network(activation="tanh")])
def test_scores_that_are_not_whole_may_be_as_near_as_any(made: Network) -> None:
    tied = system(made)
    output = apply_network(made, (tied["m"], tied["n"]))[0]
    assert granularity(output) is None


def test_whole_outputs_are_those_of_whole_inputs() -> None:
    whole, real = system(network()), system(network(), whole=False)
    one = apply_network(network(), (whole["m"], whole["n"]))
    other = apply_network(network(), (real["m"], real["n"]))
    assert granularity(one[0] - one[1]) == 1 and granularity(one[0] / 3) == Fraction(1, 3)
    assert granularity(other[0]) is None and not is_integral(one[0])
