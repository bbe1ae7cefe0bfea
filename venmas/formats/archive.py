"""Archives: a result, its certificate, and the files that both are about, in one zip file.

=====================  =============================================================================
``MANIFEST.json``      the form, the version that packed it, and of every other member name, size and sha256
``result.json``        what `venmas verify --json` wrote
``certificate.gz``     the proof, stored as it is
``scenario/FILE``      what describes the system: Python, or a JANI model with its property and policy
``networks/FILE``      the networks that it applies
=====================  =============================================================================

An archive is data of strangers: there are no other members, none is larger than the manifest and the limits here say,
each is compared with its hash, and what is unpacked goes to the names of this list below one new folder. Nothing of it
is run.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from venmas._version import __version__
from venmas.errors import RefusedError, UsageError
from venmas.runtime.files import NewFile, sha256_of

FORMAT = "venmas-archive-1"
MANIFEST, RESULT, CERTIFICATE = "MANIFEST.json", "result.json", "certificate.gz"
MAX_MEMBERS = 2000
_MB = 1 << 20
_MAX_BYTES = {MANIFEST: _MB, RESULT: 64 * _MB, CERTIFICATE: 1 << 32, "scenario": 16 * _MB, "networks": 64 * _MB}
"""Largest members, by name or folder."""
_MAX_UNPACKED = 1 << 30
"""Most bytes of all members but the certificate, which is stored, so that it is no larger than the archive."""
_PART = r"[A-Za-z0-9_+@=,()\[\]-][A-Za-z0-9_+@=,()\[\] .-]{0,99}"
_NAME = re.compile(rf"(?:result\.json|certificate\.gz|scenario/{_PART}|networks/{_PART}(?:/{_PART}){{0,4}})", re.ASCII)
_DATE = (1980, 1, 1, 0, 0, 0)
_END = struct.Struct("<4s4H2LH")
"""The last bytes of a zip file without a comment."""


def is_archive(path: str | Path) -> bool:
    """Does the file begin as zip files do? False for what cannot be read."""
    try:
        with open(path, "rb") as file:
            return Path(path).is_file() and file.read(4) == b"PK\x03\x04"
    except (OSError, ValueError):
        return False


def write_archive(path: str | Path, members: Mapping[str, Path]) -> None:
    """Write an archive of files by their names in it. Raises `UsageError`, also for names that no archive has."""
    for name, file in members.items():
        if not _NAME.fullmatch(name) or len({n.lower() for n in members}) < len(members):
            raise UsageError(f"the name {name!r} cannot be in an archive: rename the file, to letters, digits, _ and -")
        if file.stat().st_size > _limit(name):
            raise UsageError(f"{file} is larger than {_limit(name) // _MB} MB: too large for an archive")
    listed = [{"name": n, "size": f.stat().st_size, "sha256": sha256_of(f)} for n, f in members.items()]
    manifest = {"format": FORMAT, "venmas": __version__, "files": listed}
    try:
        with NewFile(path) as new:
            with zipfile.ZipFile(new.raw, "w", allowZip64=False) as archive:
                with archive.open(_entry(MANIFEST), "w") as out:
                    out.write((json.dumps(manifest, indent=1) + "\n").encode())
                for name, file in members.items():
                    with file.open("rb") as source, archive.open(_entry(name), "w") as out:
                        while block := source.read(_MB):
                            out.write(block)
            new.keep()
    except (zipfile.LargeZipFile, RuntimeError) as error:
        raise UsageError(f"{path}: archives hold less than 4 GB ({error}): send the files one by one") from error
    except OSError as error:
        raise UsageError(f"cannot write {str(path)!r}: {error.strerror or error}; name a file elsewhere") from error


def _entry(name: str) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name, _DATE)  # the same files make the same archive
    made.compress_type = zipfile.ZIP_STORED if name == CERTIFICATE else zipfile.ZIP_DEFLATED
    made.external_attr = 0o644 << 16
    return made


def unpack(path: str | Path, folder: Path) -> dict[str, str]:
    """Unpack every member below an empty folder; the sha256 of each, which is that of the manifest.

    Raises `RefusedError` for what is not an archive in every respect, `UsageError` for a file that cannot be read.
    """
    try:
        with open(path, "rb") as file:
            _check_end(file)
            with zipfile.ZipFile(file) as archive:
                entries = _entries(archive)
                with archive.open(entries.pop(MANIFEST)) as source:
                    listed = _listed(source.read(_MAX_BYTES[MANIFEST] + 1))
                if odd := sorted(listed.keys() ^ entries.keys()):
                    raise RefusedError(f"the archive and its manifest differ: see {odd[0][:100]!r}")
                for name, entry in entries.items():
                    size, digest = listed[name]
                    if entry.file_size != size:
                        raise RefusedError(f"the archive's {name} has another size than its manifest says")
                    with archive.open(entry) as source:
                        if _copied(source, folder / name, size) != digest:
                            raise RefusedError(
                                f"the archive's {name} is not what its manifest says: its sha256 differs"
                            )
    except (FileExistsError, NotADirectoryError) as error:
        raise RefusedError("the archive has a file that is a folder of others as well") from error
    except OSError as error:
        raise UsageError(f"cannot unpack {str(path)[:200]!r}: {error.strerror or error}") from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        ValueError,
        RuntimeError,
        RecursionError,
        OverflowError,
        struct.error,
    ) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise RefusedError(f"the archive is damaged ({why}): copy it again, or pack it anew") from error
    return {name: digest for name, (_, digest) in listed.items()}


def _check_end(file: IO[bytes]) -> None:
    """Refuse long directories before they are read: entries are counted at the very end of the file."""
    length = file.seek(0, 2)
    file.seek(max(0, length - _END.size - 20))
    tail = file.read()
    mark, _, _, _, count, size, _, comment = _END.unpack(tail[-_END.size :])
    if mark != b"PK\x05\x06" or comment or count > MAX_MEMBERS or size > 4 * _MB or tail.startswith(b"PK\x06\x07"):
        raise RefusedError(
            f"the archive does not end as one of VenMAS, of at most {MAX_MEMBERS} files, does: it is cut off, or was "
            "changed; copy it again, or pack it anew"
        )
    file.seek(0)


def _entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The members by name: all of them may be there, and are no larger than they may be."""
    entries: dict[str, zipfile.ZipInfo] = {}
    seen, total = set(), 0
    for entry in archive.infolist():
        name = entry.orig_filename
        if name != MANIFEST and (not _NAME.fullmatch(name) or name != entry.filename):
            raise RefusedError(f"an archive has no member {name[:100]!r}")
        if name.lower() in seen:
            raise RefusedError(f"the archive has {name!r} twice")
        plain = (zipfile.ZIP_STORED,) if name == CERTIFICATE else (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if entry.compress_type not in plain or entry.flag_bits & 1 or entry.file_size > _limit(name):
            raise RefusedError(f"the archive's {name} is too large, encrypted, or compressed in another way")
        total += entry.file_size if name != CERTIFICATE else 0
        seen.add(name.lower())
        entries[name] = entry
    if total > _MAX_UNPACKED:
        raise RefusedError(f"the archive unpacks to more than {_MAX_UNPACKED // _MB} MB")
    if missing := [name for name in (MANIFEST, RESULT, CERTIFICATE) if name not in entries]:
        raise RefusedError(f"the archive has no {missing[0]}: `venmas archive` writes one that has")
    return entries


def _limit(name: str) -> int:
    return _MAX_BYTES[name if name in _MAX_BYTES else name.partition("/")[0]]


def _listed(text: bytes) -> dict[str, tuple[int, str]]:
    """Size and sha256 of every file that a manifest lists."""
    manifest: Any = json.loads(text) if len(text) <= _MAX_BYTES[MANIFEST] else None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT or manifest.keys() ^ _FIELDS:
        raise RefusedError(f"its manifest is not one of the form {FORMAT}")
    listed: dict[str, tuple[int, str]] = {}
    for item in manifest["files"] if isinstance(manifest["files"], list) else [None]:
        match item:
            case {"name": str(name), "size": int(size), "sha256": str(digest), **more} if not more:
                if type(size) is not int or name in listed:
                    raise RefusedError("its manifest lists a file twice, or a size that is none")
                listed[name] = size, digest
            case _:
                raise RefusedError("its manifest does not list files with name, size and sha256")
    return listed


_FIELDS = {"format", "venmas", "files"}


def _copied(source: IO[bytes], target: Path, size: int) -> str:
    """Write a member of that size; its sha256."""
    digest, left = hashlib.sha256(), size
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as out:
        while block := source.read(min(_MB, left + 1)):
            left -= len(block)
            if left < 0:
                raise RefusedError(f"the archive's {target.name} is longer than it says")
            digest.update(block)
            out.write(block)
    if left:
        raise RefusedError(f"the archive's {target.name} is shorter than it says")
    return digest.hexdigest()
