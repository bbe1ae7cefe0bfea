"""What `venmas check` does with a certificate, alone or in an archive: the claim, what it is about, the proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from venmas.cli.apart import check_kept
from venmas.cli.check_result import Found
from venmas.cli.jani_options import is_jani
from venmas.cli.options import Loaded, load, read_settings
from venmas.cli.stored import named_elsewhere, read_stored, stored_parameters
from venmas.cli.table import refuse
from venmas.errors import InputError, RefusedError, UsageError

Tick = Callable[[int], None]


@dataclass(frozen=True)
class Told:
    """What options say that the certificate is about, and the file that is written."""

    scenario: str | None
    settings: tuple[str, ...]
    networks: str | None
    btor2: str | None
    json: str | None


@dataclass(frozen=True)
class _Packed:
    """What an archive holds besides the certificate, unpacked; hashes by member."""

    folder: Path
    result: Mapping[str, Any]
    hashes: Mapping[str, str]

    @property
    def networks(self) -> str | None:
        """The folder of its networks, if it holds any."""
        folder = self.folder / "networks"
        return str(folder) if folder.is_dir() else None


def checked(path: str, told: Told, found: Found, tick: Tick) -> list[str]:
    """Check it, and note in `found` what is known; the lines that say what was proved. Raises `InputError`."""
    from venmas.formats.archive import is_archive

    if not is_archive(path):
        return _checked(path, None, told, found, tick)
    with _unpacked(path, found) as packed:
        return _checked(str(packed.folder / "certificate.gz"), packed, told, found, tick)


@contextmanager
def _unpacked(path: str, found: Found) -> Iterator[_Packed]:
    from venmas.files import sha256_of
    from venmas.formats.archive import CERTIFICATE, RESULT, unpack

    with TemporaryDirectory(prefix="venmas-") as made:
        folder = Path(made)
        hashes = unpack(path, folder)
        try:
            result = read_stored(str(folder / RESULT))
        except UsageError as error:
            raise RefusedError(f"the archive's result is none: {error}") from error
        versions = result.get("versions")
        texts = {str(k): v for k, v in versions.items() if isinstance(v, str)} if isinstance(versions, dict) else {}
        found.archive = {"file": Path(path).name, "sha256": sha256_of(path), "versions": texts}
        found.file = CERTIFICATE
        yield _Packed(folder, result, hashes)


def _checked(path: str, packed: _Packed | None, told: Told, found: Found, tick: Tick) -> list[str]:
    from venmas.checker.liveness.file import read_liveness
    from venmas.files import sha256_of

    if Path(path).is_file():
        try:
            found.sha256 = sha256_of(path)
        except OSError as error:
            raise UsageError(f"cannot read {path[:200]!r}: {error.strerror or error}") from error
    if (liveness := read_liveness(path)) is not None:
        refuse("scenario", f"{path} is about a design, and holds its netlist")
        return _liveness(*liveness, told, found, tick)
    refuse("netlist", f"{path} is no certificate of `venmas ltl` about one")
    return _system(path, packed, told, found, tick)


def _liveness(header: Any, lines: Any, told: Told, found: Found, tick: Tick) -> list[str]:
    """Check a certificate of `venmas ltl`."""
    from venmas.checker.liveness.check import check_liveness
    from venmas.checker.liveness.lines import FORMAT
    from venmas.checker.liveness.netlist import read

    digest = sha256(header.netlist.encode()).hexdigest()
    found.claim = {"format": FORMAT, "formula": header.formula, "fair": list(header.fair), "initial": header.initial}
    if told.btor2 is not None and _text(told.btor2) != header.netlist:
        raise RefusedError(f"the certificate is about another netlist than {told.btor2}: their texts differ")
    done = check_liveness(header, lines, tick)
    found.subject = {"netlist": digest}
    counts = {**vars(done), "said": len(done.said), "invariant": int(done.invariant)}
    found.proved(counts, len(done.said))
    said = [header.formula, *(f"of runs with {condition} again and again" for condition in header.fair)]
    start = "every state" if header.initial is None else "initial states"
    more = "" if header.initial in (None, "true") else f" with {header.initial}"
    said.append(f"of runs from {start}{more} of the netlist {digest[:16]}")
    if many := len(read(header.netlist, "the netlist").constraints):
        which = "its `constraint` line" if many == 1 else f"its {many} `constraint` lines"
        said.append(f"that meet {which} at every step")
    return [*said, str(done)]


def _text(netlist: str) -> str:
    try:
        return Path(netlist).read_bytes().decode()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the netlist {netlist!r}: {error}") from error


def _system(path: str, packed: _Packed | None, told: Told, found: Found, tick: Tick) -> list[str]:
    """Check a certificate about the system that the scenario describes now."""
    from venmas.checker.file import check_claim, read_certificate
    from venmas.model.canonical import system_digest
    from venmas.model.source import source_of

    header, lines = read_certificate(path)
    found.claim = {key: header[key] for key in ("format", "formula", "semantics", "inside")}
    told = _with_networks(told, packed, header)
    loaded = _loaded(path, header, told)
    check_kept({"--json": told.json}, loaded.files)
    source, weights = source_of(loaded.system), loaded.folder.digests
    digest = system_digest(loaded.system)
    found.subject = {
        "scenario": Path(loaded.name).name,
        "parameters": dict(loaded.parameters),
        "system": digest,
        "networks": weights,
        "files": dict(source.files) if source else {},
    }
    if packed is not None:
        _agree(packed, header, loaded, digest, found.sha256)
    done = check_claim(header, lines, loaded.system, tick)
    found.proved(vars(done))
    theirs = packed is not None and told.networks == packed.networks is not None
    scenario = (told.scenario or loaded.name) + (" with the networks of the archive" if theirs else "")
    single = ", networks in float32" if header["semantics"] == "float32" else ""
    said = [header["formula"], f"{_where(header)} of {scenario}{single}, system {digest[:16]}"]
    if theirs:
        said += [f"{name}: sha256 of its weights {weight}" for name, weight in weights.items()]
    return [*said, str(done)]


def _where(header: Mapping[str, Any]) -> str:
    """Of which runs a certificate about a system speaks."""
    from venmas.checker.runs.claim import FORMAT

    if header["format"] != FORMAT:
        return "in every initial state"
    again = "".join(f", {condition} again and again," for condition in header["fair"])
    stays = ", which stay in states without a successor," if header["deadlock"] == "stutter" else ""
    return f"on all runs{again}{stays} from initial states"


def _with_networks(told: Told, packed: _Packed | None, header: Mapping[str, Any]) -> Told:
    """Networks are those of the archive, but where options name others, or the scenario comes with its own."""
    if packed is None or told.networks is not None or (told.scenario is not None and is_jani(told.scenario)):
        return told
    origin = header.get("origin")
    if told.scenario is None and isinstance(origin, dict) and origin.get("networks") is None:
        return told
    return replace(told, networks=packed.networks)


def _loaded(path: str, header: Mapping[str, Any], told: Told) -> Loaded:
    named, values = told.scenario, {}
    if named is None:
        origin = header.get("origin", {})
        if problem := named_elsewhere(origin, told.networks):
            raise UsageError(f"{path} {problem}")
        named, values = str(origin["scenario"]), stored_parameters(path, header)
    return load(named, {**values, **read_settings(told.settings)}, told.networks)


def _agree(packed: _Packed, header: Mapping[str, Any], loaded: Loaded, digest: str, certificate: str) -> None:
    """The result of an archive claims what its certificate does, of the same system. Raises `RefusedError`."""
    from venmas.logic import parse_property
    from venmas.question import posed, read_property

    result, system = packed.result, loaded.system
    if result.get("verdict") != "satisfied":
        raise RefusedError("the archive's result does not say satisfied, which is what its certificate would prove")
    try:
        claimed = parse_property(header["formula"], system.vocabulary).formula
        told = posed(system, read_property(system, str(result.get("formula")))).formula
    except InputError as error:
        raise RefusedError(f"the archive's result is about a formula that is none of this system: {error}") from error
    written = result.get("certificate")
    about = {
        "formula": (told, claimed),
        "semantics": (result.get("semantics"), header["semantics"]),
        "system": (result.get("system") or digest, digest),
        "certificate": (written.get("sha256") if isinstance(written, dict) else None, certificate),
    }
    if different := [key for key, (one, other) in about.items() if one != other]:
        raise RefusedError(f"the archive's result and its certificate differ: {', '.join(different)}")
