"""The protocol of procedures: what every decision procedure looks like from outside (design section 2b).

A procedure says whether it takes a question, and works on it in sessions that can go on later. It knows neither the
other procedures of a portfolio nor reports.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, TypeVar

from venmas.answer import Answer, Figures
from venmas.budget import Budget
from venmas.logic import TRUE
from venmas.model.system.system import System
from venmas.model.transform.cone import Cones
from venmas.question import Question
from venmas.solvers.programs import Programs

_Made = TypeVar("_Made")
_MANY_PATHS = 10_000


def few_paths(question: Question) -> bool:
    """Are there so few ways through branches that taking them one by one is likely to end?"""
    found: int = len(question.system.branches) ** question.target.depth
    return found <= _MANY_PATHS


@dataclass
class Settings:
    """What the caller chose, as far as procedures look at it.

    workers: processes or threads. solvers: names of those that can be used, in order of preference. trusted: a solver's
    "infeasible" is enough. encoding, bounds: of programs. isolated: solve in worker processes. cluster: address of a
    Dask scheduler. remember: a memory of refuted paths for a task. refinement: choices about predicate abstraction.
    """

    workers: int = 1
    solvers: Callable[[], tuple[str, ...]] = tuple
    trusted: bool = False
    encoding: Any = "big-m"
    bounds: str = "symbolic"
    isolated: bool = True
    cluster: str | None = None
    remember: Callable[[Any], Any] | None = None
    refinement: Any = None


@dataclass
class Run:
    """What the sessions of one verification share: the settings, and things that are made once for all of them."""

    settings: Settings = field(default_factory=Settings)
    programs: Programs = field(default_factory=Programs)
    """What solving programs comes to, all questions of the verification together."""
    decide: Callable[[Question, Budget], Answer] | None = None
    """Answers a bounded question, also of other initial sets, for a procedure that needs it; raises `BudgetError`."""
    derive: Callable[[Question, Budget], Answer] | None = None
    """The same with programs solved in this process, for a procedure that asks many small ones."""
    _made: dict[object, object] = field(default_factory=dict)
    _narrow: dict[object, Question] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    def once(self, key: object, make: Callable[[], AbstractContextManager[_Made]]) -> _Made:
        """What `make` gave when it was first asked for; it is closed with the run."""
        if key not in self._made:
            self._made[key] = self._stack.enter_context(make())
        return self._made[key]  # type: ignore[return-value]

    def cones(self, system: System) -> Cones:
        """The cones of influence of a system."""
        return self.once(("cones", system), lambda: nullcontext(Cones(system)))

    def narrow(self, question: Question, smaller: Question) -> None:
        """Note a question that has the same answer, about the part of the initial set that is still open."""
        self._narrow[question.system, question.target] = smaller

    def narrowed(self, question: Question) -> Question:
        """The smaller question where one was noted, else the question itself."""
        return self._narrow.get((question.system, question.target), question)

    def made(self, key: object) -> Any:
        """What was made under the key, None where nothing was."""
        return self._made.get(key)

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._made.clear()
        self._stack.__exit__(kind, error, trace)


class Session(Protocol):
    """Work on a question that can be gone on with."""

    @property
    def figures(self) -> Figures:
        """What was counted so far."""
        ...

    @property
    def struggling(self) -> bool:
        """Does more of the same look like no end, so that other procedures deserve more time?"""
        ...

    def advance(self, budget: Budget) -> Answer | None:
        """Work until there is an answer, or a part of the work is done; None: go on later.

        Raises `BudgetError` where the budget ends first (the session may be gone on with if `resumable`), and
        `ModelError` where a run leaves the declared box (design S1).
        """
        ...


class Procedure(Protocol):
    """A published algorithm that decides questions of some kind.

    One that honours `System.initial_condition` has an attribute `conditions` that is true; others are not given
    questions about a system that has one. One that takes systems that are not piecewise linear (`System.smooth`) has an
    attribute `smooth` that is true; others are not given questions about these either. So has `noisy` one that draws
    noise itself (`System.disturbances`), for properties without a bound.
    """

    name: str
    """What users call it: in reports, and as a mode where it is one."""
    help: str
    """One line for people."""

    def accepts(self, question: Question, run: Run) -> str | None:
        """None, or why it does not take the question.

        All procedures of a stage are asked before one works, so that what may take long belongs to `Session.advance`.
        """
        ...

    def eager(self, question: Question, run: Run) -> bool:
        """Is it worth some seconds before the main procedure of a portfolio makes its first long step?"""
        ...

    def start(self, question: Question, run: Run) -> Session:
        """Begin to work on a question that it accepts."""
        ...


def unread(procedure: Procedure, question: Question) -> str | None:
    """Why a procedure does not take a question that has what it does not read: see `Procedure`."""
    if question.system.disturbances and not getattr(procedure, "noisy", False):
        return "it is for systems without noise where a formula has no bound"
    if question.system.smooth and not takes_smooth(procedure):
        return f"it is for piecewise linear systems, and {question.system.smooth}"
    if question.system.initial_condition is TRUE or getattr(procedure, "conditions", False):
        return None
    return "the initial states are those of a condition with too many cases, which it would have to take one by one"


def takes_smooth(procedure: Procedure) -> bool:
    """Is it given questions about systems that are not piecewise linear?"""
    return bool(getattr(procedure, "smooth", False))
