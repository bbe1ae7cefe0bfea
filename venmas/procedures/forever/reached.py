"""Sets that reach sets suggest: boxes of runs after some steps, in which runs from the box are again later.

Where runs contract, a wide box and many steps are what a proof takes: enclosures of them end up in one place, however
far apart they begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice

import numpy as np

from venmas.bounds.rounding import Floats
from venmas.errors import ModelError
from venmas.logic.linear import LinearExpr
from venmas.model.system.disturbances import drawn
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.model.transform.cases import UnsuitableError
from venmas.procedures.kinduction.sets import Candidate, rounded
from venmas.procedures.reach_registry import source

_INTO = (10, 20, 40, 80)
_AGAIN = 64
_WIDER = (Fraction(1, 10), Fraction(1, 2))


def returning(system: System, tick: Callable[[], None]) -> Iterator[Candidate]:
    """Boxes in which enclosures are after some steps, and from there again."""
    tried: set[frozenset[tuple[str, tuple[Fraction, Fraction]]]] = set()
    layers = _ends(system, _INTO[-1], tick)
    for step, (low, high) in enumerate(layers):
        for wider in _WIDER if step in _INTO else ():
            box = _box(system, low, high, wider)
            if box is None or frozenset(box.items()) in tried:
                continue
            tried.add(frozenset(box.items()))
            again = _back(system, box, tick)
            if again:
                yield Candidate((box,), step, again)


def _back(system: System, box: Box, tick: Callable[[], None]) -> int:
    """Steps after which runs from a box are in it again; 0 where no enclosure shows it."""
    names = [name for name in system.variables if name not in system.disturbances]
    low, high = (np.array([float(box[name][end]) for name in names]) for end in (0, 1))
    there = system.starting(Candidate((box,), 0, 1).formula(system))
    for step, (least, most) in islice(enumerate(_ends(there, _AGAIN, tick)), 1, None):
        if (least >= low).all() and (most <= high).all():
            return step
    return 0


def _ends(system: System, steps: int, tick: Callable[[], None]) -> Iterator[tuple[Floats, Floats]]:
    """Ends of all variables after 0, 1, .. steps, as long as something is known of them."""
    names = [LinearExpr.variable(name) for name in system.variables if name not in system.disturbances]
    try:
        for layer in source("flowpipes").layers(drawn(system, steps), names, steps, 0, tick):
            if layer.empty or layer.may_leave:
                return
            yield layer.low, layer.high
    except (ModelError, UnsuitableError, OverflowError):
        return


def _box(system: System, low: Floats, high: Floats, wider: Fraction) -> Box | None:
    """Ends, farther apart by a part of their distance, at short decimals; None where they leave the declared box."""
    box: Box = {}
    names = [name for name in system.variables if name not in system.disturbances]
    for name, least, most in zip(names, map(Fraction, low.tolist()), map(Fraction, high.tolist()), strict=True):
        decl = system.variables[name]
        box[name] = (least, most) if decl.integral else rounded(least, most, wider * (most - least))
        if not (decl.lower <= box[name][0] and box[name][1] <= decl.upper):
            return None
    return box
