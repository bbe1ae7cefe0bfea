"""Running one stream of subproblems to its end: the first confirmed witness, exhaustion, or a limit."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from time import monotonic

from venmas.bounds.truth import deep_runs
from venmas.budget import Budget, Progress
from venmas.errors import Reason
from venmas.procedures.milp.confirm import Confirmed, Refused, confirm
from venmas.procedures.milp.encoding import Subproblem, Task, encode
from venmas.procedures.milp.encoding.encode import Memory, Stream
from venmas.solvers.milp.program import Feasible, Infeasible, Program, Unknown
from venmas.solvers.programs import Largest, Programs
from venmas.solvers.workers.pool import Done, Job, Mapper

_MARGIN = "margin"


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
        self, mapper: Mapper, budget: Budget, figures: Programs, remember: Callable[[Task], Memory] | None = None
    ) -> None:
        self.mapper, self.budget, self.figures = mapper, budget, figures
        self._remember = remember
        self._memory: Memory | None = None
        self._stream: Stream | None = None
        self._pending: dict[int, Subproblem] = {}

    def steps(self, task: Task, left_box_ends: bool = False) -> Generator[None, None, Result]:
        """Search one task, a step between two looks at the workers. Raises `BudgetError` when a limit is met.

        With `left_box_ends`, a run that leaves the declared box is what is looked for: it ends the search.
        """
        self._memory = None if self._remember is None else self._remember(task)
        stream = encode(task, self.budget, self._memory)
        self._stream, self._pending = stream, {}
        result = Result()
        try:
            answers = self.mapper.map(self._jobs(iter(stream)))
            while True:
                with deep_runs(task.target):
                    done = next(answers, _END)
                if done is _END:
                    break
                self.budget()
                yield
                if not isinstance(done, Done):
                    continue
                self._book(done)
                with deep_runs(task.target):
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

    def progress(self, seconds: float) -> Progress:
        """How far the present stream is."""
        counts, stream = self.figures.subproblems, self._stream
        if stream is None:
            return Progress(counts.created, counts.discarded, counts.solved, 0, self.figures.depth, seconds)
        return Progress(
            counts.created + stream.created,
            counts.discarded + stream.discarded,
            counts.solved,
            self.mapper.in_flight,
            max(self.figures.depth, stream.depth),
            seconds,
            counts.skipped + stream.skipped.total(),
            min(1.0, stream.share),
        )

    def _jobs(self, stream: Iterator[Subproblem | None]) -> Iterator[Job | None]:
        while True:
            begun = monotonic()
            try:
                subproblem = next(stream, _END)
            finally:
                self.figures.encode += monotonic() - begun
            if subproblem is _END:
                return
            if not isinstance(subproblem, Subproblem):
                yield None
                continue
            self._pending[subproblem.number] = subproblem
            _measure(self.figures.largest, subproblem.program)
            yield Job(subproblem.number, subproblem.program)

    def _book(self, done: Done) -> None:
        self.figures.solve += done.seconds
        if done.solver:
            self.figures.answered(done.solver)

    def _judge(self, task: Task, done: Done, result: Result) -> None:
        number = done.job.number
        subproblem = self._pending[number]
        match done.outcome:
            case Feasible():
                begun = monotonic()
                answer = confirm(task.system, task.target, subproblem, done.outcome)
                self.figures.confirm += monotonic() - begun
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
        self.figures.subproblems.solved += 1
        result.solved += 1
        del self._pending[number]

    def _close(self, stream: Stream) -> None:
        counts = self.figures.subproblems
        counts.created += stream.created
        counts.discarded += stream.discarded
        counts.skipped += stream.skipped.total()
        for name in stream.skipped:
            self.figures.answered(name)
        counts.cancelled += len(self._pending)
        self.figures.depth = max(self.figures.depth, stream.depth)
        self._stream = None


_END = object()


def _measure(largest: Largest, program: Program) -> None:
    largest.variables = max(largest.variables, program.variables)
    largest.binaries = max(largest.binaries, program.binaries)
    largest.constraints = max(largest.constraints, program.rows + program.indicators)
