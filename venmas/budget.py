"""The budget of a procedure: deadline, memory, progress; the only clock (design section 2b).

A budget is asked (`budget()`) between any two steps of work whose number the input decides. It raises `BudgetError`
when a limit is met, so that loops stay loops however deep they are; whoever gave a part of a budget away (`within`,
`spend`) meets the end of that part only, and the end of the whole goes on to whoever owns the whole. Ctrl-C is Python's
own `KeyboardInterrupt`.

Code too deep below the engine to be handed a budget calls `ask`, which looks at the budget of the block that it runs in
(`limited`). What is interrupted there is not gone on with: it has to be the last limit of a piece of work, while shares
of the time, after which work goes on where it was left, are asked for by whoever was handed them. The block belongs to
the context (`contextvars`), so that runs in several threads keep to their own limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf, isnan
from numbers import Real
from time import monotonic
from typing import TypeVar

from venmas.errors import Reason, UsageError, VenmasError
from venmas.runtime.memory import own_resident_mb, peak_mb

_LOOK = 0.1
"""Seconds between two looks at the memory, and between two reports of progress."""

_Found = TypeVar("_Found")
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Progress:
    """What a long run tells while it runs.

    created, discarded, solved, in_flight: subproblems. depth: steps from the initial states, or
    pieces of work for procedures that make no subproblems. skipped: of those created, how many a journal knew. share:
    part of the tree of choices that was walked through, in [0, 1]; 0 where that is not known.
    """

    created: int
    discarded: int
    solved: int
    in_flight: int
    depth: int
    seconds: float
    skipped: int = 0
    share: float = 0.0


class BudgetError(VenmasError):
    """A limit of `budget` is met: `reason` says which one."""

    def __init__(self, budget: Budget, reason: Reason, message: str) -> None:
        self.budget, self.reason, self.message = budget, reason, message
        super().__init__(message)


class Budget:
    """Deadline, memory limit and progress of some work.

    seconds: from now to the deadline, None for none. memory_mb: of this process, MB. progress: called a few times a
    second. part: of another one.
    """

    def __init__(
        self,
        seconds: float | None = None,
        memory_mb: int | None = None,
        progress: Callable[[Progress], None] | None = None,
        part: bool = False,
    ) -> None:
        check_limit("timeout", seconds, "seconds")
        check_limit("memory", memory_mb, "MB")
        self.begun = monotonic()
        self.deadline = inf if seconds is None else self.begun + seconds
        self.memory_mb, self.progress = memory_mb, progress
        self.parent: Budget | None = None
        self.root = self.whole = self
        """The budget of the verification, and the one that this is only a share of: work that cannot stop in the middle
        of a step keeps to the latter."""
        self.describe: Callable[[float], Progress] = self._steps
        """Makes the progress of the whole from the seconds so far; whoever works may set another one."""
        self.watch: Callable[[], None] | None = None
        """Looks, when the whole does, whether this work is still asked for; raises the `BudgetError` that ends it."""
        self.steps, self._shown = 0, 0.0
        self._seen, self._before = 0.0, 0.0 if part else peak_mb()

    @property
    def left(self) -> float | None:
        """Seconds to the deadline, None without one."""
        return None if self.deadline == inf else self.deadline - monotonic()

    @property
    def spent(self) -> float:
        """Seconds since the whole budget was given."""
        return monotonic() - self.root.begun

    @property
    def peak_mb(self) -> float:
        """Largest resident memory of this process, and of its workers, since the whole budget was given.

        Exact where it is the largest of the process so far; else the largest that was seen.
        """
        root, largest = self.root, peak_mb()
        return max(root._seen, largest if largest > root._before else own_resident_mb())

    def saw(self, used_mb: float) -> None:
        """Take note of what this process and its workers held together."""
        self.root._seen = max(self.root._seen, used_mb)

    @property
    def room_mb(self) -> float:
        """Memory that may still be taken."""
        return inf if self.memory_mb is None else self.memory_mb - own_resident_mb()

    def within(self, seconds: float | None) -> Budget:
        """A part that ends after so many seconds (None: with the whole)."""
        part = Budget(seconds, part=True)
        part.deadline = min(part.deadline, self.deadline)
        part.parent, part.root, part.memory_mb = self, self.root, self.memory_mb
        return part

    @property
    def over(self) -> bool:
        """Is the time over?"""
        return monotonic() > self.deadline

    def spend(self, seconds: float, work: Callable[[Budget], _Found]) -> _Found | None:
        """What `work` returns when given a part of the time; None where the part was not enough."""
        if seconds <= 0:
            return None
        part = self.within(seconds)
        part.whole = self.whole
        try:
            return work(part)
        except BudgetError as error:
            if error.budget is not part:
                raise
            return None

    def wait_for(self, seconds: float) -> None:
        """Raise `BudgetError` where this is a share of the time that ends sooner than in so many seconds: work that
        takes so long, and cannot stop in the middle, waits for a larger one."""
        end, over = monotonic() + seconds, self
        if over is self.whole or end <= over.deadline:
            return
        while over.parent is not None and over.parent is not self.whole and end > over.parent.deadline:
            over = over.parent
        raise BudgetError(over, Reason.TIME, "the time limit comes before the end of the next step")

    def __call__(self) -> None:
        """Raise `BudgetError` when a limit is met."""
        root, now = self.root, monotonic()
        root.steps += 1
        if now > self.deadline:
            over = self
            while over.parent is not None and now > over.parent.deadline:
                over = over.parent
            raise BudgetError(over, Reason.TIME, "the time limit was reached")
        if now - root._shown >= _LOOK:
            root._look(now)

    def _steps(self, seconds: float) -> Progress:
        return Progress(0, 0, 0, 0, self.steps, seconds)

    def _look(self, now: float) -> None:
        self._shown = now
        used = own_resident_mb()
        self.saw(used)
        if self.memory_mb is not None and used > self.memory_mb:
            raise BudgetError(self, Reason.MEMORY, f"the memory limit of {self.memory_mb} MB was reached")
        if self.progress is not None:
            self.progress(self.describe(now - self.begun))
            self._shown += 10 * (monotonic() - now)  # whoever is slow to show it is told less often: the work goes on
        if self.watch is not None:
            self.watch()


_ambient: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def limited(budget: Budget) -> Iterator[None]:
    """Have `ask` look at this budget within the block."""
    token = _ambient.set(budget)
    try:
        yield
    finally:
        _ambient.reset(token)


def ask() -> None:
    """Raise `BudgetError` where a limit of the block is met; in every loop that may be long. 0.2 microseconds."""
    budget = _ambient.get()
    if budget is not None and ((now := monotonic()) > budget.deadline or now - budget.root._shown >= _LOOK):
        budget()


def room_mb() -> float:
    """Memory that the block may still take: what needs more is not begun, but left to others."""
    budget = _ambient.get()
    return inf if budget is None else budget.room_mb


def asking(items: Iterable[_Item]) -> Iterator[_Item]:
    """The items, with a look at the limit before each: for comprehensions whose items take long."""
    for item in items:
        ask()
        yield item


class Shares:
    """Who may take how much of the time: a ledger of parts of the time since it was opened.

    parts: by name, the part of the time so far that each may take. least: seconds that each may take beyond its part.
    """

    def __init__(self, parts: Mapping[str, float], least: float = 0.1) -> None:
        self._begun, self._least = monotonic(), least
        self._parts, self._spent = dict(parts), dict.fromkeys(parts, 0.0)

    def double(self, name: str, most: float = 0.5) -> None:
        """Give twice as large a part of the time from now on, up to `most` of it."""
        self._parts[name] = min(most, 2 * self._parts[name])

    def lessen(self, name: str, factor: float) -> None:
        """Give a part of its part from now on."""
        self._parts[name] *= factor

    def grant(self, name: str, seconds: float) -> None:
        """Give some seconds beyond the part."""
        self._spent[name] -= seconds

    def left(self, name: str) -> float:
        """Seconds that are left."""
        return self._least + self._parts[name] * (monotonic() - self._begun) - self._spent[name]

    def run(
        self, name: str, budget: Budget, work: Callable[[Budget], _Found], most: float | None = None
    ) -> _Found | None:
        """What `work` returns within what is left (at most `most` seconds); None where that was not enough."""
        begun, left = monotonic(), self.left(name)
        try:
            return budget.spend(left if most is None else min(most, left), work)
        finally:
            self._spent[name] += monotonic() - begun


def check_limit(what: str, given: object, unit: str) -> None:
    """Raise `UsageError` for a limit that is neither None nor a number of this unit that a float holds."""
    try:
        if given is None or (isinstance(given, Real) and not isinstance(given, bool) and not isnan(float(given))):
            return
    except OverflowError:
        pass
    raise UsageError(f"{what} is a number of {unit} or None, got {str(given)[:40]!r}; write {what}=60 without quotes")
