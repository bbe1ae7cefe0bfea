"""``venmas abstract``: the abstract graph of given predicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from venmas.cli.options import load, read_formula_text, read_settings, scenario_options, verbose_option
from venmas.cli.output import STDOUT, check_writable, console, store_json, write_file
from venmas.errors import UsageError

if TYPE_CHECKING:
    from venmas.abstraction.graph.graph import AbstractGraph

_MOST_DRAWN = 2000


@click.command("abstract")
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
    help="AG p: abstract states with a state without p are unsafe [default: of a JANI property, its own].",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of samples and witnesses.")
@click.option("--json", "json_path", metavar="FILE|-", help="Write the counts as JSON; - is standard output.")
@click.option("--dot", "dot_path", metavar="FILE", help="Write the graph for Graphviz.")
@verbose_option
def command(
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
    predicates: str,
    formula: str | None,
    seed: int,
    json_path: str | None,
    dot_path: str | None,
) -> None:
    """Build the abstract graph of a scenario and its policy: states, transitions, and which are unsafe.

    Nothing is refined. An abstract transition is there iff a concrete one is.
    """
    for option, path in (("--json", json_path), ("--dot", dot_path)):
        check_writable(path, option)
    loaded = load(scenario, read_settings(settings), networks)

    from venmas.abstraction.cegar import guard_atoms
    from venmas.abstraction.graph.graph import abstract
    from venmas.abstraction.states.predicates import of_formula
    from venmas.abstraction.states.task import UnsuitableError, task_of
    from venmas.blas import on_one_thread
    from venmas.cli.refinement import read_predicates
    from venmas.logic import TRUE, Always, nnf
    from venmas.question import read_property

    unsafe, formula = None, formula or getattr(loaded.scenario, "formula", None)
    if formula is not None:
        asked = read_property(loaded.system, read_formula_text(formula, loaded.system))
        if not isinstance(asked, Always):
            raise UsageError(f"--formula: expected AG p, with p about one state, got {asked.formula}")
        unsafe = nnf(asked.invariant, negate=True)
    chosen: list[Any] = []
    try:
        for part in predicates.split("+"):
            if part == "guards":
                task = task_of(loaded.system)
                chosen += [*guard_atoms(task), *of_formula(TRUE if unsafe is None else unsafe, task.columns)]
            elif part != "none":
                chosen += read_predicates(part, loaded)
        graph = on_one_thread(abstract)(loaded.system, chosen, unsafe, seed)
    except UnsuitableError as error:
        raise UsageError(f"no abstraction of {loaded.scenario.name}: {error}") from error
    data = graph.to_json()
    if dot_path is not None:
        write_file(dot_path, graph_dot(graph).encode(), "--dot")
    problem = store_json(json_path, data, "--json")
    if json_path != STDOUT:
        out = console()
        for name in ("predicates", "starts", "states", "transitions", "unsafe"):
            out.print(f"{name:12} {data[name]}")
        if data["unsafe"]:
            out.print(f"{'endangered':12} {data['endangered']} (an unsafe one can be reached from them)")
            out.print(f"{'safe starts':12} {data['safe_starts']} of {data['starts']}")
        if data["leaving"]:
            out.print(f"not excluded: {', '.join(data['leaving'])} may leave the declared range")
    if problem is not None:
        raise problem


def graph_dot(graph: AbstractGraph) -> str:
    """The graph in the language of Graphviz; raises `UsageError` where nobody could look at it."""
    from venmas.cli.dot import quote

    if len(graph.states) > _MOST_DRAWN:
        raise UsageError(f"--dot: {len(graph.states)} abstract states are not drawn, at most {_MOST_DRAWN} are")
    lines = ["digraph abstraction {", "  node [shape=box];"]
    for i in range(len(graph.states)):
        more = ", peripheries=2" if i < graph.starts else ""
        more += ", style=filled, fillcolor=mistyrose" if graph.unsafe[i] else ""
        lines.append(f"  s{i} [label={quote(*graph.text(i).split(', '))}{more}];")
    labels: dict[tuple[int, int], dict[str, None]] = {}
    for s, t, o in zip(graph.source.tolist(), graph.target.tolist(), graph.operator.tolist(), strict=True):
        labels.setdefault((s, t), {})[graph.task.operators[o].name] = None
    lines += [f"  s{s} -> s{t} [label={quote(*names)}];" for (s, t), names in labels.items()]
    return "\n".join([*lines, "}", ""])
