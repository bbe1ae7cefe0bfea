"""A report for people: the verdict, what it rests on, what it took, and the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from venmas.cli.tables import print_trace
from venmas.engine.report import Report, Verdict
from venmas.model.show import number, precise

if TYPE_CHECKING:
    from rich.console import Console

    from venmas.model import Replay, System, Witness

_STYLES = {Verdict.SATISFIED: "bold green", Verdict.VIOLATED: "bold red", Verdict.UNKNOWN: "bold yellow"}
_MOST_ATOMS = 6


def print_verdict(out: Console, report: Report) -> None:
    """One line."""
    from rich.text import Text

    line = Text(report.verdict.value, style=_STYLES[report.verdict])
    if report.verdict is Verdict.UNKNOWN:
        line.append(f" ({report.reason}): {report.message}", style="default not bold")
    out.print(line, soft_wrap=True)


def print_report(out: Console, report: Report, system: System) -> None:
    """Everything."""
    print_verdict(out, report)
    settings = ", ".join(f"{n}={v}" for n, v in report.parameters.items())
    out.print(f"{report.formula}", soft_wrap=True)
    out.print(f"in every initial state of {report.scenario}" + (f" ({settings})" if settings else ""), soft_wrap=True)
    if report.verdict is Verdict.SATISFIED:
        out.print(_basis(report))
    for note in report.notes:
        out.print(f"Note: {note}", soft_wrap=True)
    out.print()
    for name, text in _figures(report):
        out.print(f"{name:<16} {text}", soft_wrap=True)
    if report.witness is not None and report.replay is not None:
        out.print()
        print_witness(out, system, report.witness, report.replay)


def print_witness(out: Console, system: System, witness: Witness, replay: Replay) -> None:
    """The trace, the atoms that it shows, and the replay."""
    tree = witness.path is None
    out.print("A tree of runs that violates it:" if tree else "A run that violates it:", style="bold")
    numbers = print_trace(out, system, witness)
    place = "state #" if tree else "step "
    measures = [
        (m.margin, numbers[i], m.atom) for i, node in enumerate(witness.nodes) if i in numbers for m in node.atoms
    ]
    nearest = sorted(sorted(measures)[:_MOST_ATOMS], key=lambda item: item[1])
    for margin, index, atom in nearest:
        out.print(f"At {place}{index}: {atom}, by {precise(margin)}", soft_wrap=True)
    if len(measures) > len(nearest):
        out.print(f"(the {len(nearest)} closest of {len(measures)} comparisons that show it)")
    print_replay(out, replay)


def print_replay(out: Console, replay: Replay) -> None:
    """What the exact and the float replay say."""
    if not replay.confirmed:
        out.print(f"It does not replay: {replay.reason}", soft_wrap=True)
    elif replay.margin is not None:
        out.print(f"Replayed in exact numbers: violated, margin {precise(replay.margin)}", soft_wrap=True)
    else:
        out.print("Replayed in exact numbers: violated; no comparison is involved")
    for precision, run in (replay.floats or {}).items():
        said = "violated" if run.violated else "not violated"
        differ = f"states differ by at most {run.difference:.2g}"
        out.print(f"Replayed in {precision} ({run.runtime}): {said}, {differ}", soft_wrap=True)


def _basis(report: Report) -> str:
    if report.basis == "bounds":
        return "Proved by rigorous bounds alone: nothing was left to a solver."
    if report.basis == "exact":
        stored = report.certificate
        where = f"; certificate {stored.path}, {stored.lines} lines, {stored.size / 1000:.1f} kB" if stored else ""
        single = ", for every float32 evaluation of the networks" if report.semantics == "float32" else ""
        return f"Proved in exact rational numbers{single}{where}."
    names, counts = " and ".join(report.solvers) or "a solver", report.subproblems
    return (
        f"Rests on {names} finding {counts.solved + counts.skipped} programs infeasible, up to its tolerance of 1e-6; "
        "it is not certified. "
        f"Bounds refuted {counts.discarded} subproblems beforehand."
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _figures(report: Report) -> list[tuple[str, str]]:
    counts, largest, seconds = report.subproblems, report.largest_program, report.seconds
    workers = f" by {report.workers} workers" if report.workers > 1 else ""
    skipped = f"{counts.skipped} known from the journal, " if counts.skipped else ""
    if report.mode == "adaptive":
        graph = report.graph
        found = [("mode", report.mode)]
        found.append(
            ("reach graph", f"{_count(graph.nodes, 'node')}, {_count(graph.pieces, 'piece')}, passes: {graph.passes}")
        )
    else:
        found = [("mode", f"{report.mode}, {report.encoding} encoding, {report.bounds} bounds")]
        found.append(
            (
                "subproblems",
                f"{counts.created} created, {counts.discarded} discarded by bounds, {counts.solved} solved{workers}, "
                f"{skipped}{counts.cancelled} cancelled; depth {report.depth}",
            )
        )
    if largest.variables:  # none was made where a journal knew them all
        rows = _count(largest.constraints, "constraint")
        sizes = f"{_count(largest.variables, 'variable')} ({largest.binaries} binary), {rows}"
        found.append(("largest program", sizes))
    phases = f"encoding {number(round(seconds.encode, 2))}, solving {number(round(seconds.solve, 2))}"
    phases += " over all workers" if report.workers > 1 else ""
    found.append(
        ("seconds", f"{number(round(seconds.total, 2))} ({phases}, replay {number(round(seconds.replay, 2))})")
    )
    found.append(("peak memory", f"{report.peak_rss_mb:.0f} MB"))
    if report.solvers:
        found.append(("solver", ", ".join(f"{n} {v}".strip() for n, v in report.solvers.items())))
    return found
