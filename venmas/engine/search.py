"""Running one stream of subproblems to its end: the first confirmed witness, exhaustion, or a limit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

from venmas.encoding import Subproblem, Task, encode
from venmas.encoding.encode import Memory, Stream
from venmas.engine.confirm import Confirmed, Refused, confirm
from venmas.engine.report import Counts, Largest, Report
from venmas.errors import Reason, VenmasError
from venmas.milp.program import Feasible, Infeasible, Program, Unknown
from venmas.workers.pool import Done, Job, Mapper

_MARGIN = "margin"
_FRAMES = 100
"""Calls on the stack for one step of a run, at most."""


class StopSearchError(VenmasError):
    """A limit was met."""

    def __init__(self, reason: Reason, message: str) -> None:
        self.reason, self.message = reason, message
        super().__init__(message)


@dataclass(frozen=True)
class Progress:
    """What a long run tells while it runs."""

    created: int
    discarded: int
    solved: int
    in_flight: int
    depth: int
    seconds: float
    skipped: int = 0
    """Of those created, how many a journal knew."""
    share: float = 0.0
    """Part of the tree of choices that was walked through, between 0 and 1; 0 where that is not known."""


@dataclass
class Result:
    """How a search ended: a witness, or what was left undecided (nothing: then the target can not be met)."""

    found: Confirmed | None = None
    undecided: list[Unknown] = field(default_factory=list)
    left_box: str = ""
    inconclusive: int = 0
    solved: int = 0
    may_leave_box: set[str] = field(default_factory=set)
    may_deadlock: bool = False


class Search:
    """Maps streams of subproblems over a mapper and keeps the books; one verification may run several."""

    def __init__(
        self,
        mapper: Mapper,
        deadline: float | None,
        report: Report,
        progress: Callable[[Progress], None] | None,
        remember: Callable[[Task], Memory] | None = None,
    ) -> None:
        self.mapper, self.deadline, self.report, self.progress = mapper, deadline, report, progress
        self._remember = remember
        self._memory: Memory | None = None
        self.started = monotonic()
        self._stream: Stream | None = None
        self._shown = 0.0
        self._pending: dict[int, Subproblem] = {}

    def run(self, task: Task, left_box_ends: bool = False) -> Result:
        """Search one task. Raises `StopSearchError` at the deadline.

        With `left_box_ends`, a run that leaves the declared box is what is looked for: it ends the search.
        """
        self._memory = None if self._remember is None else self._remember(task)
        stream = encode(task, self.tick, self._memory)
        self._stream, self._pending = stream, {}
        result = Result()
        try:
            with deep_runs(task):
                for done in self.mapper.map(self._jobs(iter(stream))):
                    self.tick()
                    if done is None:
                        continue
                    self._book(done)
                    self._judge(task, done, result)
                    if result.found is not None or (left_box_ends and result.left_box):
                        break
        finally:
            self._close(stream)
        result.solved += stream.skipped.total()
        for found in stream.findings:
            result.may_leave_box |= found.may_leave_box
            result.may_deadlock |= found.may_deadlock
        return result

    def tick(self) -> None:
        """Between two steps of the work: show progress, keep the deadline."""
        now = monotonic()
        if self.deadline is not None and now > self.deadline:
            raise StopSearchError(Reason.TIME, "the time limit was reached")
        if self.progress is not None and now - self._shown > 0.1 and self._stream is not None:
            self._shown = now
            counts, stream = self.report.subproblems, self._stream
            self.progress(
                Progress(
                    counts.created + stream.created,
                    counts.discarded + stream.discarded,
                    counts.solved,
                    self.mapper.in_flight,
                    max(self.report.depth, stream.depth),
                    now - self.started,
                    counts.skipped + stream.skipped.total(),
                    min(1.0, stream.share),
                )
            )

    def _jobs(self, stream: Iterator[Subproblem | None]) -> Iterator[Job | None]:
        while True:
            begun = monotonic()
            try:
                subproblem = next(stream, _END)
            finally:
                self.report.seconds.encode += monotonic() - begun
            if subproblem is _END:
                return
            if not isinstance(subproblem, Subproblem):
                yield None
                continue
            self._pending[subproblem.number] = subproblem
            _measure(self.report.largest_program, subproblem.program)
            yield Job(subproblem.number, subproblem.program)

    def _book(self, done: Done) -> None:
        self.report.seconds.solve += done.seconds
        if done.solver:
            self.report.solvers.setdefault(done.solver, "")

    def _judge(self, task: Task, done: Done, result: Result) -> None:
        number = done.job.number
        subproblem = self._pending[number]
        match done.outcome:
            case Feasible():
                begun = monotonic()
                answer = confirm(task.system, task.target, subproblem, done.outcome)
                self.report.seconds.replay += monotonic() - begun
                if isinstance(answer, Refused) and not answer.left_box and done.job.attempt != _MARGIN:
                    self.mapper.put_first(Job(number, subproblem.with_margin(), _MARGIN))
                    return
                if isinstance(answer, Confirmed):
                    result.found = answer
                elif answer.left_box:
                    result.left_box = answer.message
                    result.undecided.append(Unknown(Reason.TOLERANCE, answer.message))
                else:
                    result.inconclusive += 1
                    result.undecided.append(Unknown(Reason.TOLERANCE, answer.message))
            case Infeasible() if done.job.attempt == _MARGIN:
                # the same program with more freedom had a point before: neither answer is a proof
                message = "the solver found a point of a program, then none when asked for one off the boundary"
                result.inconclusive += 1
                result.undecided.append(Unknown(Reason.TOLERANCE, message))
            case Infeasible() if self._memory is not None and subproblem.path:
                self._memory.keep(subproblem.path, done.solver)
            case Unknown():
                result.undecided.append(done.outcome)
        self.report.subproblems.solved += 1
        result.solved += 1
        del self._pending[number]

    def _close(self, stream: Stream) -> None:
        counts: Counts = self.report.subproblems
        counts.created += stream.created
        counts.discarded += stream.discarded
        counts.skipped += stream.skipped.total()
        for name in stream.skipped:
            self.report.solvers.setdefault(name, "")
        counts.cancelled += len(self._pending)
        self.report.depth = max(self.report.depth, stream.depth)
        self._stream = None


@contextmanager
def deep_runs(task: Task) -> Iterator[None]:
    """Room on the stack: bounds, forms and terms of a state are made from those of the state before it."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, 2000 + _FRAMES * task.target.depth))
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


_END = object()


def _measure(largest: Largest, program: Program) -> None:
    largest.variables = max(largest.variables, program.variables)
    largest.binaries = max(largest.binaries, program.binaries)
    largest.constraints = max(largest.constraints, program.rows + program.indicators)
