"""Verification of LTL over unbounded time of systems of integers and Booleans, and its report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from venmas.answer import Unknown
from venmas.budget import Budget, Progress
from venmas.engine.certificates.file import Certificate, Unwritten, write
from venmas.engine.certificates.runs import Runs, proof_of
from venmas.engine.ltl_journal import LtlJournal
from venmas.engine.ltl_verdict import Judged
from venmas.engine.report import machine, versions
from venmas.errors import InputError, UsageError
from venmas.logic.automata.hoa import to_hoa
from venmas.logic.formula import Formula
from venmas.logic.printing import to_text
from venmas.model.system.system import System
from venmas.model.witness.lasso import SystemRun
from venmas.procedures.explicit.ltl import Deadlock, Satisfied, Work, decide, read
from venmas.procedures.netlist.answers import Violated

FORMAT = "venmas-ltl-system-result-1"


@dataclass(frozen=True)
class SystemLtlReport(Judged):
    """The result of one question of LTL about a system. `reason` and `message` are empty unless it is unknown.

    seconds: wall time. fair: conditions of the runs that are meant. answer, work: what
    `venmas.procedures.ranking.systems` gave. certificate: what was written, where a proof was asked for; unwritten: why
    none was. recalled: where the verdict is that of an earlier run, what is said of that.
    """

    scenario: str
    parameters: Mapping[str, str]
    formula: str
    fair: tuple[str, ...]
    deadlock: Deadlock
    answer: Satisfied | Violated[SystemRun] | Unknown
    work: Work
    seconds: float
    certificate: Certificate | None = None
    unwritten: str = ""
    recalled: str = ""
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def within(self) -> int | None:
        """Steps after which every run has shown the property, where it is satisfied and there is such a number."""
        return self.answer.within if isinstance(self.answer, Satisfied) else None

    @property
    def ranks(self) -> tuple[str, ...] | None:
        """The ranks of a proof that takes no state by itself, as texts."""
        found = self.answer.ranked if isinstance(self.answer, Satisfied) else None
        return None if found is None else found.texts(self.work.automaton)

    @property
    def everywhere(self) -> bool:
        """Are the ranks about every state of the declared box? Else about those of a set J that no run leaves."""
        found = self.answer.ranked if isinstance(self.answer, Satisfied) else None
        return found is None or found.everywhere

    @property
    def lasso(self) -> SystemRun | None:
        """The run that breaks the property."""
        return self.answer.run if isinstance(self.answer, Violated) else None

    def to_json(self) -> dict[str, Any]:
        """The object of `docs/ltl-system-result.schema.json`; numbers of states are texts, as they are rational."""
        automaton = self.work.automaton
        return {
            "format": FORMAT,
            "verdict": self.verdict.value,
            "reason": self.reason,
            "message": self.message,
            "scenario": self.scenario,
            "parameters": dict(self.parameters),
            "property": self.formula,
            "fair": list(self.fair),
            "deadlock": self.deadlock,
            "within": self.within,
            "automaton": {"states": automaton.states, "edges": len(automaton.edges), "hoa": to_hoa(automaton)},
            "ranks": None if self.ranks is None else list(self.ranks),
            "states": self.work.states,
            "pairs": self.work.pairs,
            "lasso": None if self.lasso is None else _lasso_json(self.lasso),
            "certificate": None if self.certificate is None else dict(vars(self.certificate)),
            "notes": [text for text in (self.unwritten, self.recalled) if text],
            "seconds": round(self.seconds, 6),
            "started": self.started,
            "machine": dict(machine()),
            "versions": dict(versions()),
        }


def verify_ltl_of_system(
    system: System,
    formula: Formula | str,
    *,
    fair: Iterable[str] = (),
    deadlock: Deadlock = "error",
    certificate: str | Path | None = None,
    about: Mapping[str, object] | None = None,
    journal: str | Path | None = None,
    timeout: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    scenario: str = "",
    parameters: Mapping[str, str] | None = None,
) -> SystemLtlReport:
    """Does every run of a system of integers and Booleans have a property of LTL, for ever (L1 to L5)?

    formula: over variables and propositions; ``"branch NAME"``, in double quotes, says that a step takes that branch.
    fair: conditions that hold again and again on the runs that are meant. deadlock: `stutter`, a run stays for ever in
    a state without successor; `error`, nothing is satisfied where one is reached. certificate: file to write a proof of
    *satisfied* to, for `venmas check`; about: what its header says besides. journal: file that keeps verdicts; a known
    one is not sought again, but a lasso is replayed, and a proof that is to be written is made anew. timeout: seconds.
    Raises `FormulaError`, `ModelError`, `StoreError`, and `UsageError` for a system with reals; Ctrl-C gives *unknown*.
    """
    if deadlock not in ("error", "stutter"):
        raise UsageError(f"deadlock {deadlock!r}: choose error or stutter")
    begun, fair, budget = perf_counter(), tuple(fair), Budget(timeout, progress=progress)
    asked = formula if isinstance(formula, Formula) else read(system, formula)
    conditions = [read(system, text) for text in fair]
    with ExitStack() as stack:
        kept = None
        if journal is not None:
            kept = stack.enter_context(LtlJournal(journal, system, asked, conditions, deadlock))
        known = None if kept is None else kept.recall(certificate is not None)
        if known is None:
            answer, work = decide(system, asked, budget, conditions, deadlock, certificate is not None)
        else:
            answer, work = known
        if kept is not None and known is None:
            kept.keep(answer, work, perf_counter() - begun)
    written: Certificate | Unwritten | None = None
    unwritten = ""
    named = dict(parameters or {})
    if certificate is not None and isinstance(answer, Satisfied):
        header = {"parameters": named, **(about or {})}
        try:
            question = Runs(system, asked, tuple(conditions), deadlock, answer.within, work.automaton)
            written = write(certificate, question, proof_of(answer), about=header)
        except InputError as error:
            unwritten = f"no certificate of how it was proved: {error}"
    if isinstance(written, Unwritten):
        unwritten, written = str(written), None
    return SystemLtlReport(
        scenario or system.name,
        named,
        to_text(formula) if isinstance(formula, Formula) else formula,
        fair,
        deadlock,
        answer,
        work,
        perf_counter() - begun,
        written,
        unwritten,
        "" if kept is None or known is None else kept.told,
    )


def _lasso_json(run: SystemRun) -> dict[str, Any]:
    return {
        "states": [{name: str(value) for name, value in state.items()} for state in run.states],
        "branches": list(run.branches),
        "conditions": list(run.conditions),
        "back": run.back,
        "replayed": True,
    }
