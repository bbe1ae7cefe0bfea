"""``venmas recheck``: prove of other networks what an earlier certificate proves, with its cuts and sets."""

from __future__ import annotations

from contextlib import nullcontext

import click

from venmas.cli.apart import check_apart, check_kept
from venmas.cli.limits import reading
from venmas.cli.options import Positive, scenario_options, verbose_option
from venmas.cli.outcome import tell
from venmas.cli.output import check_writable
from venmas.cli.table import Command
from venmas.errors import UsageError


@click.command("recheck", cls=Command)
@click.argument("path", metavar="EARLIER")
@scenario_options
@click.option("--certificate", metavar="FILE", help="Write the proof about the new networks there, if satisfied.")
@click.option(
    "--timeout", type=Positive(), metavar="S", help="Stop after so many seconds; the verdict is then unknown."
)
@click.option(
    "--memory", type=click.IntRange(1), metavar="MB", help="Stop when all processes together take more memory."
)
@click.option("--json", "json_path", metavar="FILE|-", help="Write the result as JSON; - is standard output.")
@click.option(
    "--witness", "witness_path", metavar="FILE", help="Write the result there if violated, for `venmas replay`."
)
@click.option("-q", "--quiet", is_flag=True, help="Print the verdict only.")
@verbose_option
def command(
    path: str,
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
    certificate: str | None,
    timeout: float | None,
    memory: int | None,
    json_path: str | None,
    witness_path: str | None,
    quiet: bool,
) -> int:
    """Decide again, of retrained networks, what a certificate proves.

    EARLIER is a certificate or an archive (`venmas archive`) about a system with other networks, or parameters; its
    scenario is found as `venmas check` finds it, with its own networks, or those of --networks. What the certificate
    says is tried first and checked; what does not hold any more is searched for again.

    Exit status: that of `venmas verify`.
    """
    from venmas.checker.file import read_certificate
    from venmas.cli.checking import loaded_for
    from venmas.cli.packed import NOT_PACKED, packed
    from venmas.cli.progress import ProgressLine
    from venmas.engine.verify import verify
    from venmas.formats.archive import is_archive

    written = {"--json": json_path, "--witness": witness_path, "--certificate": certificate}
    for option, name in written.items():
        check_writable(name, option)
    check_apart(written)
    with packed(path) if is_archive(path) else nullcontext(NOT_PACKED) as inside:
        earlier = inside.certificate or path
        with reading(timeout) as left:
            header, _ = read_certificate(earlier)
            if header.netlist is not None:
                raise UsageError(f"{path} is about a design, which has no networks: `venmas check` checks it")
            loaded = loaded_for(path, header.origin, header.parameters, scenario, settings, networks)
        check_kept(written, [("the earlier proof", path), *loaded.files])
        formula = str(inside.result.get("formula") or header.claim.formula)
        if loaded.system.quantities and inside.certificate is None:
            raise UsageError(f"{path} is about the states that quantities are measured in: give its archive instead")
        with ProgressLine(wanted=not quiet) as line:
            report = verify(
                loaded.subject,
                formula,
                parameters=loaded.parameters,
                progress=line.update,
                certificate=certificate,
                timeout=left(),
                memory=memory,
                semantics=header.claim.semantics,
                fair=header.claim.fair,
                deadlock=header.claim.deadlock,
                earlier=earlier,
            )
    return tell(report, loaded, {}, written, quiet)
