"""Claims of LTL as certificates have them, about the runs of a system or of a netlist, with the automaton stated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from venmas.checker.format.header import Claim
from venmas.checker.levels.claim import read_formula
from venmas.checker.netlists.automata import breaking
from venmas.checker.netlists.rules import Automaton as StatedAutomaton
from venmas.errors import InputError
from venmas.formats.btor2.reader import parse_btor2
from venmas.formats.btor2.writer import to_btor2
from venmas.logic.automata.automaton import Automaton
from venmas.logic.formula import Formula
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.printing import to_text
from venmas.model.canonical.canonical import subject_of
from venmas.model.circuit.nodes import Circuit
from venmas.model.system.system import System
from venmas.procedure import LinearQuestion


@dataclass(frozen=True)
class NetlistClaim:
    """That every run of a circuit that is meant has a formula. initial: runs begin in initial states, else anywhere.

    Raises `InputError` where the formula cannot be written down.
    """

    question: LinearQuestion
    initial: bool

    @property
    def circuit(self) -> Circuit:
        """Subject of the claim."""
        assert isinstance(self.question.subject, Circuit)
        return self.question.subject

    @cached_property
    def _netlist(self) -> tuple[str, str]:
        return netlist_of(self.circuit)

    @cached_property
    def claim(self) -> Claim:
        """What is claimed."""
        asked = self.question.asked
        formula, *fair = (_same(to_text(one), one, parse_ltl(to_text(one))) for one in (asked.formula, *asked.fair))
        return Claim(formula, "linear", fair=tuple(fair), initial=self._netlist[1] if self.initial else None)

    @property
    def subject(self) -> dict[str, object]:
        """The netlist."""
        return {"netlist": self._netlist[0]}


@dataclass(frozen=True)
class SystemClaim:
    """That every run of a system that is meant has a formula. within: steps after which every run has shown it.

    Raises `InputError` where the formula cannot be written down, or the system has no canonical form.
    """

    question: LinearQuestion
    within: int | None

    @property
    def system(self) -> System:
        """Subject of the claim."""
        assert isinstance(self.question.subject, System)
        return self.question.subject

    @property
    def claim(self) -> Claim:
        """What is claimed."""
        asked, system = self.question.asked, self.system
        texts = [to_text(one) for one in (asked.formula, *asked.fair)]
        pairs = zip(texts, (asked.formula, *asked.fair), strict=True)
        formula, *fair = (_same(text, one, read_formula(system, text)) for text, one in pairs)
        return Claim(formula, "linear", inside=True, fair=tuple(fair), deadlock=asked.deadlock, within=self.within)

    @property
    def subject(self) -> dict[str, object]:
        """The system."""
        return subject_of(self.system)

    def stated(self, sound: bool) -> StatedAutomaton:
        """The line of the automaton. Raises `InputError` where the checker's automata are too large, if it is sound."""
        claim, line = self.claim, stated(self.question.automaton)
        if sound:
            breaking(line, claim.formula, claim.fair, lambda text: read_formula(self.system, text))
        return line


def stated(automaton: Automaton) -> StatedAutomaton:
    """An automaton as the line of a certificate."""
    return StatedAutomaton(
        tuple(to_text(atom) for atom in automaton.atoms),
        automaton.states,
        automaton.marks,
        tuple((e.source, e.label.care, e.label.value, e.target, e.marks) for e in automaton.edges),
    )


def _same(text: str, formula: Formula, read: Formula) -> str:
    if read is not formula:
        raise InputError(f"the formula does not read back from its text and has no certificate: {text[:200]}")
    return text


def netlist_of(circuit: Circuit) -> tuple[str, str]:
    """The text that the circuit was read from, else one that is written, and the condition of its initial states."""
    if circuit.source and not circuit.starts and parse_btor2(circuit.source) == circuit:
        return circuit.source, "true"
    names = dict(circuit.names)
    starts = []
    for node in circuit.starts:
        starts.append(next(name for at in range(len(names) + 1) if (name := f"start_{at}") not in names))
        names[starts[-1]] = node
    return to_btor2(replace(circuit, names=names)), " & ".join(starts) or "true"
