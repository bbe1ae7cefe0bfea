"""``venmas check``: does a certificate prove what it claims?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
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
    from venmas.checker.liveness.check import Checked as LivenessChecked
    from venmas.checker.liveness.lines import Header as LivenessHeader
    from venmas.model import System


@click.command("check")
@click.argument("path", metavar="CERTIFICATE")
@scenario_options
@click.option("--btor2", metavar="FILE", help="The netlist that a certificate of `venmas ltl` must be about.")
@limit_options("checking")
@click.option("-q", "--quiet", is_flag=True, help="Print the answer only.")
@verbose_option
def command(
    path: str,
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
    btor2: str | None,
    timeout: float,
    memory: int,
    quiet: bool,
) -> int:
    """Check a certificate line by line, in exact rationals.

    The system is rebuilt from the certificate and must be the one that the scenario describes now. A certificate names
    bundled scenarios only; a scenario of your own, or other networks, are given with --scenario (and --set) and
    --networks. A certificate of `venmas ltl` about a design carries its netlist; --btor2 says
    which one it must be. Exit status: 0
    when the certificate proves its claim, 2 when it is refused, 20 when a limit is met before either is known, and
    where it rests on the word of a solver.
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

            if (liveness := _liveness(path, btor2, tick)) is None:
                header, done, system, name = _checked(path, scenario, settings, networks, tick)
                digest = system_digest(system)
    except LimitError as stop:
        out.print(f"unknown ({stop.reason}): {stop}", soft_wrap=True)
        return UNKNOWN
    if liveness is not None:
        _print_liveness(*liveness, quiet, perf_counter() - begun)
        return UNKNOWN if liveness[1].said else SATISFIED
    out.print("proved", style="bold green")
    if not quiet:
        out.print(header["formula"], soft_wrap=True, markup=False)
        single = ", networks in float32" if header["semantics"] == "float32" else ""
        where = f"{_where(header)} of {name}{single}, system {digest[:16]}"
        out.print(where, soft_wrap=True, markup=False)
        seconds = perf_counter() - begun
        out.print(f"{done}; {seconds:.2f} s")
    return SATISFIED


def _where(header: Mapping[str, Any]) -> str:
    """Of which runs a certificate about a system speaks."""
    from venmas.checker.runs.claim import FORMAT

    if header["format"] != FORMAT:
        return "in every initial state"
    again = "".join(f", {condition} again and again," for condition in header["fair"])
    stays = ", which stay in states without a successor," if header["deadlock"] == "stutter" else ""
    return f"on all runs{again}{stays} from initial states"


def _liveness(
    path: str, btor2: str | None, tick: Callable[[int], None]
) -> tuple[LivenessHeader, LivenessChecked] | None:
    """What a certificate of `venmas ltl` claims and what was checked of it; None for another certificate."""
    from venmas.checker.liveness.file import check_liveness_file

    found = check_liveness_file(path, tick)
    if btor2 is not None:
        if found is None:
            raise UsageError(f"{path} is no certificate of `venmas ltl` about a design, which --btor2 is about")
        try:
            given = Path(btor2).read_bytes().decode()
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot read the netlist {btor2!r}: {error}") from error
        if given != found[0].netlist:
            raise UsageError(f"{path} is about another netlist than {btor2}: their texts differ")
    return found


def _print_liveness(header: LivenessHeader, done: LivenessChecked, quiet: bool, seconds: float) -> None:
    from hashlib import sha256

    from venmas.checker.liveness.netlist import read
    from venmas.cli.output import console

    out = console()
    if done.said:
        out.print(f"proved up to {len(done.said)} solver answers", style="bold yellow")
    else:
        out.print("proved", style="bold green")
    if not quiet:
        out.print(header.formula, soft_wrap=True, markup=False)
        for condition in header.fair:
            out.print(f"of runs with {condition} again and again", soft_wrap=True, markup=False)
        start = "every state" if header.initial is None else "initial states"
        more = "" if header.initial in (None, "true") else f" with {header.initial}"
        digest = sha256(header.netlist.encode()).hexdigest()[:16]
        out.print(f"of runs from {start}{more} of the netlist {digest}", soft_wrap=True, markup=False)
        if many := len(read(header.netlist, "the netlist").constraints):
            said = "its `constraint` line" if many == 1 else f"its {many} `constraint` lines"
            out.print(f"that meet {said} at every step", soft_wrap=True, markup=False)
        out.print(f"{done}; {seconds:.2f} s", soft_wrap=True, markup=False)


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
