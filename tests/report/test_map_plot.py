"""Pictures of maps: one variable, two, and a slice of more."""

from __future__ import annotations

from tests.needs import needs

needs("matplotlib")

from fractions import Fraction

import pytest

from tests.engine.map_systems import noisy
from venmas.engine.map.refine import map_states
from venmas.engine.map.tree import Axis, Cell, StateMap
from venmas.errors import UsageError
from venmas.report.map import percent
from venmas.report.plot import map as maps

F = Fraction


def cube():
    """Three variables; only the slice below the cut of z is proved."""
    axes = (Axis("x", F(0), F(1)), Axis("y", F(0), F(1)), Axis("z", F(0), F(1), unit="m"), Axis("t", F(5), F(5)))
    low = Cell(cut=(0, F(1, 4), Cell("proved", "p", "exact"), Cell()))
    root = Cell(cut=(2, F(1, 2), low, Cell("violated", "p", "exact")))
    return StateMap("cube", "AX p", "0" * 64, "0" * 64, axes, root)


def drawn(shown, names, monkeypatch):
    """Boxes by status as they are handed to matplotlib."""
    boxes = {}
    real = maps._fill

    def fill(ax, corners, status, label):
        boxes[status] = corners
        real(ax, corners, status, label)

    monkeypatch.setattr(maps, "_fill", fill)
    picture = maps.save(shown, "svg", names).decode()
    return boxes, picture


def test_a_slice_has_one_side_of_a_face(monkeypatch):
    boxes, picture = drawn(cube(), (), monkeypatch)
    assert boxes["proved"] == [[(0.0, 0.0), (0.25, 0.0), (0.25, 1.0), (0.0, 1.0)]]
    assert boxes["open"] == [[(0.25, 0.0), (1.0, 0.0), (1.0, 1.0), (0.25, 1.0)]]
    assert boxes["violated"] == []
    assert "Slice at z = 0.5" in picture and "12.50 % proved, 50.00 % violated, 37.50 % open" in picture


def test_the_plane_is_chosen(monkeypatch):
    boxes, picture = drawn(cube(), ("z", "x"), monkeypatch)
    assert boxes["violated"] == [[(0.5, 0.0), (1.0, 0.0), (1.0, 1.0), (0.5, 1.0)]]
    assert "Slice at y = 0.5" in picture
    for plane, message in (
        (("x", "t"), "'t' is no variable"),
        (("x",), "two variables"),
        (("x", "x"), "two variables"),
    ):
        with pytest.raises(UsageError, match=message):
            maps.check_plane(cube().axes, plane)


def test_one_variable_is_a_strip(monkeypatch):
    shown = map_states(noisy(), "AX (x <= 0.5)", timeout=10, min_width=1 / 8)
    boxes, picture = drawn(shown, (), monkeypatch)
    assert {corner[1] for box in boxes["proved"] for corner in box} == {0.0, 1.0}
    assert shown.shares()["proved"] > F(1, 2)
    assert f"Boxes of x; of the whole volume {percent(shown.shares()['proved'])} proved" in picture
