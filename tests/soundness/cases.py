"""The 18 published cases as systems, and each asked in every mode, solver and encoding."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from click.testing import CliRunner

from tests.in_process import in_process
from venmas import Report, System, Verdict, load_scenario, verify
from venmas.cli.main import main as command_line
from venmas.engine.modes import with_programs
from venmas.logic import AX, Atom, Formula
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.runtime import choices

SCENARIO = Path(__file__).with_name("scenario.py")
SOLVERS = ("highs", "gurobi", "scip")
ENCODINGS = tuple(choices.ENCODINGS)
MODES = with_programs()


@dataclass(frozen=True)
class Case:
    """A network, a box, and an unsafe atom ``c.y + d >= 0`` (``> 0`` where strict) whose truth is known exactly."""

    name: str
    folder: Path
    low: Fraction
    high: Fraction
    c: tuple[float, ...]
    d: float
    strict: bool
    truth: Verdict

    @property
    def parameters(self) -> dict[str, str]:
        """As the scenario takes them."""
        return {"network": self.name, "low": str(self.low), "high": str(self.high)}

    def system(self) -> System:
        """One step of the network."""
        return load_scenario(SCENARIO).system(self.folder, **self.parameters)

    def formula(self) -> Formula:
        """The unsafe atom never holds after one step."""
        terms = {f"y[{i}]": Fraction(c) for i, c in enumerate(self.c, 1)}
        below = Relation.LE if self.strict else Relation.LT
        return AX(Atom(Comparison(LinearExpr.of(terms, Fraction(self.d)), below)))

    @property
    def options(self) -> list[str]:
        """The system on a command line."""
        settings = [text for name, value in self.parameters.items() for text in ("--set", f"{name}={value}")]
        return ["--scenario", str(SCENARIO), "--networks", str(self.folder), *settings]


def read_cases(data: Path) -> list[Case]:
    """All cases of the folder ``soundness``, in the order of its index."""
    folder = data / "soundness"
    found = []
    for e in json.loads((folder / "index.json").read_text()):
        (low,), (high,) = e["lo"], e["hi"]  # all have one input
        truth = Verdict(e["truth"])
        ends = Fraction(low), Fraction(high)
        found.append(Case(e["name"], folder, *ends, tuple(e["c"]), e["d"], e["strict"], truth))
    return found


@dataclass(frozen=True)
class Asked:
    """One answer, and what is wrong with it (empty when nothing is)."""

    case: Case
    mode: str
    solver: str
    encoding: str
    trust: str
    report: Report
    problem: str

    @property
    def unknown(self) -> bool:
        """No answer, which is not wrong."""
        return self.report.verdict is Verdict.UNKNOWN


def ask(case: Case, mode: str, solver: str = "highs", encoding: str = "big-m", trust: str = "exact") -> Asked:
    """Ask once. A *satisfied* that is not only trusted needs a certificate that `venmas check` accepts."""
    with tempfile.TemporaryDirectory() as folder:
        certificate = None if trust == "solver" else Path(folder) / "proof.cert"
        report = verify(
            case.system(),
            case.formula(),
            mode=mode,
            solver=solver,
            trust=trust,
            certificate=certificate,
            tune={} if mode == "exact" else {**in_process(mode), "milp.encoding": encoding},
            timeout=60,
        )
        return Asked(case, mode, solver, encoding, trust, report, _problem(case, report, certificate))


def _problem(case: Case, report: Report, certificate: Path | None) -> str:
    if report.verdict is not case.truth:
        return f"{report.verdict} {report.reason} {report.message}".strip()
    if report.violated and (report.witness is None or report.replay is None):
        return "violated without a witness that replays"
    if report.satisfied and certificate is not None:
        if report.certificate is None:
            return "satisfied without a certificate"
        checked = CliRunner().invoke(command_line, ["check", str(certificate), "--quiet", *case.options])
        if checked.exit_code != 0:
            return f"the certificate is refused: {checked.output.strip()[:200]}"
    return ""


def ask_all(cases: Sequence[Case], trust: str, modes: Sequence[str] = MODES) -> Iterator[Asked]:
    """Every case in every mode, solver and encoding."""
    for mode in modes:
        for solver in SOLVERS:
            for encoding in ENCODINGS:
                for case in cases:
                    yield ask(case, mode, solver, encoding, trust)
