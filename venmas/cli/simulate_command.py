"""``venmas simulate``: runs of a system, exactly, by chosen or random branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from venmas.cli.options import load, read_settings, scenario_options, verbose_option
from venmas.cli.table import Command
from venmas.errors import ModelError, UsageError, did_you_mean

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np

    from venmas.model.show import Column
    from venmas.model.system.system import System
    from venmas.model.witness.tree import Value, Witness


@click.command("simulate", cls=Command)
@scenario_options
@click.option(
    "--steps", type=click.IntRange(0, 10_000), help="Number of steps (default 10, or one for each of --branches)."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the random choices.")
@click.option(
    "--branch", multiple=True, metavar="NAME", help="The branch of every step; repeated: of each step in turn."
)
@click.option("--branches", metavar="A,B,...", help="The branches of the steps in turn; default: random ones.")
@click.option("--initial", multiple=True, metavar="VAR=VALUE", help="Fix a variable of the initial state; repeatable.")
@click.option("--runs", type=click.IntRange(1, 1_000_000), default=1, show_default=True, help="Number of runs.")
@click.option("--json", "json_path", metavar="FILE|-", help="Write the result as JSON; - is standard output.")
@verbose_option
def command(
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
    steps: int | None,
    seed: int,
    branch: tuple[str, ...],
    branches: str | None,
    initial: tuple[str, ...],
    runs: int,
    json_path: str | None,
) -> None:
    """Run a scenario and show the trace.

    One run is computed in exact numbers. Several runs are computed in floats and summed up step by step.
    """
    import numpy as np

    from venmas.cli.apart import check_kept
    from venmas.cli.output import STDOUT, check_writable, console, store_json
    from venmas.model.system.disturbances import drawn, ranges
    from venmas.model.witness.noise import folded
    from venmas.report.text_tables import print_trace

    if branch and branches is not None:
        raise UsageError("--branch and --branches both name the branches of steps: give one of them")
    check_writable(json_path, "--json")
    loaded = load(scenario, read_settings(settings), networks)
    check_kept({"--json": json_path}, loaded.files)
    plan = _plan(loaded.system, [*branch] if branches is None else branches.split(","), steps)
    # many runs draw the noise of a step when it is reached: exact values of all would take minutes
    system = drawn(loaded.system, len(plan) if runs == 1 else 1)
    fixed = read_settings(initial, "--initial")
    rng = np.random.default_rng(seed)
    data: dict[str, Any] = {"scenario": loaded.name, "parameters": dict(loaded.parameters), "seed": seed, "runs": runs}
    starts = _starts(system, fixed, rng, runs)
    run, rows = None, []
    if runs == 1:
        run = folded(_run(system, starts[0], plan, rng))
        data |= {"trace": run.to_json()["steps"]}
    else:
        from venmas.cli.sampling import summary

        data |= {"summary": (rows := summary(system, starts, plan, rng, ranges(loaded.system, system)))}
    failed = store_json(json_path, data, "--json")
    if json_path == STDOUT:
        return
    if run is not None:
        print_trace(out := console(), loaded.system, run)
        if run.nodes[-1].deadlock:
            out.print("the run ends in a state without successor")
    else:
        _print_summary(loaded.system, rows, runs)
    if failed:
        raise failed


def _print_summary(system: System, rows: Sequence[dict[str, Any]], runs: int) -> None:
    from venmas.cli.output import console
    from venmas.model.show import state_columns
    from venmas.report.text_tables import print_table

    out = console()
    out.print(f"{runs} runs in floats; least and greatest values:")
    columns = state_columns(system.variables.values())
    cells = [[str(r["step"]), str(r["runs"]), *(_seen(system, c, r) for c in columns)] for r in rows]
    print_table(out, ["step", "runs", *(c.title for c in columns)], cells, keys=2)


def _seen(system: System, column: Column, row: dict[str, Any]) -> str:
    """What the runs reach: the span of a variable, its labels, or the indices of a group that are 1 in any run."""
    from venmas.model.show import number

    name = column.names[0]
    if column.group:
        return ",".join(n.partition("[")[2].rstrip("]") for n in column.names if row["range"][n][1] == 1) or "none"
    if name in row["values"]:
        return ", ".join(dict(system.variables[name].labels).get(v, str(v)) for v in row["values"][name])
    if name not in row["range"]:
        return ""  # noise of a step that none follows
    low, high = (number(end) for end in row["range"][name])
    return low if low == high else f"{low} .. {high}"


def _plan(system: System, names: Sequence[str], steps: int | None) -> list[int | None]:
    """Index of the branch of each step; None is a random one. Raises `UsageError`."""
    known = {b.name: i for i, b in enumerate(system.branches)}
    chosen = [name.strip() for name in names]
    for name in chosen:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(
                f"--branch: system {system.name!r} has no branch {name!r}; it has {', '.join(known)}{hint}"
            )
    count = steps if steps is not None else len(chosen) if len(chosen) > 1 else 10
    if len(chosen) > 1 and len(chosen) != count:
        raise UsageError(f"{len(chosen)} branches for {count} steps: give one for all steps, or one for each step")
    if len(chosen) == 1:
        chosen *= count
    return [known[name] for name in chosen] if chosen else [None] * count


def _starts(system: System, fixed: dict[str, str], rng: np.random.Generator, count: int) -> list[dict[str, Fraction]]:
    """Random initial states with the fixed values. Raises `UsageError` where there are none."""
    from venmas.errors import InputError
    from venmas.logic.linear import Comparison, as_fraction
    from venmas.model.evaluation.regions import sample_initial
    from venmas.model.system.initial import equation
    from venmas.model.system.naming import missing

    extra: list[Comparison] = []
    labels = system.vocabulary.constants
    for name, text in fixed.items():
        if name not in system.variables:
            hint = missing(system, name)
            raise UsageError(
                f"--initial: there is no variable {name!r}; there are {_few(list(system.variables))}{hint}"
            )
        try:
            value = labels[text.strip()] if text.strip() in labels else as_fraction(text)
        except InputError as error:
            raise UsageError(f"--initial {name}={text}: {error}; as in --initial {name}=1.5") from error
        extra.append(equation(name, value))
    found = sample_initial(system, rng, count, tuple(extra))
    if len(found) < count:
        given = ", ".join(f"{n} = {t}" for n, t in fixed.items())
        where = f" with {given}" if given else ""
        raise UsageError(f"found no initial state{where}: `venmas scenarios` shows the initial set; change --initial")
    return found


def _few(names: list[str]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")


def _run(system: System, start: dict[str, Fraction], plan: Sequence[int | None], rng: np.random.Generator) -> Witness:
    """One exact run. Raises `ModelError` when it leaves the box, or the branch of a step is not enabled there."""
    from venmas.model.evaluation.simulate import Step
    from venmas.model.witness.enclosed import run
    from venmas.model.witness.tree import Node, Value, Witness

    if system.smooth:
        count = len(system.branches)
        orders = [[i] if i is not None else [int(k) for k in rng.permutation(count)] for i in plan]
        return run(system, start, orders)

    def values(declared: Sequence[Any], point: dict[str, Fraction]) -> tuple[Value, ...]:
        return tuple(Value(d.name, point[d.name], _label(d.labels, point[d.name])) for d in declared)

    variables = list(system.variables.values())
    nodes: list[Node] = []
    state = start
    for number, index in enumerate(plan):
        step = Step(system, state)
        enabled = list(range(len(system.branches))) if index is None else [index]
        order = [enabled[i] for i in rng.permutation(len(enabled))]
        found = next((t for t in map(step.successor, order) if t is not None), None)
        acted = values(system.agents, step.actions())
        if found is None:
            others = [t.branch for t in step.successors()]
            if others:
                name = system.branches[order[0]].name
                raise ModelError(f"step {number}: branch {name!r} is not enabled there; enabled: {', '.join(others)}")
            nodes.append(Node(values(variables, state), acted, deadlock=True))
            return Witness(tuple(nodes))
        nodes.append(Node(values(variables, state), acted, children=((found.branch, number + 1),)))
        state = found.state
    nodes.append(Node(values(variables, state)))
    return Witness(tuple(nodes))


def _label(labels: tuple[tuple[int, str], ...], value: Fraction) -> str:
    return dict(labels).get(value.numerator, "") if value.denominator == 1 else ""
