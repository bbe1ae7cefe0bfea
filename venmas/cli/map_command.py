"""``venmas map``: which initial states satisfy a formula, as boxes with shares of the volume."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from venmas.cli.apart import check_apart, check_kept
from venmas.cli.limits import reading
from venmas.cli.options import (
    Positive,
    formula_file,
    load,
    read_formula_text,
    read_plane,
    read_settings,
    scenario_options,
    verbose_option,
)
from venmas.cli.output import STDOUT, check_writable, console, picture_kind, read_input, store_json, write_file
from venmas.cli.table import Command, refuse
from venmas.errors import UsageError

if TYPE_CHECKING:
    from venmas.budget import Progress
    from venmas.engine.map.tree import StateMap

log = logging.getLogger(__name__)


@click.command("map", cls=Command)
@scenario_options
@click.option(
    "-f", "--formula", metavar="TEXT|NAME|@FILE", help="A formula of CTL, or the name of a property of the scenario."
)
@click.option(
    "--timeout",
    type=Positive(),
    default=60.0,
    show_default=True,
    metavar="S",
    help="Stop after so many seconds, with what is decided by then.",
)
@click.option(
    "--memory", type=click.IntRange(1), metavar="MB", help="Stop when all processes together take more memory."
)
@click.option(
    "--min-width",
    type=click.FloatRange(0.0, 1.0, min_open=True),
    default=2.0**-10,
    show_default=True,
    metavar="PART",
    help="Cut no box below this part of a side of the whole.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes that decide boxes at the same time.",
)
@click.option(
    "-o", "--output", metavar="FILE.json", help="Keep the map there, also unfinished; `venmas monitor` reads it."
)
@click.option(
    "--certify",
    is_flag=True,
    help="Write a certificate of each decided box into the folder FILE.json.proofs beside --output; `venmas check` "
    "takes the map.",
)
@click.option("--resume", is_flag=True, help="Go on with the map in --output, if there is one.")
@click.option("--plot", "plot_path", metavar="FILE", help="Draw the boxes: a .svg, .png or .pdf file.")
@click.option(
    "--plane", metavar="X,Y", help="Two variables for the picture [default: the first two that have a range]."
)
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@verbose_option
def command(
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
    formula: str | None,
    timeout: float,
    memory: int | None,
    min_width: float,
    workers: int,
    output: str | None,
    certify: bool,
    resume: bool,
    plot_path: str | None,
    plane: str | None,
    quiet: bool,
) -> int:
    """Map the initial states of a scenario: boxes where a formula of CTL is proved, violated everywhere, or open.

    Initial states have to be a box: an interval, or one value, of each variable. Boxes that stay open are halved, and
    get more time, round by round. Ctrl-C and limits leave what is decided by then; the exit status is 20 where
    something is open, else 0.
    """
    from venmas.cli.main import SATISFIED, UNKNOWN
    from venmas.cli.progress import ProgressLine, clock
    from venmas.engine.map.refine import map_states
    from venmas.report.map import print_map

    if plot_path is None:
        refuse("picture", "there is none", "add --plot FILE")
    if resume and output is None:
        raise UsageError("--resume goes on with the map in a file: name it with --output FILE.json")
    if certify and output is None:
        raise UsageError("--certify writes certificates beside the map: name its file with --output FILE.json")
    if output == STDOUT:
        raise UsageError("--output takes a file, in which the map is kept while the work goes on: name one")
    kind, axes = picture_kind(plot_path, "--plot") if plot_path else "", read_plane(plane)
    outputs = {"--output": output, "--plot": plot_path}
    check_writable(output, "--output", "--json")
    check_writable(plot_path, "--plot")
    check_apart(outputs, ())
    with reading(timeout, *outputs.values()) as left:
        loaded = load(scenario, read_settings(settings), networks)
        text = read_formula_text(formula or loaded.formula, loaded.system)
    check_kept(outputs, [*loaded.files, *formula_file(formula)])
    before = _stored(output, resume)
    certificates = _certificates(output, before is not None) if output and certify else None
    if kind:
        from venmas.engine.map.start import axes_of
        from venmas.report.plot.map import check_plane

        check_plane(axes_of(loaded.system), axes)

    def tell(progress: Progress, _left: float | None) -> str:
        decided = f"{progress.share:.1%} decided"
        return f"{clock(progress.seconds)}  round {progress.depth + 1}, {progress.created} questions, {decided}"

    def keep(unfinished: StateMap) -> None:
        if problem := store_json(output, unfinished.to_json(), "--output"):
            log.warning("the unfinished map is not kept: %s", problem)

    with ProgressLine(wanted=not quiet, tell=tell) as line:
        shown = map_states(
            loaded.system,
            text,
            timeout=left(),
            memory=memory,
            min_width=min_width,
            workers=workers,
            resume=before,
            keep=keep,
            certificates=certificates,
            progress=line.update,
        )
    failed = store_json(output, shown.to_json(), "--output")
    if plot_path is not None:
        from venmas.report.plot.map import save

        write_file(plot_path, save(shown, kind, axes), "--plot")
    print_map(console(), shown)
    decided, proofs, _ = shown.certified()
    if certify and proofs < decided:
        console().print(
            f"{decided - proofs} decided boxes have no certificate; a new map asks about all of them again."
        )
    if failed:
        raise failed
    return SATISFIED if shown.complete else UNKNOWN


def _stored(output: str | None, resume: bool) -> StateMap | None:
    """The map that is gone on with. Raises `UsageError` for a file that would be lost, `StoreError` for no map."""
    from venmas.engine.map.stored import MAX_BYTES, read_map

    if output is None or not os.path.isfile(output):
        return None
    if not resume:
        raise UsageError(f"--output {output!r} exists: add --resume to go on with it, or name a new file")
    try:
        return read_map(read_input(output, MAX_BYTES), output)
    except OSError as error:
        raise UsageError(f"--output: cannot read {output!r}: {error.strerror or error}") from error


def _certificates(output: str, resumed: bool) -> Path:
    """The folder of certificates, made where it is not there. Raises `UsageError` where files of another map are."""
    from venmas.cli.checked_map import folder_of

    folder = folder_of(output)
    try:
        folder.mkdir(exist_ok=True)
        if not resumed and any(folder.iterdir()):
            raise UsageError(
                f"--certify writes into {str(folder)!r}, which holds files: move them, or name a new --output"
            )
    except OSError as error:
        raise UsageError(f"--certify: cannot use {str(folder)!r}: {error.strerror or error}") from error
    return folder
