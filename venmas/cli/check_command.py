"""``venmas check``: does a certificate prove what it claims?"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from venmas.cli.main import SATISFIED
from venmas.cli.options import load, read_settings, scenario_options, verbose_option
from venmas.errors import UsageError

if TYPE_CHECKING:
    from venmas.model import System
    from venmas.nn import Network

FORMAT = "venmas-certificate-1"
MAX_LINE = 64 << 20
_HOW = "write one with `venmas verify ... --certificate FILE`"


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
    from venmas.checker.check import check
    from venmas.cli.output import console
    from venmas.logic import parse
    from venmas.model.canonical import system_digest, system_from_json

    begun = perf_counter()
    lines = _lines(path)
    header = _header(path, next(lines, (0, {}))[1])
    given, name = _scenario(path, header, scenario, settings, networks)
    system = system_from_json(header["system"], _networks(given))
    same = system_digest(given) == system_digest(system)
    formula = parse(header["formula"], system.vocabulary)
    with console(stderr=True).status("checking") as status:
        tick = None if quiet else lambda n: status.update(f"checking line {n}") if n % 200 == 0 else None
        done = check(system, formula, header["inside"], lines, tick or (lambda _: None), header["semantics"])
    if next(lines, None) is not None:
        raise UsageError(f"{path}: there is more after the end of the proof")
    if not same:
        raise UsageError(
            f"{path} proves its claim for another system than {name} describes (another version, or other parameters): "
            "name the right one with --scenario and --set"
        )
    out = console()
    out.print("proved", style="bold green")
    if not quiet:
        out.print(header["formula"], soft_wrap=True)
        single = ", networks in float32" if header["semantics"] == "float32" else ""
        out.print(f"in every initial state of {name}{single}, system {system_digest(system)[:16]}", soft_wrap=True)
        seconds = perf_counter() - begun
        out.print(f"{done.lines} lines, {done.refuted} refuted by weights, {done.shared} shared; {seconds:.2f} s")
    return SATISFIED


def _scenario(
    path: str, header: Mapping[str, Any], scenario: str | None, settings: tuple[str, ...], networks: str | None
) -> tuple[System, str]:
    """The system that the scenario describes now."""
    origin = header.get("origin") if isinstance(header.get("origin"), dict) else {}
    assert isinstance(origin, dict)
    named = scenario if scenario is not None else origin.get("scenario")
    if not isinstance(named, str):
        raise UsageError(f"{path} names no scenario: give the one that it is about with --scenario and --set")
    stored = header.get("parameters") if scenario is None else {}
    values = {str(k): str(v) for k, v in stored.items()} if isinstance(stored, dict) else {}
    folder = networks if networks is not None else origin.get("networks") if scenario is None else None
    loaded = load(named, {**values, **read_settings(settings)}, folder if isinstance(folder, str) else None)
    return loaded.system, named


def _networks(system: System) -> dict[str, Network]:
    from venmas.model.canonical import networks_of

    return networks_of(system)


def _header(path: str, header: Mapping[str, Any]) -> Mapping[str, Any]:
    if header.get("format") != FORMAT:
        raise UsageError(f"{path} is no certificate of the form {FORMAT}; {_HOW}")
    if not isinstance(header.get("formula"), str) or not isinstance(header.get("inside"), bool):
        raise UsageError(f"{path}: the header gives no formula, or does not say what it claims of the box; {_HOW}")
    if header.get("semantics") not in ("real", "float32"):
        raise UsageError(f"{path}: the header does not say what networks compute (real or float32); {_HOW}")
    return header


def _lines(path: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Numbered objects of a compressed file, read as they are asked for. Raises `InputError`."""
    number = 0
    try:
        with Path(path).open("rb") as raw, gzip.GzipFile(fileobj=raw) as file:
            while text := file.readline(MAX_LINE + 1):
                if len(text) > MAX_LINE:
                    raise UsageError(f"{path}, line {number}: longer than {MAX_LINE >> 20} MB")
                line = json.loads(text)
                if not isinstance(line, dict):
                    raise UsageError(f"{path}, line {number}: expected an object, got a {type(line).__name__}")
                yield number, line
                number += 1
    except OSError as error:
        raise UsageError(f"cannot read {path!r} as a certificate: {error.strerror or error}; {_HOW}") from error
    except (ValueError, EOFError, zlib.error, RecursionError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise UsageError(f"{path}, line {number}: not what a certificate holds ({problem}); {_HOW}") from error
