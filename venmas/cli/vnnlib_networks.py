"""The network files of ``venmas vnnlib``: one, or for VNN-LIB 2.0 several by the names that the property declares."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from venmas.errors import UsageError

if TYPE_CHECKING:
    from venmas.formats.vnnlib.query import Query

_PAIR = re.compile(
    r"\(\s*(?:\"([^\"]+)\"|'([^']+)'|([^\s,'\"()]+))\s*,\s*(?:\"([^\"]+)\"|'([^']+)'|([^,'\"()]+?))\s*\)"
)
_FORM = "[(f, FILE), (g, FILE)]"


def files_by_name(network: str | None, options: tuple[str, ...]) -> list[tuple[str, str]]:
    """Names and files, as ``--network f=FILE`` or the list of the competition; a file alone has the name ''.

    Raises `UsageError` where there is no file, a name comes twice, or the list is written in another way.
    """
    if (network is None) == (not options):
        given = "both" if options else "none"
        raise UsageError(f"expected either NETWORK or --network NAME=FILE for every network, got {given}")
    pairs: list[tuple[str, str]] = []
    for option in options:
        name, sign, file = option.partition("=")
        if not (name and sign and file):
            raise UsageError(f"--network {option}: expected NAME=FILE, such as f=tent.onnx")
        pairs.append((name, file))
    if network is not None:
        pairs = _listed(network) if network.lstrip().startswith("[") else [("", network)]
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"network {name} is given {names.count(name)} files: give one for each name")
    return pairs


def _listed(text: str) -> list[tuple[str, str]]:
    body, pairs, at = text.strip(), [], 1
    while match := _PAIR.match(body, at):
        pairs.append((match[1] or match[2] or match[3], match[4] or match[5] or match[6]))
        comma = re.compile(r"\s*,\s*").match(body, match.end())
        at = comma.end() if comma else match.end()
        if not comma:
            break
    if not pairs or body[at:].strip() != "]":
        raise UsageError(f"networks {text!r}: expected {_FORM}, not understood from column {at + 1}: write it so")
    return pairs


def in_order(pairs: list[tuple[str, str]], query: Query, prop: str) -> list[str]:
    """The files in the order in which the property declares the networks, one that is equal to another may be left out.

    Raises `UsageError` for names that it does not declare, or networks without a file.
    """
    declared = query.networks
    known = [network.name for network in declared]
    files = dict(pairs)
    if "" in files:
        if len(declared) > 1:
            raise UsageError(
                f"{prop} declares the networks {', '.join(known)}, but one file is given: use "
                + " ".join(f"--network {name}=FILE" for name in known)
            )
        return [files[""]]
    for name in files:
        if not declared:
            raise UsageError(f"{prop} is VNN-LIB 1.0, which names no networks: give the file of network {name} alone")
        if name not in known:
            raise UsageError(f"{prop} declares no network {name}: expected {', '.join(known)}")
    for network in declared:
        if network.relation == "equal-to" and network.name not in files and network.other in files:
            files[network.name] = files[network.other]
        if network.name not in files:
            raise UsageError(f"network {network.name} of {prop} has no file: add --network {network.name}=FILE")
    return [files[name] for name in known]
