"""The journal: what was found is not found again, and nothing is taken for what it is not."""

import hashlib
import logging
import pickle
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from journal_systems import walker

from tests.in_process import in_process
from tests.needs import needs
from tests.slow import some_slow
from venmas import verify
from venmas.engine import journal as journals
from venmas.engine.report import Report, Verdict
from venmas.engine.store import Store
from venmas.errors import ModelError, Reason, StoreError, UsageError
from venmas.logic import nnf, parse
from venmas.model import System
from venmas.procedures.milp.encoding import Task, encode
from venmas.runtime import identity
from venmas.solvers.milp.program import Feasible, Infeasible, Program, Unknown
from venmas.solvers.workers import mapper
from venmas.testing import formulas_over, systems

SAFE = "AX^3 x < 5"
"""Satisfied; a solver refutes 27 paths."""
UNSAFE = "AX^3 x > -0.5"
"""Violated on the third path."""


def run(path: Path | None, formula: str = SAFE, system: System | None = None, **options: Any) -> Report:
    given = {"mode": "comp-seq", "solver": "highs", "trust": "solver"} | options
    tune = in_process(given["mode"]) | given.pop("tune", {})
    return verify(system or walker(), formula, journal=path, tune=tune, **given)


def entries(path: Path, kind: str) -> dict[str, Any]:
    with Store(path, "journal") as store:
        return entries_of(store, kind)


def entries_of(store: Store, kind: str) -> dict[str, Any]:
    return {key: value for key, value in store.items() if key.startswith(kind)}


def answer_first(count: int, monkeypatch: pytest.MonkeyPatch, then: Any) -> list[Program]:
    """The solver answers `count` programs; then `then` is raised, or returned. The list tells what was asked."""
    asked: list[Program] = []
    real = mapper.solve

    def solve(program: Program, *rest: Any) -> Any:
        asked.append(program)
        if len(asked) <= count:
            return real(program, *rest)
        if isinstance(then, BaseException):
            raise then
        return then, "highs"

    monkeypatch.setattr(mapper, "solve", solve)
    return asked


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Report]:
    """The journal of a run of SAFE that has ended, and its report."""
    path = tmp_path_factory.mktemp("finished") / "journal"
    report = run(path)
    assert report.satisfied and report.subproblems.solved == report.subproblems.created == 27
    assert len(entries(path, "path:")) == 27 and len(entries(path, "verdict:")) == 1
    return path.read_bytes(), report


@pytest.fixture
def journal(finished: tuple[bytes, Report], tmp_path: Path) -> Path:
    """A copy of that journal."""
    path = tmp_path / "journal"
    path.write_bytes(finished[0])
    return path


@pytest.fixture
def facts(journal: Path) -> Path:
    """The same without the verdict, as if the run had been killed just before."""
    known = entries(journal, "path:")
    journal.unlink()
    with Store(journal, "journal") as store:
        for key, value in known.items():
            store.put(key, value)
    return journal


# -- going on ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formula", [SAFE, UNSAFE])
@pytest.mark.parametrize("count", some_slow([0, 1, 2], [1]))
def test_an_interrupted_run_goes_on(formula: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run(None, formula)
    with monkeypatch.context() as patch:
        answer_first(count, patch, KeyboardInterrupt())
        stopped = run(tmp_path / "j", formula)
    assert (stopped.verdict, stopped.reason) == (Verdict.UNKNOWN, "interrupted")
    resumed = run(tmp_path / "j", formula)
    assert (resumed.verdict, resumed.basis, resumed.witness) == (plain.verdict, plain.basis, plain.witness)
    counts = resumed.subproblems
    assert counts.skipped == count
    assert (counts.created, counts.solved + count) == (plain.subproblems.created, plain.subproblems.solved)
    assert resumed.solvers == plain.solvers


def test_what_is_known_is_neither_built_nor_solved_and_the_verdict_rests_on_the_solver(facts: Path) -> None:
    report = run(facts)
    assert (report.verdict, report.basis, list(report.solvers)) == (Verdict.SATISFIED, "solver", ["highs"])
    assert (report.subproblems.created, report.subproblems.skipped, report.subproblems.solved) == (27, 27, 0)
    assert report.largest_program.variables == 0  # no program was made


def test_unknowns_are_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        answer_first(20, patch, Unknown(Reason.FAILURE, "no answer"))
        assert run(tmp_path / "j").reason == "failure"
    assert len(entries(tmp_path / "j", "path:")) == 20
    assert not entries(tmp_path / "j", "verdict:")
    report = run(tmp_path / "j")
    assert report.satisfied
    assert (report.subproblems.skipped, report.subproblems.solved) == (20, 7)


def test_none_off_the_boundary_is_no_proof_and_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A point that does not replay, then "infeasible" for the program that asks for a margin."""

    def solve(program: Program, *_: Any) -> Any:
        return (Feasible(np.zeros(program.variables)) if program.objective is None else Infeasible()), "highs"

    monkeypatch.setattr(mapper, "solve", solve)
    assert run(tmp_path / "j").reason == "tolerance"
    assert not entries(tmp_path / "j", "")


def test_the_time_limit_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solved = 0
    for _ in range(40):
        report = run(tmp_path / "j", timeout=0.3)
        assert report.satisfied or report.reason == "time"
        if report.satisfied:
            break
        assert report.subproblems.skipped == solved
        solved += report.subproblems.solved
    else:
        pytest.fail("no progress was made")
    assert report.subproblems.skipped == solved
    assert report.subproblems.created == 27


# -- the verdict -------------------------------------------------------------------------------------------------------


def test_a_finished_run_answers_at_once(
    journal: Path, finished: tuple[bytes, Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answer_first(0, monkeypatch, AssertionError("solved again"))
    report, before = run(journal), finished[1]
    assert (report.verdict, report.basis, report.solvers) == (before.verdict, before.basis, before.solvers)
    assert not asked and (report.subproblems.created, report.subproblems.skipped) == (27, 27)
    assert any("earlier run, in the journal" in note for note in report.notes)


@pytest.mark.parametrize("mode", ["comp-seq", "mono", "adaptive", "exact"])
@pytest.mark.parametrize("formula", [SAFE, UNSAFE])
def test_every_mode_keeps_its_verdict(mode: str, formula: str, tmp_path: Path) -> None:
    before = run(tmp_path / "j", formula, mode=mode)
    after = run(tmp_path / "j", formula, mode=mode)
    assert (after.verdict, after.basis, after.witness) == (before.verdict, before.basis, before.witness)
    assert after.verdict is (Verdict.SATISFIED if formula == SAFE else Verdict.VIOLATED)
    assert after.seconds.encode == after.seconds.solve == after.seconds.prove == 0
    if after.violated:
        assert after.replay is not None and after.replay.confirmed


def test_a_stored_violation_counts_only_when_it_replays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = run(tmp_path / "j", UNSAFE)
    (key,) = entries(tmp_path / "j", "verdict:")
    with Store(tmp_path / "j", "journal") as store:
        forged = store.get(key)
        value = forged["witness"]["initial"]["x"]
        value["exact"] = forged["witness"]["steps"][0]["state"]["x"]["exact"] = "5/2"
        store.put(key, forged)
    with caplog.at_level(logging.WARNING, "venmas"):
        again = run(tmp_path / "j", UNSAFE)
    assert "does not replay" in caplog.text
    assert (again.verdict, again.witness) == (before.verdict, before.witness)
    assert again.subproblems.solved == 1  # two were known


@pytest.mark.parametrize(
    "value", some_slow([None, 7, [], ["highs"], {"verdict": "satisfied"}, ["bounds", 3], "satisfied"], [1, 4, 5])
)
def test_entries_of_another_form_count_for_nothing(value: object, journal: Path) -> None:
    keys = entries(journal, "")
    with Store(journal, "journal") as store:
        for key in keys:
            store.put(key, value)
    report = run(journal)
    assert report.satisfied and report.subproblems.solved == 27


@pytest.mark.parametrize("change", [{"verdict": "unknown"}, {"verdict": "fine"}, {"basis": "solver"}])
def test_a_stored_verdict_is_no_less_than_what_is_owed(change: dict[str, str], tmp_path: Path) -> None:
    before = run(tmp_path / "j", trust="exact")
    with Store(tmp_path / "j", "journal") as store:
        for key, value in entries_of(store, "verdict:").items():
            store.put(key, value | change)
    again = run(tmp_path / "j", trust="exact")
    assert (again.verdict, again.basis) == (before.verdict, before.basis) == (Verdict.SATISFIED, "exact")
    assert again.seconds.prove > 0


def test_a_certificate_needs_the_proof_again(journal: Path, tmp_path: Path) -> None:
    report = run(journal, certificate=tmp_path / "proof.gz", trust="auto")
    assert report.basis == "exact" and report.certificate is not None
    assert run(journal, trust="auto").certificate is None  # the verdict is known now
    again = run(journal, certificate=tmp_path / "again.gz", trust="auto")
    assert again.certificate is not None and (tmp_path / "again.gz").exists()


# -- nothing is taken for what it is not -------------------------------------------------------------------------------

CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "formula": ({"formula": "AX^3 x < 4.75"}, {}),
    "another of the same atom": ({"formula": "AX^2 x < 5"}, {}),
    "weights of the network": ({"system": lambda: walker(scale=1.0625)}, {}),
    "parameter, the initial set": ({"system": lambda: walker(start=2.75)}, {}),
    "dynamics": ({"system": lambda: walker(third=-0.25)}, {}),
    "encoding": ({"tune": {"milp.encoding": "indicator"}}, {}),
    "bounds": ({"tune": {"milp.bounds": "interval"}}, {}),
    "solver": ({"solver": "scip"}, {}),
    "version of the solver": ({}, {"solver_version": lambda name: "0.0.1"}),
    "version or code of VenMAS": ({}, {"code_digest": lambda: "another"}),
}


@pytest.mark.parametrize("change", some_slow(CHANGES, range(0, len(CHANGES), 2)))
def test_a_changed_question_finds_nothing(change: str, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options, patched = CHANGES[change]
    if options.get("solver") == "scip":
        needs("pyscipopt")
    if "system" in options:
        options = options | {"system": options["system"]()}
    plain = run(None, **options)
    for name, function in patched.items():
        monkeypatch.setattr(journals, name, function)
    report = run(journal, **options)
    assert report.subproblems == plain.subproblems  # none was skipped
    assert (report.verdict, report.notes) == (plain.verdict, plain.notes)
    monkeypatch.undo()
    assert run(journal).subproblems.skipped == 27 or change == "version of the solver"  # what was there is there


def test_what_narrows_the_initial_states_belongs_to_the_question(tmp_path: Path) -> None:
    """The paths of both ask the same, one of them of some initial states only: those where nothing is wrong."""
    narrow = run(tmp_path / "j", "(x >= -1 & x <= -0.5) -> AX^3 x > -0.5")
    assert narrow.satisfied and narrow.subproblems.solved > 0
    wide = run(tmp_path / "j", UNSAFE)
    assert wide.violated and wide.subproblems.skipped == 0


def test_another_trust_takes_the_word_of_the_solver_for_no_more(journal: Path) -> None:
    report = run(journal, trust="exact")
    assert (report.verdict, report.basis) == (Verdict.SATISFIED, "exact")
    assert report.seconds.prove > 0
    assert report.subproblems.skipped == 27  # the solver's word, which the proof does not rest on


def test_what_an_error_has_left_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver has answered, and the proof that is owed beyond it ends with an error: nothing is proved."""

    def prove(*_: object) -> None:
        raise UsageError("of the proof")

    monkeypatch.setattr("venmas.engine.certificates.goals.certify", prove)
    with pytest.raises(UsageError, match="of the proof"):
        run(tmp_path / "j", trust="exact", certificate=tmp_path / "proof")
    assert entries(tmp_path / "j", "path:") and not entries(tmp_path / "j", "verdict:")
    report = run(tmp_path / "j", trust="exact")
    assert (report.verdict, report.basis) == (Verdict.SATISFIED, "exact")


def test_a_run_that_leaves_its_box_is_told_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Solver and floats saw nothing, the proof in rationals does."""

    def prove(*_: object) -> None:
        raise ModelError("x leaves its box")

    monkeypatch.setattr("venmas.procedures.exact.session.ExactSession.advance", prove)
    for _ in range(2):
        with pytest.raises(ModelError):
            run(tmp_path / "j", trust="auto")


def test_another_mode_or_semantics_has_a_verdict_of_its_own(journal: Path) -> None:
    assert run(journal, mode="mono").subproblems.solved > 0
    single = run(journal, semantics="float32", timeout=3)
    assert single.basis != "solver"
    assert single.seconds.prove > 0 and not single.notes  # sought, whether or not it was found in time


def test_an_edit_of_the_code_is_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "__init__.py").write_text("x = 1\n")
    (tmp_path / "part" / "a.py").write_text("y = 2\n")
    monkeypatch.setattr(identity, "FOLDER", tmp_path)
    whole = identity.code_digest.__wrapped__()
    assert whole == identity.code_digest.__wrapped__()
    (tmp_path / "part" / "a.py").write_text("y = 3\n")
    edited = identity.code_digest.__wrapped__()
    monkeypatch.setattr(identity, "__version__", "9.9")
    assert len({whole, edited, identity.code_digest.__wrapped__()}) == 3


class Recorder:
    """A memory that knows nothing and hears every path."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def refuted(self, path: str) -> str | None:
        self.heard.append(path)
        return None

    def keep(self, path: str, by: str) -> None:
        pass


def made(task: Task) -> Iterator[tuple[str, str]]:
    """Paths as they are named, each with a digest of its program; the first few."""
    for subproblem in islice(encode(task, memory=Recorder()), 12):
        if subproblem is not None:
            p = subproblem.program
            rows = [a.tobytes() for a in (p.lower, p.upper, p.kinds, p.indptr, p.indices, p.data)]
            implied = [(i.binary, i.value, i.columns.tobytes(), i.coefficients.tobytes()) for i in p.implications]
            sides = [p.row_lower.tobytes(), p.row_upper.tobytes(), implied]
            yield subproblem.path, hashlib.sha256(pickle.dumps([rows, sides])).hexdigest()


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_paths_of_one_name_are_one_program(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula = data.draw(formulas_over(system, 2, 3))
    for encoding in ("big-m", "indicator"):
        task = Task(system, nnf(formula, negate=True), "compositional", encoding)  # type: ignore[arg-type]
        by_name: dict[str, set[str]] = {}
        for name, program in [*made(task), *made(task)]:  # the second time everything is made anew
            by_name.setdefault(name, set()).add(program)
        assert all(name and len(programs) == 1 for name, programs in by_name.items())


def test_names_tell_the_way_the_guards_and_what_holds() -> None:
    system = walker()
    recorder = Recorder()
    target = nnf(parse("EX (x < 0 | AX x > 5)", system.vocabulary), negate=True)
    for _ in encode(Task(system, target, "compositional"), memory=recorder):
        pass
    assert len(set(recorder.heard)) == len(recorder.heard) > 4
    assert {line for name in recorder.heard for line in name.splitlines()} >= {": guard 2 False", "1: guard 2 True"}


# -- files that fail ---------------------------------------------------------------------------------------------------


def test_a_full_disk_loses_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with Store(tmp_path / "j", "journal") as store:
        for i in range(25):  # most of a page
            store.put(f"other {i}", "x" * 80)
    opened = Store._open

    def full(store: Store) -> None:
        opened(store)
        store._db.execute("PRAGMA max_page_count = 1")  # it keeps the pages that it has

    monkeypatch.setattr(Store, "_open", full)
    with caplog.at_level(logging.WARNING, "venmas"):
        report = run(tmp_path / "j")
    assert (report.verdict, report.subproblems.solved) == (Verdict.SATISFIED, 27)
    assert caplog.text.count("disk is full") == 1
    assert any("nothing more was kept" in note and "make room" in note for note in report.notes)
    monkeypatch.undo()
    resumed = run(tmp_path / "j")  # what was kept before is good
    assert resumed.satisfied and 0 < resumed.subproblems.skipped < 27


def test_a_damaged_entry_ends_the_journal_and_not_the_run(facts: Path) -> None:
    with Store(facts, "journal") as store:
        store._db.execute("UPDATE entry SET checksum = 0")
    report = run(facts)
    assert report.satisfied and report.subproblems.solved == 27
    assert any("damaged" in note for note in report.notes)


def test_files_that_cannot_be_used_are_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("no journal " * 100)
    Store(tmp_path / "cells", "experiment").close()
    for name, problem in (
        ("other", "no store of VenMAS"),
        ("cells", "'experiment'"),
        ("no/where", "is in a folder that is not there"),
    ):
        with pytest.raises(StoreError, match=problem):
            run(tmp_path / name)
    with Store(tmp_path / "open", "journal"), pytest.raises(StoreError, match="in use"):
        run(tmp_path / "open")


def test_the_file_is_free_afterwards_whatever_happened(tmp_path: Path) -> None:
    leaving = System("leaving")
    x = leaving.real("x", 0, 1)
    leaving.branch("b", x=x + 1)
    leaving.initial(x >= 0)
    with pytest.raises(Exception, match="range"):
        run(tmp_path / "j", "AX x < 5", leaving)
    assert not entries(tmp_path / "j", "")


def test_a_system_without_canonical_form_has_no_journal(tmp_path: Path) -> None:
    long = System("long")
    x = long.real("x", 0, 1)
    long.branch("b", x=x * Fraction(1, 3**9000))
    long.initial(x >= 0)
    with pytest.raises(UsageError, match=r"no journal can be kept of this system: .*or run without a journal"):
        run(tmp_path / "j", "AX x < 5", long)
