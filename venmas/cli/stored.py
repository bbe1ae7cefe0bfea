"""Stored results and certificates: what they hold, and what of that they may choose.

A stored file is data of strangers. It names nothing that is opened: neither a scenario file, which is code, nor a
folder of networks. What it may choose is one of the bundled scenarios, its parameters, and nothing else; everything
else is chosen by options.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from venmas.cli.jani_models import is_jani
from venmas.cli.options import Loaded, read_settings
from venmas.cli.output import read_input
from venmas.cli.subjects import Design, load_subject
from venmas.errors import InputError, UsageError

if TYPE_CHECKING:
    from venmas.engine.report import Report

_MAX_BYTES = 64 << 20
_MAX_PARTS = 2_000_000
HOW = "write it with `venmas verify ... --witness FILE` (or --json FILE)"
"""The remedy for a file that is no stored result."""


def read_stored(path: str) -> Mapping[str, Any]:
    """The object in the file. Raises `UsageError`."""
    from venmas.nn.files import json_parts

    try:
        data = read_input(path, _MAX_BYTES)
        if len(data) > _MAX_BYTES or json_parts(data) > _MAX_PARTS:
            raise UsageError(
                f"{path} is larger than {_MAX_BYTES >> 20} MB or has more than {_MAX_PARTS} values: that is no witness"
            )
        if data.startswith(b"PK\x03\x04"):
            raise UsageError(f"{path} is an archive: `venmas check` and `venmas report` take it, and what is in it")
        if data.startswith(b"\x1f\x8b"):
            raise UsageError(f"{path} is a file of gzip, as certificates are: `venmas check` takes those; {HOW}")
        stored = json.loads(data)
    except OSError as error:
        raise UsageError(f"cannot read {path!r}: {error.strerror}; {HOW}") from error
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        why = "it is no text in UTF-8" if isinstance(error, UnicodeDecodeError) else why
        raise UsageError(f"{path} is no JSON that can be read ({why}); {HOW}") from error
    if not isinstance(stored, dict):
        raise UsageError(f"{path} holds a JSON {type(stored).__name__}, expected the object of a result; {HOW}")
    return stored


def field_text(path: str, stored: Mapping[str, Any], key: str) -> str:
    """A field that is a text. Raises `UsageError`."""
    if not isinstance(stored.get(key), str):
        raise UsageError(f"{path}: expected a text as {key!r}; {HOW}")
    return str(stored[key])


def named_elsewhere(origin: object, networks: str | None) -> str:
    """Why nothing is loaded as `origin` says without the user's word; empty for a bundled scenario as it is.

    networks: the folder that the user gave. The reason goes on from the name of the stored file.
    """
    from venmas.formats.designs import NETLISTS, VERILOG, design_names
    from venmas.model.scenario.scenario import bundled_names

    told: Mapping[str, Any] = origin if isinstance(origin, dict) else {}
    scenario, folder = told.get("scenario"), told.get("networks")
    if scenario is None:
        return "does not say which scenario it is of (a system made in Python): give --scenario"
    if isinstance(scenario, str) and is_jani(scenario):
        return f"is of the JANI model{_quoted(scenario)}: give it with --scenario, its property and policy as before"
    if isinstance(scenario, str) and Path(scenario).suffix in (*NETLISTS, *VERILOG):
        return f"is of the design{_quoted(scenario)}: give it with --scenario"
    if not isinstance(scenario, str) or scenario not in (*bundled_names(), *design_names()):
        return f"is of the scenario file{_quoted(scenario)}, which is code: if you trust it, give it with --scenario"
    if folder is not None and networks is None:
        return f"is of networks in a folder{_quoted(folder)}: --networks says which to open, not a stored file"
    return ""


def _quoted(told: object) -> str:
    return f" {told[:200]!r}" if isinstance(told, str) else ""


def stored_parameters(path: str, stored: Mapping[str, Any]) -> dict[str, str]:
    """The values that a stored file gives to parameters, by name. Raises `UsageError`."""
    parameters = stored.get("parameters", {})
    if not isinstance(parameters, dict) or not all(isinstance(v, str) for v in parameters.values()):
        raise UsageError(f"{path}: 'parameters' should map names to texts; {HOW}")
    if named := [name for name in parameters if name.startswith("jani.")]:  # files, which a stored file may not open
        raise UsageError(f"{path}: 'parameters' says how a model is read ({named[0]}): give that with --set")
    return parameters


def load_stored(
    path: str, stored: Mapping[str, Any], scenario: str | None, settings: tuple[str, ...], networks: str | None
) -> tuple[Loaded | Design, list[str]]:
    """The system or circuit of the file, changed by the options; and the networks that differ from the stored ones."""
    origin, given, parameters = stored.get("origin"), read_settings(settings), stored_parameters(path, stored)
    if origin is not None and (not isinstance(origin, dict) or not isinstance(origin.get("digests"), dict)):
        raise UsageError(f"{path}: 'origin' should tell scenario, networks and digests; {HOW}")
    told: Mapping[str, Any] = origin or {}
    if scenario is None:
        if problem := named_elsewhere(told, networks):
            raise UsageError(f"{path} {problem}")
        scenario = str(told["scenario"])
    digests = {str(name): str(digest) for name, digest in told.get("digests", {}).items()}
    try:
        loaded = load_subject(scenario, {**parameters, **given}, networks, _texts(stored))
    except InputError as error:
        raise UsageError(f"{path}: {error} (options --scenario, --set and --networks override the file)") from error
    if isinstance(loaded, Design):
        return loaded, []
    current = loaded.folder.digests
    same_files = set(current.values()) == set(digests.values())
    changed = [] if same_files else sorted(f for f, d in current.items() if digests.get(f) != d)
    return loaded, changed


def load_stored_system(
    path: str, stored: Mapping[str, Any], scenario: str | None, settings: tuple[str, ...], networks: str | None
) -> tuple[Loaded, list[str]]:
    """The same, for what is about systems only. Raises `UsageError` for a circuit."""
    loaded, changed = load_stored(path, stored, scenario, settings, networks)
    if isinstance(loaded, Design):
        raise UsageError(f"{path} is about the design {loaded.name}, and this is for systems")
    return loaded, changed


def _texts(stored: Mapping[str, Any]) -> list[str]:
    """Formulas of a result, whose signals a design keeps."""
    asked = stored.get("asked")
    told = asked if isinstance(asked, dict) else {}
    fair = told.get("fair")
    found = [stored.get("formula"), told.get("initial"), *(fair if isinstance(fair, list) else ())]
    return [text for text in found if isinstance(text, str) and text]


def certificate_beside(path: str, report: Report) -> Path:
    """The certificate of a result, which lies beside it: a result names no place."""
    if report.certificate is None:
        raise UsageError(f"{path} names no certificate; `venmas verify ... --certificate FILE` writes one")
    folder = Path(path).parent
    file = folder / Path(report.certificate.path).name
    try:
        inside = file.resolve().parent == folder.resolve() and file.is_file()
    except (OSError, ValueError, RuntimeError):  # such as links that lead to each other
        inside = False
    if not inside:
        raise UsageError(
            f"the certificate {report.certificate.path[:200]!r} of {path} is no file beside it: give it with "
            "--certificate FILE"
        )
    return file
