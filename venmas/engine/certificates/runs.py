"""Certificates of LTL of systems: the automaton, the states that are reached, and their levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from venmas.checker.format.header import Claim
from venmas.checker.format.rule import End, Rule
from venmas.checker.inductive.rules import Set
from venmas.checker.levels.claim import read_formula
from venmas.checker.levels.listing import Places, States
from venmas.checker.netlists.automata import breaking
from venmas.checker.netlists.rules import Automaton as StatedAutomaton
from venmas.engine.certificates.file import stored
from venmas.engine.certificates.netlist import stated
from venmas.errors import InputError
from venmas.logic.automata.automaton import Automaton
from venmas.logic.formula import Formula
from venmas.logic.printing import to_text
from venmas.model.system.system import System
from venmas.procedures.explicit.ltl import Deadlock, Levels, Satisfied
from venmas.procedures.ranking.systems.ranks import Ranked

_TOGETHER = 20_000
"""Numbers in a line."""


@dataclass(frozen=True)
class Runs:
    """That every run of a system that is meant has a formula, as its certificate has it (`Claim`).

    automaton: of the runs that break it. Raises `InputError` where the formula cannot be written down, or the system
    has no canonical form.
    """

    system: System
    formula: Formula
    fair: tuple[Formula, ...]
    deadlock: Deadlock
    within: int | None
    automaton: Automaton

    @property
    def claim(self) -> Claim:
        """What is claimed."""
        formula, *fair = (_text(self.system, one) for one in (self.formula, *self.fair))
        return Claim(formula, "linear", inside=True, fair=tuple(fair), deadlock=self.deadlock, within=self.within)

    @property
    def subject(self) -> dict[str, object]:
        """The system."""
        return stored(self.system)

    def stated(self, sound: bool) -> StatedAutomaton:
        """The line of the automaton. Raises `InputError` where the checker's automata are too large, if it is sound."""
        claim, line = self.claim, stated(self.automaton)
        if sound:
            breaking(line, claim.formula, claim.fair, lambda text: read_formula(self.system, text))
        return line


@dataclass(frozen=True)
class ByLevels:
    """The states that are reached, and their levels. sound: False for what the checker is to refuse."""

    levels: Levels
    sound: bool = True
    kind: ClassVar[str] = "levels"

    def lines(self, question: Runs, tick: Callable[[], None]) -> Iterator[Rule]:
        """The automaton, and states in the order of their places in the box."""
        yield question.stated(self.sound)
        box = question.system.box.values()
        ranges = np.array([[int(end) for end in ends] for ends in zip(*box, strict=True)], np.int64)
        numbers = Places(ranges).of(self.levels.states.astype(np.int64))
        order = np.argsort(numbers, kind="stable")
        steps = np.diff(numbers[order], prepend=-1).tolist()
        table = np.ascontiguousarray(self.levels.table[order].T)
        turn = max(1, _TOGETHER // (1 + question.automaton.states))
        for at in range(0, len(steps), turn):
            here = slice(at, at + turn)
            yield States(tuple(steps[here]), tuple(row[here] for row in table))


@dataclass(frozen=True)
class ByRanks:
    """Ranks of all states of a set, and the proofs of what they ask."""

    ranked: Ranked
    sound: bool = True
    kind: ClassVar[str] = "ranks"

    def lines(self, question: Runs, tick: Callable[[], None]) -> Iterator[Rule]:
        """The automaton, the set, the ranks, and each proof with its end."""
        yield question.stated(self.sound)
        if not self.ranked.everywhere:
            yield Set.of(self.ranked.invariant)
        yield from self.ranked.ranks
        for proof in self.ranked.proofs:
            yield from proof
            yield End(len(proof) + 1)


def proof_of(answer: Satisfied, sound: bool = True) -> ByLevels | ByRanks:
    """What the certificate of an answer is written from. Raises `InputError` for one whose levels are not known."""
    if answer.ranked is not None:
        return ByRanks(answer.ranked, sound)
    if answer.levels is None:
        raise InputError("a limit was met before the levels of its states were known")
    return ByLevels(answer.levels, sound)


def _text(system: System, formula: Formula) -> str:
    text = to_text(formula)
    if read_formula(system, text) is not formula:
        raise InputError(f"the formula does not read back from its text and has no certificate: {text[:200]}")
    return text
