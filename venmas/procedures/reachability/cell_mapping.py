"""Cell mapping: AG p for ever, or for many steps, by a union of cells of a grid that no step leaves.

    repeat, on a grid twice as fine
        cells := those that an initial region meets
        step all new cells, cut where a choice is open                                (`graph.step`)
        add the cells that their images meet; one may violate p, or leave the box: too coarse
        no cell is new: proved, the cells are an inductive set

Noise is an input of the one step: a cell has all of it, cut where a choice is open. Grids are of what sampled runs
reach. Cell-to-cell mapping (Hsu, 1980) with the enclosures of the reachability graph. Its sets need not be convex, nor
be entered or come back to after any fixed number of steps, as those of `procedures.kinduction`; there are many more of
them.
"""

from __future__ import annotations

import numpy as np

from venmas.answer import Answer, Unknown
from venmas.budget import Budget, limited
from venmas.errors import Reason
from venmas.logic import Always
from venmas.logic.window import Window, window
from venmas.model.system.disturbances import noise_of
from venmas.model.transform.cases import UnsuitableError
from venmas.procedure import Run
from venmas.procedures.reachability.cell_grid import CellCounts, Cells, space_of_one
from venmas.question import Question

_LONG = 20
"""Steps from which on it is tried beside other procedures."""
_FEW, _LATE = 2, 10.0
"""Real variables, and seconds that it leaves to others where there are more: its cells are many then."""


class CellMapping:
    """The procedure."""

    name = "cell-mapping"
    help = "Cells of a grid over the reals that no step leaves."
    noisy = True

    def accepts(self, question: Question, run: Run) -> str | None:
        """AG p, for ever or for many steps, p about one state, of a system with a real variable."""
        if _window(question) is None or question.chosen:
            return f"it is for AG p from the present state on, for ever or {_LONG} steps, with p about one state"
        if question.inductive is not None:
            return "it is to be proved by the set that was given"
        try:
            if isinstance(question.asked, Always):
                space_of_one(question).root()
        except (UnsuitableError, OverflowError, RecursionError) as error:
            return str(error) or "the system is nested too deeply"
        return None

    def eager(self, question: Question, run: Run) -> bool:
        """It has a stage of its own; beside others, where noise of many steps is too much for them."""
        return isinstance(question.asked, Always) or len(noise_of(question.system)) > _LONG

    def start(self, question: Question, run: Run) -> CellSession:
        """Nothing is done yet."""
        noise = noise_of(question.system)
        reals = sum(not decl.integral and name not in noise for name, decl in question.system.variables.items())
        return CellSession(question, _LATE if reals > _FEW else 0.0)


def _window(question: Question) -> Window | None:
    """The window of many steps that a formula is about; None where it is about something else."""
    found = window(question.asked)
    return None if found is None or (found[1] is not None and found[1] < _LONG) else found


class CellSession:
    """A grid at a time. wait: see `Session`."""

    def __init__(self, question: Question, wait: float = 0.0) -> None:
        self.question, self.wait, self.figures = question, wait, CellCounts()
        self._cells: Cells | None = None

    def advance(self, budget: Budget) -> Answer | None:
        """One grid; None where it is too coarse."""
        try:
            with limited(budget), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                if self._cells is None:
                    window = _window(self.question)
                    assert window is not None
                    self._cells = Cells(self.question, window, self.figures)
                return self._cells.grid(budget)
        except (UnsuitableError, OverflowError, RecursionError) as error:
            return Unknown(Reason.OPEN, f"no set of cells: {str(error) or type(error).__name__}")


CELL_MAPPING = CellMapping()
