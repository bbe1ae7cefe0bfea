"""Abstract reachability graph over boxes with counterexample-guided refinement (after Clarke et al., CAV 2000).

    graph := boxes of initial states                                                  (`graph`)
    repeat
        expand the graph by `depth` steps: cut boxes where a choice is open,          (`split`, `step`)
            move them exactly, merge what falls into one cell of the grid             (`boxes`)
        label backward what may hold in each box; no initial box: proved               (`stages`)
        concretise abstract counterexamples in exact numbers; one runs: violated      (`candidates`, `concretise`)
        refine: only what is open is expanded again, on a grid twice as fine

Choices are decided by zonotope bounds of the networks (`venmas.bounds.zonotope`). A wide initial set is taken in tiles
by several processes (`tiles`).
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from dataclasses import replace
from time import process_time

import numpy as np

from venmas.answer import Answer, Proved, Unknown, Violated
from venmas.bounds.rounding import Floats
from venmas.budget import Budget, BudgetError
from venmas.errors import Reason
from venmas.model.transform.cases import UnsuitableError
from venmas.model.witness.tree import Witness
from venmas.procedure import Run
from venmas.procedures.hybrid.boxes import Boxes
from venmas.procedures.hybrid.view import Space, space_for
from venmas.procedures.reachability.concretise.candidates import candidates
from venmas.procedures.reachability.concretise.concretiser import Concretiser
from venmas.procedures.reachability.graph.figures import Regions
from venmas.procedures.reachability.graph.graph import Graph
from venmas.question import Question

log = logging.getLogger(__name__)

MAX_PASSES, MAX_PIECES = 16, 20_000_000
"""Passes, and pieces of all of them together, after which the procedure gives up: each pass is twice as fine as
the one before, and so many pieces take minutes, which others use better."""
_PAUSE = 0.5
"""Seconds of work after which a pass pauses, so that others have their turns: of this process, as a busy machine makes
nothing harder that is soon done."""


class Reachability:
    """The procedure."""

    name = "reachability"
    help = "An abstract reachability graph over boxes, refined where something is open."

    def accepts(self, question: Question, run: Run) -> str | None:
        """Systems with a real variable and not too many initial locations."""
        try:
            space_for(question, run).root()
        except (UnsuitableError, OverflowError, RecursionError) as error:
            return str(error) or "the system is nested too deeply"
        return None

    def start(self, question: Question, run: Run) -> ReachabilitySession:
        """Nothing is done yet."""
        return ReachabilitySession(question, space_for(question, run))


class ReachabilitySession:
    """Passes over one graph: the first call falsifies only, each other one makes a pass or a part of it.

    root: a part of the initial set. weights: see `Graph`.
    """

    def __init__(
        self, question: Question, space: Space, root: Boxes | None = None, weights: Sequence[Floats] = ()
    ) -> None:
        self.question, self.space, self.whole = question, space, root is None
        self.graph = Graph(space, question.target, Budget(part=True), question.certified, root, weights)
        self.concretiser = Concretiser(space, question.target)
        self._begun = False
        self._pass: Generator[None, None, bool] | None = None

    @property
    def figures(self) -> Regions:
        """Counts of all passes."""
        return replace(self.graph.counts)

    @property
    def struggling(self) -> bool:
        """Did the last pass make more pieces than the one before?"""
        return self.graph.grows

    def advance(self, budget: Budget) -> Answer | None:
        """Falsify, then a pass at a time."""
        self.graph.tick = budget
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                return self._advance(budget)
        except BudgetError:
            self.space.interrupted = True  # in the middle of a step, perhaps
            raise
        except RecursionError:
            return Unknown(Reason.OPEN, "no reachability graph: the system is nested too deeply")
        except (UnsuitableError, OverflowError) as error:
            return Unknown(Reason.OPEN, f"no reachability graph: {str(error) or type(error).__name__}")

    def _advance(self, budget: Budget) -> Answer | None:
        graph = self.graph
        if not self._begun:
            self._begun = True
            return _found(self._falsified(budget))
        if self._pass is None and (graph.counts.passes >= MAX_PASSES or graph.counts.pieces >= MAX_PIECES):
            passes, pieces = graph.counts.passes, graph.counts.pieces
            raise UnsuitableError(f"{passes} passes over {pieces} regions left something open")
        refuted = self._passed(budget)
        if refuted is None:
            return None
        if refuted:
            return self._refuted()
        witness = self.concretiser.look(candidates(graph), budget) or self._falsified(budget)
        if witness is None and self.concretiser.branching:
            witness = self.concretiser.slices(graph, True, budget) or self.concretiser.point(graph, budget)
        if witness is not None:
            return Violated(witness)
        if self.whole and not self.question.certified:
            tiles, weights = graph.tiles()
            if tiles:
                from venmas.procedures.reachability.tiles import search_tiles  # processes are needed here alone

                witness = search_tiles(self.question, graph, tiles, weights, type(self), budget)
                return Violated(witness) if witness is not None else self._refuted()
        return None

    def _passed(self, budget: Budget) -> bool | None:
        """Is all refuted after a pass? None where it pauses, so that others have their turn: the next call goes on."""
        self._pass, work = None, self._pass or self.graph.passing()
        begun = process_time()
        while process_time() - begun <= _PAUSE:
            try:
                budget()
            except BudgetError:
                self._pass = work
                raise
            try:
                next(work)
            except StopIteration as end:
                return bool(end.value)
        self._pass = work
        return None

    def _falsified(self, budget: Budget) -> Witness | None:
        found = self.concretiser.rollouts(self.graph, budget)
        return found or self.concretiser.slices(self.graph, False, budget)

    def _refuted(self) -> Proved:
        graph, question = self.graph, self.question
        leaving = frozenset(question.system.variables) if graph.may_leave_box and not question.inside else frozenset()
        answer = Proved("bounds", leaving, graph.may_deadlock, inside=question.inside)
        if not question.certified:
            return answer
        from venmas.procedures.reachability.proof.tables import GraphTables

        return replace(answer, proof=GraphTables(graph))


def _found(witness: Witness | None) -> Answer | None:
    return None if witness is None else Violated(witness)


REACHABILITY = Reachability()
