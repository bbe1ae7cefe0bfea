"""A part of the initial set as a job: a worker decides it by the whole portfolio, and proves it where that is asked."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from venmas.answer import Answer, Proved, Unknown
from venmas.budget import Budget, BudgetError, limited
from venmas.engine.certificates.establish import Proofs, establish
from venmas.engine.modes import modes
from venmas.engine.portfolio import Portfolio, limits
from venmas.errors import ModelError, Reason
from venmas.logic import Bounded, Formula
from venmas.model.canonical.canonical import system_from_json
from venmas.model.system.system import System
from venmas.model.system.variables import Region
from venmas.nn import Network
from venmas.nn.network import Semantics
from venmas.procedure import Run, Settings
from venmas.question import Question
from venmas.runtime.blas import on_one_thread


@dataclass(frozen=True, eq=False)
class Found:
    """What came out of a part: an answer, its certificate where one was asked for, and how it was reached.

    tried: seconds by procedure; decided: the one that decided. fault: what is wrong with the model (design S1).
    """

    answer: Answer
    certificate: bytes | None = None
    notes: tuple[str, ...] = ()
    tried: Mapping[str, float] | None = None
    decided: str = ""
    fault: str = ""


@dataclass(frozen=True, eq=False)
class Asked:
    """What is the same for all parts: the system as JSON with its networks by digest, the question and its limits.

    mode: name of the portfolio. solvers: names of those that it may ask.
    """

    document: dict[str, object]
    networks: dict[str, Network]
    formula: Formula
    semantics: Semantics
    certified: bool
    mode: str
    trust: str
    solvers: tuple[str, ...]
    settings: Settings

    def question(self, system: System) -> Question:
        """The question about a system; with a certificate also that no run leaves the box, as parts have one claim."""
        question = Question(system, Bounded(self.formula), self.semantics, self.certified)
        return question.boxed if self.certified else question


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the initial set as work for another process. grant: seconds after which it is better divided.

    resort: does the mode keep the time for its last resort? A part that may be divided does better without.
    """

    asked: Asked
    region: Region
    grant: float
    resort: bool = True

    @on_one_thread
    def run(self, time_limit: float | None) -> Found:
        """Decide it within its grant."""
        asked = self.asked
        budget = Budget(self.grant if time_limit is None else min(self.grant, time_limit))
        system = system_from_json(asked.document, asked.networks).with_regions([self.region])
        question, mode = asked.question(system), modes()[asked.mode]
        settings, unrolled = replace(asked.settings, solvers=lambda: asked.solvers), question.unrolled
        with tempfile.TemporaryDirectory() as folder, limited(budget), Run(settings) as run:
            file = Path(folder, "part") if asked.certified else None
            proofs = Proofs(asked.trust, mode.solver, file, {}, run.programs)
            owed = proofs.asked(question) or (asked.certified and asked.trust == "auto")
            portfolio = Portfolio(mode, run, budget, limits(budget.left, owed and self.resort, unrolled))
            try:
                answer, notes = self._answer(question, portfolio, proofs, budget)
            except ModelError as error:
                return Found(Unknown(Reason.FAILURE, str(error)), fault=str(error))
            done = isinstance(answer, Proved) and file is not None and file.exists()
            tried = {t.name: t.seconds for t in portfolio.tried.values()}
            stored = file.read_bytes() if done and file is not None else None
        if isinstance(answer, Proved):
            answer = replace(answer, proof=None)
        return Found(answer, stored, tuple(notes), tried, portfolio.decided)

    @staticmethod
    def _answer(question: Question, portfolio: Portfolio, proofs: Proofs, budget: Budget) -> tuple[Answer, list[str]]:
        try:
            try:
                answer = portfolio.settle(question)
            except BudgetError as error:
                if error.budget is not portfolio.main:
                    raise
                answer = Unknown(error.reason, error.message)
            found = establish(question, answer, proofs, budget)
        except BudgetError as error:
            return Unknown(error.reason, error.message), [*portfolio.notes, *portfolio.told]
        told = portfolio.told if isinstance(found.answer, Unknown) else []
        return found.answer, [*portfolio.notes, *found.notes, *told]
