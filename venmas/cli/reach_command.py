"""``venmas reach``: sets that hold every state after 0, 1, .. steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from venmas.cli.apart import check_apart, check_kept
from venmas.cli.limits import reading
from venmas.cli.options import Positive, load, read_plane, read_settings, scenario_options, verbose_option
from venmas.cli.output import STDOUT, check_writable, console, picture_kind, store_json, write_file
from venmas.cli.table import Command, refuse

if TYPE_CHECKING:
    from venmas.budget import Progress


@click.command("reach", cls=Command)
@scenario_options
@click.option("--steps", type=click.IntRange(0), required=True, metavar="K", help="Number of steps.")
@click.option(
    "--direction",
    "directions",
    multiple=True,
    metavar="EXPR",
    help='A linear expression to bound besides the variables, as in "x + y"; repeatable.',
)
@click.option(
    "--timeout",
    type=Positive(),
    default=60.0,
    show_default=True,
    metavar="S",
    help="Stop after so many seconds, with what is known by then.",
)
@click.option("--memory", type=click.IntRange(1), metavar="MB", help="Stop when the process takes more memory.")
@click.option(
    "--runs",
    type=click.IntRange(0, 1_000_000),
    default=1000,
    show_default=True,
    metavar="N",
    help="Number of sampled runs.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Seed of the sampled runs."
)
@click.option("--json", "json_path", metavar="FILE|-", help="Write the result as JSON; - is standard output.")
@click.option("--plot", "plot_path", metavar="FILE", help="Draw the sets and the runs: a .svg, .png or .pdf file.")
@click.option("--plane", metavar="X,Y", help="Two directions for the picture of a plane [default: the first two].")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@verbose_option
def command(
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
    steps: int,
    directions: tuple[str, ...],
    timeout: float,
    memory: int | None,
    runs: int,
    seed: int,
    json_path: str | None,
    plot_path: str | None,
    plane: str | None,
    quiet: bool,
) -> int:
    """Enclose the states that runs of a scenario are in, step by step.

    Each set is an interval of every variable, and of every direction that is asked for. All runs stay inside, whatever
    the environment does; the table says how tight the sets are. Ctrl-C and limits leave what is known by then, and the
    exit status is then 20.
    """
    from venmas.cli.main import SATISFIED, UNKNOWN
    from venmas.cli.progress import ProgressLine, clock
    from venmas.engine.reach.reach import reach
    from venmas.report.reach import print_reach

    outputs = {"--json": json_path, "--plot": plot_path}
    if plot_path is None:
        refuse("picture", "there is none", "add --plot FILE")
    if runs == 0:
        refuse("runs", "--runs 0 takes none")
    kind, axes = picture_kind(plot_path, "--plot") if plot_path else "", read_plane(plane)
    for option, path in outputs.items():
        check_writable(path, option)
    check_apart(outputs)
    with reading(timeout, *outputs.values()) as left:
        loaded = load(scenario, read_settings(settings), networks)
    check_kept(outputs, loaded.files)
    if kind:
        from venmas.report.plot.reach import check_plane

        check_plane(loaded.system, directions, axes)

    def tell(progress: Progress, _left: float | None) -> str:
        return f"{clock(progress.seconds)}  {progress.depth} steps of work"

    with ProgressLine(wanted=not quiet, tell=tell) as line:
        found = reach(
            loaded.system, steps, directions, timeout=left(), memory=memory, runs=runs, seed=seed, progress=line.update
        )
    failed = store_json(json_path, found.to_json(), "--json")
    if plot_path is not None:
        from venmas.report.plot.reach import save

        write_file(plot_path, save(found, kind, axes), "--plot")
    if json_path != STDOUT:
        print_reach(console(), found)
    if failed:
        raise failed
    return UNKNOWN if found.reason or len(found) <= found.steps else SATISFIED
