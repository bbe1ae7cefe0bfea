"""The protocol of procedures: what every decision procedure looks like from outside (design section 2b).

A procedure says whether it takes a question, and works on it in sessions that can go on later. It knows neither the
other procedures of a portfolio nor reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

from venmas.answer import Answer, Figures
from venmas.budget import Budget
from venmas.errors import UsageError
from venmas.logic import TRUE, Formula, Linear
from venmas.logic.paths import questioned
from venmas.model.circuit.nodes import Circuit
from venmas.model.expressions.refusals import shortened
from venmas.model.system.system import System
from venmas.nn.network import Semantics
from venmas.question import Question
from venmas.solvers.programs import Programs

if TYPE_CHECKING:
    from venmas.logic.automata.automaton import Automaton

_Made = TypeVar("_Made")
Q_contra = TypeVar("Q_contra", contravariant=True)
_MANY_PATHS = 10_000
Subject: TypeAlias = System | Circuit
"""What questions are about."""


@dataclass(frozen=True, eq=False)
class LinearQuestion:
    """Does every run of a system or circuit from an initial state satisfy a property of LTL (L3 of docs/semantics.md)?

    certified: a proof is to be written down. believed: a solver's word is enough for obligations of a circuit, as
    proofs are made later or not wanted. learner: of ranking functions. anywhere: a proof is to be about the runs from
    every state, not only those from initial ones; violations are runs from initial states all the same.
    """

    subject: Subject
    asked: Linear
    certified: bool = False
    believed: bool = False
    learner: str = "auto"
    anywhere: bool = False
    about: ClassVar[str] = "property"
    semantics: ClassVar[Semantics] = "real"

    @cached_property
    def formula(self) -> Formula:
        """Formula that every run satisfies, fairness put in."""
        return questioned(self.asked.formula, self.asked.fair)

    @cached_property
    def automaton(self) -> Automaton:
        """The automaton of the runs that break the property."""
        from venmas.logic.automata.translate import refuting

        return refuting(self.formula)


Asked: TypeAlias = Question | LinearQuestion


def few_paths(question: Question) -> bool:
    """Are there so few ways through branches that taking them one by one is likely to end?"""
    found: int = len(question.system.branches) ** question.target.depth
    return found <= _MANY_PATHS


@dataclass
class Settings:
    """What the caller chose, as far as procedures look at it.

    workers: processes or threads. solvers: names of those that can be used, in order of preference. trusted: a solver's
    "infeasible" is enough. cluster: address of a Dask scheduler. remember: a memory of refuted paths for a task. tune:
    values of options of procedures that differ from their defaults, by key (`Option.of` reads them). earlier: a
    certificate of such a property, of another system, to begin with.
    """

    workers: int = 1
    solvers: Callable[[], tuple[str, ...]] = tuple
    trusted: bool = False
    cluster: str | None = None
    remember: Callable[[Any], Any] | None = None
    tune: Mapping[str, Any] = field(default_factory=dict)
    earlier: str | None = None


@dataclass(frozen=True)
class Option:
    """An option of procedures that few need: a row of `venmas help tune`, an entry of the argument `tune` of `verify`.

    group, name: its key is ``group.name``, such as ``milp.encoding``. values: texts that it takes; None: what `read`
    says, or where the default is a number, a whole number from 0 on. read: turns a value into that which procedures
    get, and raises `ValueError`, which says what is expected.
    """

    group: str
    name: str
    values: tuple[str, ...] | None
    default: Any
    help: str
    read: Callable[[Any], Any] | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """Name for users."""
        return f"{self.group}.{self.name}"

    def of(self, settings: Settings) -> Any:
        """The value that was chosen, else the default."""
        return settings.tune.get(self.key, self.default)

    def taken(self, value: Any) -> Any:
        """A value as procedures get it. Raises `UsageError`."""
        expected = ", ".join(self.values or ()) or "a whole number from 0 on"
        try:
            if self.read is not None:
                return self.read(value)
            if self.values is None:
                value = int(value) if isinstance(value, str) else value
                fits = isinstance(value, int) and not isinstance(value, bool) and value >= 0
            else:
                fits = isinstance(value, str) and value in self.values
        except ValueError as error:
            fits, expected = False, expected if self.read is None else str(error)
        if not fits:
            raise UsageError(f"{self.key}: expected {expected}; got {shortened(value)}")
        return value


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
    """Work on a question that can be gone on with.

    One that cuts the initial set has a method `remaining`, which says what of it is not refuted (`Remaining`). One has
    `struggling`, a Boolean, where more of the same may look like no end, so that others deserve more time. One has
    `proved`, the part of its work that is done, such as of the initial set that it has refuted, so that it is seen
    whether it may end in time. One has `wait`, seconds of a stage that it leaves to others, where they are likely to
    decide.
    """

    @property
    def figures(self) -> Figures:
        """What was counted so far."""
        ...

    def advance(self, budget: Budget) -> Answer | None:
        """Work until there is an answer, or a part of the work is done; None: go on later.

        Raises `BudgetError` where the budget ends first (the session may be gone on with if `resumable`), and
        `ModelError` where a run leaves the declared box (design S1).
        """
        ...


class Procedure(Protocol[Q_contra]):
    """A published algorithm that decides questions of some kind: of CTL, or (`LinearQuestion`) of LTL.

    One that honours `System.initial_condition` has an attribute `conditions` that is true; others are not given
    questions about a system that has one. One that takes systems that are not piecewise linear (`System.smooth`) has an
    attribute `smooth` that is true; others are not given questions about these either. Nor are they given those whose
    noise may be `chosen`, without an attribute `chooses` that is true. `noisy` is one that draws noise itself
    (`System.disturbances`), for properties without a bound. One of LTL has an attribute `linear` that is true, and is
    given such questions alone. One that can be tuned has an attribute `options`, a tuple of `Option`. One has a method
    `eager`, with the arguments of `accepts`, where some questions are not worth seconds before the main procedure of a
    portfolio makes its first long step. Sessions have a method `leaves` if they can be pickled: are they to go on in
    another process? There, `helped` says that they give pieces of work away; `unwritten` is an answer whose proof is
    not written down so far.
    """

    name: str
    """What users call it: in reports, and as a mode where it is one."""
    help: str
    """One line for people."""

    def accepts(self, question: Q_contra, run: Run) -> str | None:
        """None, or why it does not take the question.

        All procedures of a stage are asked before one works, so that what may take long belongs to `Session.advance`.
        """
        ...

    def start(self, question: Q_contra, run: Run) -> Session:
        """Begin to work on a question that it accepts."""
        ...


def unread(procedure: Procedure[Any], question: Asked) -> str | None:
    """Why a procedure does not take a question that has what it does not read: see `Procedure`."""
    if isinstance(question, LinearQuestion) is not bool(getattr(procedure, "linear", False)):
        return f"it is for formulas of {'CTL' if isinstance(question, LinearQuestion) else 'LTL'}"
    if isinstance(question, LinearQuestion):
        return None
    if question.system.disturbances and not getattr(procedure, "noisy", False):
        return "it is for systems without noise where a formula has no bound"
    if question.system.smooth and not takes_smooth(procedure):
        return f"it is for piecewise linear systems, and {question.system.smooth}"
    if question.chosen and not getattr(procedure, "chooses", False):
        return "it is for what holds under all noise, and what some noise brings about is asked"
    if question.system.initial_condition is TRUE or getattr(procedure, "conditions", False):
        return None
    return "the initial states are those of a condition with too many cases, which it would have to take one by one"


def takes_smooth(procedure: Procedure[Any]) -> bool:
    """Is it given questions about systems that are not piecewise linear?"""
    return bool(getattr(procedure, "smooth", False))
