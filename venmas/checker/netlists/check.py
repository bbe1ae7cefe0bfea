"""Checking that no run of a netlist breaks a property: the lines of a certificate in order.

the automaton accepts every run that breaks the formula                                  (`simulation`)
an invariant, where one is given, holds where runs begin and is kept along every edge
each accepting component: a rank that rises on none of its edges and falls on some, which are met finitely often;
    what is left of the component without them is looked at anew
nothing accepting is left
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from venmas.checker.format.numbers import CheckError
from venmas.checker.netlists.lines import (
    Automaton,
    End,
    Enumerated,
    Header,
    Invariant,
    Obligation,
    Rank,
    Rup,
    Solver,
    Statement,
    read_line,
)
from venmas.checker.netlists.problem import Over, Problem
from venmas.checker.netlists.refutation import MOST_BITS, Question
from venmas.errors import InputError


@dataclass
class Checked:
    """What was checked: lines, obligations by their proofs, answers of solvers, edges not shown to be taken."""

    lines: int = 0
    enumerated: int = 0
    propagated: int = 0
    said: list[str] = field(default_factory=list)
    dead: int = 0
    invariant: bool = False

    def __str__(self) -> str:
        proofs = [
            f"{self.enumerated} obligations by enumeration" if self.enumerated else "",
            f"{self.propagated} by unit propagation" if self.propagated else "",
            f"{len(self.said)} by the word of {', '.join(sorted(set(self.said)))}" if self.said else "",
            f"{self.dead} of edges that no step was shown to take" if self.dead else "",
        ]
        return ", ".join([f"{self.lines} lines", *filter(None, proofs)])


def check_liveness(
    header: Header, lines: Iterator[tuple[int, Mapping[str, Any]]], tick: Callable[[int], None] = lambda _: None
) -> Checked:
    """Check the proof of a claim. lines: numbered, after the header. Raises `CheckError`, which names the line."""
    checker = _Checker(lines, tick)
    try:
        checker.run(header)
    except CheckError:
        raise
    except (InputError, ValueError) as error:
        raise CheckError(checker.done.lines, str(error)) from error
    except RecursionError as error:
        raise CheckError(checker.done.lines, "formulas are nested too deeply to be checked") from error
    return checker.done


class _Checker:
    def __init__(self, lines: Iterator[tuple[int, Mapping[str, Any]]], tick: Callable[[int], None]) -> None:
        self.lines, self.tick, self.done = lines, tick, Checked()

    def next(self) -> Statement:
        found = next(self.lines, None)
        if found is None:
            raise CheckError(self.done.lines + 1, "the certificate ends before its proof does")
        self.done.lines = found[0]
        self.tick(found[0])
        return read_line(*found)

    def refused(self, problem: str) -> CheckError:
        return CheckError(self.done.lines, problem)

    def run(self, header: Header) -> None:
        first = self.next()
        if not isinstance(first, Automaton):
            raise self.refused("expected the automaton")
        problem, holds = Problem(header, first), None
        open_ = problem.components(range(len(problem.edges)))
        line = self.next()
        if isinstance(line, Invariant):
            self.done.invariant = True
            holds = problem.invariant(line)
            self.prove(problem.begins(holds))
            for number in range(len(problem.edges)):
                self.prove(problem.keeps(number, holds))
            line = self.next()
        elif header.initial is not None:
            raise self.refused("a proof from initial states has an invariant")
        while isinstance(line, Rank):
            if line.edges not in open_:
                raise self.refused("a rank is of all edges of a component that is accepting and has none yet")
            open_.remove(line.edges)
            open_ += self.rank(problem, line, holds)
            line = self.next()
        if open_:
            raise self.refused(f"{len(open_)} accepting components have no rank")
        if line != End(self.done.lines):
            raise self.refused("expected the end, with its own number")
        if next(self.lines, None) is not None:
            raise CheckError(self.done.lines + 1, "there is more after the end of the proof")

    def rank(self, problem: Problem, rank: Rank, holds: Over | None) -> list[tuple[int, ...]]:
        """Check a rank; what accepting components are left without its strict edges."""
        if not rank.strict or set(rank.strict) - set(rank.edges):
            raise self.refused("a rank falls on one of its edges or more, and no others")
        neurons = problem.over(rank.neurons, "the neurons")
        for number in rank.edges:
            self.prove(problem.rises(number, rank.edges, rank, neurons, holds))
        return problem.components(sorted(set(rank.edges) - set(rank.strict)))

    def prove(self, question: Question) -> None:
        """Consume the proof of an obligation."""
        line = self.next()
        if not isinstance(line, Obligation):
            raise self.refused("expected an obligation")
        if line.taken is None:
            self.done.dead += 1
        elif not question.shown(line.taken):
            raise self.refused("the step that is shown does not take the edge")
        match line.proof:
            case Enumerated(bits):
                if bits != len(question.cone()[0]) or bits > MOST_BITS:
                    raise self.refused(f"there are {len(question.cone()[0])} bits; up to {MOST_BITS} are enumerated")
                if not question.enumerated()[0]:
                    raise self.refused("the obligation is not met: its conditions hold together for some values")
                self.done.enumerated += 1
            case Rup(clauses):
                if not question.refuted_by(clauses):
                    raise self.refused("a clause does not follow from those before by unit propagation (not RUP)")
                self.done.propagated += 1
            case Solver(said):
                self.done.said.append(said[:60])
