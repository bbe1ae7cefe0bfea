"""``venmas ltl``: linear temporal logic of circuits, over unbounded time."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from venmas.cli.main import SATISFIED, UNKNOWN, VIOLATED
from venmas.cli.options import Positive, verbose_option
from venmas.cli.output import STDOUT, check_writable, console, store_json

if TYPE_CHECKING:
    from rich.console import Console

    from venmas.ltl.decide import Satisfied, Unknown, Violated, Work
    from venmas.ltl.replay import Run

_MOST_SHOWN = 40
"""Rows of a lasso that are printed; a file has them all."""


@click.command("ltl")
@click.option("--btor2", "path", metavar="FILE", required=True, help="The design, a netlist in BTOR2.")
@click.option(
    "--property", "text", metavar="TEXT", required=True, help="LTL over its signals, such as 'F G !rst -> G F done'."
)
@click.option("--init", metavar="CONDITION", help="Of initial states, over registers [default: what the netlist says].")
@click.option(
    "--from",
    "begin",
    type=click.Choice(["initial", "all"]),
    default="initial",
    show_default=True,
    help="Runs that a proof may be about: those from the initial states (all are tried first), or all.",
)
@click.option("--fair", metavar="CONDITION", multiple=True, help="Holds again and again on the runs that are meant.")
@click.option(
    "--trust",
    type=click.Choice(["exact", "solver"]),
    default="exact",
    show_default=True,
    help="Proofs checked gate by gate, or the word of the SMT solver.",
)
@click.option("--timeout", type=Positive(), metavar="SECONDS", help="Give up after this long; no limit by default.")
@click.option("--json", "json_path", metavar="FILE|-", help="Write the result as JSON to a file, or to stdout (-).")
@click.option("-q", "--quiet", is_flag=True, help="Print the verdict only.")
@verbose_option
def command(
    path: str,
    text: str,
    init: str | None,
    begin: str,
    fair: tuple[str, ...],
    trust: str,
    timeout: float | None,
    json_path: str | None,
    quiet: bool,
) -> int:
    """Does every run of a design have a property, for ever?

    Satisfied with a ranking network for each accepting part of the automaton of the negated property, or an invariant
    that keeps runs away from it; violated with a lasso, a run into a loop, that was replayed. Exit status: 0 satisfied,
    10 violated, 20 unknown.
    """
    from venmas.budget import Budget
    from venmas.circuit.btor2 import read_btor2
    from venmas.logic.ltl_parser import parse_ltl
    from venmas.ltl.binding import started
    from venmas.ltl.decide import Satisfied, Violated, decide

    check_writable(json_path, "--json")
    begun = perf_counter()
    circuit = read_btor2(path)
    if init is not None:
        circuit = started(circuit, parse_ltl(init))
    assumed = map(parse_ltl, fair)
    answer, work = decide(circuit, parse_ltl(text), Budget(timeout), assumed, trust == "exact", begin == "initial")
    seconds = perf_counter() - begun
    verdict = (
        "satisfied" if isinstance(answer, Satisfied) else "violated" if isinstance(answer, Violated) else "unknown"
    )
    failed = store_json(json_path, _as_json(path, text, verdict, answer, work, seconds), "--json")
    if json_path != STDOUT:
        out = console()
        out.print(verdict, style={"satisfied": "bold green", "violated": "bold red"}.get(verdict, "bold yellow"))
        if not quiet:
            _explain(out, answer, work)
            out.print(f"{seconds:.2f} s", highlight=False)
    if failed:
        raise failed
    return {"satisfied": SATISFIED, "violated": VIOLATED}.get(verdict, UNKNOWN)


def _explain(out: Console, answer: Satisfied | Violated | Unknown, work: Work) -> None:
    from venmas.ltl.decide import Satisfied, Violated

    registers, bits = work.cone
    size = f"{work.automaton.states} states, {len(work.automaton.edges)} edges"
    out.print(f"automaton of the negated property: {size}; the property depends on {registers} registers, {bits} bits")
    if isinstance(answer, Satisfied):
        for one in answer.ranked:
            for state, rank in one.network.text().items():
                out.print(f"V{state} = {rank}", soft_wrap=True, markup=False, highlight=False)
        for state, holds in answer.invariant.text(answer.circuit).items():
            out.print(f"J{state} = {holds}", soft_wrap=True, markup=False, highlight=False)
        proofs = [*answer.kept, *(count for one in answer.ranked for count in one.steps)]
        checked = f"{len(proofs)} obligations, proofs of {sum(proofs)} clauses checked"
        begun = "the initial states" if answer.invariant.initial else "every state"
        out.print(f"from {begun}; {f'by the word of {answer.solver}' if answer.solver else checked}")
        if not answer.ranked and not answer.invariant.clauses:
            out.print("no run of the automaton is fair: the property holds of every word")
    elif isinstance(answer, Violated):
        _print_run(out, answer.run)
    else:
        out.print(f"{answer.reason}: {answer.message}", soft_wrap=True)
        for line in work.figures.levels:
            out.print(line, soft_wrap=True, markup=False)


def _print_run(out: Console, run: Run) -> None:
    from rich.table import Table

    table = Table()
    names = [*run.states[0], *(name for name in run.inputs[0] if not name.startswith("#"))]
    for name in ("step", *names):
        table.add_column(name)
    for at, (state, inputs) in enumerate(zip(run.states, run.inputs, strict=True)):
        if at < _MOST_SHOWN:
            loop = " (loop)" if at == run.back else ""
            table.add_row(f"{at}{loop}", *(str({**state, **inputs}[name]) for name in names))
    out.print(table)
    more = f"{len(run.states) - _MOST_SHOWN} more steps, then " if len(run.states) > _MOST_SHOWN else "then "
    out.print(f"{more}step {run.back} again, for ever; replayed by simulation")


def _as_json(
    path: str, text: str, verdict: str, answer: Satisfied | Violated | Unknown, work: Work, seconds: float
) -> dict[str, Any]:
    from venmas.ltl.decide import Satisfied, Unknown, Violated

    data: dict[str, Any] = {
        "verdict": verdict,
        "reason": str(answer.reason) if isinstance(answer, Unknown) else None,
        "message": answer.message if isinstance(answer, Unknown) else None,
        "design": path,
        "property": text,
        "seconds": round(seconds, 3),
        "automaton": {"states": work.automaton.states, "edges": len(work.automaton.edges)},
        "cone": {"registers": work.cone[0], "bits": work.cone[1]},
        "rounds": work.figures.rounds,
        "queries": work.figures.queries,
        "smt_seconds": round(work.figures.smt_seconds, 3),
        "networks": None,
        "lasso": None,
    }
    if isinstance(answer, Satisfied):
        data["trust"] = "solver" if answer.solver else "exact"
        data["from"] = "initial" if answer.invariant.initial else "all"
        data["invariant"] = {"clauses": answer.invariant.text(answer.circuit), "proof_steps": list(answer.kept)}
        data["networks"] = [
            {"level": one.network.level, "ranks": one.network.text(), "proof_steps": list(one.steps)}
            for one in answer.ranked
        ]
    if isinstance(answer, Violated):
        run = answer.run
        data["lasso"] = {"states": list(run.states), "inputs": list(run.inputs), "back": run.back}
    return data
