"""``venmas check``: does a certificate prove what it claims?"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from venmas.cli.main import SATISFIED
from venmas.cli.options import load, read_settings, scenario_options, verbose_option
from venmas.errors import UsageError

if TYPE_CHECKING:
    from venmas.model import System


@click.command("check")
@click.argument("path", metavar="CERTIFICATE")
@scenario_options
@click.option("-q", "--quiet", is_flag=True, help="Print the answer only.")
@verbose_option
def command(path: str, scenario: str | None, settings: tuple[str, ...], networks: str | None, quiet: bool) -> int:
    """Check a certificate line by line, in exact rationals.

    The system is rebuilt from the certificate; the networks are looked for by their hash among those of the scenario
    that it names (or of --scenario, --networks). The scenario must still describe the same system. Exit status: 0 when
    the certificate proves its claim, 2 when it is refused.
    """
    from venmas.checker.file import check_claim, read_certificate
    from venmas.cli.output import console
    from venmas.model.canonical import system_digest

    begun = perf_counter()
    header, lines = read_certificate(path)
    system, name = _scenario(path, header, scenario, settings, networks)
    with console(stderr=True).status("checking") as status:
        tick = None if quiet else lambda n: status.update(f"checking line {n}") if n % 200 == 0 else None
        done = check_claim(header, lines, system, tick or (lambda _: None))
    out = console()
    out.print("proved", style="bold green")
    if not quiet:
        out.print(header["formula"], soft_wrap=True, markup=False)
        single = ", networks in float32" if header["semantics"] == "float32" else ""
        where = f"in every initial state of {name}{single}, system {system_digest(system)[:16]}"
        out.print(where, soft_wrap=True, markup=False)
        seconds = perf_counter() - begun
        out.print(f"{done.lines} lines, {done.refuted} refuted by weights, {done.shared} shared; {seconds:.2f} s")
    return SATISFIED


def _scenario(
    path: str, header: Mapping[str, Any], scenario: str | None, settings: tuple[str, ...], networks: str | None
) -> tuple[System, str]:
    """The system that the scenario describes now."""
    found = header.get("origin")
    origin = found if isinstance(found, dict) else {}
    named = scenario if scenario is not None else origin.get("scenario")
    if not isinstance(named, str):
        raise UsageError(f"{path} names no scenario: give the one that it is about with --scenario and --set")
    stored = header.get("parameters") if scenario is None else {}
    values = {str(k): str(v) for k, v in stored.items()} if isinstance(stored, dict) else {}
    folder = networks if networks is not None else origin.get("networks") if scenario is None else None
    loaded = load(named, {**values, **read_settings(settings)}, folder if isinstance(folder, str) else None)
    return loaded.system, named
