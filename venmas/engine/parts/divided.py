"""A mode on a cluster: parts of the initial set go to its workers, and are divided further where one takes too long.

    pieces := initial sets, divided until there are enough for each thread of the cluster
    for each piece, as workers get free
        ask the portfolio about it for a while, in a process of the worker             (`part`)
        a witness: the answer; the others are stopped
        its time was over: divide it, and ask about both halves first                  (`division`)
    all refuted: refuted, by all of their proofs                                       (`join`)

Pieces that a journal knows to be refuted are not asked again.
"""

from __future__ import annotations

import base64
import hashlib
import logging
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from venmas.answer import BASES, Answer, Basis, Proved, Unknown, Violated
from venmas.budget import Budget, BudgetError, Progress
from venmas.engine.journal import Journal
from venmas.engine.modes import Mode
from venmas.engine.parts.division import Cut, Piece, divide
from venmas.engine.parts.join import Joined
from venmas.engine.parts.part import Asked, Found, Part
from venmas.engine.portfolio import Tried
from venmas.errors import ModelError, Reason, UsageError
from venmas.logic import TRUE
from venmas.model.canonical.canonical import system_digest, system_to_json
from venmas.model.system.networks import networks_of
from venmas.procedure import Settings
from venmas.question import Question
from venmas.runtime.identity import code_digest
from venmas.solvers.cluster.mapper import Cluster
from venmas.solvers.milp import outcome as solved
from venmas.solvers.workers.mapper import Done, Job, MemoryLimitError
from venmas.solvers.workers.process import WorkerError

log = logging.getLogger(__name__)

GRANT, GROWTH = 20.0, 1.5
"""Seconds for a piece at least, and how many times as long each half of it may take: what was in vain stays a part of
it all."""
UNHURRIED = 60.0
"""Seconds for a piece without a time limit; with one, as long as the first pieces may all take in half of it."""
PIECES, INTEGERS = 2, 8
"""Pieces for each thread at first; and so many where only integers are cut, which costs nothing."""
MOST = GRANT * GROWTH**6
"""Seconds of a piece that is refuted, but whose proof was not written, from which on it is not divided any more."""
_NOTES = 20  # kept of all parts together


@dataclass(eq=False)
class _Work:
    piece: Piece
    grant: float
    resort: bool


class Divided:
    """A portfolio on a cluster at work on one verification, with the face of `Portfolio`.

    tried: by name, what the procedures did, all parts together. threads: of the cluster, the most that there were.
    """

    def __init__(self, mode: Mode, settings: Settings, trust: str, budget: Budget, journal: Journal | None) -> None:
        self.mode, self.settings, self.trust, self.main = mode, settings, trust, budget
        self.journal = journal
        self.tried: dict[str, Tried] = {}
        self.decided = ""
        self.notes: list[str] = []
        self.told: list[str] = []
        self.threads = self.asked = self.known = self.refuted = 0
        self.peak_mb = 0.0
        self._deciders: Counter[str] = Counter()
        self._open: list[Unknown] = []
        self._certificates: dict[Piece, bytes] = {}
        self._refutations: list[Proved] = []

    def settle(self, question: Question) -> Answer:
        """Decide the question. Raises `BudgetError`, `ModelError`, and `UsageError` where there are no parts."""
        system = question.system
        if system.initial_condition is not TRUE:
            raise UsageError(
                "the initial states are those of a condition of many cases, which is not divided for a cluster: leave "
                "the cluster out, or choose --mode comp-par"
            )
        try:
            document = system_to_json(system)
        except ModelError as error:
            raise UsageError(f"the system cannot be sent to a cluster: {error}; leave the cluster out") from error
        solvers = self.settings.solvers()
        sent = replace(self.settings, workers=1, solvers=tuple, cluster=None, remember=None)
        asked = Asked(
            document,
            networks_of(system),
            question.formula,
            question.semantics,
            question.certified,
            self.mode.name,
            self.trust,
            solvers,
            sent,
        )
        question = asked.question(system)
        roots = [Piece(region) for region in system.regions]
        budget = self.main
        assert self.settings.cluster is not None
        try:
            deadline = None if budget.left is None else budget.deadline
            with Cluster(solvers, deadline, budget.memory_mb, self.settings.cluster, ahead=0) as cluster:
                budget.root.describe = lambda seconds: self._progress(cluster, seconds)
                try:
                    found = self._search(question, asked, roots, cluster, budget)
                finally:
                    self.threads, self.peak_mb = cluster.threads, cluster.peak_rss_mb
        except MemoryLimitError as error:
            raise BudgetError(budget, Reason.MEMORY, str(error)) from error
        except WorkerError as error:
            raise BudgetError(budget, Reason.FAILURE, str(error)) from error
        finally:
            self._summarise()
        if found is not None:
            return found
        if self._open:
            worst = self._open[0]
            return replace(worst, message=f"{worst.message} ({len(self._open)} parts of the initial set are open)")
        return self._refuted(question, roots)

    def _search(
        self, question: Question, asked: Asked, roots: list[Piece], cluster: Cluster, budget: Budget
    ) -> Answer | None:
        """The answer where one part gives it; None where all have been answered."""
        jobs: dict[int, _Work] = {}

        def job(work: _Work) -> Job:
            number = len(jobs)
            jobs[number] = work
            return Job(number, Part(asked, work.piece.region, work.grant, work.resort))

        waiting = deque(roots)
        first = _first(budget.left)

        def pieces() -> Iterator[Job | None]:
            while waiting:
                piece = waiting.popleft()
                if self._recalled(question, piece):
                    yield None
                elif piece.pieces:
                    waiting.extend(piece.pieces)
                elif self._cut(question, piece, (len(waiting) + len(jobs) + self.known + 1) / cluster.threads):
                    self._keep(question, piece, None)
                    waiting.extend(piece.pieces)
                else:
                    yield job(_Work(piece, first, question.certified))

        answers = cluster.map(pieces())
        try:
            for done in answers:
                budget()
                if done is None:
                    continue
                work = jobs[done.job.number]
                found = self._outcome(done)
                if isinstance(found.answer, Violated):
                    return found.answer
                if self._again(question, found, work, budget):
                    for piece in work.piece.pieces:
                        for left in self._unknown(question, piece):
                            cluster.put_first(job(_Work(left, GROWTH * work.grant, True)))
                elif _late(found) and not work.resort and not budget.over:
                    cluster.put_first(job(_Work(work.piece, GROWTH * work.grant, True)))
                else:
                    self._take(question, work.piece, found)
        finally:
            answers.close()  # type: ignore[attr-defined]
        return None

    def _outcome(self, done: Done) -> Found:
        """What a worker has sent. Raises `ModelError` where a run leaves its box."""
        self.asked += 1
        outcome: object = done.outcome
        if isinstance(outcome, solved.Unknown):
            return Found(Unknown(outcome.reason, outcome.message))
        assert isinstance(outcome, Found)
        if outcome.fault:
            raise ModelError(outcome.fault)
        for name, seconds in (outcome.tried or {}).items():
            self.tried.setdefault(name, Tried(name)).seconds += seconds
        if outcome.decided:
            self._deciders[outcome.decided] += 1
        return outcome

    def _again(self, question: Question, found: Found, work: _Work, budget: Budget) -> bool:
        """Is the piece to be divided, and is it?"""
        late = _late(found) and not budget.over
        unwritten = isinstance(found.answer, Proved) and question.certified and found.certificate is None
        unwritten = unwritten and work.grant < MOST
        if not (late or unwritten) or not divide(question.system, work.piece):
            return False
        self._keep(question, work.piece, None)
        return True

    def _take(self, question: Question, piece: Piece, found: Found) -> None:
        """A part is decided, or stays open."""
        if isinstance(found.answer, Unknown):
            self._open.append(found.answer)
        elif isinstance(found.answer, Proved):
            self._refutations.append(found.answer)
            self.refuted += 1
            if found.certificate is not None:
                self._certificates[piece] = found.certificate
            self._keep(question, piece, found)
        for note in found.notes:
            if note not in self.notes and len(self.notes) < _NOTES:
                self.notes.append(note)

    # -- the journal ---------------------------------------------------------------------------------------------------

    def _unknown(self, question: Question, piece: Piece) -> Iterator[Piece]:
        """The pieces of a piece that are to be asked about."""
        stack = [piece]
        while stack:
            piece = stack.pop()
            if not self._recalled(question, piece):
                if piece.pieces:
                    stack += piece.pieces
                else:
                    yield piece

    @staticmethod
    def _cut(question: Question, piece: Piece, each: float) -> bool:
        """Divide a piece where there are few for each thread."""
        if each >= PIECES:
            return each < INTEGERS and divide(question.system, piece, integers=True)
        return divide(question.system, piece)

    def _recalled(self, question: Question, piece: Piece) -> bool:
        """Is the piece refuted in the journal? One that was divided there is divided here, and its pieces are new."""
        stored = None if self.journal is None else self.journal.get(self._key(question, piece))
        if not isinstance(stored, dict):
            return False
        if stored.get("divided") is True:
            divide(question.system, piece)
            return False
        basis, certificate = stored.get("basis"), stored.get("certificate")
        if basis not in BASES or (question.certified and not isinstance(certificate, str)):
            return False
        answer = Proved(basis, may_deadlock=bool(stored.get("may_deadlock")), inside=question.inside)
        proof = base64.b64decode(certificate) if question.certified and isinstance(certificate, str) else None
        self.known += 1
        self._take(question, piece, Found(answer, proof, tuple(map(str, stored.get("notes", ())))))
        return True

    def _keep(self, question: Question, piece: Piece, found: Found | None) -> None:
        """Remember a refuted piece, or (None) that it was divided."""
        if self.journal is None:
            return
        value: dict[str, object] = {"divided": True}
        if found is not None and isinstance(found.answer, Proved):
            text = None if found.certificate is None else base64.b64encode(found.certificate).decode()
            value = {"basis": found.answer.basis, "certificate": text, "notes": list(found.notes)}
        self.journal.put(self._key(question, piece), value)

    def _key(self, question: Question, piece: Piece) -> str:
        system = system_digest(question.system.with_regions([piece.region]))
        about = [system, str(question.target), question.semantics, str(question.certified), self.trust]
        about += [self.mode.name, *self.settings.solvers(), code_digest()]
        return "part:" + hashlib.sha256("\n".join(about).encode()).hexdigest()

    # -- the answer ----------------------------------------------------------------------------------------------------

    def _refuted(self, question: Question, roots: list[Piece]) -> Proved:
        """The refutations of all parts as one."""
        basis: Basis = max((r.basis for r in self._refutations), key=BASES.index, default="bounds")
        leaves = [leaf for root in roots for leaf in root.leaves()]
        proof = None
        if question.certified and all(leaf in self._certificates for leaf in leaves):
            cuts: list[Cut] = []
            before = 0
            for root in roots:
                cuts += root.cuts(before)
                before += sum(1 for _ in root.leaves())
            proof = Joined(cuts, lambda: (self._certificates[leaf] for leaf in leaves))
        return Proved(basis, inside=question.inside, proof=proof)

    def _summarise(self) -> None:
        parts = sum(self._deciders.values())
        self.decided = self._deciders.most_common(1)[0][0] if self._deciders else ""
        for name, tried in self.tried.items():
            tried.why = f"it decided {self._deciders[name]} of {parts} parts of the initial set"
        known = f", {self.known} more were known from the journal" if self.known else ""
        self.notes.append(
            f"{self.asked} parts of the initial set went to the cluster {self.settings.cluster}, "
            f"{self.threads} at a time{known}"
        )

    def _progress(self, cluster: Cluster, seconds: float) -> Progress:
        return Progress(self.asked + cluster.in_flight, 0, self.asked, cluster.in_flight, 0, seconds, self.known)


def _first(left: float | None) -> float:
    """Seconds for each of the first pieces."""
    return UNHURRIED if left is None else max(GRANT, left / (2 * PIECES))


def _late(found: Found) -> bool:
    """Was the time of a part over before it was decided?"""
    return isinstance(found.answer, Unknown) and found.answer.reason is Reason.TIME
