"""``venmas check``: does a certificate prove what it claims?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from venmas.cli.limits import LimitError, limit_options, limits
from venmas.cli.main import SATISFIED, UNKNOWN
from venmas.cli.options import load, read_settings, scenario_options, verbose_option
from venmas.cli.stored import named_elsewhere, stored_parameters
from venmas.errors import UsageError

if TYPE_CHECKING:
    from venmas.checker.check import Checked
    from venmas.model import System


@click.command("check")
@click.argument("path", metavar="CERTIFICATE")
@scenario_options
@limit_options("checking")
@click.option("-q", "--quiet", is_flag=True, help="Print the answer only.")
@verbose_option
def command(
    path: str,
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
    timeout: float,
    memory: int,
    quiet: bool,
) -> int:
    """Check a certificate line by line, in exact rationals.

    The system is rebuilt from the certificate and must be the one that the scenario describes now. A certificate names
    bundled scenarios only; a scenario of your own, or other networks, are given with --scenario (and --set) and
    --networks. Exit status: 0 when the certificate proves its claim, 2 when it is refused, 20 when a limit is met
    before either is known.
    """
    from venmas.cli.output import console
    from venmas.model.canonical import system_digest

    begun = perf_counter()
    out = console()
    try:
        with limits(timeout, memory) as ask, console(stderr=True).status("checking") as status:

            def tick(line: int) -> None:
                if line < 200 or line % 200 == 0:  # the first may each stand for a whole table
                    ask()
                    if not quiet:
                        status.update(f"checking line {line}")

            header, done, system, name = _checked(path, scenario, settings, networks, tick)
            digest = system_digest(system)
    except LimitError as stop:
        out.print(f"unknown ({stop.reason}): {stop}", soft_wrap=True)
        return UNKNOWN
    out.print("proved", style="bold green")
    if not quiet:
        out.print(header["formula"], soft_wrap=True, markup=False)
        single = ", networks in float32" if header["semantics"] == "float32" else ""
        where = f"in every initial state of {name}{single}, system {digest[:16]}"
        out.print(where, soft_wrap=True, markup=False)
        seconds = perf_counter() - begun
        out.print(f"{done}; {seconds:.2f} s")
    return SATISFIED


def _checked(
    path: str, scenario: str | None, settings: tuple[str, ...], networks: str | None, tick: Callable[[int], None]
) -> tuple[Mapping[str, Any], Checked, System, str]:
    """The header, what was checked, the system that the scenario describes now, and the scenario's name."""
    from venmas.checker.file import check_claim, read_certificate

    header, lines = read_certificate(path)
    named, values = scenario, {}
    if named is None:
        origin = header.get("origin", {})
        if problem := named_elsewhere(origin, networks):
            raise UsageError(f"{path} {problem}")
        named, values = str(origin["scenario"]), stored_parameters(path, header)
    system = load(named, {**values, **read_settings(settings)}, networks).system
    return header, check_claim(header, lines, system, tick), system, named
