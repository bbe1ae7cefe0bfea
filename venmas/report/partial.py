"""Partial result of an open question, in sentences, and next questions."""

from __future__ import annotations

from collections.abc import Mapping

from venmas.engine.report import Report
from venmas.model.show import number

_MOST_VARIABLES = 8
_LEAST = 1e-4
"""Part of the initial set that is told: less is what rounding leaves."""


def how_far(report: Report) -> list[str]:
    """Proved and open parts, where they are, and the closest run; nothing where nothing is known."""
    found = report.partial
    if not found:
        return []
    told = []
    inside = f" of all runs that stay in their box; whether {', '.join(found.leaving)} leave it is open"
    where = inside if found.leaving else ""
    if found.proved:
        told.append(f"Proved: {found.proved}{where}.")
    if found.open:
        told.append(f"Open: {found.open}{', the least number of steps that is' if found.proved else ''}.")
    if found.share is not None and found.share >= _LEAST:
        told.append(f"At least {_percent(found.share)} of the initial set is proved{where}.")
    elif found.share is not None:
        told.append("No part of the initial set is proved for all steps.")
    if found.boxes and found.count == 1 and found.boxes[0] == found.around:
        told.append(f"All of it is open: {_box(found.boxes[0])}.")
    elif found.boxes:
        largest = "; ".join(map(_box, found.boxes[:3]))
        several = f"{found.count} boxes of it are open, the largest" if found.count > 1 else "Open is the box"
        told.append(f"{several}: {largest}.")
    if (run := found.closest) is not None:
        start = ", ".join(f"{n} = {number(v)}" for n, v in list(run.initial.items())[:_MOST_VARIABLES])
        at = f" at step {run.step}" if run.step is not None else ""
        if run.margin > 0:
            told.append(
                f"The closest run that was tried (in floats) misses a violation by {run.margin:.3g}{at}: {start}."
            )
        else:
            told.append(f"In floats a run meets the violation{at}, which exact numbers did not confirm: {start}.")
    return told


def next_questions(report: Report) -> list[str]:
    """Next questions, by what is known."""
    found, told = report.partial, []
    if not found:
        return []
    if found.open:
        told.append(f'Ask for fewer steps first: --formula "{found.open}".')
    if found.share is not None and _LEAST <= found.share < 1 and found.boxes:
        one = "the open part by itself, the rest is proved" if found.count == 1 else "one of the open parts by itself"
        told.append(f"Ask about {one}: {_box(found.boxes[0])}.")
    if found.closest is not None and found.closest.margin > 0:
        told.append(
            f"Ask for less strict bounds: no run was found closer than {found.closest.margin:.3g} to a violation."
        )
    return told


def _percent(share: float) -> str:
    """Rounded down."""
    return f"{int(share * 10_000) / 100:g} %"


def _box(box: Mapping[str, tuple[float, float]]) -> str:
    sides = [f"{name} in [{low:.6g}, {high:.6g}]" for name, (low, high) in list(box.items())[:_MOST_VARIABLES]]
    return ", ".join(sides)
