"""Networks whose weights are rounded to 0 beside large ones: what that loses grows from layer to layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checker.test_covers_check import FINE
from venmas import System
from venmas.checker.covers import check as checks
from venmas.checker.covers.grid import Grid
from venmas.checker.file import KINDS
from venmas.checker.format.about import About
from venmas.checker.format.header import Claim
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import End
from venmas.model import apply_network
from venmas.nn import Layer, Network


def growing(layers: int, size: float, activation: Any = "linear") -> Network:
    """16 units with the same value, 6 times that of the layer before, and one that is 0, with a weight of 2^35."""
    first, weights = np.full((17, 1), size), np.full((17, 17), 0.375)
    first[0], weights[0], weights[1:, 0] = 0, 0, 2.0**35
    zero = np.zeros(17)
    return Network((Layer(first, zero), *[Layer(weights, zero, activation)] * layers, Layer(weights[1:2], np.zeros(1))))


@pytest.mark.parametrize("few", [1, 1 << 30])
@pytest.mark.parametrize("semantics", ["real", "float32"])
@pytest.mark.parametrize("layers", [2, 3, 4, 5])
@pytest.mark.parametrize("size", [2.0**9, 2.0**8, 384.0])
def test_what_is_lost_does_not_wrap(
    layers: int, size: float, semantics: Any, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of sizes were beyond 64 bits, and a limit of 1000 was accepted of values up to 663552."""
    monkeypatch.setattr(checks, "_FEW", few)
    system = System("growing")
    x = system.real("x", -(10**12), 10**12)
    (y,) = apply_network(growing(layers, size), (x,))
    system.branch("go", {x: y})
    system.initial(x >= 0, x <= 1)
    grid = Grid((("16",),), (), (), 1, 5000, **FINE)
    for text in ("AX^1 x <= 1000", "AX^1 x <= 9000"):
        about = About(Claim(text, "bounded", semantics), system, {})
        with pytest.raises(CheckError):
            KINDS["covers"].check(about, Lines([grid.to_json(), End(2).to_json()]))
