"""``venmas check``: does a certificate prove what it claims?"""

from __future__ import annotations

from time import perf_counter

import click

from venmas.cli.apart import check_kept
from venmas.cli.check_result import Found
from venmas.cli.limits import limit_options, limits
from venmas.cli.main import SATISFIED, UNKNOWN
from venmas.cli.options import scenario_options, verbose_option
from venmas.cli.output import STDOUT, check_writable, console, store_json
from venmas.cli.table import Command
from venmas.errors import LimitError, RefusedError


@click.command("check", cls=Command)
@click.argument("path", metavar="CERTIFICATE")
@scenario_options
@click.option("--btor2", metavar="FILE", help="The netlist that a certificate about one must be about.")
@click.option("--json", "json_path", metavar="FILE|-", help="Write the answer as JSON; - is standard output.")
@limit_options("checking")
@click.option("-q", "--quiet", is_flag=True, help="Print the answer only.")
@verbose_option
def command(
    path: str,
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
    btor2: str | None,
    json_path: str | None,
    timeout: float,
    memory: int,
    quiet: bool,
) -> int:
    """Check a certificate line by line, in exact rationals.

    CERTIFICATE is one of `venmas verify --certificate`, an archive that holds one (`venmas archive`), or a map of
    `venmas map --certify`, whose boxes are all checked. The system is rebuilt from the certificate and must be the one
    that the scenario describes now. A certificate names bundled scenarios only; a scenario of your own, or other
    networks, are given with --scenario (and --set) and --networks. A certificate about a design holds its netlist;
    --btor2 names the netlist that it must be about.

    Exit status: 0 when the certificate proves its claim, 30 when it is refused, 20 when a limit is reached first, the
    certificate rests on answers of a solver, or decided boxes of a map have none, 2 when the certificate, or the system
    that it is about, cannot be read.
    """
    from venmas.cli.checked_map import checked_map, is_map
    from venmas.cli.checking import Told, checked

    check_writable(json_path, "--json")
    read = [("the certificate", path), *([("the netlist", btor2)] if btor2 else [])]
    check_kept({"--json": json_path}, read)
    begun, found = perf_counter(), Found(path)
    refused: RefusedError | None = None
    lines: list[str] = []
    try:
        with limits(timeout, memory) as ask, console(stderr=True).status("checking") as status:

            def tick(line: int) -> None:
                if line < 200 or line % 200 == 0:  # the first may each stand for a whole table
                    ask()
                    if not quiet:
                        status.update(f"checking line {line}")

            check = checked_map if is_map(path) else checked
            lines = check(path, Told(scenario, settings, networks, btor2, json_path), found, tick)
    except LimitError as stop:
        found.unknown(stop.reason, str(stop))
        lines = []
    except RefusedError as error:
        refused = error
        found.refused(error)
    seconds = perf_counter() - begun
    failed = store_json(json_path, found.to_json(seconds), "--json")
    if refused is not None:
        raise refused
    if json_path != STDOUT:
        out = console()
        out.print(found.shown(), style={"proved": "bold green"}.get(found.shown(), ""), soft_wrap=True, markup=False)
        for line in [] if quiet or not lines else [*lines[:-1], f"{lines[-1]}; {seconds:.2f} s"]:
            out.print(line, soft_wrap=True, markup=False)
    if failed:
        raise failed
    return SATISFIED if found.answer == "proved" else UNKNOWN
