"""A property in both arithmetics: in real numbers, and as deployed, whatever float32 makes of networks.

The question in real numbers is asked first, then the one about every evaluation in float32. Where that is not proved,
runs are sought in which onnxruntime (else numpy) runs the networks in float32. Such a run is evidence by itself: its
states are exact, or enclosed, for the outputs that the runtime gave, so that it is a violation by one of the
evaluations whether or not the real functions have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import count
from time import monotonic
from typing import Any

from venmas.budget import Budget, BudgetError
from venmas.checker.exact.initial import initial_box
from venmas.engine.report import Deployed, Report, Verdict
from venmas.engine.verify import verify
from venmas.errors import ModelError, NetworkError, Reason, UsageError
from venmas.formats.asked import read_asked
from venmas.logic import Bounded, Formula
from venmas.model.circuit.nodes import Circuit
from venmas.model.evaluation.regions import is_initial
from venmas.model.system.system import System
from venmas.model.witness.build import explain
from venmas.model.witness.enclosed import UndecidedError
from venmas.model.witness.noise import folded, unfolded
from venmas.model.witness.tree import Witness
from venmas.nn.runtime import Numpy, OnnxRuntime, Runtime
from venmas.procedures.flowpipes.falsify import candidates
from venmas.procedures.flowpipes.plan import Plan
from venmas.question import Question, chosen_for, posed

_REAL, _FIRST, _SEARCH = 0.5, 0.3, 2.0
"""Part of the time for the question in real numbers; seconds of the search for runs in float32 before a proof is
sought, and after."""
_DEPLOYED = "float32, any order of operations"
_UNSEEN = "the real functions violate it, and no run with networks in float32 was seen to"
_OWN = ("semantics", "certificate", "journal", "timeout", "partial")


def verify_both(subject: System | Circuit, formula: str | Formula, **options: Any) -> Report:
    """The report of `verify` in real numbers, with `deployed`, the verdict about every evaluation in float32.

    options: those of `verify`. Raises as it does, and `UsageError` for a certificate, which is of one arithmetic.
    """
    if isinstance(subject, Circuit):
        raise UsageError("netlists have no networks: leave the semantics out")
    if options.get("certificate") is not None:
        raise UsageError("a certificate is about one arithmetic: ask once with --semantics float32, and once without")
    begun, timeout = monotonic(), options.get("timeout")
    others = {name: value for name, value in options.items() if name not in _OWN}
    first = None if timeout is None else _REAL * timeout
    report = verify(subject, formula, journal=options.get("journal"), timeout=first, **others)
    left = None if timeout is None else max(0.01, timeout - (monotonic() - begun))
    report.deployed = _deployed(subject, formula, report, Budget(left), others)
    report.seconds.total += report.deployed.seconds
    report.notes.insert(0, f"in real numbers: {report.verdict}; as deployed ({_DEPLOYED}): {report.deployed.told}")
    if report.asked is not None:
        report.asked = replace(report.asked, timeout=timeout)
    return report


def _deployed(
    system: System, formula: str | Formula, report: Report, budget: Budget, options: Mapping[str, Any]
) -> Deployed:
    reason, message = Reason.OPEN.value, _UNSEEN
    for seconds in (_FIRST, _SEARCH):
        runtime = _runtime()
        try:
            witness = _violation(system, formula, report, runtime, budget, seconds)
        except NetworkError as error:
            witness, message = None, str(error)
        if witness is not None:
            name = f"{runtime.name} {getattr(runtime, 'version', '')}".strip()
            return Deployed(Verdict.VIOLATED, witness=witness, runtime=name, seconds=budget.spent)
        if seconds == _FIRST and not report.violated:  # evaluations are enclosed together with the real functions
            try:
                share = None if budget.left is None else _REAL * budget.left
                single = verify(system, formula, semantics="float32", timeout=share, partial=False, **options)
            except (UsageError, ModelError) as error:  # asked in real numbers, it was none
                message = str(error)
                continue
            if single.satisfied:
                return Deployed(single.verdict, basis=single.basis, seconds=budget.spent)
            reason, message = (single.reason, single.message) if single.reason else (reason, message)
    return Deployed(Verdict.UNKNOWN, reason, message, seconds=budget.spent)


def _runtime() -> Runtime:
    try:
        return OnnxRuntime()
    except ImportError:
        return Numpy()


def _violation(
    system: System, formula: str | Formula, report: Report, runtime: Runtime, budget: Budget, seconds: float
) -> Witness | None:
    """A run in float32 that shows the negated formula, from where a real one begins, or where floats find one."""
    bounded = read_asked(system, formula)[1]
    if not isinstance(bounded, Bounded):
        return None
    posed_ = posed(system, bounded)
    drawn, chosen = chosen_for(system, posed_)
    if chosen:  # a run shows nothing of other noise
        return None
    question = Question(drawn, posed_, "float32")

    def search(part: Budget) -> Witness | None:
        for start in _starts(question, report, part):
            if not is_initial(drawn, start):
                continue
            with suppress(UndecidedError, ModelError):
                run = explain(drawn, question.target, start, tick=part, runtime=runtime)
                if run is not None:
                    return folded(run) if system.disturbances else run
        return None

    with suppress(BudgetError):
        return budget.spend(seconds, search)
    return None


def _starts(question: Question, report: Report, tick: Budget) -> Iterator[Mapping[str, Fraction]]:
    """Initial states: that of the real violation, then those from which runs in floats violate the formula."""
    system, plan = question.system, Plan(question.target)
    if report.witness is not None:
        yield unfolded(report.model or system, report.witness, question.target.depth).initial
    hulls = [initial_box(system, region) for region in system.regions]
    boxes = [dict(zip(system.variables, hull, strict=True)) for hull in hulls if hull is not None]
    wide = any(low < high for box in boxes for low, high in box.values())
    for seed in count() if wide else range(len(boxes)):
        tick()
        for start, _ in candidates(system, plan, boxes, tick, seed, deep=True, precision="float32"):
            yield start
