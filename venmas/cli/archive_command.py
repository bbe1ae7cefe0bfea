"""``venmas archive``: a result and all that its certificate is about, in one file that others check."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from venmas.cli.apart import check_kept
from venmas.cli.jani_models import is_jani
from venmas.cli.main import SATISFIED
from venmas.cli.options import Loaded, load, scenario_options, verbose_option
from venmas.cli.output import STDOUT, check_writable, console
from venmas.cli.table import Command
from venmas.errors import InputError, ModelError, UsageError


@click.command("archive", cls=Command)
@click.argument("path", metavar="RESULT.json")
@click.option("-o", "--output", metavar="FILE", help="The archive [default: RESULT.zip beside the result].")
@click.option("--certificate", metavar="FILE", help="The certificate, where it does not lie beside the result.")
@scenario_options
@verbose_option
def command(
    path: str,
    output: str | None,
    certificate: str | None,
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
) -> int:
    """Pack a result of verify (--json FILE) and its certificate into one file.

    The archive also holds the networks and the scenario file. `venmas check FILE` takes it, on any machine. The result
    must be satisfied and have a certificate; the system must be the one that the scenario describes now. A scenario
    file is code: it is packed, and whoever checks the archive gives it with --scenario after reading it.
    """
    from venmas.cli.stored import certificate_beside, load_stored, read_stored
    from venmas.engine.journal import subject_digest
    from venmas.engine.stored import read_report
    from venmas.formats.archive import CERTIFICATE, RESULT, write_archive
    from venmas.runtime.files import sha256_of

    target = output if output is not None else str(Path(path).with_suffix(".zip"))
    if target == STDOUT:
        raise UsageError("-o takes a file: an archive is not written to standard output")
    check_writable(target, "-o", "archive")
    stored = read_stored(path)
    report = read_report(stored)
    if not report.satisfied or report.certificate is None:
        raise UsageError(
            f"{path} is no satisfied result with a certificate (verify ... --json FILE --certificate FILE), which is "
            "what an archive is for; a counterexample is checked by `venmas replay`, as it is"
        )
    proof = Path(certificate) if certificate is not None else certificate_beside(path, report)
    if not proof.is_file():
        raise UsageError(f"--certificate: there is no file {str(proof)!r}")
    if report.certificate.sha256 != sha256_of(proof):
        raise UsageError(f"{proof} is not the certificate of {path}: its sha256 differs; decide it again to have both")
    loaded, changed = load_stored(path, stored, scenario, settings, networks)
    digest = ""
    with suppress(ModelError):  # too large for a canonical form
        digest = subject_digest(loaded.subject)
    if changed or report.system != digest:
        what = f"networks ({', '.join(changed)})" if changed else "scenario, or its parameters,"
        raise UsageError(f"{path} is about another system than the one given: the {what} differ; decide it again")
    members = {RESULT: Path(path), CERTIFICATE: proof, **loaded.named_files}
    check_kept({"-o": target}, [("the result", path), ("the certificate", proof), *loaded.files])
    with TemporaryDirectory(prefix="venmas-") as folder:
        trial = Path(folder) / "archive.zip"
        write_archive(trial, members)
        if isinstance(loaded, Loaded):
            _try(trial, Path(folder) / "unpacked", loaded, digest)
        write_archive(target, members)
    console().print(f"{target}: {len(members)} files, sha256 {sha256_of(target)}", soft_wrap=True)
    return SATISFIED


def _try(archive: Path, folder: Path, loaded: Loaded, digest: str) -> None:
    """Build the system from the networks in an archive, which may lack files that theirs name. Raises `UsageError`."""
    from venmas.formats.archive import unpack
    from venmas.model.canonical.canonical import system_digest

    unpack(archive, folder)
    if not (folder / "networks").is_dir() or is_jani(loaded.name):
        return
    try:
        again = load(loaded.name, loaded.parameters, str(folder / "networks"))
        same = not digest or system_digest(again.system) == digest
    except InputError as error:
        raise UsageError(f"the networks cannot be packed: {error}; store each in one file") from error
    if not same:
        raise UsageError("the networks cannot be packed: from the archive, another system is built of them")
