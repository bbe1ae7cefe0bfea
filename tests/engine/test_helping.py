"""Pieces of work between two processes: what is given comes back once, or is done where it came from."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection, Pipe
from typing import Any, TypeAlias

import numpy as np
import pytest

from tests.procedures.covers.systems import loop, runs, task
from tests.slow import some_slow
from venmas.budget import Budget
from venmas.checker.covers import check as checks
from venmas.checker.covers import extremes
from venmas.checker.covers.check import Following
from venmas.checker.covers.parts import Hull
from venmas.logic import TRUE
from venmas.procedures.covers import layers, polyhedra
from venmas.procedures.covers.cover import Cover
from venmas.procedures.covers.frame import frames
from venmas.procedures.covers.layers import CoarseError
from venmas.procedures.covers.polyhedra import Polyhedra
from venmas.runtime import helping as room
from venmas.runtime.helping import Helper, Helping, Piece, helped, helper

Ends: TypeAlias = "tuple[Connection[Any, Any], Connection[Any, Any]]"


@pytest.fixture
def ends() -> Iterator[Ends]:
    """Of the one that helps, and of the one that is helped."""
    here, there = Pipe(duplex=True)
    with here, there:
        yield here, there


def received(here: Connection[Any, Any]) -> Piece:
    piece: Piece = here.recv()
    return piece


def test_a_piece_comes_back(ends: Ends) -> None:
    helping, working = Helping(ends[0]), Helper(ends[1])
    assert working.give(operator.add, 1, 2) is None  # nothing is offered
    helping.offered(True)
    gift = working.give(operator.add, 1, 2)
    assert gift is not None and not gift.ready()
    assert working.give(operator.add, 3, 4) is None  # one at a time
    helping.does(received(ends[0]))
    assert (gift.wait().result, gift.wait().failed) == (3, False)
    other = working.give(operator.mul, 3, 4)
    helping.does(received(ends[0]))
    assert other is not None and other.wait().result == 12 and gift.wait().result == 3


def test_what_is_withdrawn_is_done_where_it_came_from(ends: Ends) -> None:
    """Also where help is offered again before the piece is read: it is dropped."""
    helping, working = Helping(ends[0]), Helper(ends[1])
    helping.offered(True)
    gift = working.give(operator.add, 1, 2)
    helping.offered(False)
    helping.offered(True)
    assert gift is not None and gift.ready() and gift.wait().failed
    other = working.give(operator.add, 3, 4)
    for _ in range(2):
        helping.does(received(ends[0]))
    assert other is not None and other.wait().result == 7
    assert not ends[1].poll()


def test_an_offer_is_sent_once(ends: Ends) -> None:
    helping = Helping(ends[0])
    for yes in (False, True, True, False, False):
        helping.offered(yes)
    assert ends[1].recv().number == 1 and ends[1].recv().number == 0 and not ends[1].poll()


def test_errors_are_met_where_it_came_from(ends: Ends) -> None:
    helping, working = Helping(ends[0]), Helper(ends[1])
    helping.offered(True)
    gift = working.give(operator.truediv, 1, 0)
    helping.does(received(ends[0]))
    assert gift is not None and gift.ready() and gift.wait().failed


def test_work_is_pickled_and_read_once(ends: Ends) -> None:
    helping, working, work = Helping(ends[0]), Helper(ends[1]), Noted([])
    helping.offered(True)
    for k in range(3):
        gift = working.give(work, k)
        helping.does(received(ends[0]))
        assert gift is not None and gift.wait().result == [*range(k + 1)] and work.seen == []


class Noted:
    """Keeps what it is called with, in the copy that is called."""

    def __init__(self, seen: list[int]) -> None:
        self.seen = seen

    def __call__(self, k: int) -> list[int]:
        self.seen.append(k)
        return self.seen


def test_other_messages_are_refused(ends: Ends) -> None:
    ends[0].send("order")
    with pytest.raises(TypeError, match="expected an offer or a result, got str"):
        Helper(ends[1]).give(operator.add, 1, 2)


def test_only_what_runs_inside_is_helped(ends: Ends) -> None:
    with helped(ends[1]):
        assert helper() is not None
        with helped(None):
            assert helper() is None
    assert helper() is None


# -- covers ------------------------------------------------------------------------------------------------------------


def states(cover: Cover, steps: int, each: Callable[[], None] = lambda: None) -> list[Any]:
    """All that is known after each layer."""
    made = []
    for _ in range(steps):
        each()
        try:
            more = not cover.advance(Budget(60))
        except CoarseError as error:
            return [*made, (error.step, error.share)]
        last = cover._layers.last.sets
        made.append((last.cell.tolist(), last.low.tolist(), last.high.tolist(), cover.reached(), cover.boxes))
        if not more:
            break
    return [*made, cover.leaving, cover.shown]


def serving(ends: Ends, fails: bool) -> tuple[threading.Thread, list[bool]]:
    """A thread that helps; help comes and goes at any time, and fails now and then; and what became of pieces."""
    rng, helping, done = np.random.default_rng(int(fails)), Helping(ends[0]), list[bool]()

    def serve() -> None:
        while (piece := ends[0].recv()) is not None:
            yes = bool(rng.integers(4))
            if fails and not rng.integers(3):
                piece = Piece(piece.offer, piece.work, ())  # it cannot be called
            helping.offered(yes)
            helping.does(piece)
            done.append(yes)
            helping.offered(True)

    helping.offered(True)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread, done


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are small, and all of them brief."""
    for module, name in ((layers, "BATCH"), (polyhedra, "BATCH"), (checks, "_BATCH"), (extremes, "_FEW")):
        monkeypatch.setattr(module, name, 4)
    monkeypatch.setattr(room, "_BRIEF", 60.0)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("fails", some_slow([False, True], [1]))
def test_covers_are_the_same_with_help(ends: Ends, fails: bool) -> None:
    thread, done = serving(ends, fails)
    for seed in range(5):
        asked = task(loop(seed), 0, 12)
        sampled = runs(asked, seed, 12)
        frame = frames(asked.axes.names, sampled)[0]
        alone, other = (Cover(asked, frame, 1, 4, sampled) for _ in range(2))
        with helped(ends[1]):
            made = states(other, 12)
        assert made == states(alone, 12)
    ends[1].send(None)
    thread.join(10)
    assert done.count(True) > 10 and done.count(False) > 3


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("fails", some_slow([False, True], [0]))
def test_polyhedra_and_their_checks_are_the_same_with_help(ends: Ends, fails: bool) -> None:
    """So are checks of covers."""
    thread, done = serving(ends, fails)
    for seed in (2, 5):
        asked = task(loop(seed), 0, 12)
        sampled = runs(asked, seed, 12)
        frame = frames(asked.axes.names, sampled)[0]
        made = list[Any]()
        for here in (None, ends[1]):
            with helped(here):
                one = Polyhedra(asked, frame, 1, 4, sampled)
                for _ in range(8):
                    one.advance(Budget(60))
                made.append((one._sets.cell.tolist(), one._sets.low.tolist(), one.reached(), one.step))
                for covers in (one, Cover(asked, frame, 1, 4, sampled)):
                    hull = Hull({})
                    follow = Following(asked.axes, (0, 8, TRUE), covers.grid(), False, False, hull)
                    follow.grid = replace(follow.grid, boxes=1 << 20)
                    follow.run(lambda: None)
                    made.append((follow._layer.low.tolist(), follow._layer.high.tolist(), hull.ranges))
        assert made[:3] == made[3:]
    ends[1].send(None)
    thread.join(10)
    assert done.count(True) > 10 and done.count(False) > 3


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kind", some_slow([Cover, Polyhedra], [0]))
def test_a_batch_that_ends_with_the_time_is_not_lost(ends: Ends, kind: type[Cover | Polyhedra]) -> None:
    """The time ends at random, with a piece under way; the same sets are followed in all."""
    helping, rng = Helping(ends[0]), np.random.default_rng(0)

    def serve() -> None:
        while (piece := ends[0].recv()) is not None:
            helping.does(piece)

    helping.offered(True)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()

    class Short(Budget):
        """Ends after a few looks."""

        def __init__(self) -> None:
            super().__init__(60)
            self.looks = int(rng.integers(1, 9))
            self.whole = Budget(60)  # of what is not gone on with

        def __call__(self, steps: int = 1) -> None:
            self.looks -= 1
            if self.looks <= 0:
                raise TimeoutError

    for seed in (0, 3, 5):
        asked = task(loop(seed), 0, 8)
        sampled = runs(asked, seed, 8)
        frame = frames(asked.axes.names, sampled)[0]
        alone, other = (kind(asked, frame, 1, 4, sampled) for _ in range(2))
        interrupted, done = 0, False
        with helped(ends[1]):
            while not done:
                try:
                    done = other.advance(Short())
                except TimeoutError:
                    interrupted += 1
        while not alone.advance(Budget(60)):
            pass
        assert interrupted and other.reached() == alone.reached() and other.boxes == alone.boxes
        assert other.step == alone.step
    ends[1].send(None)
    thread.join(10)
