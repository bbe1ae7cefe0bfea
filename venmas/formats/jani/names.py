"""Names of JANI as names of a system: letters, digits and _, no keyword of formulas, no two alike."""

from __future__ import annotations

import re
from collections.abc import Mapping

from venmas.logic.printing import RESERVED

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OTHER = re.compile(r"[^A-Za-z0-9_]")
_KEYWORDS = RESERVED | {"A", "E", "U"}


class Names:
    """Names given out so far; equal requests get different names, in the order of the requests."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def reserve(self, name: str) -> None:
        """Keep a name for itself, where it can be one."""
        if is_plain(name):
            self._taken.add(name)

    def unique(self, name: str) -> str:
        """The name, with a number where it was given before."""
        candidate, number = name, 1
        while candidate in self._taken:
            number += 1
            candidate = f"{name} ({number})"
        self._taken.add(candidate)
        return candidate

    def give(self, wanted: str) -> str:
        """A new name that is like the one that is wanted."""
        base = _OTHER.sub("_", wanted)
        base = base if is_plain(base) else f"_{base}" if not _PLAIN.fullmatch(base) else f"{base}_"
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name


def is_plain(name: str) -> bool:
    """Whether a system may use the name as it is."""
    return bool(_PLAIN.fullmatch(name)) and name not in _KEYWORDS


def mangled(wanted: Mapping[str, str]) -> dict[str, str]:
    """A name of a system for each key, by the name that is wanted for it; those that can stay as they are do."""
    given = Names()
    stay = {key: given.give(name) for key, name in wanted.items() if is_plain(name)}
    return {key: stay[key] if key in stay else given.give(name) for key, name in wanted.items()}
