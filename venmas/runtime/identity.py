"""Identity of this VenMAS, down to its source: answers may outlive an edit, and come from other machines."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from venmas._version import __version__

FOLDER = Path(__file__).resolve().parents[2]


@cache
def code_digest() -> str:
    """Sha256 (hex) of the version and the source files of VenMAS."""
    digest = hashlib.sha256(__version__.encode())
    for file in sorted(FOLDER.rglob("*.py")):
        name = file.relative_to(FOLDER).as_posix()
        digest.update(f"{name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
