"""``venmas abstract``: the abstract graph of given predicates."""

from __future__ import annotations

from typing import Any

import click

from venmas.cli.options import load, read_formula_text, read_settings, scenario_options, verbose_option
from venmas.cli.output import STDOUT, check_writable, console, store_json, write_file
from venmas.cli.table import Command
from venmas.errors import UsageError

_MOST_DRAWN = 2000


@click.command("abstract", cls=Command)
@scenario_options
@click.option(
    "--predicates",
    metavar="guards|none|FILE",
    default="guards",
    show_default=True,
    help="Atoms of guards, none, or a file with one condition a line; + joins them.",
)
@click.option(
    "--formula",
    metavar="TEXT|@FILE|NAME",
    help="AG p: abstract states that contain a state without p are unsafe [default: that of a JANI property].",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of samples and witnesses.")
@click.option("--relaxed", is_flag=True, help="Count transitions of points between integer states, too.")
@click.option(
    "--tests",
    metavar="TEXT",
    default="none",
    show_default=True,
    help="Ask first whether a label is picked in a state: selection, applicability, both; relaxed- before it.",
)
@click.option("--json", "json_path", metavar="FILE|-", help="Write the counts as JSON; - is standard output.")
@click.option("--dot", "dot_path", metavar="FILE", help="Write the graph for Graphviz.")
@click.option("--html", "page_path", metavar="FILE", help="Write a page with the graph, its states and predicates.")
@verbose_option
def command(
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
    predicates: str,
    formula: str | None,
    seed: int,
    relaxed: bool,
    tests: str,
    json_path: str | None,
    dot_path: str | None,
    page_path: str | None,
) -> None:
    """Build the abstract graph of a scenario and its policy.

    Its states, transitions and unsafe states are counted. Nothing is refined. There is an abstract transition if and
    only if there is a concrete one (except with --relaxed).
    """
    for option, path in (("--json", json_path), ("--dot", dot_path), ("--html", page_path)):
        check_writable(path, option)
    loaded = load(scenario, read_settings(settings), networks)

    from venmas.cli.tuning import read_predicates
    from venmas.logic import TRUE, Always, nnf
    from venmas.procedures.predicate_abstraction.cegar import guard_atoms
    from venmas.procedures.predicate_abstraction.graph.graph import abstract
    from venmas.procedures.predicate_abstraction.refinement.drawing import graph_of
    from venmas.procedures.predicate_abstraction.states.predicates import of_formula
    from venmas.procedures.predicate_abstraction.states.task import UnsuitableError, task_of
    from venmas.question import read_property
    from venmas.runtime.blas import on_one_thread

    unsafe, told, formula = None, "", formula or getattr(loaded.scenario, "formula", None)
    if formula is not None:
        asked = read_property(loaded.system, read_formula_text(formula, loaded.system))
        if not isinstance(asked, Always):
            raise UsageError(f"--formula: expected AG p, with p about one state, got {asked.formula}")
        unsafe, told = nnf(asked.invariant, negate=True), f"unsafe are states without {asked.invariant}"
    chosen: list[Any] = []
    try:
        for part in predicates.split("+"):
            if part == "guards":
                task = task_of(loaded.system)
                chosen += [*guard_atoms(task), *of_formula(TRUE if unsafe is None else unsafe, task.columns)]
            elif part != "none":
                chosen += read_predicates(part, loaded)
        graph = on_one_thread(abstract)(loaded.system, chosen, unsafe, seed, relaxed, tests)
    except UnsuitableError as error:
        raise UsageError(f"no abstraction of {loaded.scenario.name}: {error}") from error
    data = graph.to_json()
    facts = _facts(data)
    for option, path in (("--dot", dot_path), ("--html", page_path)):
        if path is not None and len(graph.states) > _MOST_DRAWN:
            raise UsageError(f"{option}: {len(graph.states)} abstract states are not drawn, at most {_MOST_DRAWN} are")
    if dot_path is not None:
        write_file(dot_path, graph_of(graph).dot().encode(), "--dot")
    if page_path is not None:
        from venmas.report.page import abstract_page

        texts = [p.text(graph.task.names) for p in graph.cells.predicates]
        page = abstract_page(loaded.scenario.name, told, facts, texts, graph_of(graph))
        write_file(page_path, page.encode("utf-8", "replace"), "--html")
    problem = store_json(json_path, data, "--json")
    if json_path != STDOUT:
        out = console()
        for name, value in facts:
            out.print(f"{name:12} {value}")
        if data["leaving"]:
            out.print(f"not excluded: {', '.join(data['leaving'])} may leave the declared range")
    if problem is not None:
        raise problem


def _facts(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Counts, for people."""
    found = [(name, str(data[name])) for name in ("predicates", "starts", "states", "transitions", "unsafe")]
    if data["unsafe"]:
        found.append(("endangered", f"{data['endangered']} (an unsafe one can be reached from them)"))
        found.append(("safe starts", f"{data['safe_starts']} of {data['starts']}"))
    return found
