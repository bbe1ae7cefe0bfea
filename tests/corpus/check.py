"""Asking the tool in every configuration, and judging the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic

from tests.corpus.entries import Entry
from tests.corpus.finite import FiniteCase
from tests.corpus.pwl import PwlCase
from tests.corpus.spec import Spec, State, build, holds, starts, step
from tests.in_process import IN_PROCESS
from venmas.bounds.states import States
from venmas.checker.file import check_certificate
from venmas.engine.modes import modes
from venmas.engine.report import Report, Verdict
from venmas.engine.verify import verify
from venmas.logic import Formula, Not
from venmas.model import System, Witness
from venmas.model.evaluation.regions import bounding_box, contains
from venmas.solvers import solver_order
from venmas.solvers.registry import SOLVERS

TIMEOUT = 30.0  # s
ISSUE = 100
PATIENCE = 4
"""How many times as long as a question may take the check of its certificate may take."""


@dataclass(frozen=True)
class Config:
    """One way to ask. Programs are trusted here, so that no exact proof makes up for a solver's wrong answer.

    timeout: seconds for one question. cluster: address of a Dask scheduler that solves the programs. What mode exact
    calls satisfied has to come with a certificate that is accepted.
    """

    mode: str
    solver: str
    encoding: str
    bounds: str = "symbolic"
    timeout: float = TIMEOUT
    cluster: str = ""

    @property
    def tune(self) -> dict[str, object]:
        """Options of procedures: programs are solved here, and made as the configuration says."""
        if self.mode == EXACT.mode:
            return {}
        return {**IN_PROCESS, "milp.encoding": self.encoding or "big-m", "milp.bounds": self.bounds}

    def may_pass(self, report: Report) -> bool:
        """Left open without being wrong: an exact proof may not be found, many small programs take their time (any
        mode does where less than the usual timeout is given), and the licence of the pip package of Gurobi ends at
        2000 rows."""
        excused = {"mono": ("licence",), "exact": (report.reason,), "adaptive": (report.reason,)}.get(
            self.mode, ("licence", "time")
        )
        if self.timeout < TIMEOUT:
            excused = (*excused, "time")
        return report.verdict is Verdict.UNKNOWN and report.reason in excused

    def __str__(self) -> str:
        where = "cluster" if self.cluster else ""
        return " ".join(filter(None, (self.mode, self.solver, self.encoding, self.bounds, where)))


EXACT = Config("exact", "", "")
ADAPTIVE = Config("adaptive", "", "")


def available() -> tuple[str, ...]:
    """Solvers that are installed here."""
    names = {solver.name for solver in solver_order("auto")}
    return tuple(name for name in SOLVERS if name in names)


def configurations(modes: Iterable[str] = ("mono", "comp-seq"), intervals: bool = True) -> list[Config]:
    """Mode adaptive; every mode, solver and encoding; with interval bounds for one solver and encoding as well."""
    found = [ADAPTIVE]
    found += [Config(m, s, e) for m in modes for s in available() for e in ("big-m", "indicator")]
    if intervals:
        found += [Config(m, available()[-1], "big-m", "interval") for m in modes]
    return found


def rotated(number: int, timeout: float) -> list[Config]:
    """The configuration whose turn it is at case `number` (the mode changes fastest), adaptive, and a proof."""
    turns = [
        Config(m, s, e)
        for e in ("big-m", "indicator")
        for s in available()
        for m, mode in modes().items()
        if mode.solver
    ]
    turn = turns[number % len(turns)]
    return [replace(c, timeout=timeout) for c in (turn, ADAPTIVE, EXACT)]


@dataclass
class Tally:
    """Verdicts by configuration, what became of certificates, unknowns with their reasons, and what is wrong."""

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    certificates: Counter[str] = field(default_factory=Counter)
    unknowns: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def merge(self, other: Tally) -> None:
        self.verdicts.update(other.verdicts)
        self.certificates.update(other.certificates)
        self.unknowns += other.unknowns
        self.wrong += other.wrong


def ask(system: System, formula: str | Formula, config: Config, name: str, tally: Tally) -> Report | None:
    """One answer, counted, with its certificate where there should be one; an exception is wrong whatever it says."""
    with TemporaryDirectory() as folder:
        certificate = Path(folder) / "proof.gz" if config.mode == EXACT.mode else None
        try:
            report = verify(
                system,
                formula,
                mode=config.mode,
                solver=config.solver or "auto",
                tune=config.tune,
                cluster=config.cluster or None,
                timeout=config.timeout,
                trust="auto" if config.mode == EXACT.mode else "solver",
                certificate=certificate,
            )
        except Exception as error:
            tally.wrong.append(f"{name} [{config}] {formula}: {type(error).__name__}: {str(error)[:300]}")
            return None
        if certificate is not None:
            _check_certificate(system, formula, config, name, tally, report, certificate)
    label = report.verdict.value + (f" ({report.reason})" if report.reason else "")
    tally.verdicts[str(config), label] += 1
    if report.verdict is Verdict.UNKNOWN:
        tally.unknowns.append(f"{name} [{config}] {str(formula)[:ISSUE]}: {report.reason}: {report.message[:ISSUE]}")
    return report


def _check_certificate(
    system: System, formula: str | Formula, config: Config, name: str, tally: Tally, report: Report, path: Path
) -> None:
    """Count an accepted certificate; one that is refused, missing or there without need is wrong."""
    case = f"{name} [{config}] {formula}"
    if path.exists() != report.satisfied:
        tally.wrong.append(f"{case}: {report.verdict.value}, {'with a' if path.exists() else 'without'} certificate")
    if not path.exists():
        return
    deadline = monotonic() + PATIENCE * config.timeout

    def tick(_: int) -> None:
        if monotonic() > deadline:
            raise TimeoutError

    try:
        check_certificate(path, system, tick)
    except TimeoutError:
        tally.unknowns.append(f"{name} [certificate] {str(formula)[:ISSUE]}: time: checking took too long")
        tally.certificates["unknown (time)"] += 1
    except Exception as error:
        tally.wrong.append(f"{case}: its certificate: {type(error).__name__}: {str(error)[:300]}")
        tally.certificates["refused"] += 1
    else:
        tally.certificates["accepted"] += 1


def check_entry(entry: Entry, configs: Sequence[Config]) -> Tally:
    """A hand-written entry: the verdict is known; unknown counts as wrong unless the entry is an edge."""
    tally, system = Tally(), entry.system()
    for config in configs:
        report = ask(system, entry.formula, config, entry.name, tally)
        if report is None or report.verdict is entry.verdict or config.may_pass(report):
            continue
        if not (entry.edge and report.verdict is Verdict.UNKNOWN and report.reason == "tolerance"):
            got = f"{report.verdict.value} {report.message}"
            tally.wrong.append(
                f"{entry.name} [{config}] {entry.formula}: {got}, but {entry.verdict.value}: {entry.why}"
            )
    return tally


def check_finite(name: str, case: FiniteCase, configs: Sequence[Config]) -> Tally:
    """A finite system: the verdict is known and has to be found."""
    tally, system = Tally(), build(case.spec)
    expected = Verdict.SATISFIED if case.truth else Verdict.VIOLATED
    for config in configs:
        report = ask(system, case.formula, config, name, tally)
        if report is None or config.may_pass(report):
            continue
        if report.verdict is not expected:
            got = f"{report.verdict.value} {report.message}"
            tally.wrong.append(f"{name} [{config}] {case.formula}: {got}, but {expected.value}")
        elif report.witness is not None and (problem := false_witness(case.spec, case.formula, report.witness)):
            tally.wrong.append(f"{name} [{config}] {case.formula}: {problem}")
    return tally


def check_pwl(name: str, case: PwlCase, configs: Sequence[Config]) -> Tally:
    """A system over reals: satisfied excludes every sampled violation, a witness is run again, answers agree."""
    tally, system = Tally(), build(case.spec)
    sampled = next((s for s in case.points if not holds(case.spec, case.formula, s)), None)
    answers: dict[Verdict, Config] = {}
    for config in configs:
        report = ask(system, case.formula, config, name, tally)
        if report is None or report.verdict is Verdict.UNKNOWN:
            continue
        answers[report.verdict] = config
        if report.satisfied and sampled is not None:
            tally.wrong.append(f"{name} [{config}] {case.formula}: satisfied, but {shown(sampled)} violates it")
        if report.witness is not None and (problem := false_witness(case.spec, case.formula, report.witness)):
            tally.wrong.append(f"{name} [{config}] {case.formula}: {problem}")
    if len(answers) > 1:
        tally.wrong.append(f"{name} {case.formula}: {' and '.join(f'{v.value} [{c}]' for v, c in answers.items())}")
    if Verdict.SATISFIED in answers:
        again = ask(system, Not(case.formula), configs[0], f"{name} negated", tally)
        if again is not None and again.satisfied:
            tally.wrong.append(f"{name} {case.formula}: satisfied, and so is its negation")
    for method in ("symbolic", "interval"):
        tally.wrong += [f"{name} {problem}" for problem in loose_bounds(case, system, method)]
    return tally


def false_witness(spec: Spec, formula: Formula, witness: Witness) -> str | None:
    """What is wrong with a witness, by plain stepping and by the oracle; None when it shows a violation."""
    initial = dict(witness.initial)
    if not starts(spec, initial):
        return f"the witness begins at {shown(initial)}, which is no initial state"
    if holds(spec, formula, initial):
        return f"the witness begins at {shown(initial)}, which satisfies the formula"
    for node in witness.nodes:
        following = step(spec, dict(node.point)) if node.children else []
        for branch, child in node.children:
            if following[int(branch[1:])] != dict(witness.nodes[child].point):
                return f"the witness goes by {branch} from {shown(node.point)} to {shown(witness.nodes[child].point)}"
    return None


def loose_bounds(case: PwlCase, system: System, method: str, steps: int = 3, runs: int = 12) -> list[str]:
    """Runs that leave the bounds of the abstract states along their path, or miss the exact forms."""
    problems: list[str] = []
    for region in system.regions:
        box = bounding_box(system, region)
        members = [s for s in case.points if contains(region, s)][:runs]
        if box is None:
            problems += [f"a region with the point {shown(s)} is said to be empty" for s in members]
            continue
        root = States.initial(system, [box], method).members[0]
        for number, start in enumerate(members):
            rng, state, here = Random(number), root, start
            for depth in range(steps + 1):
                for variable, exact in here.items():
                    low, high = state.bounds(system[variable])
                    if not low <= exact <= high:
                        problems.append(f"{method}: {variable} = {exact} after {depth} steps, not in [{low}, {high}]")
                    form = state.affine(system[variable])
                    if form is not None and form.evaluate(start) != exact:
                        problems.append(f"{method}: {variable} = {exact} after {depth} steps, its form is {form}")
                enabled = [i for i, t in enumerate(step(case.spec, here)) if t is not None]
                if not enabled or depth == steps:
                    break
                branch = rng.choice(enabled)
                moves = [s for s in state.successors() if branch in s.branches]
                if len(moves) != 1:
                    problems.append(
                        f"{method}: branch {branch} is possible after {depth} steps and not among the steps"
                    )
                    break
                state, here = moves[0].state, step(case.spec, here)[branch]
    return problems


def shown(state: State) -> str:
    return ", ".join(f"{n} = {v}" for n, v in state.items())
