"""Verification of LTL over unbounded time, and what it says: the report of `verify_ltl_of_design`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from venmas.answer import Unknown
from venmas.budget import Budget, Progress
from venmas.engine.certificates.netlist import Stored
from venmas.engine.certificates.trust import Decided, Trust, decide_trusted
from venmas.engine.ltl_decide import Satisfied, Work
from venmas.engine.ltl_design_journal import DesignJournal
from venmas.engine.ltl_verdict import Judged
from venmas.engine.report import machine, versions
from venmas.logic.automata.hoa import to_hoa
from venmas.logic.formula import Formula
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.printing import to_text
from venmas.model.circuit.binding import check_started, started
from venmas.model.circuit.nodes import Circuit
from venmas.model.witness.circuit import Run
from venmas.procedures.netlist.answers import Violated
from venmas.procedures.ranking.procedure import Ranked
from venmas.runtime.choices import LEARNERS, LTL_TRUSTS, check_choice

FORMAT = "venmas-ltl-result-1"


@dataclass(frozen=True)
class Seconds:
    """Wall time: in total, reading the design, translating the formula, linear programs, the SMT solver, proofs."""

    total: float
    frontend: float
    automaton: float
    lp: float
    smt: float
    proof: float


@dataclass(frozen=True)
class LtlReport(Judged):
    """The result of one question of LTL. `reason` and `message` are empty unless the verdict is unknown.

    design: what it is called. formula: the property. init, fair: what was said of initial states and of the runs that
    are meant (texts). answer, work: what `venmas.engine.ltl_decide` gave. stored: the certificate that was
    written; note: why none was. recalled: where the verdict is that of an earlier run, what is said of that; of its
    proof no more is known.
    """

    design: str
    formula: str
    init: str
    fair: tuple[str, ...]
    trust: str
    answer: Satisfied | Violated[Run] | Unknown
    work: Work
    seconds: Seconds
    stored: Stored | None = None
    note: str | None = None
    recalled: str = ""
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def lasso(self) -> Run | None:
        """The run that breaks the property."""
        return self.answer.run if isinstance(self.answer, Violated) else None

    @property
    def ranked(self) -> tuple[Ranked, ...]:
        """Of a proof the components with their networks and proofs."""
        return self.answer.ranked if isinstance(self.answer, Satisfied) else ()

    def to_json(self) -> dict[str, Any]:
        """The object of `docs/ltl-result.schema.json`."""
        automaton, figures = self.work.automaton, self.work.figures
        registers, bits = self.work.cone
        return {
            "format": FORMAT,
            "verdict": self.verdict.value,
            "reason": self.reason,
            "message": self.message,
            "design": self.design,
            "property": self.formula,
            "init": self.init,
            "fair": list(self.fair),
            "trust": self.trust,
            "automaton": {
                "states": automaton.states,
                "edges": len(automaton.edges),
                "acceptance_sets": automaton.marks,
                "hoa": to_hoa(automaton),
            },
            "cone": {"registers": registers, "bits": bits},
            "certificate": self._certificate(),
            "lasso": None if self.lasso is None else _lasso_json(self.lasso),
            "rounds": figures.rounds,
            "samples": figures.samples,
            "queries": figures.queries,
            "notes": [*figures.levels, *filter(None, [self.recalled])],
            "seconds": {name: round(value, 6) for name, value in vars(self.seconds).items()},
            "started": self.started,
            "machine": dict(machine()),
            "versions": dict(versions()),
        }

    def _certificate(self) -> dict[str, Any] | None:
        if not isinstance(self.answer, Satisfied) or self.recalled:
            return None
        return {
            "kind": "ranking" if self.answer.enumerated is None else "enumeration",
            "trust": "solver" if self.answer.solver else "exact",
            "states": self.answer.enumerated,
            "from": "all" if self.answer.enumerated is None and not self.answer.invariant.initial else "initial",
            "invariant": {
                "clauses": {str(q): text for q, text in self.answer.invariant.text(self.answer.circuit).items()},
                "proof_steps": list(self.answer.kept),
            },
            "file": None if self.stored is None else vars(self.stored),
            "scc": len(self.ranked),
            "level": max((one.network.level for one in self.ranked), default=0),
            "weights": sum(_weights(one) for one in self.ranked),
            "obligations": sum(len(one.goal.edges) for one in self.ranked),
            "networks": [
                {
                    "level": one.network.level,
                    "weights": _weights(one),
                    "ranks": {str(state): text for state, text in one.network.text().items()},
                    "obligations": [
                        {
                            "edge": [edge.source, edge.target],
                            "label": self.work.automaton.label_text(edge.label),
                            "strict": edge in one.goal.strict,
                            "proof_steps": steps,
                        }
                        for edge, steps in zip(one.goal.edges, one.steps or [None] * len(one.goal.edges), strict=True)
                    ],
                }
                for one in self.ranked
            ],
        }


def verify_ltl_of_design(
    system: Circuit,
    formula: Formula | str,
    *,
    init: str | None = None,
    fair: Iterable[str] = (),
    trust: Trust = "exact",
    certificate: str | Path | None = None,
    learner: str = "auto",
    initial: bool = True,
    journal: str | Path | None = None,
    anew: bool = False,
    timeout: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    design: str = "",
    frontend: float = 0.0,
) -> LtlReport:
    """Decide whether every run of a system from an initial state satisfies a property in LTL (L3 of docs/semantics.md).

    init: a further condition on initial states, over registers. fair: the property speaks only of runs on which each of
    these conditions holds infinitely often. trust: with `exact` each obligation is proved gate by gate; `solver`
    believes the SMT solver, `two` believes two solvers. certificate: file to write a proof of *satisfied* to, for
    `venmas check`. timeout: seconds. progress: called a few times a second. design: the name of the system. frontend:
    seconds that reading it took. learner: of `venmas.runtime.choices.LEARNERS`. initial: a proof may be about runs from
    the initial states only; else it is about runs from every state. journal: file that keeps verdicts; a known one is
    not sought again, but a lasso is replayed, and a proof is made anew that is to be written, or that `anew` asks for,
    as to see its ranks. Raises `UsageError`, `FormulaError`, `CircuitError`, `SolverUnavailableError`, `StoreError`;
    Ctrl-C gives *unknown*.
    """
    check_choice("trust", trust, LTL_TRUSTS)
    check_choice("learner", learner, LEARNERS)
    begun, budget = perf_counter(), Budget(timeout, progress=progress)
    asked = formula if isinstance(formula, Formula) else parse_ltl(formula)
    fair = tuple(fair)
    conditions = [parse_ltl(text) for text in fair]
    circuit = system if init is None else started(system, parse_ltl(init))
    if init is not None:
        check_started(circuit, init, budget)
    with ExitStack() as stack:
        kept = known = None
        if journal is not None:
            kept = stack.enter_context(DesignJournal(journal, circuit, asked, conditions, trust, learner, initial))
            known = kept.recall(anew or certificate is not None)
        if known is None:
            done = decide_trusted(circuit, asked, budget, conditions, trust, certificate, learner, initial)
        else:
            done = Decided(*known)
        if kept is not None and known is None:
            kept.keep(done.answer, done.work, perf_counter() - begun)
    told = "" if kept is None or known is None else kept.told
    work, figures = done.work, done.work.figures
    total = frontend + perf_counter() - begun
    seconds = Seconds(
        total, frontend, work.automaton_seconds, figures.lp_seconds, figures.smt_seconds, figures.proof_seconds
    )
    text = formula if isinstance(formula, str) else to_text(formula)
    return LtlReport(design, text, init or "", fair, trust, done.answer, work, seconds, done.stored, done.note, told)


def _weights(one: Ranked) -> int:
    return sum(1 for weights in one.network.weights.values() for weight in weights if weight)


def _lasso_json(run: Run) -> dict[str, Any]:
    return {
        "states": list(run.states),
        "inputs": list(run.inputs),
        "signals": list(run.signals),
        "conditions": list(run.conditions),
        "widths": run.widths,
        "back": run.back,
        "replayed": True,
    }
