"""Reach sets of systems that are not piecewise linear hold sampled runs, and are tight where one box is enough."""

from __future__ import annotations

import numpy as np

from venmas import System, reach
from venmas.model import sin


def pendulum() -> System:
    """A damped pendulum, let go from a range of angles."""
    system = System("pendulum")
    th, w = system.real("th", -4, 4), system.real("w", -9, 9)
    system.branch("swing", system.flow("0.1", {th: w, w: -9.81 * sin(th) - w / 5}).end)
    system.initial((th >= 0.5) & (th <= 0.6) & (w == 0))
    return system


def test_sets_hold_the_runs_and_are_tight() -> None:
    found = reach(pendulum(), 10, ["th + w"], runs=500, timeout=60)
    assert len(found) == 11 and all(found.status(k) != "wider" for k in range(11))
    for k, layer in enumerate(found.layers):
        values = found.runs[:, k]
        assert (layer.low <= values).all() and (values <= layer.high).all()
    assert {w.name for w in found.worked} == {"flowpipes"} and np.isfinite(found.layers[-1].low).all()


def test_every_branch_is_followed() -> None:
    system = pendulum()
    system.branch("rest", th=system["th"])
    found = reach(system, 3, ["th"], runs=200, timeout=60)
    last = found.layers[3]
    # one run rests for ever, and one swings for ever: 0.6 cos(3 * 0.1 * sqrt(9.81)), at least
    assert 0.6 <= last.high[0] < 0.601 and 0.5 * np.cos(0.94) - 0.05 < last.low[0] < 0.5 * np.cos(0.94) + 0.05
    assert (last.low <= found.runs[:, 3]).all() and (found.runs[:, 3] <= last.high).all()


def test_nothing_is_reached_where_no_branch_can_be_taken() -> None:
    system = System("stuck")
    x = system.real("x", -9, 9)
    system.branch("go", {x: sin(x) + 2}, when=x < 1)
    system.initial(x >= 0, x <= 0.5)
    found = reach(system, 3, ["x"], timeout=20)
    assert found.layers[1].low[0] < 2.1 and np.isinf(found.layers[2].low).all() and np.isinf(found.layers[3].low).all()
