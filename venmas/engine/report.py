"""Report of a verification: the verdict, why, and what it took (design S7, section 5)."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from venmas._version import __version__
from venmas.answer import Proved
from venmas.engine.certificates.kept import Certificate, Unwritten
from venmas.engine.partial.partial import Partial
from venmas.errors import UsageError
from venmas.logic.property import Deadlock
from venmas.model.circuit.nodes import Circuit
from venmas.model.expressions.refusals import shortened
from venmas.model.system.system import System
from venmas.model.witness.build import Replay
from venmas.model.witness.tree import Witness
from venmas.nn.network import Semantics
from venmas.procedures.reachability.graph.figures import Regions
from venmas.runtime.display import Shown, written
from venmas.runtime.plugins import distributions
from venmas.solvers.programs import Counts, Largest
from venmas.solvers.registry import PACKAGES

if TYPE_CHECKING:
    from venmas.model.witness.lasso import Run as Lasso


class Verdict(StrEnum):
    """Only a proof says satisfied, only a replayed witness says violated (design S7)."""

    SATISFIED = "satisfied"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Tried:
    """A procedure that was there to decide: its name, the seconds that it worked, why it did not decide (empty: it
    did), and what it counted.
    """

    name: str
    seconds: float
    why: str
    figures: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """An object."""
        return {**vars(self), "seconds": round(self.seconds, 6), "figures": dict(self.figures)}


@dataclass
class Seconds:
    """Wall time: in total, making subproblems, in solvers (added up over workers), confirming
    witnesses, and proving in rationals."""

    total: float = 0.0
    encode: float = 0.0
    solve: float = 0.0
    replay: float = 0.0
    prove: float = 0.0


@dataclass(frozen=True)
class Origin:
    """Where a system came from: name or path of the scenario, folder of the networks (None: the scenario's own), the
    digests of the networks by file, and the sha256 of every file that was read, by its name (``scenario/FILE``,
    ``networks/FILE``).
    """

    scenario: str
    networks: str | None
    digests: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """An object."""
        return {**vars(self), "digests": dict(self.digests), "files": dict(self.files)}

    def placeless(self) -> dict[str, Any]:
        """The same without folders, for what is handed on: they say something of a machine, and nothing of a proof."""
        networks = None if self.networks is None else Path(self.networks).name
        return {**self.to_json(), "scenario": Path(self.scenario).name, "networks": networks}


@dataclass(frozen=True)
class Asked:
    """What the caller asked for, where the report tells only what came of it: the text of the formula or its name, the
    preferred solver, the limits (seconds, MB; None: none), the inductive set, if one was given; options: parameters
    that say how a model was read, such as ``jani.policy``. Of LTL: conditions of fairness, what runs do without a
    successor, and what holds in initial states besides. tune: options of single procedures, by key.
    """

    formula: str
    solver: str
    timeout: float | None
    memory: int | None
    invariant: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    fair: tuple[str, ...] = ()
    deadlock: Deadlock = "error"
    initial: str = ""
    tune: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """An object."""
        return {**vars(self), "fair": list(self.fair), "options": dict(self.options), "tune": dict(self.tune)}


@dataclass(frozen=True)
class AutomatonSize:
    """The automaton of the runs that break a property of LTL: how large it is, and its text in the HOA format."""

    states: int
    edges: int
    acceptance_sets: int
    hoa: str


@dataclass(frozen=True)
class Deployed:
    """The verdict about every evaluation of networks in float32, beside one in real numbers (docs/semantics.md, S2).

    reason, message, basis: as of a report. witness: a run for which `runtime` ran the networks in float32.
    """

    verdict: Verdict
    reason: str = ""
    message: str = ""
    basis: str = ""
    witness: Witness | None = None
    runtime: str = ""
    seconds: float = 0.0

    @property
    def told(self) -> str:
        """The verdict in words."""
        if self.witness is not None:
            return f"{self.verdict}, shown by {self.runtime}"
        return f"{self.verdict} ({self.reason}): {self.message}" if self.reason else self.verdict.value

    def to_json(self) -> dict[str, Any]:
        """An object."""
        witness = None
        if self.witness is not None:  # it was computed in exact numbers or enclosures, for what the runtime gave
            witness = {
                **self.witness.to_json(),
                "replay": Replay(True, "", self.witness.margin, None, self.witness.bits).to_json(),
            }
        return {**vars(self), "verdict": self.verdict.value, "witness": witness, "seconds": round(self.seconds, 6)}


@dataclass(repr=False)
class Report(Shown):
    """The result of one verification. ``str`` is what the command line prints; notebooks show it with its picture.

    `reason` is empty unless the verdict is unknown; then it is the category (`venmas.errors.Reason`) and `message` says
    more. `basis` tells what a *satisfied* rests on: ``bounds`` (rigorous, no program was left to solve), ``solver``
    (programs called infeasible by a solver, up to its tolerance) or ``exact`` (a proof in rationals, which
    `certificate` names where it was written; `unwritten` says why it could not be). `kind` is that of the property,
    `invariant` what predicate abstraction came to, where it was tried, `partial` how far an open question came,
    `deployed` the verdict in float32, where both arithmetics were asked for.
    `origin` tells where the system came from, so that a stored result can be replayed; None for a system made in
    Python. `system` is the digest of its canonical form, where somebody computed it
    (`venmas.model.canonical.canonical`); `started` the time of the call (UTC, ISO 8601). `model` is the system itself,
    for what is shown of it; stored results have none. `decided_by` names the procedure that decided, and `procedures`
    has one entry for each of the mode; both are empty where a journal knew the verdict. `versions` and `machine` are
    those of this process, or those of a stored result.

    Of LTL: `lasso` is the run that breaks the property, `automaton` that of all such runs, `cone` how many registers
    and bits of a netlist it depends on, `proof` what a proof is made of (kind, ranks as text, obligations), and
    `proved` the answer with that proof, which stored results have not. `circuit` is the netlist.
    """

    verdict: Verdict
    formula: str
    scenario: str
    mode: str
    encoding: str = "big-m"
    bounds: str = "symbolic"
    reason: str = ""
    message: str = ""
    basis: str = ""
    trust: str = "auto"
    semantics: Semantics = "real"
    certificate: Certificate | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    solvers: dict[str, str] = field(default_factory=dict)
    seconds: Seconds = field(default_factory=Seconds)
    subproblems: Counts = field(default_factory=Counts)
    largest_program: Largest = field(default_factory=Largest)
    graph: Regions = field(default_factory=Regions)
    depth: int = 0
    peak_rss_mb: float = 0.0
    workers: int = 1
    notes: list[str] = field(default_factory=list)
    witness: Witness | None = None
    replay: Replay | None = None
    decided_by: str = ""
    procedures: list[Tried] = field(default_factory=list)
    origin: Origin | None = None
    asked: Asked | None = None
    system: str = ""
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    versions: Mapping[str, str] | None = None
    machine: Mapping[str, str] | None = None
    unwritten: Unwritten | None = None
    kind: str = "bounded"
    invariant: Mapping[str, Any] | None = None
    lasso: Lasso | None = None
    automaton: AutomatonSize | None = None
    cone: Mapping[str, int] | None = None
    proof: Mapping[str, Any] | None = None
    partial: Partial | None = None
    deployed: Deployed | None = None
    model: System | None = field(default=None, compare=False)
    circuit: Circuit | None = field(default=None, compare=False)
    proved: Proved | None = field(default=None, compare=False)

    def __bool__(self) -> NoReturn:
        raise UsageError(
            "a report has no truth value, as there are three verdicts; write report.satisfied or report.violated"
        )

    def __str__(self) -> str:
        return written(self)

    def __repr__(self) -> str:
        return f"<Report {self.verdict}: {shortened(self.formula)} of {self.scenario}>"

    def certify(self, stored: Certificate | Unwritten | None) -> None:
        """Note what became of the certificate, if one was wanted."""
        if isinstance(stored, Unwritten):
            self.unwritten = stored
        else:
            self.certificate = stored

    def credit(self, name: str, seconds: float) -> None:
        """Note that the verdict is that of a procedure which worked for `seconds` when the mode was at its end."""
        self.withdraw("the word of a solver was not enough: a proof was owed")
        before = [tried for tried in self.procedures if tried.name == name]
        seconds += sum(tried.seconds for tried in before)
        figures = before[0].figures if before else {}
        self.procedures = [t for t in self.procedures if t.name != name] + [Tried(name, seconds, "", figures)]
        self.decided_by = name

    def withdraw(self, why: str) -> None:
        """Note why what a procedure decided is not the verdict."""
        self.procedures = [replace(t, why=why) if t.name == self.decided_by else t for t in self.procedures]
        self.decided_by = ""

    @property
    def satisfied(self) -> bool:
        """True for a proof."""
        return self.verdict is Verdict.SATISFIED

    @property
    def violated(self) -> bool:
        """True for a replayed witness."""
        return self.verdict is Verdict.VIOLATED

    def to_json(self) -> dict[str, Any]:
        """The object of `docs/result.schema.json`."""
        witness = None
        if self.witness is not None and self.replay is not None:
            witness = {**self.witness.to_json(), "replay": self.replay.to_json()}
        return {
            "verdict": self.verdict.value,
            "reason": self.reason,
            "message": self.message,
            "basis": self.basis,
            "trust": self.trust,
            "semantics": self.semantics,
            "certificate": None if self.certificate is None else dict(vars(self.certificate)),
            "formula": self.formula,
            "property": self.kind,
            "scenario": self.scenario,
            "parameters": dict(self.parameters),
            "mode": self.mode,
            "encoding": self.encoding,
            "bounds": self.bounds,
            "solver": [{"name": n, "version": v} for n, v in self.solvers.items()],
            "workers": self.workers,
            "seconds": {k: round(v, 6) for k, v in vars(self.seconds).items()},
            "subproblems": dict(vars(self.subproblems)),
            "largest_program": dict(vars(self.largest_program)),
            "graph": dict(vars(self.graph)),
            "depth": self.depth,
            "invariant": self.invariant,
            "partial": self.partial.to_json() if self.partial else None,
            "deployed": self.deployed.to_json() if self.deployed else None,
            "peak_rss_mb": round(self.peak_rss_mb, 1),
            "notes": list(self.notes),
            "witness": witness,
            "lasso": self.lasso and self.lasso.to_json(),
            "automaton": self.automaton and dict(vars(self.automaton)),
            "cone": self.cone and dict(self.cone),
            "proof": self.proof and dict(self.proof),
            "decided_by": self.decided_by,
            "procedures": [tried.to_json() for tried in self.procedures],
            "origin": self.origin and self.origin.to_json(),
            "asked": self.asked and self.asked.to_json(),
            "system": self.system,
            "started": self.started,
            "machine": dict(machine() if self.machine is None else self.machine),
            "versions": dict(versions() if self.versions is None else self.versions),
        }


def versions() -> dict[str, str]:
    """Versions of VenMAS, Python and the packages that a verdict may depend on, plug-ins included."""
    found = {"venmas": __version__, "python": platform.python_version()}
    for package in ("numpy", "onnx", "h5py", "numba", "gmpy2", *PACKAGES):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found | dict(distributions())


def machine() -> dict[str, str]:
    """What ran it: operating system, processor, and the cores that it may use. No names of hosts or of users."""
    found = {"system": f"{platform.system()} {platform.release()}", "processor": platform.machine()}
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                found["processor"] = f"{line.partition(':')[2].strip()} ({platform.machine()})"
                break
    affinity = getattr(os, "sched_getaffinity", None)
    return found | {"cores": str(len(affinity(0)) if affinity else os.cpu_count() or 1)}
