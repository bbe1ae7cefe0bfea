"""Asking one question in one mode, here or in a process of its own, and judging the answer."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from time import perf_counter

from experiments.benchmarks.machine import peak_mb
from venmas import Report, verify
from venmas.checker.file import check_certificate
from venmas.logic import Formula
from venmas.model import System

Built = tuple[System, str | Formula]
SLOW = 20.0
"""A run that took longer (s) is not repeated."""


@dataclass(frozen=True)
class Question:
    """What is asked: `build` can be pickled; `expected` was found without the verifier.

    expected: ``satisfied``, ``violated``, or empty where nothing is known; ``satisfied?`` where only samples speak for
    it, so that a violated, which replays in exact numbers, is no mistake.
    """

    name: str
    build: Callable[[], Built]
    expected: str = ""


@dataclass
class Row:
    """One question, asked in one mode one or several times: `seconds` of each run, `built` before each (s).

    wrote, checked: what writing (part of the run) and checking the certificate took (s); size: its bytes, 0 for none.
    """

    section: str
    what: str
    mode: str
    expected: str
    verdict: str = ""
    basis: str = ""
    note: str = ""
    seconds: list[float] = field(default_factory=list)
    built: list[float] = field(default_factory=list)
    checked: float = 0.0
    wrote: float = 0.0
    size: int = 0
    passes: int = 0
    nodes: int = 0
    pieces: int = 0
    mb: float = 0.0
    problem: str = ""

    @property
    def median(self) -> float:
        return median(self.seconds) if self.seconds else 0.0

    @property
    def build(self) -> float:
        return median(self.built) if self.built else 0.0

    @property
    def decided(self) -> bool:
        return self.verdict in ("satisfied", "violated")

    def judge(self) -> None:
        if self.verdict == "crash":
            self.problem = "crash"
        elif not self.decided:
            self.problem = self.verdict
        elif self.expected.strip("?") not in ("", self.verdict) and not (
            self.expected == "satisfied?" and self.verdict == "violated"
        ):
            self.problem = "WRONG"


@dataclass(frozen=True)
class Way:
    """How to ask: a mode and its limits; fresh: in a process of its own, whose memory is measured."""

    mode: str
    timeout: float | None = None
    repeat: int = 1
    fresh: bool = False
    workers: int | None = None
    certify: bool = False
    trust: str = "auto"
    solver: str = "highs"


def ask(section: str, question: Question, way: Way) -> Row:
    """Ask; an exception becomes the verdict ``crash`` with the traceback's end as its note."""
    row = Row(section, question.name, way.mode, question.expected)
    for _ in range(way.repeat):
        answer = _apart(question, way) if way.fresh else _answer(question, way)
        _add(row, answer)
        row.judge()
        if row.problem or row.seconds[-1] > SLOW:
            break
    return row


def _add(row: Row, answer: dict[str, object]) -> None:
    row.seconds.append(float(str(answer.pop("seconds"))))
    row.built.append(float(str(answer.pop("built"))))
    row.mb = max(row.mb, float(str(answer.pop("mb"))))
    if row.verdict and row.decided and answer["verdict"] != row.verdict:
        answer["note"] = f"{row.verdict} before, {answer['verdict']} now; {answer['note']}"
    for name, value in answer.items():
        setattr(row, name, value)


def _answer(question: Question, way: Way) -> dict[str, object]:
    gc.collect()  # what imports and earlier questions left is looked through in no question's time
    begun = perf_counter()
    built, begun_verify = 0.0, begun
    found: dict[str, object] = {"verdict": "crash", "basis": "", "note": ""}
    try:
        system, formula = question.build()
        built = perf_counter() - begun
        begun_verify = perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "proof" if way.certify else None
            report = verify(
                system,
                formula,
                mode=way.mode,
                timeout=way.timeout,
                solver=way.solver,
                workers=way.workers,
                trust=way.trust,
                certificate=path,
            )
            seconds = perf_counter() - begun_verify
            found |= _figures(report)
            if path is not None and report.satisfied:
                begun_check = perf_counter()
                if report.certificate is None:
                    found["note"] = f"no certificate: {'; '.join(report.notes)}"
                else:
                    check_certificate(path, system)
                    found["checked"] = perf_counter() - begun_check
                    found["wrote"] = report.seconds.prove
                    found["size"] = report.certificate.size
    except Exception as error:  # whatever happens is a result to be shown
        seconds = perf_counter() - begun_verify
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        found |= {"verdict": "crash", "note": f"{type(error).__name__}: {str(error)[:200]} ({where})"}
    mb = max(peak_mb(), float(str(found.pop("worker_mb", 0))))
    return found | {"seconds": seconds, "built": built, "mb": mb}


def _figures(report: Report) -> dict[str, object]:
    # regions have columns of their own
    by = [
        f"{p.name}: {', '.join(p.figures.values())}"
        for p in report.procedures
        if p.name == report.decided_by != "reachability"
    ]
    return {
        "verdict": report.verdict.value,
        "basis": report.basis or report.reason,
        "note": "; ".join(n for n in (report.message, *by, *report.notes) if n),
        "passes": report.graph.passes,
        "nodes": report.graph.nodes,
        "pieces": report.graph.pieces,
        "worker_mb": report.peak_rss_mb,
    }


def _apart(question: Question, way: Way) -> dict[str, object]:
    context = multiprocessing.get_context("spawn")  # a fork would start with this process's memory
    here, there = context.Pipe()
    process = context.Process(target=_child, args=(there, question, way))
    process.start()
    there.close()
    begun = perf_counter()
    patience = None if way.timeout is None else 1.5 * way.timeout + 30
    answer: dict[str, object] = {"verdict": "crash", "basis": "", "built": 0.0, "mb": 0.0}
    try:
        if here.poll(patience):
            answer = json.loads(here.recv())
        else:
            answer["note"] = f"heeds no time limit: stopped after {perf_counter() - begun:.0f} s"
    except EOFError:
        process.join()
        answer["note"] = f"the process ended with status {process.exitcode}"
    if process.is_alive() and "note" in answer and answer["verdict"] == "crash":
        process.terminate()
    process.join()
    return {"seconds": perf_counter() - begun, **answer}


def _child(connection: Connection, question: Question, way: Way) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    connection.send(json.dumps(_answer(question, way)))
