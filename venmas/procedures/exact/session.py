"""A search in exact rationals as a procedure: it needs no solver, follows ties and thresholds, and can write its proof.

goals := the initial regions with the target                     (`search`, rules of `venmas.checker`)
take a goal: expand its first obligation by one step;
  where a choice is open, split its cell along the hyperplane that decides it, or in half while many are open;
  where only facts are left, rows exclude each other (`simplex`), or a point of them is tried as a witness
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from venmas.answer import Answer, Proved, Unknown, Violated
from venmas.budget import Budget
from venmas.checker.format.rule import Rule
from venmas.errors import Reason
from venmas.model.evaluation.regions import several_wide
from venmas.procedure import Run
from venmas.procedures.exact.proof import Proof
from venmas.question import Question


@dataclass(frozen=True)
class Exact:
    """The procedure; whole: by enclosures alone. Nothing is split, and the first end that they leave open ends it."""

    name: str
    help: str
    whole: bool = False

    def accepts(self, question: Question, run: Run) -> str | None:
        """Every question."""
        return None

    def eager(self, question: Question, run: Run) -> bool:
        """Where initial sets are wide in several directions: a pass over regions may take as long as a proof."""
        return not question.certified and several_wide(question.system)

    def start(self, question: Question, run: Run) -> ExactSession:
        """Nothing is done yet."""
        return ExactSession(question, whole=self.whole)


class ExactSession:
    """A search for whether an initial state meets the question's target; it goes on where it was left.

    write: takes the lines of the proof as they are found. whole: see `Exact`.
    """

    def __init__(self, question: Question, write: Callable[[Rule], None] = lambda _: None, whole: bool = False) -> None:
        self.question, self._write, self._whole = question, write, whole
        self.figures = Proof()
        self._steps = self._search()
        self._error: BaseException | None = None
        self.answer: Answer | None = None
        """What came of it, at its end."""

    def advance(self, budget: Callable[[], None] | Budget) -> Answer:
        """Search to the end; what asking the budget raises ends it for now."""
        for _ in self.steps(budget):
            pass
        assert self.answer is not None
        return self.answer

    def steps(self, budget: Callable[[], None] | Budget) -> Iterator[None]:
        """The same, a goal at a time."""
        if self._error is not None:  # it would end there again
            raise self._error
        while self.answer is None:
            budget()
            try:
                next(self._steps)
            except StopIteration:
                self.answer = self._ended(self.figures)
            except BaseException as error:
                self._error = error
                raise
            yield

    def _search(self) -> Iterator[None]:
        from venmas.procedures.exact.search import Prover  # with the rules of proofs: loaded when the search begins

        of = self.question
        yield from Prover(of.system, of.target, self._write, of.semantics, self._whole, self.figures).steps()

    def _ended(self, proof: Proof) -> Answer:
        if proof.witness is not None:
            return Violated(proof.witness)
        if proof.gaps:
            single = "it is not shown for float32: " if self.question.semantics == "float32" else ""
            return Unknown(Reason.OPEN, single + proof.gaps[0])
        leaving = frozenset(self.question.system.variables) if proof.left_box and not self.question.inside else ()
        return Proved("exact", frozenset(leaving), self.question.system.may_deadlock, inside=self.question.inside)


EXACT = Exact("exact", "A proof search in exact rationals.")
ENCLOSURES = Exact("enclosures", "A proof in rationals by enclosures alone, with nothing split.", whole=True)
