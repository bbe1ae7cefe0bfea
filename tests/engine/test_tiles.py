"""Initial sets in tiles: the same verdicts, by processes, as of the whole."""

import logging
from itertools import pairwise

import numpy as np
import pytest

from venmas.engine.verify import verify
from venmas.errors import Reason
from venmas.logic import nnf, parse
from venmas.model import System, apply_network, argmax, where
from venmas.model.canonical.canonical import system_to_json
from venmas.model.system.networks import networks_of
from venmas.nn import relu_network
from venmas.procedures.flowpipes.procedure import FlowpipeSearch
from venmas.procedures.hybrid.view import Space
from venmas.procedures.reachability import procedure
from venmas.procedures.reachability.graph import graph
from venmas.procedures.reachability.tiles import Searched, Tile


def drifting():
    """x and y spread, the clock does not."""
    system = System("drift")
    x, y, clock = system.real("x", -9, 9), system.real("y", -9, 9), system.real("clock", -9, 9)
    rng = np.random.default_rng(3)
    net = relu_network([rng.normal(size=(8, 3)), rng.normal(size=(3, 8))], [rng.normal(size=8), np.zeros(3)])
    move = argmax(apply_network(net, (x, y, clock / 8)))
    system.branch("go", x=x + where(x >= 0, move / 8, -move / 8), y=y / 2, clock=clock - 1)
    system.branch("wait", y=y + move / 4, clock=clock - 1)
    system.initial((x >= -1) & (x <= 1) & (y >= -1) & (y <= 1) & (clock >= 0) & (clock <= 1.9))
    return system


def refined(system, formula, passes=1):
    found = graph.Graph(Space(system), nnf(parse(formula, system.vocabulary), negate=True), lambda: None)
    for _ in range(passes):
        found.refine()
    return found


def test_tiles_cover_the_root(monkeypatch):
    monkeypatch.setattr(graph, "_TILE", 50)
    monkeypatch.setattr(Space, "swept", 0)
    found = refined(drifting(), "AX AX AX (x <= 1.76)")
    tiles, weights = found.tiles()
    assert len(tiles) > 1 and len(weights) == 4
    ends = [(t.low.tolist(), t.high.tolist()) for t in tiles]
    assert ends[0][0] == found.root.low.tolist() and ends[-1][1] == found.root.high.tolist()
    for (_, high), (low, _) in pairwise(ends):
        assert high[0][2] == low[0][2]  # cut along the clock, with a face in common
    assert all(t.low[0, :2].tolist() == found.root.low[0, :2].tolist() for t in tiles)


def test_no_tiles_where_none_are_wanted(monkeypatch):
    assert len(refined(drifting(), "AX AX AX (x <= 1.76)").tiles()[0]) == 0
    monkeypatch.setattr(graph, "_TILE", 50)
    assert len(refined(drifting(), "AX AX AX (x <= 1.76)", passes=2).tiles()[0]) == 0
    monkeypatch.setattr(graph, "_SPREAD", 0.5)
    assert len(refined(drifting(), "AX AX AX (x <= 1.76)").tiles()[0]) == 0


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("formula", "verdict"),
    [("AX AX (x <= 1.255)", "satisfied"), ("AX AX (x <= 1.249)", "violated"), ("AX AX EX (x <= 1.1)", "violated")],
)
def test_verdicts_are_those_of_the_whole(monkeypatch, caplog, formula, verdict, workers):
    monkeypatch.setattr("venmas.budget.Shares.left", lambda *_: -1.0)  # nothing but passes decides
    monkeypatch.setattr(graph, "_TILE", 60)
    monkeypatch.setattr(graph, "_FIRST_PIECES", 16)  # so that the rough pass leaves something open
    monkeypatch.setattr(Space, "swept", 0)  # compiled code, which would be used from some time on, has other pieces
    caplog.set_level(logging.INFO, "venmas")
    report = verify(drifting(), formula, workers=workers)
    assert str(report.verdict) == verdict
    assert "the initial set is taken in" in caplog.text
    assert verdict == "satisfied" or report.replay.confirmed


def test_a_tile_that_gets_no_time_says_so():
    system = drifting()
    root = refined(system, "AX (x <= 1.5)").root
    formula = parse("AX AX (x <= 1.4)", system.vocabulary)
    boxes = (((),), root.low, root.high)
    asked = system_to_json(system), networks_of(system), formula, False, "real"
    found = Tile(*asked, Space(system).unit, boxes, (), procedure.ReachabilitySession).run(0.0)
    assert isinstance(found, Searched) and found.witness is None and found.reason is Reason.TIME
    assert "lattice" in Tile(*asked, 1, boxes, (), procedure.ReachabilitySession).run(None).trouble


def test_an_error_without_words_is_no_proof(monkeypatch):
    def broken(*_, **__):
        raise OverflowError

    system = drifting()
    found = refined(system, "AX AX (x <= 1.249)")
    monkeypatch.setattr(procedure.Graph, "passing", broken)
    monkeypatch.setattr(procedure.ReachabilitySession, "_falsified", lambda *_: None)
    boxes = (((),), found.root.low, found.root.high)
    formula = parse("AX AX (x <= 1.249)", system.vocabulary)
    begin = procedure.ReachabilitySession
    tile = Tile(system_to_json(system), networks_of(system), formula, False, "real", found.space.unit, boxes, (), begin)
    assert tile.run(None).trouble == "no reachability graph: OverflowError"


@pytest.mark.parametrize("limit", ["graph.MOST_PIECES", "graph.MAX_EDGES", "step.MAX_EDGES"])
def test_a_pass_of_too_many_pieces_is_given_up(monkeypatch, limit):
    monkeypatch.setattr("venmas.budget.Shares.left", lambda *_: -1.0)
    monkeypatch.setattr(f"venmas.procedures.reachability.graph.{limit}", 10)
    monkeypatch.setattr(FlowpipeSearch, "accepts", lambda *_: "it is left out")
    report = verify(drifting(), "AX (x <= 1.25)")
    assert report.satisfied and report.basis == "exact"
    (regions,) = (p for p in report.procedures if p.name == "reachability")
    assert report.decided_by == "exact" and regions.why == "no reachability graph: too many boxes"
