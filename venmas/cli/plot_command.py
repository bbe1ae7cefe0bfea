"""``venmas plot``: draw a stored violation, or a run."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from venmas.cli.apart import check_kept
from venmas.cli.options import Loaded, scenario_options, verbose_option
from venmas.cli.output import check_writable, picture_kind, write_file
from venmas.cli.stored import load_stored, named_elsewhere, read_stored
from venmas.cli.subjects import Design
from venmas.cli.table import Command, refuse
from venmas.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from venmas.report.plot import Part, Trace

log = logging.getLogger(__name__)

KINDS = ("picture", "states", "tree")


@click.command("plot", cls=Command)
@click.argument("path", metavar="RESULT.json")
@click.option("-o", "--output", required=True, metavar="FILE", help="The picture: a .svg, .png or .pdf file.")
@click.option(
    "--show",
    multiple=True,
    type=click.Choice(KINDS),
    help="Draw only the scenario's own picture, the states over time, or the tree of runs; repeatable.",
)
@click.option("--variables", metavar="A,B,...", help="Draw only these variables, groups and agents over time.")
@scenario_options
@verbose_option
def command(
    path: str,
    output: str,
    show: tuple[str, ...],
    variables: str | None,
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
) -> None:
    """Draw a violation that verify has stored, or a run that simulate has stored.

    The file shows, one below the other: the scenario's own picture, the states over time with the thresholds of the
    formula, and the tree where runs branch. The result is drawn as it is; `venmas replay` checks it.
    """
    kind = picture_kind(output, "--output")
    if show and "states" not in show:
        refuse("states", "--show leaves them out")
    check_writable(output, "--output")

    from venmas.report.plot import read_trace, save

    stored = _stored(path, read_stored(path))
    loaded = _loaded(path, stored, scenario, settings, networks)
    check_kept({"--output": output}, [("the result", path), *(loaded.files if loaded else ())])
    system = loaded.system if isinstance(loaded, Loaded) else None
    trace = read_trace(stored, system)
    if trace is None:
        raise UsageError(_nothing(path, stored))
    chosen = _chosen(trace, show, [] if variables is None else [v.strip() for v in variables.split(",")])
    write_file(output, save(chosen, kind, trace.title), "--output")
    click.echo(f"{output}: {', '.join(part.title.lower() for part in chosen)}", err=True)


def _stored(path: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object in the file; a run of simulate with its origin, as a result of verify has it."""
    if "summary" in data:
        raise UsageError(f"{path} sums up {data.get('runs')} runs: `venmas simulate` without --runs stores one to draw")
    if "trace" in data and isinstance(data.get("scenario"), str):
        return {**data, "origin": {"scenario": data["scenario"], "networks": None, "digests": {}}}
    return data


def _loaded(
    path: str, stored: Mapping[str, Any], scenario: str | None, settings: tuple[str, ...], networks: str | None
) -> Loaded | Design | None:
    """The scenario of the file, or the one that the options name; None where it would be code of a stranger."""
    if scenario is None and (problem := named_elsewhere(stored.get("origin"), networks)):
        log.warning("%s %s; drawn without units and without its own picture, --scenario gives them", path, problem)
        refuse("scenario", "none is named", "give it with --scenario")
        return None
    loaded, changed = load_stored(path, stored, scenario, settings, networks)
    if changed and "trace" not in stored:
        log.warning("other networks than those of the stored result: %s differ", ", ".join(changed))
    return loaded


def _nothing(path: str, stored: Mapping[str, Any]) -> str:
    name = stored.get("scenario") or "NAME"
    return (
        f"{path} holds no witness: its verdict is {str(stored.get('verdict'))[:40]!r}, so there is no run to draw. A "
        f"run of your choice: `venmas simulate --scenario {name} --json run.json`, then `venmas plot run.json`"
    )


def _chosen(trace: Trace, show: tuple[str, ...], variables: list[str]) -> list[Part]:
    """The parts that the options ask for. Raises `UsageError` where there are none, and for unknown variables."""
    from venmas.report.plot import parts

    known = {v.name for v in trace.variables} | {v.name.partition("[")[0] for v in trace.variables}
    known |= {a.name for visit in trace.visits for a in visit.node.actions}
    for name in variables:
        if name not in known:
            listed = ", ".join(sorted(known)[:12])
            hint = did_you_mean(name, known)
            raise UsageError(
                f"--variables: the trace has no {name!r}; it has {listed}{', ...' * (len(known) > 12)}{hint}"
            )
    kinds = show or (("states",) if variables else KINDS)
    found = parts(trace, kinds, variables)
    for kind in show:
        if kind not in [part.kind for part in found]:
            reason = {"picture": "its scenario draws none", "tree": "it is one run, which does not branch"}
            raise UsageError(f"--show {kind}: there is none, as {reason.get(kind, 'nothing is to be seen')}")
    return found
