"""Proofs in exact rationals, and the files they are written to (docs/certificates.md)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType

from venmas._version import __version__
from venmas.checker.check import claim
from venmas.checker.file import FORMAT
from venmas.files import NewFile
from venmas.logic import Formula, nnf
from venmas.model.canonical import networks_of, system_to_json
from venmas.model.system import System
from venmas.nn.network import Semantics
from venmas.search.rational.search import Line, Proof, Prover
from venmas.search.regions.certificate import GraphProof, IncompleteError
from venmas.search.regions.graph import Graph


@dataclass(frozen=True)
class Certificate:
    """A certificate on disk: its name, and how large it is."""

    path: str
    lines: int
    size: int


@dataclass(frozen=True)
class Unwritten:
    """A certificate that could not be written, such as where the disk is full, and why. Its proof is none the worse."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"cannot write {self.path!r}: {self.problem}; the proof is not stored"


class _File:
    """One JSON object a line, compressed; a file that can not be written is given up, and remembers why."""

    def __init__(self, path: str | Path) -> None:
        self.path, self._problem, self._lines = str(path), "", 0
        self._open = ExitStack()
        with self._tried():
            self._file = self._open.enter_context(NewFile(path))
            self._packed = gzip.GzipFile(filename="", mode="wb", fileobj=self._file.raw, mtime=0)
            self._open.callback(self._end)

    def write(self, line: Line) -> None:
        """Add a line."""
        self._lines += 1
        if not self._problem:
            with self._tried():
                self._packed.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")

    def keep(self) -> Certificate | Unwritten:
        """Give the complete file its name."""
        self.write({"rule": "end", "lines": self._lines})
        size = 0
        if not self._problem:
            with self._tried():
                self._packed.close()
                size = self._file.keep()
        return Unwritten(self.path, self._problem) if self._problem else Certificate(self.path, self._lines, size)

    def _end(self) -> None:
        with suppress(OSError):
            self._packed.close()

    @contextmanager
    def _tried(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._problem = error.strerror or str(error)
            self._open.close()

    def __enter__(self) -> _File:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()


class RationalSearch:
    """A search in exact rationals for whether every initial state satisfies `formula`; it goes on where it was left.

    whole: by enclosures alone, see `certify`.
    """

    def __init__(self, system: System, formula: Formula, semantics: Semantics = "real", whole: bool = False) -> None:
        self.system, self.formula, self.semantics, self.whole = system, formula, semantics, whole
        self.proof: Proof | None = None
        self._error: BaseException | None = None
        self._steps = self._search()

    @cached_property
    def target(self) -> Formula:
        """The negation of the formula, in core form. Raises `FormulaError` as `nnf` does."""
        return nnf(self.formula, negate=True)

    def _search(self) -> Generator[None, None, Proof]:
        for inside in (False, True):
            prover = Prover(self.system, claim(self.system, self.formula, inside), _nowhere, self.semantics, self.whole)
            yield from prover.steps()
            if not (prover.proof.complete and prover.proof.left_box):
                break
        return prover.proof

    def run(self, tick: Callable[[], None]) -> Proof:
        """Search to the end, or until `tick`, which is called all the time, raises.

        `Proof.complete`: satisfied. `Proof.witness`: violated. Otherwise `Proof.gaps` says what was left open. Raises
        `ModelError` when a run leaves the declared box (design S1).
        """
        if self._error is not None:  # it would end there again
            raise self._error
        while self.proof is None:
            tick()
            try:
                next(self._steps)
            except StopIteration as end:
                self.proof = end.value
            except BaseException as error:
                self._error = error
                raise
        return self.proof


def prove(
    system: System, formula: Formula, tick: Callable[[], None] = lambda: None, semantics: Semantics = "real"
) -> Proof:
    """Decide in exact rationals whether every initial state satisfies `formula`: `RationalSearch.run`."""
    return RationalSearch(system, formula, semantics).run(tick)


def certify(
    system: System,
    formula: Formula,
    path: str | Path,
    about: Line,
    tick: Callable[[], None] = lambda: None,
    semantics: Semantics = "real",
    whole: bool = False,
) -> tuple[Proof, Certificate | Unwritten | None]:
    """The same, and write the certificate to `path` when the proof is complete. about: what the header says besides.

    whole: by enclosures alone, which is quick where bounds are known to refute the negation.
    """
    for inside in (False, True):
        with _File(path) as file:
            file.write(_header(system, formula, inside, semantics, about))
            proof = Prover(system, claim(system, formula, inside), file.write, semantics, whole).run(tick)
            if proof.left_box and not inside and proof.complete:
                continue  # prove with it that no state leaves the declared box
            if not proof.complete:
                return proof, None
            return proof, file.keep()
    raise AssertionError("the second round ends")


def certify_graph(
    graph: Graph, formula: Formula, inside: bool, path: str | Path, about: Line
) -> Certificate | Unwritten:
    """Write the proof that a graph, with its past, has refuted the negation of `formula` (`inside`: with the box).

    Raises `IncompleteError` where rationals do not follow floats; then nothing is written.
    """
    semantics: Semantics = "float32" if graph.space.single else "real"
    system = graph.space.system
    with _File(path) as file:
        file.write(_header(system, formula, inside, semantics, about))
        proof = GraphProof(graph, claim(system, formula, inside), file.write, semantics)
        proof.run()
        if proof.left_box and not inside:
            raise IncompleteError("a state may leave its box")
        return file.keep()


def _header(system: System, formula: Formula, inside: bool, semantics: Semantics, about: Line) -> Line:
    return {
        "format": FORMAT,
        "venmas": __version__,
        "formula": str(formula),
        "inside": inside,
        "semantics": semantics,
        "system": system_to_json(system),
        "networks": sorted(networks_of(system)),
        **about,
    }


def _nowhere(_: Line) -> None:
    """Keep nothing."""
