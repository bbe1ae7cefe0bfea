"""Loops with smooth steps: formulas that read nothing smooth of them are unrolled, and certified by trees."""

import gzip
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from venmas import verify
from venmas.checker.file import check_certificate
from venmas.checker.format.numbers import CheckError
from venmas.model import System, apply_network, sin, tanh
from venmas.nn.network import Layer, Network
from venmas.procedures.flowpipes.plan import Failed
from venmas.procedures.flowpipes.refine import Part, Refining
from venmas.procedures.flowpipes.tree import Tree, ladder


def swing(unit: str = "relu") -> System:
    """A pendulum with V(x, y) = |x| + |y| - 1 as a network; of tanh units in its place otherwise."""
    system = System("swing")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    sums = Layer(np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), np.zeros(4), unit)
    network = Network((sums, Layer(np.ones((1, 4)), np.array([-1.0]))), "v")
    system.proposition("inside", apply_network(network, (x, y))[0] <= 0)
    system.proposition("near", (x <= Fraction(11, 10)) & (y >= -Fraction(11, 10)))
    system.proposition("nearer", (x <= Fraction(9, 10)) & (x >= -1))
    system.branch("go", x=x + y / 10, y=y - sin(x) / 10 - tanh(y) / 10)
    system.initial(x >= -2, x <= 2, y >= -2, y <= 2)
    return system


def test_what_reads_nothing_smooth_is_unrolled_and_certified(tmp_path: Path) -> None:
    system, file = swing(), tmp_path / "near.gz"
    report = verify(system, "inside -> near", timeout=30, certificate=file, workers=1)
    assert report.satisfied and report.decided_by == "branch-and-bound"
    assert check_certificate(file, system)
    report = verify(system, "inside -> nearer", timeout=30, workers=1)
    assert report.violated and report.replay is not None and report.replay.confirmed
    assert report.decided_by == "branch-and-bound"


def test_of_smooth_systems_goals_are_proved_by_trees_alone(tmp_path: Path) -> None:
    system, file = swing(), tmp_path / "near.gz"
    verify(system, "inside -> near", timeout=30, certificate=file, workers=1)
    rows = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert [row.get("rule") for row in rows[1:]] == ["program", "tree", "end"]
    forged = [rows[0], {"rule": "region", "index": 0}, *rows[2:]]
    file.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in forged).encode()))
    with pytest.raises(CheckError, match="but for trees, goals are about piecewise linear systems"):
        check_certificate(file, system)


@pytest.mark.parametrize(("unit", "formula"), [("relu", "inside -> AX (y < 1.2)"), ("tanh", "x <= 1 -> x < 1.2")])
def test_what_reads_it_is_left_to_flowpipes(unit: str, formula: str) -> None:
    report = verify(swing(unit), formula, timeout=30, workers=1)
    assert report.satisfied
    assert report.decided_by == ("flowpipes" if unit == "relu" else "branch-and-bound")
    if unit == "tanh":
        report = verify(swing(unit), "inside -> x > -1.2", timeout=30, workers=1)
        why = next(tried.why for tried in report.procedures if tried.name == "branch-and-bound")
        assert "network 'v' with tanh" in why


def test_a_box_is_cut_where_it_is_wide_though_others_move_more() -> None:
    """What units of a network add is due to the value that is still wide, by their forms to none."""
    whole = {name: (Fraction(0), Fraction(1)) for name in "xy"}
    box = {"x": (Fraction(0), Fraction(1)), "y": (Fraction(0), Fraction(1, 1000))}
    refining = Refining(ladder(False, False)[:1], lambda *_: True)

    def cut(besides: float) -> object:
        moves = np.array([0.01, 0.1])
        return refining.after(Part(Tree(whole), 0, box), Failed(2, ["x", "y"], 1.0, moves, besides, False, False))

    assert (cut(0.0), cut(0.9)) == ("y", "x")
