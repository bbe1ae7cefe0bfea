"""Maps of the initial states of a system: boxes asked one by one, halved while they stay open.

    for round := 0, 1, ..: time := FIRST * 2^round, finest := 4^-round / 32 of each side
        open cells wait in a queue, the largest first; for each
            a state of it is decided, unless one is known: it says which of the two can be true of all
            all of it satisfy the formula -> proved; all of it satisfy its negation -> violated everywhere
            a state of the other kind, time over, or a certificate owed -> halved along its widest side, unless it is
                as fine as that
            (sizes of cells at which most questions run out of time are halved without a question)
    until nothing is open, or nothing can be cut or gain by more time

Every question goes to `venmas.verify`, about the same system with fewer initial states, so that *proved* and *violated*
rest on what its verdicts rest on. What is done depends on the map (and on whether certificates are wanted) alone, so
that a map that is gone on with becomes the one that would have been made at once, as far as time limits decide alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heapify, heappop, heappush
from pathlib import Path
from time import monotonic
from typing import TypeAlias

from venmas.budget import Budget, BudgetError, Progress
from venmas.engine.map.decide import CellWork, Decided, Workers
from venmas.engine.map.start import axes_of, question_digest
from venmas.engine.map.tree import (
    MAX_CELLS,
    MAX_DEPTH,
    MAX_ROUNDS,
    Axis,
    Cell,
    Point,
    Sides,
    StateMap,
    certificate_name,
    cut_of,
    halves,
    holds_in,
    volume,
)
from venmas.errors import Reason, UsageError
from venmas.logic import Formula, Linear, Not
from venmas.model.scenario.source import source_of
from venmas.model.system.given import check_system
from venmas.model.system.system import System
from venmas.question import read_system_property
from venmas.runtime.identity import code_digest
from venmas.solvers.workers.mapper import Job

SECONDS = 60.0
"""Time unless the caller says otherwise."""
MIN_WIDTH = 2.0**-10
"""Part of each side below which nothing is cut, unless the caller says otherwise."""
_FIRST = 0.5
"""Seconds for a question of the first round."""
_TRIES, _AGAIN = 4, 32
"""Questions about cells of a size before most are skipped, where fewer than one in so many settles anything; one in so
many is asked then."""
_MANY = 4096
"""Waiting cells from which on none is skipped, lest there be more and more of them."""
_KEEP, _KEEP_PART = 10.0, 20.0
"""Seconds after which unfinished work is kept, and how many times longer than keeping it takes."""

Keep: TypeAlias = Callable[[StateMap], None]
_Waiting: TypeAlias = tuple[Fraction, tuple[int, ...], Cell, Sides]


def map_states(
    system: System,
    formula: str | Formula,
    *,
    timeout: float | None = SECONDS,
    memory: int | None = None,
    min_width: float = MIN_WIDTH,
    questions: int | None = None,
    workers: int = 1,
    resume: StateMap | None = None,
    keep: Keep | None = None,
    certificates: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> StateMap:
    """Map of the initial states of `system`: proved, violated and open boxes for a formula of CTL.

    formula: text, the name of a property, or a formula. timeout: seconds, None for no limit. memory: MB of all
    processes. min_width: part of each side of the initial box below which nothing is cut. questions: stop once so many
    were asked. workers: processes that decide cells. resume: a map of the same system and formula, which is gone on
    with (and changed). keep: called with the unfinished map every ten seconds or so. certificates: folder in which each
    decided cell gets one of the system that starts in it (`tree.certificate_name`). progress: called a few times a
    second; its `share` is the part of the volume that is decided.

    A limit, or Ctrl-C, leaves the map as it is by then, with its reason. Raises `UsageError` for initial states that
    are no box and for a map of another question, `FormulaError`, and `ModelError`, also where a run leaves the declared
    range of a variable.
    """
    check_system(system, "map_states")
    if not 0 < min_width <= 1:
        raise UsageError(f"min_width is a part of a side, above 0 and at most 1; got {min_width!r}")
    if not isinstance(workers, int) or workers < 1:
        raise UsageError(f"workers is a number of processes from 1 on; got {workers!r}")
    system.validate()
    system.check_nesting()
    work = _Work(system, formula, Budget(timeout, memory, progress), min_width, questions, resume, keep, workers)
    work.certificates = None if certificates is None else Path(certificates)
    try:
        work.run()
    except BudgetError as stop:
        work.stop(stop.reason, stop.message)
    except KeyboardInterrupt:
        work.stop(Reason.INTERRUPTED, "interrupted before everything was decided")
    finally:
        work.workers.close()
    work.map.seconds += work.budget.spent
    return work.map


class _Size:
    """Luck with cells of a size: where few questions settle anything, most cells are halved without one."""

    def __init__(self) -> None:
        self.seen = self.tries = self.settled = 0

    def promising(self) -> bool:
        """Is the next cell worth a question?"""
        self.seen += 1
        return self.tries < _TRIES or self.settled * _TRIES >= self.tries or self.seen % _AGAIN == 0

    def note(self, settled: bool) -> None:
        """A question was asked."""
        self.tries += 1
        self.settled += settled


@dataclass
class _Round:
    """A pass: seconds for a question, the width down to which cells are cut, cells that wait, and those that are asked.

    sizes: luck by number of cuts. more: could another round gain anything?
    """

    seconds: float
    finest: Fraction
    waiting: list[_Waiting]
    pending: dict[int, _Waiting] = field(default_factory=dict)
    sizes: defaultdict[int, _Size] = field(default_factory=lambda: defaultdict(_Size))
    more: bool = False


class _Work:
    """One stretch of work at a map."""

    certificates: Path | None = None
    """Folder of certificates, where they are wanted."""

    def __init__(
        self,
        system: System,
        formula: str | Formula,
        budget: Budget,
        min_width: float,
        questions: int | None,
        resume: StateMap | None,
        keep: Keep | None,
        workers: int,
    ) -> None:
        given = read_system_property(system, formula)
        if isinstance(given, Linear):
            raise UsageError(
                "a map is of formulas of CTL, which a state satisfies or violates; this one is of LTL, about single "
                "runs: write it with A or E before each operator"
            )
        self.system, self.formula, self.budget, self.keep = system, given.formula, budget, keep
        self.min_width, self.questions = Fraction(min_width), questions
        self.negation: Formula | None = Not(given.formula)
        axes, digest = axes_of(system), question_digest(system, given.formula)
        source = source_of(system)
        name, parameters = (source.name, source.parameters) if source else (system.name, {})
        if resume is None:
            resume = StateMap(name, str(given.formula), digest, code_digest(), axes, parameters=dict(parameters))
        check_same(resume, digest, axes)
        self.map = resume
        resume.scenario, resume.formula, resume.parameters = name, str(given.formula), dict(parameters)
        self.map.reason = self.map.message = self.map.note = ""
        self.done = sum(float(share) for status, share in resume.shares().items() if status != "open")
        self.cells = sum(1 for _ in resume.walk())
        self.number, self.workers = 0, Workers(workers, budget)
        self.kept, self.every = monotonic(), _KEEP
        budget.describe = self._progress

    def stop(self, reason: Reason, message: str) -> None:
        self.map.reason, self.map.message = reason.value, message

    def run(self) -> None:
        """Rounds until nothing changes any more."""
        while self.map.rounds < MAX_ROUNDS and self._round(
            _FIRST * 2.0**self.map.rounds, max(self.min_width, Fraction(1, 32 * 4**self.map.rounds))
        ):
            self.map.rounds += 1

    def _round(self, seconds: float, finest: Fraction) -> bool:
        """One pass over the open cells; False where another one could gain nothing: neither cuts nor time help."""
        places = [item for item in self.map.walk() if item[0].cut is None and item[0].status == "open"]
        work = _Round(seconds, finest, [self._place(*item) for item in places])
        heapify(work.waiting)
        for number, outcome in self.workers.answers(self._jobs(work)):
            item = work.pending.pop(number)
            self._take(item, outcome, work)
            work.sizes[len(item[1])].note(item[2].status != "open" or item[2].mixed)
            self._divide(item, work)
        return work.more

    def _jobs(self, work: _Round) -> Iterator[Job | None]:
        """Cells to ask about; None where others have to be answered first."""
        while work.waiting or work.pending:
            self.budget()
            self._keep_now()
            if not work.waiting:
                yield None
                continue
            item = heappop(work.waiting)
            _, place, cell, box = item
            due = not cell.mixed and cell.seconds < work.seconds
            last = self._cut(box, self.min_width, len(place)) is None
            if due and (last or len(work.waiting) > _MANY or work.sizes[len(place)].promising()):
                if self.questions is not None and self.map.questions >= self.questions:
                    raise BudgetError(self.budget, Reason.OPEN, f"{self.map.questions} questions were asked")
                self.number += 1
                work.pending[self.number] = item
                yield Job(self.number, self._cell_work(cell, box, place, work.seconds))
            else:
                self._divide(item, work)

    def _cell_work(self, cell: Cell, box: Sides, place: tuple[int, ...], seconds: float) -> CellWork:
        here = self.workers.here
        memory, tick = (self.budget.memory_mb, self._tick) if here else (None, None)
        given = (self.system, self.formula, self.negation, self.map.axes, box, cell.holds, cell.breaks)
        certificate = None if self.certificates is None else self.certificates / certificate_name(place)
        return CellWork(*given, seconds, memory, tick, certificate)

    def _take(self, item: _Waiting, outcome: Decided, work: _Round) -> None:
        """Note what came out. Raises `BudgetError`, `KeyboardInterrupt`, and what is wrong with the model."""
        _, place, cell, box = item
        self.map.questions += outcome.questions
        if outcome.fault is not None:
            raise outcome.fault
        cell.holds, cell.breaks = outcome.holds, outcome.breaks
        divisible = self._cut(box, work.finest, len(place)) is not None
        owed = self.certificates is not None and not outcome.certificate and divisible
        if outcome.status != "open" and not owed:
            cell.by, cell.basis, cell.holds, cell.breaks = outcome.by, outcome.basis, None, None
            cell.certificate = outcome.certificate
            cell.status = outcome.status
        elif outcome.full:
            cell.seconds = work.seconds
        work.more |= outcome.late
        if outcome.note:
            self.negation, self.map.note = None, outcome.note
        if outcome.reason == Reason.INTERRUPTED:
            raise KeyboardInterrupt
        if outcome.reason:
            raise BudgetError(self.budget, Reason(outcome.reason), outcome.message)

    def _divide(self, item: _Waiting, work: _Round) -> None:
        """Halve an open cell, if it is not as fine as the round is."""
        _, place, cell, box = item
        if cell.status != "open":
            self.done += float(volume(self.map.axes, box))
            return
        work.more |= self._cut(box, self.min_width, len(place)) is not None
        where = self._cut(box, work.finest, len(place))
        if where is not None:
            for side, (part, sides) in enumerate(self._halved(cell, box, *where)):
                heappush(work.waiting, self._place(part, sides, (*place, side)))

    def _place(self, cell: Cell, box: Sides, place: tuple[int, ...]) -> _Waiting:
        return -volume(self.map.axes, box), place, cell, box

    def _cut(self, box: Sides, finest: Fraction, depth: int) -> tuple[int, Fraction] | None:
        """Axis and place of the next cut: the side that is the largest part of its axis; None where all are fine."""
        if self.cells + 2 > MAX_CELLS or depth == MAX_DEPTH:
            return None
        parts = [
            ((high - low) / (axis.high - axis.low), -i)
            for i, (axis, (low, high)) in enumerate(zip(self.map.axes, box, strict=True))
            if low < high
        ]
        for part, i in sorted(parts, reverse=True):
            axis = self.map.axes[-i]
            if part >= 2 * finest or (axis.integral and axis.high - axis.low <= 1 / finest):
                where = cut_of(box[-i], axis.integral)
                if where is not None:
                    return -i, where
        return None

    def _halved(self, cell: Cell, box: Sides, axis: int, where: Fraction) -> list[tuple[Cell, Sides]]:
        """The two parts of a cell, each with what is known of its states."""
        sides = halves(box, axis, where, self.map.axes[axis].integral)
        parts = [Cell(holds=_inside(part, cell.holds), breaks=_inside(part, cell.breaks)) for part in sides]
        cell.cut = axis, where, parts[0], parts[1]
        self.cells += 2
        return list(zip(parts, sides, strict=True))

    # -- what others hear ----------------------------------------------------------------------------------------------

    def _tick(self, _of_question: Progress) -> None:
        if self.budget.progress is not None:
            self.budget.progress(self._progress(self.budget.spent))

    def _progress(self, seconds: float) -> Progress:
        return Progress(self.map.questions, 0, self.map.questions, 0, self.map.rounds, seconds, 0, min(1.0, self.done))

    def _keep_now(self) -> None:
        if self.keep is not None and monotonic() - self.kept > self.every:
            begun = monotonic()
            self.keep(self.map)
            self.kept = monotonic()
            self.every = max(_KEEP, _KEEP_PART * (self.kept - begun))


def check_same(stored: StateMap, question: str, axes: tuple[Axis, ...]) -> None:
    """Raises `UsageError` where a map is of another system, formula or VenMAS."""
    if stored.question != question:
        raise UsageError(
            f"the stored map is of scenario {stored.scenario} and {stored.formula[:200]}, with other parameters, "
            "networks or another formula: ask the same question, or name a new file"
        )
    if stored.axes != axes:
        raise UsageError("the stored map has other intervals than the initial states: it was edited; name a new file")
    if stored.code != code_digest():
        raise UsageError(
            f"the stored map was made by another VenMAS ({stored.venmas}), whose proofs are not mixed with those of "
            "this one: name a new file"
        )


def _inside(box: Sides, point: Point | None) -> Point | None:
    return point if point is not None and holds_in(box, point) else None
