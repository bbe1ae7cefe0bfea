"""Questions beside decision boundaries: all in mode exact, a part in MILP modes with ``trust=exact``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from time import perf_counter

from tests.in_process import in_process
from tests.soundness.questions import Question, all_questions
from venmas import Report, verify
from venmas.checker.file import check_certificate
from venmas.errors import InputError

PART = 6
"""Every so many-th question is also asked of a solver."""

WAYS = (("mono", "highs"), ("comp-seq", "highs"), ("mono", "gurobi"), ("comp-seq", "scip"))


@dataclass
class Answer:
    """One answer; `problem` says what is wrong with it, `checked` how long its certificate took to check (s)."""

    question: Question
    way: str
    report: Report
    problem: str
    checked: float = 0.0


def ask(question: Question, mode: str = "exact", solver: str = "highs", timeout: float = 120) -> Answer:
    """Ask once; a *satisfied* needs a certificate that the checker accepts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof"
        report = verify(
            question.system,
            question.formula,
            mode=mode,
            solver=solver,
            trust="exact",
            certificate=path,
            tune=in_process(mode),
            timeout=timeout,
        )
        answer = Answer(question, "exact" if mode == "exact" else f"{mode} {solver}", report, "")
        if report.satisfied != question.holds or not (report.satisfied or report.violated):
            answer.problem = f"{report.verdict} {report.reason} {report.message}".strip()
        elif report.satisfied:
            begun = perf_counter()
            answer.problem = refused(question, path) if report.certificate else "no certificate"
            answer.checked = perf_counter() - begun
    return answer


def refused(question: Question, path: Path) -> str:
    """Why the checker refuses a certificate, as `venmas check` reads it; empty when it accepts."""
    try:
        check_certificate(path, question.system)
    except InputError as error:
        return str(error)
    return ""


def boundary(data: Path, quick: bool) -> int:
    """Print one line per family; status 1 for a wrong verdict, or an unknown one at 1e-9 and above."""
    answers: list[Answer] = []
    for number, question in enumerate(all_questions(data, quick)):
        answers.append(ask(question))
        if number % PART == 0:
            answers.append(ask(question, *WAYS[number // PART % len(WAYS)]))
    print(
        "| questions | asked | satisfied | wrong | unknown | unknown at 1e-9 and above | median s | max s | checking |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    ways = ["exact", *(" ".join(w) for w in WAYS)]
    families = dict.fromkeys(a.question.family for a in answers)
    for name, some in [
        *((f, [a for a in answers if a.way == "exact" and a.question.family == f]) for f in families),
        *((f"all, {w}", [a for a in answers if a.way == w]) for w in ways),
    ]:
        print(_line(name, some))
    bad = [a for a in answers if a.problem]
    for a in bad:
        print(f"\n{a.way}, {a.question.family}, {a.question.name}, moved by {float(a.question.moved)}: {a.problem}")
    return 1 if any(not _unknown(a) or abs(a.question.moved) >= Fraction("1e-9") for a in bad) else 0


def _unknown(answer: Answer) -> bool:
    return not (answer.report.satisfied or answer.report.violated)


def _line(name: str, answers: Iterable[Answer]) -> str:
    some = list(answers)
    seconds = [a.report.seconds.total for a in some] or [0.0]
    unknown = [a for a in some if _unknown(a)]
    above = [a for a in unknown if abs(a.question.moved) >= Fraction("1e-9")]
    satisfied = [a for a in some if a.report.satisfied]
    wrong = sum(bool(a.problem) for a in some) - len(unknown)
    proving = sum(a.report.seconds.total for a in satisfied)
    ratio = f"{sum(a.checked for a in satisfied) / proving:.0%}" if satisfied else "-"
    counts = f"{len(some)} | {len(satisfied)} | {wrong} | {len(unknown)} | {len(above)}"
    return f"| {name} | {counts} | {median(seconds):.3f} | {max(seconds):.2f} | {ratio} |"
