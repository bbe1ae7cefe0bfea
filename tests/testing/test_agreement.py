"""Parts of the tool against each other on random systems, hard ones included: bounds, proofs, programs, and the oracle.

Each agreement runs on a few cases by default, and on many under the slow marker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from time import monotonic

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tests.in_process import in_process
from venmas.bounds.states import States
from venmas.checker.format.lines import Line, Lines
from venmas.checker.goals.check import check
from venmas.engine.report import Verdict
from venmas.engine.verify import verify
from venmas.logic import Formula, evaluate, nnf, parse
from venmas.model import System, replay, satisfies
from venmas.model.evaluation.regions import bounding_box, contains
from venmas.model.evaluation.simulate import successors
from venmas.procedures.exact.proof import Proof
from venmas.procedures.exact.search import Prover
from venmas.testing import (
    adversarial_systems,
    boxes,
    finite_model,
    finite_systems,
    formulas_over,
    initial_states,
    states_of,
    systems,
)

PATIENCE = 2.0
"""Seconds for an answer. What needs more is left open: some of the random systems would take minutes."""

Check = Callable[[st.DataObject], None]


def cases(few: int, many: int) -> Callable[[Check], Callable[[int], None]]:
    """The agreement as a test of `few` examples, and as a slow one of `many`."""

    def wrap(agree: Check) -> Callable[[int], None]:
        @pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.slow)])
        def run(count: int) -> None:
            checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
            limits = settings(max_examples=count, deadline=None, suppress_health_check=checks)
            limits(given(st.data())(agree))()

        return run

    return wrap


class TooLongError(Exception):
    pass


def proved(system: System, formula: Formula) -> tuple[Verdict | None, Proof, list[Line]]:
    """The prover's answer, its proof and the lines of it; no answer where the proof takes too long."""
    lines: list[Line] = []
    deadline = monotonic() + PATIENCE

    def tick() -> None:
        if monotonic() > deadline:
            raise TooLongError

    prover = Prover(system, nnf(formula, negate=True), lambda rule: lines.append(rule.to_json()))
    try:
        proof = prover.run(tick)
    except TooLongError:
        return None, prover.proof, lines
    assert not proof.gaps, proof.gaps
    return (Verdict.VIOLATED if proof.witness else Verdict.SATISFIED), proof, lines


def question(data: st.DataObject, kind: st.SearchStrategy[System]) -> tuple[System, Formula]:
    system = data.draw(kind, label="system")
    return system, data.draw(formulas_over(system, deepest=2), label="formula")


@cases(40, 2000)
def test_bounds_enclose_runs(data: st.DataObject) -> None:
    system = data.draw(adversarial_systems() | systems())
    if data.draw(st.booleans()):
        box = data.draw(boxes(system))
        start = data.draw(states_of(system, box))
    else:
        start = data.draw(initial_states(system))
        found = bounding_box(system, next(r for r in system.regions if contains(r, start)))
        assert found is not None
        box = found
    for method in ("symbolic", "interval"):
        state, here = States.initial(system, [box], method).members[0], start
        for _ in range(3):
            for name, value in here.items():
                low, high = state.bounds(system[name])
                assert low <= value <= high, f"{method}: {name} = {value} is not in [{low}, {high}]"
                form = state.affine(system[name])
                assert form is None or form.evaluate(start) == value
            steps = successors(system, here)
            if not steps:
                break
            taken = steps[data.draw(st.integers(0, len(steps) - 1))]
            moves = [s for s in state.successors() if taken.index in s.branches]
            assert len(moves) == 1, f"{method}: branch {taken.branch} is taken, and not among the steps"
            state, here = moves[0].state, dict(taken.state)


@cases(60, 3000)
def test_proofs_agree_with_runs(data: st.DataObject) -> None:
    system, formula = question(data, adversarial_systems() | adversarial_systems() | systems())
    target = nnf(formula, negate=True)
    starts = [data.draw(initial_states(system)) for _ in range(4)]
    answer, proof, lines = proved(system, formula)
    event(f"proof: {answer}")
    if answer is Verdict.SATISFIED:
        assert not any(satisfies(system, target, s) for s in starts)
        if not proof.left_box:  # else the claim is another one, which `verify` makes
            check(system, formula, False, Lines(ended(lines)))
    elif answer is Verdict.VIOLATED:
        assert proof.witness is not None
        assert replay(system, target, proof.witness).confirmed


def ended(lines: list[Line]) -> Iterator[Line]:
    """With the last line, as after the header of a certificate."""
    end: Line = {"rule": "end", "lines": len(lines) + 1}
    return chain(lines, [end])


@cases(40, 2000)
def test_proofs_agree_with_the_oracle(data: st.DataObject) -> None:
    system, formula = question(data, finite_systems())
    model, initial = finite_model(system)
    truth = Verdict.SATISFIED if initial <= evaluate(formula, model) else Verdict.VIOLATED
    answer, _, _ = proved(system, formula)
    event(f"truth: {truth}, proof: {answer}")
    assert answer in (truth, None)


@cases(20, 1000)
def test_programs_agree_with_proofs(data: st.DataObject) -> None:
    system, formula = question(data, adversarial_systems() | finite_systems() | systems())
    answer, _, _ = proved(system, formula)
    for mode in ("mono", "comp-seq"):
        report = verify(system, formula, mode=mode, tune=in_process(mode), timeout=PATIENCE, trust="solver")
        if report.basis == "solver" and answer is Verdict.VIOLATED:
            event("a solver is wrong: 1e17 and 1e-17 are too much for it")
            report = verify(system, formula, mode=mode, tune=in_process(mode), timeout=PATIENCE, trust="exact")
        event(f"{mode}: {report.verdict} {report.reason}")
        if answer is not None and report.verdict is not Verdict.UNKNOWN:
            assert report.verdict is answer, f"{mode} ({report.solvers}): {report.verdict}, but proved {answer}"


def test_what_was_refuted_with_a_guard_is_not_refuted_without_it() -> None:
    """Both branches lead to the same states; below the guarded one everything was excluded because of its guard."""
    system = System("twice")
    x = system.real("x", -10, 10)
    system.branch("guarded", x=x + 1, when=x >= 5)
    system.branch("free", x=x + 1)
    system.initial(x >= 0, x <= 8)
    answer, _, _ = proved(system, parse("AX AX x >= 5", system.vocabulary))
    assert answer is Verdict.VIOLATED
