"""A violation for people: the trace, what it shows, and what replays say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from venmas.model.show import precise
from venmas.model.system.system import System
from venmas.model.witness.replay import Replay
from venmas.model.witness.tree import Witness
from venmas.report.text_tables import again, print_trace

if TYPE_CHECKING:
    from rich.console import Console

_MOST_ATOMS = 6


def print_witness(out: Console, system: System | None, witness: Witness, replay: Replay) -> None:
    """The trace, the atoms that it shows, and the replay."""
    tree = witness.path is None
    title = "A tree of runs that violates it:" if tree else "A run that violates it:"
    if witness.stay:
        title = "An initial state that violates it:"
    if any(value.radius for value in witness.nodes[0].state):
        title = "From here no noise brings it about:"
    out.print(title, style="bold")
    numbers = print_trace(out, system, witness)
    if not tree and (loop := again(witness, len(witness.nodes) - 1, numbers)):
        out.print(f"The last state is that of step {loop[loop.index('#') + 1 : -1]}: the run goes on so for ever.")
    place = "state #" if tree else "step "
    measures = [
        (m.margin, numbers[i], m.atom) for i, node in enumerate(witness.nodes) if i in numbers for m in node.atoms
    ]
    nearest = sorted(sorted(measures)[:_MOST_ATOMS], key=lambda item: item[1])
    for margin, index, atom in nearest:
        out.print(f"At {place}{index}: {atom}, by {precise(margin)}", soft_wrap=True)
    if len(measures) > len(nearest):
        out.print(f"(the {len(nearest)} closest of {len(measures)} comparisons that show it)")
    print_replay(out, replay)


def print_replay(out: Console, replay: Replay) -> None:
    """What the exact and the float replay say."""
    if not replay.confirmed:
        out.print(f"It does not replay: {replay.reason}", soft_wrap=True)
    elif replay.derived:
        out.print(
            "Checked in exact numbers: violated for ever, by sets of states that runs do not leave", soft_wrap=True
        )
    elif replay.margin is not None:
        out.print(f"Replayed {replay.how}: violated, margin {precise(replay.margin)}", soft_wrap=True)
    else:
        out.print(f"Replayed {replay.how}: violated; no comparison is involved")
    for precision, run in (replay.floats or {}).items():
        said = "violated" if run.violated else "not violated"
        differ = f"states differ by at most {run.difference:.2g}"
        out.print(f"Replayed in {precision} ({run.runtime}): {said}, {differ}", soft_wrap=True)
