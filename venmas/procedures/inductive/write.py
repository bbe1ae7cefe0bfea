"""The lines of a certificate of ``AG p`` from an inductive set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from venmas.checker.inductive.claims import Claims
from venmas.logic import Formula
from venmas.model.canonical.canonical import shared
from venmas.model.invariant import Invariant
from venmas.model.system.system import System
from venmas.nn.network import Semantics
from venmas.procedures.inductive.merge import merged
from venmas.procedures.inductive.trees import Divider


@dataclass(frozen=True)
class Inductive:
    """A set that is shown to be inductive, and the lines of its certificate after the header, the last one left out."""

    invariant: Invariant
    lines: tuple[dict[str, object], ...]


def inductive(
    system: System,
    holds: Formula,
    invariant: Invariant,
    tick: Callable[[], None] = lambda: None,
    semantics: Semantics = "real",
) -> Inductive:
    """Show that a set is inductive and inside `holds`, a formula about one state.

    Raises `IncompleteError` where that is not so, or does not follow by enclosures on parts of the cells.
    """
    found = merged(system, invariant)
    claims = Claims(shared(system), holds, found)  # as who checks it reads it: equal nodes are told once
    return Inductive(found, tuple(_lines(claims, Divider(claims, tick, semantics))))


def _lines(claims: Claims, divider: Divider) -> Iterator[dict[str, object]]:
    for index, claim in enumerate(claims.starts):
        root = divider.start(claim)
        if root.cut is not None:
            yield {"claim": "start", "index": index, "tree": root.tokens()}
    for word, root in divider.words(claims.unsafe).items():
        yield {"claim": "safe", "word": word, "tree": root.tokens()}
    for branch, claim in enumerate(claims.steps):
        for word, root in divider.words(claim).items():
            yield {"claim": "step", "branch": branch, "word": word, "tree": root.tokens()}
