"""Pavings by compiled code are those in numpy, to the last number and in the same order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from venmas.bounds.compiled.load import beside
from venmas.bounds.rounding import Ints
from venmas.checker.covers.paving import CrowdedError, Marks, Paving, paved
from venmas.procedures.covers import pavings


@pytest.fixture(autouse=True, scope="module")
def loaded() -> Iterator[None]:
    """The compiled code is there, and used from the first boxes on."""
    assert beside("pavings", pavings.load, 300.0) and pavings._kernel is not None
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pavings, "_WORTH", -1.0)
        yield


def same(low: Ints, high: Ints) -> Paving:
    made, known = pavings.around(low, high, Marks()), paved(low, high)
    assert made.cell.dtype == made.low.dtype == np.int64
    for name in ("cell", "low", "high"):
        assert np.array_equal(getattr(made, name), getattr(known, name)), name
    return made


@settings(deadline=None)
@given(
    st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 60), st.integers(1, 40), st.sampled_from([5, 300, 10**6])
)
def test_compiled_pavings_are_those_of_numpy(seed: int, n: int, count: int, wide: int, far: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.integers(-far, far, (count, n))
    high = low + rng.integers(0, wide, low.shape) * rng.integers(0, 2, low.shape)
    try:
        paved(low, high)
    except CrowdedError:
        with pytest.raises(CrowdedError):
            pavings.around(low, high, Marks())
    else:
        same(low, high)


def test_many_cells_are_all_kept() -> None:
    """The table of cells is made larger several times."""
    rng = np.random.default_rng(0)
    low = rng.integers(-5000, 5000, (20_000, 2))
    assert len(same(low, low + rng.integers(0, 30, low.shape))) > 50_000


def test_edges_are_those_of_cells() -> None:
    """A box that ends at a corner is not in the next cell; a point there is."""
    made = same(np.array([[0, 8], [8, 8], [-8, -8]]), np.array([[8, 16], [8, 8], [0, 0]]))
    assert made.cell[:, 1:].tolist() == [[-1, -1], [0, 1], [1, 1]]


@pytest.mark.parametrize("low", [[[0] * 6, [2**14 * 8] * 6], [[-(2**40)] * 2, [2**40] * 2]])
def test_what_is_too_wide_for_numpy_is_so_here(low: list[list[int]]) -> None:
    ends = np.array(low)
    for make in (paved, pavings.around):
        with pytest.raises(CrowdedError):
            make(ends, ends, Marks())


def test_too_many_parts_are_refused() -> None:
    low, high = np.zeros((1, 4), dtype=np.int64), np.full((1, 4), 8 * 60)
    for make in (paved, pavings.around):
        with pytest.raises(CrowdedError):
            make(low, high, Marks())


def test_cells_that_are_cut_are_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pavings, "_around", None)
    low, high, marks = np.array([[0, 0]]), np.array([[31, 31]]), Marks((np.array([[0, 0], [1, 1]]),))
    assert np.array_equal(pavings.around(low, high, marks).cell, paved(low, high, marks).cell)


def test_little_work_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pavings, "_WORTH", 1.0)
    monkeypatch.setattr(pavings, "_spent", 0.0)
    monkeypatch.setattr(pavings, "_around", None)
    ends = np.array([[0, 0]])
    assert len(pavings.around(ends, ends, Marks())) == 1 and pavings._spent > 0
