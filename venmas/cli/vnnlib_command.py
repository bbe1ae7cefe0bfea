"""``venmas vnnlib``: a one-step query about a network file, asked and answered as in VNN-COMP."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from functools import partial
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

import click

from venmas.cli.apart import check_kept
from venmas.cli.limits import reading
from venmas.cli.main import SATISFIED, UNKNOWN, VIOLATED
from venmas.cli.options import Positive, verbose_option
from venmas.cli.output import STDOUT, check_writable, console, store_json
from venmas.cli.table import Command
from venmas.cli.vnnlib_networks import files_by_name, in_order
from venmas.errors import LimitError, UsageError

if TYPE_CHECKING:
    from venmas.engine.query.decide import QueryReport
    from venmas.engine.query.replay import QueryReplay
    from venmas.formats.vnnlib.query import Query
    from venmas.nn import Network

Found: TypeAlias = "tuple[QueryReport, QueryReplay | None]"
"""An answer, and its counterexample as deployed."""
_STATUS = {"unsat": SATISFIED, "sat": VIOLATED, "timeout": UNKNOWN, "unknown": UNKNOWN}


@click.command("vnnlib", cls=Command)
@click.argument("files", metavar="[NETWORK] PROPERTY.vnnlib", nargs=-1)
@click.option(
    "--network",
    "named",
    metavar="NAME=FILE",
    multiple=True,
    help="A network by its name in VNN-LIB 2.0, once for each.",
)
@click.option(
    "--rules",
    type=click.Choice(("real", "vnncomp", "both")),
    default="real",
    show_default=True,
    help="real: exact functions of the networks; vnncomp: evaluations in float32 as well, as onnxruntime runs them; "
    "both: the answer of real, and beside it that as deployed.",
)
@click.option("--timeout", type=Positive(), metavar="SECONDS", help="Give up after this long; no limit by default.")
@click.option(
    "--workers", type=click.IntRange(1, 1024), metavar="N", help="Threads; as many as there are cores by default."
)
@click.option("--json", "json_path", metavar="FILE|-", help="Write the answer as JSON to a file, or to stdout (-).")
@click.option("-q", "--quiet", is_flag=True, help="Print the answer only.")
@verbose_option
def command(
    files: tuple[str, ...],
    named: tuple[str, ...],
    rules: str,
    timeout: float | None,
    workers: int | None,
    json_path: str | None,
    quiet: bool,
) -> int:
    """Decide whether some input satisfies a VNN-LIB property.

    NETWORK is an .onnx file (or .h5, .keras, .nnet), PROPERTY.vnnlib says in VNN-LIB which inputs X_i and outputs Y_j
    are a counterexample; both may be packed (.gz). VNN-LIB 2.0 is read with the package vnnlib; where it declares
    several networks, each has a --network, or NETWORK is "[(f, FILE), (g, FILE)]". Prints `sat` and a
    counterexample, for which the property holds in exact numbers, or `unsat` (stderr says what proves it), or `timeout`
    or `unknown`. With --rules vnncomp the counterexample is one of onnxruntime in float32, and `unsat` holds for every
    float32 evaluation as well. Exit status: 0 unsat, 10 sat, 20 timeout or unknown.
    """
    from venmas.engine.query.decide import QueryReport
    from venmas.engine.query.files import load_networks
    from venmas.formats.vnnlib.reader import read_vnnlib

    check_writable(json_path, "--json")
    if len(files) not in (1, 2):
        raise UsageError(f"expected NETWORK and PROPERTY.vnnlib, got {len(files)} arguments")
    prop = files[-1]
    pairs = files_by_name(files[0] if len(files) == 2 else None, named)
    kept = [(f"the network {name}".rstrip(), file) for name, file in pairs]
    check_kept({"--json": json_path}, [*kept, ("the property", prop)])
    with ExitStack() as stack:
        try:
            with reading(timeout) as left:
                query = read_vnnlib(prop)
                paths = [stack.enter_context(_unpacked(file)) for file in in_order(pairs, query, prop)]
                loaded = load_networks(paths, query)
        except LimitError as stop:
            return _told((QueryReport("timeout", reason=str(stop)), None), None, json_path, quiet)
        seconds = left()
        if rules != "both":
            return _told(_decide(paths, loaded, query, rules, seconds, workers, quiet), None, json_path, quiet)
        half = None if seconds is None else seconds / 2
        real = _decide(paths, loaded, query, "real", half, workers, quiet)
        rest = None if seconds is None else seconds - min(real[0].seconds, half or 0)
        deployed = _decide(paths, loaded, query, "vnncomp", rest, workers, quiet)
        return _told(real, deployed, json_path, quiet)


@contextmanager
def _unpacked(network: str) -> Iterator[str]:
    """The file of a network, unpacked where it ends in .gz."""
    from venmas.formats.packed import is_packed, read_packed
    from venmas.nn.files import MAX_BYTES

    if not is_packed(network):
        yield network
        return
    with TemporaryDirectory(prefix="venmas-") as folder:
        file = Path(folder) / Path(network).stem
        file.write_bytes(read_packed(network, MAX_BYTES, "a network"))
        yield str(file)


def _decide(
    paths: list[str],
    networks: list[Network],
    query: Query,
    rules: str,
    timeout: float | None,
    workers: int | None,
    quiet: bool,
) -> Found:
    """The answer about the networks of files, and what the deployed ones say of its counterexample."""
    from venmas.engine.query.deployed import decide_deployed
    from venmas.engine.query.joint import decide_joint
    from venmas.engine.query.replay import check_hidden, replay_query
    from venmas.errors import NetworkError

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    decide = partial(decide_deployed, paths) if rules == "vnncomp" else decide_joint
    err = console(stderr=True)
    if quiet or not err.is_terminal:
        report = decide(networks, query, timeout=timeout, workers=workers or cores)
    else:
        with err.status("looking for a counterexample") as status:

            def show(so_far: QueryReport) -> None:
                status.update(f"{so_far.boxes} boxes bounded, {so_far.seconds:.0f} s")

            report = decide(networks, query, timeout=timeout, workers=workers or cores, progress=show)
    replay = None
    if report.verdict == "sat":
        try:
            replay = replay_query(paths, networks, query, report)
        except NetworkError as error:
            report.notes.append(f"the counterexample was not run as deployed: {error}")
        check_hidden(query, report, replay)
    return report, replay


def _told(found: Found, deployed: Found | None, json_path: str | None, quiet: bool) -> int:
    """Print and write the answer, and the one as deployed beside it; the exit status."""
    err, (report, replay) = console(stderr=True), found
    beside = {} if deployed is None else {"rules": "both", "deployed": _as_json(*deployed)}
    failed = store_json(json_path, _as_json(*found) | beside, "--json")
    if json_path != STDOUT:
        print(answer(report))
    if not quiet:
        for line in [*_explained(report, replay), *([] if deployed is None else _beside(report, deployed[0]))]:
            err.print(line, soft_wrap=True)
    if failed:
        raise failed
    return _STATUS[report.verdict]


def _beside(real: QueryReport, deployed: QueryReport) -> list[str]:
    """Both answers, and the point that shows their difference."""
    told = f"in real numbers: {real.verdict}; as deployed (float32, any order of operations): {deployed.verdict}"
    if deployed.verdict == real.verdict:
        return [told]
    point = " ".join(line.strip() for line in answer(deployed).splitlines()[1:])
    return [told + (f" ({deployed.reason})" if deployed.reason else ""), *([f"as deployed: {point}"] if point else [])]


def answer(report: QueryReport) -> str:
    """The answer in the form of VNN-COMP: the verdict, and for sat the values of X_i and Y_j as one list."""
    if report.verdict != "sat":
        return report.verdict
    from venmas.engine.query.replay import nearest

    values = [f"(X_{i} {_decimal(v)})" for i, v in enumerate(report.inputs)]
    values += [f"(Y_{i} {nearest(v)!r})" for i, v in enumerate(report.outputs)]
    return "sat\n(" + "\n ".join(values) + ")"


def _decimal(value: Fraction) -> str:
    """The number itself where it has a decimal of reasonable length, else the nearest float."""
    from venmas.logic.linear import format_number

    text = format_number(value)
    return repr(float(value)) if "/" in text else text


def _explained(report: QueryReport, replay: QueryReplay | None) -> list[str]:
    from venmas.logic.linear import format_number
    from venmas.report.words import rests_on

    lines = [*report.notes, f"{report.verdict}: {report.reason}"] if report.reason else list(report.notes)
    if report.closest is not None:
        lines.append(f"the closest miss of a counterexample, in single precision: by {report.closest[0]:.1e}")
    if report.verdict == "sat":
        point = "this point"
        if any("/" in format_number(v) for v in report.inputs):
            point = f"X = ({', '.join(map(format_number, report.inputs))}), which floats can only come near to,"
        how = "enclosures" if report.enclosed else "exact rational numbers"
        lines.append(f"the property holds at {point} in {'single precision' if report.deployed else how}")
    if replay is not None:
        lines.append(str(replay))
    if report.verdict == "unsat":
        lines.append(rests_on(report.basis))
        lines += ["It holds in real numbers and as deployed (float32, any order of operations)."] * report.deployed
    compiled = ", compiled" if report.compiled else ""
    exact = f", {report.exact} in rationals" if report.exact else ""
    lines.append(f"{report.boxes} boxes bounded{compiled}{exact}; {report.seconds:.2f} s")
    return lines


def _as_json(report: QueryReport, replay: QueryReplay | None) -> dict[str, object]:
    from venmas._version import __version__
    from venmas.engine.query.replay import nearest

    return {
        "verdict": report.verdict,
        "rules": "vnncomp" if report.deployed else "real",
        "reason": report.reason,
        "basis": report.basis,
        "inputs": [_decimal(v) for v in report.inputs],
        "outputs": [nearest(v) if abs(nearest(v)) < inf else None for v in report.outputs],
        "replay": None if replay is None else replay.as_json(),
        "closest": None if report.closest is None else dict(zip(("missed_by", "inputs"), report.closest, strict=True)),
        "boxes": report.boxes,
        "boxes_in_rationals": report.exact,
        "compiled": report.compiled,
        "seconds": report.seconds,
        "notes": report.notes,
        "versions": {"venmas": __version__},
    }
