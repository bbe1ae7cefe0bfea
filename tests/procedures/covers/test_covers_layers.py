"""Layers of covers: what was reached in other units is left out, wherever cells are cut, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from venmas.checker.covers.paving import Paving, paved
from venmas.procedures.covers.layers import Cells, Layers


def at(layers: Layers, step: int, values: Sequence[int]) -> Paving:
    """The paving of some values, in units of the first cells, after so many steps."""
    unit = 1 << layers.halved_at(step)[0] + layers.marks(step).depth
    points = np.array([[value * unit] for value in values])
    return paved(points, points, layers.marks(step))


def followed(
    layers: Layers, values: Sequence[Sequence[int]], counts: Sequence[bool] = (True,) * 9
) -> list[list[float]]:
    """The values that are followed from each step on, where these are what comes of the ones before."""
    layers.begin(at(layers, 0, [9]))
    made = []
    for step, here in enumerate(values, 1):
        layers.reaches(step)
        layers.last.made.append(at(layers, step, here))
        layers.goes_on(step, counts[step - 1])
        unit = 1 << layers.halved_at(step)[0] + layers.marks(step).depth
        made.append(sorted(low / unit for low in layers.last.sets.low[:, 0].tolist()))
    return made


CUTS = [(), (1,), (2,), (3,), (1, 2), (1, 3), (1, 2, 3)]


def cut(layers: Layers, steps: Sequence[int]) -> None:
    """Cells around all values but one are cut from these steps on."""
    for step in steps:
        layers.cuts.append(Cells(step, np.array([[0, k] for k in range(-8, 40) if k != 3])))


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("halved", [[0, 0, 0, 0, 0], [0, 0, 0, 1, 1], [0, 0, 0, 1, 2], [0, 0, 1, 2, 3]])
def test_values_of_before_are_left_out(cuts: Sequence[int], halved: list[int]) -> None:
    layers = Layers([(h,) for h in halved])
    cut(layers, cuts)
    values = [[24, 6], [48, 12], [3, 6, 24, 96], [12, 40, 48, 96, 192]]
    assert followed(layers, values) == [[6, 24], [12, 48], [3, 96], [40, 192]]
    assert layers.halved == [(h,) for h in halved]


@pytest.mark.parametrize("cuts", CUTS)
def test_values_before_the_window_are_followed_again(cuts: Sequence[int]) -> None:
    layers = Layers([(0,), (0,), (0,), (1,), (1,)])
    cut(layers, cuts)
    values, counts = [[24], [6], [24, 6, 3], [24]], [False, False, True, True]
    assert followed(layers, values, counts) == [[24], [6], [3, 24], []]


def test_values_in_units_of_long_before_are_left_out_too() -> None:
    layers = Layers([(max(0, k - 1),) for k in range(8)])
    assert followed(layers, [[24], [48], [96], [24], [48], [96], [12]]) == [[24], [48], [96], [], [], [], [12]]
    assert layers.halved[-1] == (6,)
