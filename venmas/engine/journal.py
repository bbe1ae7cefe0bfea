"""What a run keeps on disk for the next one: refuted paths and verdicts, each named by all that it depends on.

Two kinds of entries in one `Store`:

- ``path:DIGEST``: a solver (or, while a program was made, the bounds) found that no initial state does what a path of
  the compositional modes asks. The digest is that of the canonical system with its networks, the negated formula, the
  encoding, the bounds, the code of VenMAS, the initial region, and the facts of the path; the value names the solver
  and its version, without which it counts for nothing. From a path the program follows, but making it takes longer
  than solving it (measured: docs/journal.md), so it is known by what it says, before it is made. It is the solver's
  word, whatever `trust` is: what that demands beyond it, a proof, is not cut short by it.
- ``verdict:DIGEST``: a final verdict, by the same things and mode, solvers, trust and semantics.

The code is hashed, not only its version named, as a journal may outlive an edit. Unknowns are not kept.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from venmas.checker.forever.linear import replayed_stay
from venmas.checker.forever.stays import stays
from venmas.engine.report import Report, Verdict
from venmas.engine.store import Store
from venmas.errors import ModelError, StoreError, UsageError
from venmas.logic import Formula, Linear, fixpoints
from venmas.logic.printing import to_text
from venmas.model.canonical.canonical import system_digest
from venmas.model.canonical.writer import canonical_text
from venmas.model.system.disturbances import NO_NOISE, Noise
from venmas.model.system.system import System
from venmas.model.witness.build import Replay, replay
from venmas.model.witness.circuit import Observed
from venmas.model.witness.lasso import Run as Lasso
from venmas.model.witness.lasso import replayed_again
from venmas.model.witness.tree import Witness
from venmas.procedure import Subject
from venmas.procedures.reachability.graph.figures import Regions
from venmas.runtime.identity import code_digest
from venmas.runtime.memory import peak_mb
from venmas.solvers import get_solver
from venmas.solvers.programs import BY_BOUNDS, Counts, Largest

if TYPE_CHECKING:
    from venmas.procedures.milp.encoding import Task

log = logging.getLogger(__name__)

FORM = 1
"""Version of the entries described above."""


class Journal:
    """The journal of one verification.

    path: the file, made where there is none. solvers: names of those that the run may use.

    Raises `StoreError` where the file cannot be used, and `UsageError` for a system that has no canonical form. Once
    the run has begun the file may fail without harm: the run goes on, and `lost` says why nothing more was kept.
    """

    def __init__(
        self,
        path: str | Path,
        subject: Subject,
        formula: Formula,
        solvers: Sequence[str] = (),
        noise: Noise = NO_NOISE,
        more: Sequence[object] = (),
        linear: Linear | None = None,
    ) -> None:
        """noise: of the system, where witnesses are about all of it. more: what the verdict depends on besides. linear:
        the property, where it is of LTL."""
        self.subject, self.solvers, self.lost, self._noise = subject, tuple(solvers), "", noise
        self._formula, self._more, self._linear, self._recalled = formula, list(more), linear, False
        try:
            self._system = subject_digest(subject)
        except ModelError as error:
            raise UsageError(f"no journal can be kept of this system: {error}; or run without a journal") from error
        self._store = Store(path, "journal", FORM)

    def close(self, report: Report, seconds: float) -> None:
        """The run has ended: keep its verdict, unless it is unknown, and close the file."""
        if report.verdict is not Verdict.UNKNOWN and not self._recalled:
            self._keep(report, seconds)
        if self.lost:
            report.notes.append(f"nothing more was kept for another run: {self.lost}")
        self._store.close()

    def paths(self, task: Task) -> Paths:
        """The memory of a task of this run."""
        about = [self._system, str(task.target), task.strategy, task.encoding, task.bounds, code_digest()]
        return Paths(self, hashlib.sha256(canonical_text(about).encode()).hexdigest())

    def recall(self, report: Report, certificate: bool) -> bool:
        """Is the verdict of this very question known? Then it is in `report`, a violation after another replay.

        `certificate`: one is asked for, so that *satisfied* has to be proved again.
        """
        stored = self.get(self._question(report))
        if not isinstance(stored, dict):
            return False
        try:
            found = _Stored(**stored)
            owed = report.trust == "exact" or report.semantics == "float32"
            if found.verdict == Verdict.UNKNOWN or (owed and found.basis == "solver"):
                raise UsageError("it is none, or less than the proof that is owed")
            verdict = Verdict(found.verdict)
            if (found.verdict == Verdict.SATISFIED and certificate) or not self._current(found.solvers):
                return False
            if found.verdict == Verdict.VIOLATED and found.lasso is not None:
                report.lasso = self._run(Lasso.from_json(found.lasso))
            elif found.verdict == Verdict.VIOLATED:
                report.witness = Witness.from_json(found.witness)
                report.replay = self._replayed(report.witness)
            before = Counts(**found.subproblems)
            counts = Counts(before.created, before.discarded, 0, before.cancelled, before.solved + before.skipped)
            report.subproblems, report.depth = counts, found.depth
            report.largest_program, report.graph = Largest(**found.largest), Regions(**found.graph)
            solvers, notes, took = dict(found.solvers), [str(note) for note in found.notes], f"{found.seconds:.3g} s"
            basis = str(found.basis)
        except (AttributeError, TypeError, ValueError, UsageError) as error:  # not written by `_keep`
            report.witness = report.replay = report.lasso = None
            log.warning("the verdict in the journal cannot be read and is sought anew: %s", error)
            return False
        report.verdict, report.basis, report.solvers = verdict, basis, solvers
        shown = report.witness is not None or report.lasso is not None
        how = "the witness was replayed again" if shown else "nothing was computed again"
        report.peak_rss_mb, self._recalled = peak_mb(), True
        told = f"this verdict is that of an earlier run, in the journal (the run that decided it took {took}); {how}"
        report.notes += [*notes, told]
        return True

    def _keep(self, report: Report, seconds: float) -> None:
        stored = _Stored(
            report.verdict.value,
            report.basis,
            {name: solver_version(name) for name in report.solvers},
            list(report.notes),
            seconds,
            report.depth,
            asdict(report.subproblems),
            asdict(report.largest_program),
            asdict(report.graph),
            None if report.witness is None else report.witness.to_json(),
            None if report.lasso is None else report.lasso.to_json(),
        )
        self.put(self._question(report), asdict(stored))

    def get(self, key: str) -> Any:
        """The value of an entry, None where there is none or the file has failed."""
        try:
            return None if self.lost else self._store.get(key)
        except StoreError as error:
            self._give_up(error)
            return None

    def put(self, key: str, value: Any) -> None:
        """Write an entry, unless the file has failed."""
        try:
            if not self.lost:
                self._store.put(key, value)
        except StoreError as error:
            self._give_up(error)

    def _give_up(self, error: StoreError) -> None:
        self.lost = str(error)
        log.warning("nothing more is kept for another run: %s", error)

    def _question(self, report: Report) -> str:
        about = [
            self._system,
            to_text(self._formula),
            self._more,
            report.mode,
            report.encoding,
            report.bounds,
            report.trust,
        ]
        about += [report.semantics, report.asked.invariant if report.asked else "", *self.solvers, code_digest()]
        return "verdict:" + hashlib.sha256(canonical_text(about).encode()).hexdigest()

    def _current(self, solvers: dict[str, str]) -> bool:
        return all(name in self.solvers and solver_version(name) == version for name, version in solvers.items())

    def _run(self, run: Lasso) -> Lasso:
        """The run, replayed. Raises `UsageError` where it shows nothing."""
        if isinstance(self.subject, System):
            found = replayed_again(self.subject, run, self._formula, self._linear.deadlock if self._linear else "error")
        else:
            found = Observed(self.subject, self._formula).again(run)
        if found is None:
            raise UsageError("its run does not replay")
        return found

    def _replayed(self, witness: Witness) -> Replay:
        """Raises `UsageError` where the witness shows nothing."""
        assert isinstance(self.subject, System)
        if self._linear is not None:
            checked = replayed_stay(self.subject, self._linear, witness)
            if not checked.confirmed:
                raise UsageError(f"its witness does not replay: {checked.reason}")
            return checked
        try:
            target = fixpoints(self._formula, negate=True)
            checked = replay(self.subject, target, witness, noise=self._noise, staying=stays)
        except ModelError as error:
            raise UsageError(f"its witness leaves the system: {error}") from error
        if not checked.confirmed:
            raise UsageError(f"its witness does not replay: {checked.reason}")
        return checked


@dataclass(frozen=True)
class _Stored:
    """A verdict on disk, with what a report says beside it."""

    verdict: str
    basis: str
    solvers: dict[str, str]
    notes: list[str]
    seconds: float
    depth: int
    subproblems: dict[str, int]
    largest: dict[str, int]
    graph: dict[str, int]
    witness: object
    lasso: object


class Paths:
    """The refuted paths of one task (`venmas.procedures.milp.encoding.encode.Memory`)."""

    def __init__(self, journal: Journal, task: str) -> None:
        self._journal, self._task = journal, task

    def refuted(self, path: str) -> str | None:
        """Who has refuted it, of those whose word counts in this run."""
        match self._journal.get(self._key(path)):
            case [str(by), str(version)] if by == BY_BOUNDS or self._journal._current({by: version}):
                return by
        return None

    def keep(self, path: str, by: str) -> None:
        """Note who has refuted it."""
        self._journal.put(self._key(path), [by, "" if by == BY_BOUNDS else solver_version(by)])

    def _key(self, path: str) -> str:
        return "path:" + hashlib.sha256(f"{self._task}\n{path}".encode()).hexdigest()


@cache
def solver_version(name: str) -> str:
    """Version of an installed solver."""
    return get_solver(name).version()


def subject_digest(subject: Subject) -> str:
    """A digest of all that a system or a circuit is, but for its text. Raises `ModelError`."""
    if isinstance(subject, System):
        return system_digest(subject)
    nodes = [[node.op.name, node.width, node.args, node.params] for node in subject.nodes]
    parts = (subject.inputs, subject.registers, subject.next, subject.init, subject.starts, subject.constraints)
    form = [nodes, *parts, subject.bad, subject.fair, subject.justice, list(subject.names.items())]
    return hashlib.sha256(canonical_text(form).encode()).hexdigest()
