"""What takes states one by one looks at the limits often, and makes nothing that the memory limit has no room for."""

import numpy as np
import pytest

from venmas.budget import Budget, limited
from venmas.logic.linear import LinearExpr
from venmas.model import System, clip
from venmas.procedures.explicit import reach as layers
from venmas.procedures.explicit.graph.graph import StateGraph
from venmas.procedures.explicit.states import initial
from venmas.procedures.explicit.states.integers import NotExplicitError
from venmas.procedures.hybrid import boxes
from venmas.procedures.reachability.reach import REACHABILITY
from venmas.runtime.memory import own_resident_mb

SIDE = 20


def cube(branches: int = 1, diagonal: bool = False) -> System:
    """All of a cube is initial; diagonal: a condition relates two other variables, so that there is a search."""
    system = System("cube")
    n = [system.integer(f"n{i}", 0, SIDE - 1) for i in range(3)]
    for b in range(branches):
        system.branch(f"b{b}", {v: clip(v + b * (i - 1), 0, SIDE - 1) for i, v in enumerate(n)})
    inside = [c for v in n for c in (v >= 0, v < SIDE)]
    if diagonal:
        k, m = system.integer("k", 0, 1), system.integer("m", 0, 1)
        inside.append(k + m == 1)
    system.initial(*inside)
    return system


@pytest.mark.parametrize("diagonal", [False, True])
def test_there_is_a_look_at_every_block_of_initial_states(diagonal, monkeypatch) -> None:
    monkeypatch.setattr(initial, "_BLOCK", 2000)
    looks = []
    graph = StateGraph(cube(diagonal=diagonal), lambda: looks.append(1), True)
    assert graph.initial == SIDE**3 * (2 if diagonal else 1)
    assert len(looks) >= graph.initial * len(graph.system.variables) // 2000


def test_transitions_for_which_there_is_no_room_are_not_put_together() -> None:
    graph = StateGraph(cube(branches=3), lambda: None, True)
    while graph.expand():
        pass
    with limited(Budget(memory_mb=int(own_resident_mb()))), pytest.raises(NotExplicitError):
        graph.transitions()
    with limited(Budget(memory_mb=int(own_resident_mb() + 1000))):
        graph.transitions()


def test_successors_by_many_branches_are_one_set_before_they_are_many(monkeypatch) -> None:
    put_together, different = [], layers._different
    monkeypatch.setattr(layers, "_MOST", SIDE**3)
    monkeypatch.setattr(layers, "_different", lambda p: (put_together.append(sum(map(len, p))), different(p))[1])
    directions = [LinearExpr.variable("n0"), LinearExpr.variable("n2")]
    found = list(layers.ExplicitLayers().layers(cube(30), directions, 1, 0, lambda: None))
    assert [[*layer.low, *layer.high] for layer in found] == [[0, 0, SIDE - 1, SIDE - 1]] * 2
    assert len(put_together) > 5 and max(put_together) <= 4 * SIDE**3


def test_reach_sets_of_regions_are_cut_in_turns(monkeypatch) -> None:
    system = System("spread")
    x, y = system.real("x", -8, 8), system.real("y", -8, 8)
    for name, push in (("left", -1), ("right", 1)):
        system.branch(name, {x: x / 2 + y / 4 + push, y: y / 2 + push / 2})
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1)
    directions = [LinearExpr.variable("x"), LinearExpr.variable("y")]

    def ends() -> list[np.ndarray]:
        return [
            np.stack([layer.low, layer.high]) for layer in REACHABILITY.layers(system, directions, 6, 2, lambda: None)
        ]

    expected = ends()
    monkeypatch.setattr(boxes, "_TURN", 20)
    assert all((a == b).all() for a, b in zip(expected, ends(), strict=True))
