"""Reach sets of systems that are not piecewise linear hold sampled runs, and are tight where one box is enough."""

from __future__ import annotations

import numpy as np
import pytest

from venmas import System, reach
from venmas.errors import UsageError
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
    assert {w.name for w in found.worked} == {"tubes"} and np.isfinite(found.layers[-1].low).all()


def test_systems_that_no_source_follows_are_refused() -> None:
    system = pendulum()
    system.branch("rest", th=system["th"])
    with pytest.raises(UsageError, match="2"):
        reach(system, 3)
