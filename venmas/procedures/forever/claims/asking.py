"""Bounded questions about named sets of states, each asked once and kept, and what follows from them by the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from venmas.answer import Answer, Proved, Unknown
from venmas.budget import Budget
from venmas.checker.forever.sequents import INIT, Sequent
from venmas.errors import FormulaError, ModelError, Reason
from venmas.logic import Bounded, Formula, parse
from venmas.logic.printing import to_text
from venmas.model.system.system import System
from venmas.nn.network import Semantics
from venmas.procedures.forever.claims.proof import Claimed, Derivation
from venmas.question import Question, chosen_for

_LONG = 10
"""Steps from which on the proof that was found is to be written down, as none in rationals would be."""
_OPEN = Unknown(Reason.OPEN, "")
Decide = Callable[[Question, Budget], Answer]


@dataclass
class Asked:
    """Questions, sets that were tried, lassos that were closed, and what was proved in words."""

    questions: int = 0
    sets: int = 0
    lassos: int = 0
    proved: list[tuple[str, str]] = field(default_factory=list)

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        found = [("bounded questions", f"{self.questions} asked, of {self.sets} sets")]
        return found + ([("lassos", f"{self.lassos} closed exactly")] if self.lassos else []) + self.proved


class Asking:
    """Knowledge of bounded claims about the sets of a system.

    seconds: that a question may take; late: questions that took more.
    """

    def __init__(self, system: System, decide: Decide, semantics: Semantics, certified: bool = False) -> None:
        self.system, self._decide, self._semantics, self._certified = system, decide, semantics, certified
        self.sets: dict[str, Formula] = {}
        self.seconds, self.late, self.left = 1.0, 0, ""
        self.figures = Asked()
        self._known: dict[tuple[System, str, Formula], Claimed | None] = {}
        self._texts: dict[Formula, str] = {}

    def named(self, states: Formula) -> str:
        """The name of a set, a new one where it has none; it is kept as it is read again from its text."""
        states = parse(to_text(states), self.system.vocabulary)
        for name, known in self.sets.items():
            if known is states:
                return name
        taken = {*self.system.vocabulary.names, *self.system.vocabulary.others, *self.sets}
        number = len(self.sets) + 1
        while f"S{number}" in taken:
            number += 1
        self.sets[f"S{number}"] = states
        self.figures.sets += 1
        return f"S{number}"

    def claim(self, start: str, formula: Formula, budget: Budget, initial: System) -> Derivation | None:
        """The claim that every state of a set satisfies a bounded formula; None where it is not known to hold.

        initial: the system with the states that `INIT` means.
        """
        system = initial if start == INIT else self.system
        key = system, start, Sequent.of(start, formula).formula
        if key not in self._known:
            found = budget.spend(self.seconds, lambda part: self._ask(start, formula, part, initial))
            if found is None:
                self.late += 1
                return None
            self._known[key] = found if isinstance(found, Claimed) else None
        return self._known[key]

    def _ask(self, start: str, formula: Formula, budget: Budget, initial: System) -> Claimed | Answer:
        self.figures.questions += 1
        try:
            system = initial if start == INIT else self.system.starting(self.sets[start])
            text = to_text(formula)
            formula = parse(text, self.system.vocabulary)
            drawn, chosen = chosen_for(system, Bounded(formula))
            long = self._certified and len(system.branches) == 1 and (formula.horizon or 0) >= _LONG
            certified = long or bool(drawn.smooth)  # else the proof is found again, in rationals
            question = Question(
                drawn, Bounded(formula), self._semantics, certified=certified, inside=True, chosen=chosen
            )
            answer = self._decide(question, budget)
        except FormulaError as error:  # over noise, what it does not bring about alone
            self.left = self.left or str(error)
            return _OPEN
        except ModelError as error:  # a state of the set leaves the box
            if start == INIT:
                self.left = str(error)
            return _OPEN
        if isinstance(answer, Proved) and not answer.leaving:
            return Claimed(start, text, question, answer)
        return answer
