"""Witnesses that are an initial state with a derivation of what all runs from it do, or some: light, to replay them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from venmas.checker.forever.linear import demanded
from venmas.errors import InputError
from venmas.logic import Formula, Linear, Not, Quantifier, fixpoints
from venmas.logic.paths import questioned
from venmas.model.system.system import System
from venmas.model.witness.replay import Replay, replay
from venmas.model.witness.tree import Witness
from venmas.nn.network import Semantics

if TYPE_CHECKING:
    from venmas.checker.format.lines import Line


def stays(system: System, shown: Formula, rows: Sequence[Line], semantics: Semantics = "real") -> str:
    """Why rows are no derivation that the initial states of a system satisfy a core formula; empty where they are."""
    from venmas.checker.forever.check import check_core  # few witnesses need it
    from venmas.checker.format.lines import Lines

    try:
        check_core(system, shown, Lines(rows), semantics)
    except InputError as error:
        return str(error)
    return ""


def replayed_stay(system: System, asked: Linear, witness: Witness) -> Replay:
    """Replay of a witness: its derivation has to show that from its state all runs break a property of LTL, or some."""
    broken = Not(questioned(asked.formula, asked.fair))
    if not witness.stay or system.quantities:
        return Replay(False, "it has no derivation about an initial state")
    for quantifier in Quantifier:
        about, formula = demanded(system, broken, asked.deadlock, quantifier)
        checked = replay(about, fixpoints(formula), witness, staying=stays)
        if checked.confirmed:
            break
    return checked
