"""Subproblems as files, for other solvers and other eyes: .lp and .mps, with a manifest that says what each one is.

The files hold the programs as the encoders make them, before what a solver gets for safety's sake (see
`venmas.solvers.base`): nothing is substituted, widened or scaled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from venmas._version import __version__
from venmas.bounds.truth import deep_runs
from venmas.engine.modes import modes
from venmas.engine.tuning import NOTHING, read_tune
from venmas.errors import UsageError
from venmas.logic import Bounded, Formula, nnf
from venmas.model.canonical.canonical import system_digest
from venmas.model.system.networks import networks_of
from venmas.model.system.system import System
from venmas.procedure import Settings
from venmas.procedures.milp.encoding import Subproblem, Task, encode
from venmas.procedures.milp.procedure import strategy_of
from venmas.procedures.milp.settings import BOUND_METHOD, ENCODING, SUCCESSORS
from venmas.question import drawn_for, read_formula
from venmas.solvers.milp.lp_format import to_lp
from venmas.solvers.milp.mps_format import to_mps
from venmas.solvers.milp.program import NotFiniteError
from venmas.solvers.milp.subproblem import Option
from venmas.solvers.milp.terms import Term

FORMATS = ("lp", "mps")
MANIFEST = "manifest.json"


@dataclass
class Exported:
    """What `export_programs` wrote into `folder`.

    programs: how many. discarded: cases that bounds refuted, of which there is no program. stopped: why there are no
    more of them: "" (there are no more), "limit" or "interrupted". may_leave_box: variables of which bounds do not
    exclude that they leave their declared ranges: `verify` asks about that by further programs, which are not written.
    """

    folder: Path
    programs: int = 0
    discarded: int = 0
    stopped: str = ""
    may_leave_box: tuple[str, ...] = ()
    entries: list[dict[str, Any]] = field(default_factory=list, repr=False)


def export_programs(
    system: System,
    formula: str | Formula,
    folder: str | Path,
    *,
    mode: str = "comp-seq",
    tune: Mapping[str, object] = NOTHING,
    formats: Sequence[str] = FORMATS,
    limit: int = 1000,
    about: Mapping[str, object] | None = None,
    progress: Callable[[Exported], None] = lambda _: None,
) -> Exported:
    """Write the subproblems of a verification into an empty folder, which is made where it is missing.

    formula: text, the name of a property of the system, or a formula. mode: ``mono``, ``comp-seq`` or ``comp-par``
    (which has the same programs). tune: ``milp.encoding`` and ``milp.bounds``, as of `verify`. limit: most programs.
    about: what the manifest says besides. progress: called after each program, and now and then between them. The
    manifest is written in any case, also when the work is interrupted.

    Raises `FormulaError`, `ModelError`, and `UsageError` for other modes, for a folder that is not empty or cannot be
    written, and for numbers beyond what floats hold.
    """
    strategy = strategy_of(mode)
    if strategy is None:
        able = ", ".join(name for name in modes() if strategy_of(name))
        raise UsageError(f"mode {mode!r} makes no programs: choose one of {able}")
    if wrong := [f for f in formats if f not in FORMATS]:
        raise UsageError(f"unknown format {wrong[0]!r}: choose among {', '.join(FORMATS)}")
    settings = Settings(tune=read_tune(tune))
    if unread := settings.tune.keys() - {ENCODING.key, BOUND_METHOD.key, SUCCESSORS.key}:
        raise UsageError(f"programs are written, not solved: they have no {', '.join(sorted(unread))}; leave it out")
    system.validate()
    system.check_nesting()
    if system.smooth:
        raise UsageError(
            f"programs are about piecewise linear systems, and {system.smooth}: ask `venmas verify` in mode adaptive"
        )
    parsed = read_formula(system, formula)
    system = drawn_for(system, Bounded(parsed))
    made = ENCODING.of(settings), BOUND_METHOD.of(settings), SUCCESSORS.of(settings) == "joined"
    task = Task(system, nnf(parsed, negate=True), strategy, *made)
    found = Exported(_empty(Path(folder)))
    head = {
        "format": "venmas-export-1",
        "venmas": __version__,
        "formula": str(parsed),
        "mode": mode,
        "encoding": task.encoding,
        "bounds": task.bounds,
        "system": {"name": system.name, "sha256": system_digest(system)},
        "networks": [{"name": network.name, "sha256": digest} for digest, network in networks_of(system).items()],
        **(about or {}),
    }
    stream = encode(task)
    found.stopped = "interrupted"
    try:
        with deep_runs(task.target), np.errstate(over="ignore", invalid="ignore"):
            for subproblem in stream:
                if subproblem is None:
                    found.discarded = stream.discarded
                    progress(found)
                    continue
                if found.programs == limit:
                    found.stopped = "limit"
                    break
                entry = describe(system, subproblem)
                _write(found.folder, subproblem, entry, head, formats)
                found.entries.append(entry)
                found.programs, found.discarded = found.programs + 1, stream.discarded
                progress(found)
            else:
                found.stopped = ""
    except (OverflowError, NotFiniteError) as error:
        raise UsageError(f"numbers arise that are too large for floats, so no program holds them: {error}") from error
    except OSError as error:
        raise UsageError(f"cannot write into {str(found.folder)!r}: {error.strerror or error}") from error
    finally:
        found.discarded = stream.discarded
        found.may_leave_box = tuple(sorted({name for f in stream.findings for name in f.may_leave_box}))
        manifest = {**head, "stopped": found.stopped, "discarded": found.discarded}
        manifest |= {"may_leave_box": found.may_leave_box, "programs": found.entries}
        with suppress(OSError):
            _text(found.folder / MANIFEST, json.dumps(manifest, indent=1, allow_nan=False) + "\n")
    return found


def describe(system: System, subproblem: Subproblem) -> dict[str, Any]:
    """What a program is about: its size, the initial state in its columns, and the branches that its runs take.

    `path`: the names of the branches where it is about one run; else None, and `choices` tells at which node of the
    unrolling (0 is the initial state) which branch is taken when its literal, a sum over columns, is 1. Both end where
    bounds have decided the rest.
    """
    program = subproblem.program
    numbers = {subproblem.root: 0}
    order = _outwards(subproblem)
    for _, options in order:
        for option in options:
            numbers.setdefault(option.child, len(numbers))
    names = [branch.name for branch in system.branches]
    certain = all(len(options) == 1 and not options[0].literal.columns for _, options in order)
    single = certain and [numbers[node] for node, _ in order] == list(range(len(order)))
    path = [names[options[0].branch] for _, options in order] if single else None
    choices = [
        {
            "node": numbers[node],
            "options": [
                {"branch": names[o.branch], "leads_to": numbers[o.child], "literal": _term(o.literal)} for o in options
            ],
        }
        for node, options in order
    ]
    return {
        "number": subproblem.number,
        "files": {},
        "variables": program.variables,
        "binaries": program.binaries,
        "integers": program.integers,
        "rows": program.rows,
        "indicators": program.indicators,
        "initial_set": subproblem.region,
        "initial": {name: _term(term) for name, term in subproblem.initial.items()},
        "path": path,
        "choices": None if path is not None else choices,
    }


def _outwards(subproblem: Subproblem) -> list[tuple[int, tuple[Option, ...]]]:
    """The choices, those at the root first, each after one that leads to its node."""
    waiting: dict[int, list[tuple[Option, ...]]] = {}
    for choice in subproblem.choices:
        waiting.setdefault(choice.node, []).append(choice.options)
    order: list[tuple[int, tuple[Option, ...]]] = []
    nodes = [subproblem.root]
    for node in nodes:
        for options in waiting.pop(node, ()):
            order.append((node, options))
            nodes += [option.child for option in options]
    return order


def _term(term: Term) -> dict[str, Any]:
    return {"constant": term.constant, "columns": {f"x{column}": value for column, value in term.columns.items()}}


def _write(
    folder: Path, subproblem: Subproblem, entry: dict[str, Any], head: Mapping[str, Any], formats: Iterable[str]
) -> None:
    name = f"program-{subproblem.number:06d}"
    path = "" if entry["path"] is None else f"; branches: {', '.join(entry['path']) or 'none'}"
    comments = [
        f"VenMAS {__version__}: program {subproblem.number} of system {head['system']['name']}, mode {head['mode']}, "
        f"{head['encoding']} encoding{path}",
        f"It looks for a violation of: {head['formula']}",
        "; ".join(f"{state} = {_shown(term)}" for state, term in entry["initial"].items()),
    ]
    comments = [" ".join(comment.split())[:400] for comment in comments]
    for kind in formats:
        text = to_lp(subproblem.program, comments) if kind == "lp" else to_mps(subproblem.program, name, comments)
        _text(folder / f"{name}.{kind}", text)
        entry["files"][kind] = f"{name}.{kind}"


def _shown(term: Mapping[str, Any]) -> str:
    parts = [f"{value!r} {column}" for column, value in term["columns"].items()]
    return " + ".join([*parts, repr(term["constant"])] if term["constant"] or not parts else parts)


def _empty(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"the folder {str(folder)!r} is not empty: name a new one, so that no files get mixed up")
    except OSError as error:
        raise UsageError(f"cannot make the folder {str(folder)!r}: {error.strerror}; name another one") from error
    return folder


def _text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
