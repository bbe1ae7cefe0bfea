"""Checking that no run of a netlist breaks a property: the lines of a certificate in order.

the automaton accepts every run that breaks the formula                                  (`simulation`)
an invariant, where one is given, holds where runs begin and is kept along every edge
each accepting component: a rank that rises on none of its edges and falls on some, which are met finitely often;
    what is left of the component without them is looked at anew
nothing accepting is left
"""

from __future__ import annotations

from dataclasses import dataclass, field

from venmas.checker.format import lines as format_
from venmas.checker.format.header import Claim
from venmas.checker.format.lines import Lines
from venmas.checker.netlists.problem import Over, Problem
from venmas.checker.netlists.refutation import MOST_BITS, Question
from venmas.checker.netlists.rules import Automaton, Enumerated, Invariant, Obligation, Rank, Rup, Solver


@dataclass
class Checked(format_.Checked):
    """Counts of a check: lines, obligations by their proofs, answers of solvers, edges not shown to be taken."""

    enumerated: int = 0
    propagated: int = 0
    said: list[str] = field(default_factory=list)
    dead: int = 0
    invariant: bool = False

    def solvers(self) -> list[str]:
        """Those on whose word alone something rests."""
        return self.said

    def counts(self) -> dict[str, int]:
        """Numbers by name."""
        return {**super().counts(), "said": len(self.said), "invariant": int(self.invariant)}

    def __str__(self) -> str:
        proofs = [
            f"{self.enumerated} obligations by enumeration" if self.enumerated else "",
            f"{self.propagated} by unit propagation" if self.propagated else "",
            f"{len(self.said)} by the word of {', '.join(sorted(set(self.said)))}" if self.said else "",
            f"{self.dead} of edges that no step was shown to take" if self.dead else "",
        ]
        return ", ".join([f"{self.lines} lines", *filter(None, proofs)])


def check_netlist(claim: Claim, netlist: str, lines: Lines) -> Checked:
    """Check the proof of a claim about a netlist. Raises `CheckError`."""
    with lines.refusing():
        return _Checker(lines).run(claim, netlist)


class _Checker:
    def __init__(self, lines: Lines) -> None:
        self.lines, self.done, self.refused = lines, Checked(), lines.refused

    def run(self, claim: Claim, netlist: str) -> Checked:
        problem, holds = Problem(claim, netlist, self.lines.next(Automaton)), None
        open_ = problem.components(range(len(problem.edges)))
        if (stated := self.lines.take(Invariant)) is not None:
            self.done.invariant = True
            holds = problem.invariant(stated)
            self.prove(problem.begins(holds))
            for number in range(len(problem.edges)):
                self.prove(problem.keeps(number, holds))
        elif claim.initial is not None:
            self.lines.next(Invariant)  # a proof from initial states has one
        while (rank := self.lines.take(Rank)) is not None:
            if rank.edges not in open_:
                raise self.refused("a rank is of all edges of a component that is accepting and has none yet")
            open_.remove(rank.edges)
            open_ += self.rank(problem, rank, holds)
        if open_:
            raise self.refused(f"{len(open_)} accepting components have no rank")
        self.lines.end()
        self.done.lines = self.lines.number
        return self.done

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
        line = self.lines.next(Obligation)
        if line.taken is None:
            self.done.dead += 1
        elif not question.shown(line.taken):
            raise self.refused("the step that is shown does not take the edge")
        match line:
            case Enumerated(bits=bits):
                if bits != len(question.cone()[0]) or bits > MOST_BITS:
                    raise self.refused(f"there are {len(question.cone()[0])} bits; up to {MOST_BITS} are enumerated")
                if not question.enumerated()[0]:
                    raise self.refused("the obligation is not met: its conditions hold together for some values")
                self.done.enumerated += 1
            case Rup(clauses=clauses):
                if not question.refuted_by(clauses):
                    raise self.refused("a clause does not follow from those before by unit propagation (not RUP)")
                self.done.propagated += 1
            case Solver(solvers=said):
                self.done.said.append(said[:60])
            case _:
                raise self.refused("expected a proof of the obligation")
