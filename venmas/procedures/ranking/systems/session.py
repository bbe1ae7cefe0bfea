"""Ranks of systems as a procedure of LTL: `venmas.procedures.ranking.systems.ranks` at work on a question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from venmas.answer import LinearAnswer, Proved, Unknown
from venmas.budget import Budget, BudgetError, limited
from venmas.checker.format.rule import End, Rule
from venmas.checker.inductive.rules import Set
from venmas.errors import Reason
from venmas.logic.automata.automaton import Automaton
from venmas.model.system.system import System
from venmas.procedure import Run, Session
from venmas.procedures.linear.claim import SystemClaim
from venmas.procedures.ranking.systems.ranks import Ranked, ranked
from venmas.question import LinearQuestion

PATIENCE = 2.0
"""Seconds of the first turn, after which states are taken one by one."""
_NONE = (
    "no rank of all states of the declared box or of an inductive set in it, a weighted sum of variables and "
    "comparisons, was found"
)


@dataclass
class RankCounts:
    """Ranks that were proved."""

    ranks: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("ranks", str(self.ranks))]


@dataclass(frozen=True)
class RanksProof:
    """Ranks of all states of a set, and the proofs of what they ask. sound: False for what is to be refused."""

    ranked: Ranked
    sound: bool = True
    kind: ClassVar[str] = "ranks"

    @property
    def within(self) -> int | None:
        """Steps after which every run has shown the property, where there is such a number."""
        return self.ranked.within

    def lines(self, claim: SystemClaim, tick: Callable[[], None]) -> Iterator[Rule]:
        """The automaton, the set, the ranks, and each proof with its end."""
        yield claim.stated(self.sound)
        if not self.ranked.everywhere:
            yield Set.of(self.ranked.invariant)
        yield from self.ranked.ranks
        for proof in self.ranked.proofs:
            tick()
            yield from proof
            yield End(len(proof) + 1)

    def facts(self, automaton: Automaton) -> dict[str, Any]:
        """What a report says of it."""
        everywhere = self.ranked.everywhere
        texts = list(self.ranked.texts(automaton))
        return {"by": "ranks", "from": "all" if everywhere else "J", "within": self.within, "texts": texts}


class Ranks:
    """The procedure."""

    name = "ranks"
    help = "Ranks of all states of the box or of an inductive set, learned and proved in rationals."

    def accepts(self, question: LinearQuestion, run: Run) -> str | None:
        """Of systems."""
        return None if isinstance(question.subject, System) else "it ranks states of systems"

    def eager(self, question: LinearQuestion, run: Run) -> bool:
        """It has a stage for itself."""
        return True

    def start(self, question: LinearQuestion, run: Run) -> Session:
        """Nothing is done yet."""
        return _Session(question)


class _Session:
    """A short turn first, and without a limit where that was not enough."""

    struggling = False

    def __init__(self, question: LinearQuestion) -> None:
        self.question, self.figures = question, RankCounts()
        self.parts: list[float | None] = [PATIENCE, None]
        self.answer: LinearAnswer | None = None

    def advance(self, budget: Budget) -> LinearAnswer:
        """Proved where every accepting component has a rank. Raises `BudgetError`, `ModelError`."""
        if self.answer is not None or not self.parts:
            return self.answer or Unknown(Reason.OPEN, _NONE)
        system, asked = self.question.subject, self.question.asked
        assert isinstance(system, System)
        part = budget.within(self.parts.pop(0))
        try:
            with limited(part):
                found = ranked(system, self.question.automaton, asked.deadlock == "stutter")
        except BudgetError as error:
            if error.budget is not part or not self.parts:
                raise
            return Unknown(Reason.TIME, f"no rank in {PATIENCE} s: it goes on later")
        self.answer = Unknown(Reason.OPEN, _NONE)
        if found is not None:
            self.figures.ranks = len(found.ranks)
            self.answer = Proved("exact", proof=RanksProof(found))
        return self.answer


RANKS = Ranks()
