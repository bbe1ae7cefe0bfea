"""Mixed-integer programming: the monolithic and the compositional algorithm of the paper (Algorithms 1 and 2).

monolithic:     encode the negated formula as one program; a solver looks for a point
compositional:  walk the tree of branches and operands depth first; each path is a program of its own,
                solved by one worker after the other or by a pool, until the first point
a point near which an exact initial state meets the negated formula is a witness             (`confirm`)
no program has a point: proved, by the solver's word, or by bounds where none was left      (`stream`)
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from venmas.answer import Answer, Proved, Unknown, Violated
from venmas.budget import Budget, BudgetError
from venmas.errors import ModelError, Reason
from venmas.procedure import Option, Run, Settings
from venmas.procedures.milp.encoding import Strategy, Task
from venmas.procedures.milp.settings import BOUND_METHOD, ENCODING, ISOLATED, OPTIONS
from venmas.procedures.milp.stream import Result, Search
from venmas.question import Question
from venmas.solvers.milp.program import NotFiniteError
from venmas.solvers.programs import Programs
from venmas.solvers.workers.pool import MemoryLimitError, Pool, Serial, WorkerError

if TYPE_CHECKING:
    from venmas.solvers.cluster.mapper import Cluster

_SEVERITY = (
    Reason.INTERRUPTED,
    Reason.MEMORY,
    Reason.TIME,
    Reason.LICENCE,
    Reason.FAILURE,
    Reason.UNBOUNDED,
    Reason.TOLERANCE,
)


@dataclass(frozen=True)
class Programming:
    """The procedure; `pooled`: many programs at a time."""

    name: str
    help: str
    strategy: Strategy
    pooled: bool = False
    options: ClassVar[tuple[Option, ...]] = OPTIONS

    def accepts(self, question: Question, run: Run) -> str | None:
        """Every question, where there is a solver; nothing of float32 where no proof follows."""
        if question.semantics != "real" and not run.settings.trusted:
            return "programs are about real networks"
        return None if run.settings.solvers() else "no solver can be used"

    def eager(self, question: Question, run: Run) -> bool:
        """After others."""
        return False

    def start(self, question: Question, run: Run) -> _Session:
        """Nothing is done yet."""
        left = run.narrowed(question)
        return _Session(left, run, self, run.programs, narrowed=left is not question)


class _Session:
    """narrowed: is the question about what another procedure left open?"""

    def __init__(self, question: Question, run: Run, kind: Programming, figures: Programs, narrowed: bool) -> None:
        self.question, self.run, self.kind, self.figures = question, run, kind, figures
        self.narrowed = narrowed
        self._steps: Generator[None, None, Answer] | None = None
        self.task = task_of(question, kind.strategy, run.settings)

    def advance(self, budget: Budget) -> Answer | None:
        """Solve programs to the end, or until a share of the time is over: programs in work go on meanwhile."""
        if self._steps is None:
            self._steps = self._run(budget.whole)
        try:
            # bounds beyond the largest float are infinite, which says nothing and is no error
            with np.errstate(over="ignore", invalid="ignore"):
                while True:
                    next(self._steps)
                    if budget.over and budget is not budget.whole:
                        return None
        except StopIteration as end:
            answer: Answer = end.value
            return answer
        except (OverflowError, NotFiniteError) as error:
            return Unknown(Reason.TOLERANCE, f"numbers arise that are too large for floats: {error}")
        except MemoryLimitError as error:
            raise BudgetError(budget.root, Reason.MEMORY, str(error)) from error
        except WorkerError as error:
            raise BudgetError(budget.root, Reason.FAILURE, str(error)) from error
        finally:
            self._measure()

    def _run(self, budget: Budget) -> Generator[None, None, Answer]:
        mapper = self.run.once("mapper", lambda: _closing(_mapper(self.kind, self.run.settings, budget)))
        search = Search(mapper, budget, self.figures, self.run.settings.remember)
        budget.root.describe = search.progress
        ends = self.question.about == "box"
        result = yield from search.steps(self.task, left_box_ends=ends)
        if result.found is None and result.inconclusive and self.task.strategy == "monolithic":
            # a point that does not replay says nothing: ask again path by path, where exact bounds decide more
            self.figures.notes.append("the monolithic program was inconclusive; decided compositionally")
            result = yield from search.steps(replace(self.task, strategy="compositional"), left_box_ends=ends)
        if ends and result.left_box:
            raise ModelError(result.left_box)
        return self._answer(result)

    def _answer(self, result: Result) -> Answer:
        if result.found is not None:
            return Violated(result.found.witness)
        leaving = frozenset(result.may_leave_box)
        if result.left_box and not leaving:
            leaving = frozenset(self.question.system.variables)
        if result.undecided:
            worst = min(result.undecided, key=lambda u: _SEVERITY.index(u.reason))
            return Unknown(worst.reason, f"{worst.message} ({len(result.undecided)} subproblems undecided)", leaving)
        may_deadlock = result.may_deadlock
        if self.narrowed:  # of runs from the rest nobody asked here whether they leave the box, or end
            leaving, may_deadlock = frozenset(self.question.system.variables), self.question.system.may_deadlock
        return Proved("solver" if result.solved else "bounds", leaving, may_deadlock)

    def _measure(self) -> None:
        mapper = self.run.made("mapper")
        if mapper is not None:
            self.figures.peak_mb = mapper.peak_rss_mb
            if self.run.settings.cluster is not None:
                self.figures.workers = mapper.threads


@contextmanager
def _closing(mapper: Pool | Serial | Cluster) -> Iterator[Pool | Serial | Cluster]:
    with mapper:
        yield mapper


def _mapper(kind: Programming, settings: Settings, budget: Budget) -> Pool | Serial | Cluster:
    deadline = None if budget.left is None else budget.deadline
    if settings.cluster is not None:
        from venmas.solvers.cluster.mapper import Cluster

        ahead, at_once = (1, None) if kind.pooled else (0, 1)
        return Cluster(settings.solvers(), deadline, budget.memory_mb, settings.cluster, ahead=ahead, at_once=at_once)
    if ISOLATED.of(settings) == "on" or kind.pooled:
        workers = settings.workers if kind.pooled else 1
        return Pool(settings.solvers(), deadline, budget.memory_mb, workers=workers, ahead=1 if kind.pooled else 0)
    return Serial(settings.solvers(), deadline, budget.memory_mb)


MONO = Programming("mono", "One program for the whole formula (paper, Algorithm 1).", "monolithic")
COMP_SEQ = Programming("comp-seq", "Many small programs in turn (paper, Algorithm 2).", "compositional")
COMP_PAR = Programming("comp-par", "Many small programs on several cores.", "compositional", pooled=True)


def task_of(question: Question, strategy: Strategy, settings: Settings) -> Task:
    """Encoding of a question."""
    return Task(question.system, question.target, strategy, ENCODING.of(settings), BOUND_METHOD.of(settings))


def strategy_of(name: str) -> Strategy | None:
    """How the procedure of that name makes programs, None where it makes none."""
    return {kind.name: kind.strategy for kind in (MONO, COMP_SEQ, COMP_PAR)}.get(name)
