"""What `venmas check` does with a certificate, alone or in an archive: the claim, what it is about, the proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from venmas.checker.format.fields import entries
from venmas.cli.apart import check_kept
from venmas.cli.check_result import Found
from venmas.cli.claims import agree
from venmas.cli.options import Loaded, load, read_settings
from venmas.cli.packed import Packed, packed
from venmas.cli.stored import named_elsewhere, stored_parameters
from venmas.cli.table import refuse
from venmas.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from venmas.checker.format.header import Claim, Header
    from venmas.checker.format.lines import Lines

Tick = Callable[[int], None]


@dataclass(frozen=True)
class Told:
    """What options say that the certificate is about, and the file that is written."""

    scenario: str | None
    settings: tuple[str, ...]
    networks: str | None
    btor2: str | None
    json: str | None


def checked(path: str, told: Told, found: Found, tick: Tick) -> list[str]:
    """Check it, and note in `found` what is known; the lines that say what was proved. Raises `InputError`."""
    from venmas.formats.archive import CERTIFICATE, is_archive

    if not is_archive(path):
        return _checked(path, None, told, found, tick)
    from venmas.checker.format.lines import DamagedError

    with packed(path) as inside:
        found.archive, found.file = _archive(path, inside), CERTIFICATE
        try:
            return _checked(str(inside.certificate), inside, told, found, tick)
        except DamagedError as error:  # which is as it was packed
            raise RefusedError("the archive's certificate is cut off or damaged: pack it anew") from error


def _archive(path: str, inside: Packed) -> dict[str, Any]:
    """What is said of an archive."""
    from venmas.runtime.files import sha256_of

    versions = inside.result.get("versions")
    texts = {str(k): v for k, v in versions.items() if isinstance(v, str)} if isinstance(versions, dict) else {}
    return {"file": Path(path).name, "sha256": sha256_of(path), "versions": texts}


def _checked(path: str, packed: Packed | None, told: Told, found: Found, tick: Tick) -> list[str]:
    from venmas.checker.file import read_certificate
    from venmas.runtime.files import sha256_of

    if Path(path).is_file():
        try:
            found.sha256 = sha256_of(path)
        except OSError as error:
            raise UsageError(f"cannot read {path[:200]!r}: {error.strerror or error}") from error
    header, lines = read_certificate(path, tick)
    found.claim = {"proof": header.proof, **entries(header.claim)}
    if header.netlist is not None:
        refuse("scenario", f"{path} is about a design, and holds its netlist")
        return _netlist(header, lines, packed, told, found)
    refuse("netlist", f"{path} is no certificate about one")
    return _system(path, packed, told, found, header, lines)


def _netlist(header: Header, lines: Lines, packed: Packed | None, told: Told, found: Found) -> list[str]:
    """Check a certificate about the netlist that it holds."""
    from venmas.checker.file import check_claim
    from venmas.checker.netlists.netlist import read
    from venmas.formats.btor2.reader import parse_btor2

    claim, netlist = header.claim, str(header.netlist)
    if told.btor2 is not None and _text(told.btor2) != netlist:
        raise RefusedError(f"the certificate is about another netlist than {told.btor2}: their texts differ")
    if packed is not None:
        agree(packed.result, header, parse_btor2(netlist), found.sha256)
    done = check_claim(header, lines)
    digest = sha256(netlist.encode()).hexdigest()
    found.subject = {"netlist": digest}
    found.proved(done.counts(), len(done.solvers()))
    said = [claim.formula, *(f"of runs with {condition} again and again" for condition in claim.fair)]
    start = "every state" if claim.initial is None else "initial states"
    more = "" if claim.initial in (None, "true") else f" with {claim.initial}"
    said.append(f"of runs from {start}{more} of the netlist {digest[:16]}")
    if many := len(read(netlist, "the netlist").constraints):
        which = "its `constraint` line" if many == 1 else f"its {many} `constraint` lines"
        said.append(f"that meet {which} at every step")
    return [*said, str(done)]


def _text(netlist: str) -> str:
    try:
        return Path(netlist).read_bytes().decode()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the netlist {netlist!r}: {error}") from error


def _system(path: str, packed: Packed | None, told: Told, found: Found, header: Header, lines: Lines) -> list[str]:
    """Check a certificate about the system that the scenario describes now."""
    from venmas.checker.file import check_claim

    if packed is not None:
        told = replace(told, networks=packed.networks_for(told.scenario, told.networks, header.origin or None))
    where = path if packed is None else "the archive"
    loaded = loaded_for(where, header.origin, header.parameters, told.scenario, told.settings, told.networks)
    check_kept({"--json": told.json}, loaded.files)
    found.subject, digest = subject_of(loaded)
    if packed is not None:
        _check_same(packed, told, digest)
        agree(packed.result, header, loaded.system, found.sha256)
    done = check_claim(header, lines, loaded.system)
    found.proved(done.counts(), len(done.solvers()))
    theirs = packed is not None and told.networks == packed.networks is not None
    scenario = (told.scenario or loaded.name) + (" with the networks of the archive" if theirs else "")
    single = ", networks in float32" if header.claim.semantics == "float32" else ""
    said = [header.claim.formula, f"{_where(header.claim)} of {scenario}{single}, system {digest[:16]}"]
    if theirs:
        said += [f"{name}: sha256 of its weights {weight}" for name, weight in loaded.folder.digests.items()]
    return [*said, str(done)]


def _where(claim: Claim) -> str:
    """Of which runs a certificate about a system speaks."""
    if claim.kind != "linear":
        return "in every initial state"
    again = "".join(f", {condition} again and again," for condition in claim.fair)
    stays = ", which stay in states without a successor," if claim.deadlock == "stutter" else ""
    return f"on all runs{again}{stays} from initial states"


def subject_of(loaded: Loaded) -> tuple[Mapping[str, object], str]:
    """Subject of a claim as results of checks tell it, and the digest of the system."""
    from venmas.model.canonical.canonical import system_digest
    from venmas.model.scenario.source import source_of

    source, digest = source_of(loaded.system), system_digest(loaded.system)
    subject: dict[str, object] = {
        "scenario": Path(loaded.name).name,
        "parameters": dict(loaded.parameters),
        "system": digest,
        "networks": loaded.folder.digests,
        "files": dict(source.files) if source else {},
    }
    return subject, digest


def loaded_for(
    path: str,
    origin: object,
    parameters: object,
    scenario: str | None,
    settings: Sequence[str],
    networks: str | None,
) -> Loaded:
    """The system that a certificate or map is about: of the scenario that it names, where options name none."""
    named, values = scenario, {}
    if named is None:
        if problem := named_elsewhere(origin, networks):
            raise UsageError(f"{path} {problem}")
        assert isinstance(origin, dict)  # it names a scenario
        named, values = str(origin["scenario"]), stored_parameters(path, {"parameters": parameters})
    return load(named, {**values, **read_settings(settings)}, networks)


def _check_same(packed: Packed, told: Told, digest: str) -> None:
    """The result of an archive is about the system that is there now. Raises `RefusedError`."""
    if packed.result.get("system") in (None, "", digest):
        return
    given = {"--scenario": told.scenario, "--set": told.settings}
    given["--networks"] = told.networks if told.networks != packed.networks else None
    if options := [option for option, value in given.items() if value]:
        raise RefusedError(
            f"the archive is about another system than the one that {' and '.join(options)} name: leave out what it "
            "holds itself, or decide the property of the other system"
        )
    raise RefusedError(
        "the archive is about another system than its scenario describes now: it was packed with another version of "
        "the scenario, or its result was changed"
    )
