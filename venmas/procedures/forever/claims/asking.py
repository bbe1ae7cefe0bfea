"""Bounded questions about named sets of states, each asked once and kept, and what follows from them by the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from venmas.answer import Answer, Proved, Unknown
from venmas.budget import Budget
from venmas.checker.forever.rules import Both, Constant, Itself
from venmas.checker.forever.sequents import HERE, INIT, Sequent, constants, existential
from venmas.errors import FormulaError, ModelError, Reason
from venmas.logic import EX, TRUE, And, Atom, Bounded, Formula, fixpoints, parse, subformulas
from venmas.logic.formula import replaced
from venmas.logic.printing import to_text
from venmas.model.system.disturbances import NO_NOISE, Noise, drawn, fixed
from venmas.model.system.system import System
from venmas.nn.network import Semantics
from venmas.procedure import Run
from venmas.procedures.forever.claims.contexts import Loosened, context, loosened
from venmas.procedures.forever.claims.proof import Claimed, Derivation, Inferred, in_enclosures, in_rationals
from venmas.procedures.forever.claims.samples import Samples
from venmas.question import Question, chosen_for, staying

_LONG = 5
"""Steps from which on the proof that was found is to be written down, as none in rationals would be."""
_ENCLOSED = 0.005
"""Seconds in which enclosures show what one step leads to, or hardly ever do."""
_OPEN = Unknown(Reason.OPEN, "")
Decide = Callable[[Question, Budget], Answer]


@dataclass
class Asked:
    """Questions, sets that were tried, lassos that were closed, cells that runs reach, and what was proved in words."""

    questions: int = 0
    sets: int = 0
    lassos: int = 0
    cells: int = 0
    proved: list[tuple[str, str]] = field(default_factory=list)

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        facts = [("bounded questions", f"{self.questions} asked, of {self.sets} sets")]
        facts += [("cells", f"{self.cells} reached")] if self.cells else []
        return facts + ([("lassos", f"{self.lassos} closed exactly")] if self.lassos else []) + self.proved


def underivable(system: System, run: Run) -> str | None:
    """Why nothing is derived about a system; None where it may be."""
    if system.initial_condition is not TRUE:
        return "initial states are those of a condition, and no union of a few regions"
    if HERE in system.vocabulary.names:
        return f"a name of the system is {HERE!r}, which derivations use: take another"
    return None if run.derive is not None else "nothing decides bounded questions here"


class Asking:
    """Knowledge of bounded claims about the sets of a system.

    seconds: that a question may take; late: questions that took more; steps: of the longest window that is asked for.
    """

    def __init__(self, system: System, decide: Decide, semantics: Semantics, certified: bool = False) -> None:
        self.system, self._decide, self._semantics, self._certified = system, decide, semantics, certified
        self.sets: dict[str, Formula] = {}
        self.seconds, self.late, self.left, self.steps = 1.0, 0, "", 64
        self.figures = Asked()
        self.samples = Samples(system)
        self._still = constants(system)
        self._known: dict[tuple[System, str, Formula], Derivation | None] = {}
        self._rising: dict[tuple[str, str, Formula], Derivation | None] = {}
        self._names: dict[Formula, str] = {}
        self._atoms: dict[Formula, Formula] = {}

    def read(self, formula: Formula) -> Formula:
        """The formula as it is read again from its text, where atoms alone may become others."""
        for node in subformulas(formula):
            if isinstance(node, Atom) and node not in self._atoms:
                self._atoms[node] = parse(to_text(node), self.system.vocabulary)
        others = {atom: other for atom, other in self._atoms.items() if other is not atom}
        return replaced(formula, others) if others else formula

    def named(self, states: Formula) -> str:
        """The name of a set, a new one where it has none; it is kept as it is read again from its text."""
        if states in self._names:
            return self._names[states]
        read = self.read(states)
        if read in self._names:
            return self._names.setdefault(states, self._names[read])
        taken = {*self.system.vocabulary.names, *self.system.vocabulary.others, *self.sets}
        number = len(self.sets) + 1
        while f"S{number}" in taken:
            number += 1
        self.sets[f"S{number}"] = read
        self._names[states] = self._names[read] = f"S{number}"
        self.figures.sets += 1
        return f"S{number}"

    def claim(
        self, start: str, formula: Formula, budget: Budget, initial: System, core: bool = False, share: float = 1
    ) -> Derivation | None:
        """The claim that every state of a set satisfies a bounded formula; None where it is not known to hold.

        initial: the system with the states that `INIT` means. core: is it that of a sequent already? share: of the
        time of a question.
        """
        system = initial if start == INIT else self.system
        if system.disturbances and isinstance(formula, And) and not _of_all_steps(formula):  # noise is chosen for parts
            parts = [self.claim(start, part, budget, initial, share=share) for part in formula.operands]
            shown = [part for part in parts if part is not None]
            if len(shown) < len(parts):
                return None
            return Inferred(Both((), start, tuple(map(to_text, formula.operands))), tuple(shown))
        key = system, start, formula if core else Sequent.of(start, formula).formula
        if key not in self._known:
            if start != INIT and key[-1] is Sequent.of(start, self.sets[start]).formula:
                return self._known.setdefault(key, Inferred(Itself((), start), ()))
            if self.refuted(start, key[-1], initial):
                return None
            if self._still and (less := loosened(formula, self._still)) is not None:
                return self._constant(start, formula, less, budget, initial)
            found = budget.spend(share * self.seconds, lambda part: self._ask(start, formula, part, system))
            if found is None:
                self.late += 1
                return None
            self._known[key] = found if isinstance(found, Claimed) else None
        return self._known[key]

    def rising(self, start: str, value: str, states: System, formula: Formula, budget: Budget) -> Derivation | None:
        """The claim that the states of a set satisfy a formula that speaks of `before`, which is a value of them.

        states: these, beside it.
        """
        key = start, value, formula
        if key not in self._rising:
            inner = Asking(states, self._decide, self._semantics, self._certified)
            inner.figures, inner.seconds = self.figures, self.seconds
            answer = budget.spend(self.seconds, lambda part: inner._ask(INIT, formula, part, states))
            if answer is None:
                self.late += 1
                return None
            self._rising[key] = replace(answer, start=start, before=value) if isinstance(answer, Claimed) else None
        return self._rising[key]

    def refuted(self, start: str, core: Formula, initial: System) -> bool:
        """Do sampled runs say that a claim, in core form, does not hold?"""
        return (start != INIT or initial is self.system) and self.samples.refute(start, core)

    def _constant(
        self, start: str, formula: Formula, parts: Loosened, budget: Budget, initial: System
    ) -> Derivation | None:
        """The claim, by one without conjuncts about variables that no branch changes, and these of the present."""
        less, node, left, still = parts
        now = self.claim(start, still, budget, initial)
        shown = None if now is None else self.claim(start, less, budget, initial)
        if now is None or shown is None:
            return None
        rule = Constant((), start, context(formula, node), to_text(left), to_text(still))
        return Inferred(rule, (shown, now))

    def _ask(self, start: str, formula: Formula, budget: Budget, system: System) -> Claimed | Answer:
        self.figures.questions += 1
        try:
            if start != INIT:
                system = self.system.starting(self.sets[start])
            text = to_text(formula)
            formula = self.read(formula)
            if system.disturbances and existential(formula) and formula.depth:
                return self._chosen(start, text, formula, budget, system)
            drawn, chosen = chosen_for(system, Bounded(formula))
            question, answer = self._decided(drawn, formula, chosen, budget, enclosed=True)
        except FormulaError as error:  # over noise, what it does not bring about alone
            self.left = self.left or str(error)
            return _OPEN
        except ModelError as error:  # a state of the set leaves the box
            if start == INIT:
                self.left = str(error)
            return _OPEN
        if isinstance(answer, Proved) and not answer.leaving:
            return Claimed(start, text, ((question, answer),))
        return answer

    def _decided(
        self, system: System, formula: Formula, chosen: Noise, budget: Budget, enclosed: bool = False
    ) -> tuple[Question, Answer]:
        """enclosed: may its proof be of another kind than that of other parts of a claim?"""
        long = self._certified and (formula.horizon or 0) >= _LONG
        certified = long or bool(system.smooth)  # else the proof is found again, in rationals
        question = Question(system, Bounded(formula), self._semantics, certified=certified, inside=True, chosen=chosen)
        if enclosed and formula.depth == 1 and not system.smooth:
            answer = budget.spend(_ENCLOSED, lambda part: in_enclosures(question, part))
            if isinstance(answer, Proved):
                return question, answer
        if formula.depth <= 1 and not system.smooth:
            answer = budget.spend(self.seconds / 2, lambda part: in_rationals(question, part))
            if isinstance(answer, Proved) and not answer.leaving:
                return question, answer
        return question, self._decide(question, budget)

    def _chosen(self, start: str, text: str, formula: Formula, budget: Budget, system: System) -> Claimed | Answer:
        """Claim of some runs, with the same values of noise always, or one of a few in each step."""
        boxed, staying_ = drawn(system, formula.depth), staying(system, system.vocabulary.variables, formula.depth)
        box = self._decided(boxed, staying_, NO_NOISE, budget)
        if not isinstance(box[1], Proved) or box[1].leaving:
            return box[1]
        answer: Answer = _OPEN
        for choices in few_choices(system):
            question, answer = self._decided(fixed(system, choices), formula, NO_NOISE, budget)
            if isinstance(answer, Proved) and not answer.leaving:
                return Claimed(start, text, ((question, answer), (box[0], box[1])), choices)
        return answer


def _of_all_steps(formula: Formula) -> bool:
    """Is a formula about one step, and about all runs?"""
    return formula.depth <= 1 and not any(isinstance(node, EX) for node in subformulas(fixpoints(formula)))


def few_choices(system: System) -> Iterator[tuple[tuple[Fraction, ...], ...]]:
    """Choices of the values of disturbances: all in the middle, at an end; then each of these anew in each step."""
    decls = [system.variables[name] for name in system.disturbances]
    low, high = tuple(d.lower for d in decls), tuple(d.upper for d in decls)
    middle = tuple((d.lower + d.upper) / 2 for d in decls)
    single = list(dict.fromkeys((middle, low, high)))
    yield from ((one,) for one in single)
    yield tuple(single)
