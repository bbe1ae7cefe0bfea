"""Maps of initial states in words: shares of the volume, and notes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from venmas.engine.map.tree import STATUSES, StateMap
from venmas.model.show import number
from venmas.report.tables import Table
from venmas.report.text_tables import print_table

if TYPE_CHECKING:
    from rich.console import Console

_WORDS = {
    "proved": "every state satisfies the formula",
    "violated": "every state violates it",
    "open": "not decided, or both",
}


def head(shown: StateMap) -> str:
    """One line."""
    settings = ", ".join(f"{n}={v}" for n, v in shown.parameters.items())
    return f"Map of {shown.scenario}" + (f" ({settings})" if settings else "") + f": {shown.formula}"


def percent(share: Fraction) -> str:
    """A part as per cent, rounded down: 100 % is all."""
    return f"{floor(share * 10000) / 100:.2f} %"


def table(shown: StateMap) -> Table:
    """A row for each status."""
    shares, counts = shown.shares(), shown.counts()
    rows = tuple((s, percent(shares[s]), str(counts[s]), _WORDS[s]) for s in STATUSES)
    return Table("Shares of the volume", ("status", "volume", "boxes", "meaning"), rows)


def notes(shown: StateMap) -> list[str]:
    """Sentences about the map."""
    wide = [f"{a.name} {number(a.low)} .. {number(a.high)}" for a in shown.axes if a.wide]
    lines = [f"Initial states: {', '.join(wide) or 'a single one'}. Shares are rounded down."]
    by = Counter(f"{cell.by} ({cell.basis})" for cell, _ in shown.leaves() if cell.status != "open")
    if by:
        lines.append("Decided by " + ", ".join(f"{name}: {count}" for name, count in by.most_common()) + ".")
    decided, proofs, share = shown.certified()
    if proofs:
        lines.append(f"{proofs} of {decided} decided boxes have a certificate, {percent(share)} of the volume.")
    mixed = sum(cell.mixed for cell, _ in shown.leaves())
    if mixed:
        lines.append(f"{mixed} open boxes have states of both kinds: a finer map cuts them.")
    if shown.note:
        lines.append(f"Take care: {shown.note}")
    if shown.reason:
        lines.append(f"Stopped ({shown.reason}): {shown.message}. What is decided stays; --resume goes on.")
    elif not shown.complete:
        lines.append("What is open is not cut any further, and gains nothing by time: a lesser --min-width cuts it.")
    lines.append(f"{shown.questions} questions, {shown.seconds:.1f} s in all.")
    return lines


def print_map(out: Console, shown: StateMap) -> None:
    """Shares of the volume by status, and notes."""
    out.print(head(shown), soft_wrap=True)
    shares = table(shown)
    print_table(out, shares.head, shares.rows, keys=shares.keys)
    for note in notes(shown):
        out.print(note, soft_wrap=True)
