"""Reach sets in words: a table of the steps, and what is to be said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from venmas.engine.reach.sets import TOLERANCE, ReachSets, outward
from venmas.model.show import title
from venmas.report.tables import Table
from venmas.report.text_tables import print_table

if TYPE_CHECKING:
    from rich.console import Console


def head(found: ReachSets) -> str:
    """One line."""
    settings = ", ".join(f"{n}={v}" for n, v in found.parameters.items())
    return f"Reach sets of {found.scenario}" + (f" ({settings})" if settings else "") + f", {found.steps} steps"


def table(found: ReachSets) -> Table:
    """The steps: the interval of each direction, rounded outward, and how tight they are."""
    heads = ("step", "set is", *(title(d.name, d.unit) for d in found.directions))
    rows = tuple((str(k), _tightness(found, k), *_cells(found, k)) for k in range(len(found)))
    return Table("Reach sets", heads, rows, keys=2)


def _cells(found: ReachSets, step: int) -> tuple[str, ...]:
    box = found.box(step)
    if not box:
        return ("no run",) * len(found.directions)
    return tuple(_interval(*box[d.name]) for d in found.directions)


def _interval(low: float, high: float) -> str:
    ends = outward(low, high)
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} .. {ends[1]}"


def _tightness(found: ReachSets, step: int) -> str:
    status, slack = found.status(step), found.slack(step)
    if status not in ("tight", "wider"):
        return status
    return f"{status} ({'by an unknown part' if slack > 10 else f'at most {100 * slack:.2g} %'})"


def notes(found: ReachSets) -> list[str]:
    """Sentences about what the sets promise and what they do not."""
    told = ["Every state of every run of so many steps lies in its set. Ends are rounded outward."]
    wider = [k for k in range(len(found)) if found.status(k) == "wider"]
    if len(found) <= (found.steps if found.left is None else found.left - 1):
        told.append(f"Of the steps {len(found)} to {found.steps} nothing is known.")
    if wider:
        told.append(
            f"Sets of {len(wider)} steps, from step {wider[0]} on, may be more than {TOLERANCE:.0%} wider than need be."
        )
    if found.reason:
        told.append(f"Stopped ({found.reason}): {found.message}. What is shown holds all the same.")
    if found.left is not None:
        told.append(
            f"A sampled run leaves the declared range of a variable in step {found.left}, where the sets end. Widen "
            "the range, or take fewer steps."
        )
    elif found.may_leave is not None:
        told.append(
            f"Bounds do not exclude that a run leaves the declared range of a variable by step {found.may_leave}: from "
            "there on sets speak of the runs that do not. Widen the range, or take fewer steps."
        )
    used = list(dict.fromkeys(w.name for w in found.worked))
    told.append(f"Sources: {', '.join(used) or 'none'}; {len(found.runs)} sampled runs; {found.seconds:.2f} s.")
    return told


def print_reach(out: Console, found: ReachSets) -> None:
    """The sets, step by step, and what is to be said of them."""
    out.print(head(found), soft_wrap=True)
    shown = table(found)
    print_table(out, shown.head, shown.rows, keys=shown.keys)
    for note in notes(found):
        out.print(note, soft_wrap=True)
