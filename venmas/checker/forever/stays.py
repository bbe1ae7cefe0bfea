"""Witnesses that are an initial state with a derivation of what all runs from it do, or some: light, to replay them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from venmas.errors import InputError
from venmas.logic import Formula
from venmas.model.system.system import System
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
