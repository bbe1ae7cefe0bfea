"""Bounded formulas about single runs, step by step: what holds of each state, and that no run leaves its box.

    f1 & f2, AX f      of formulas about one state:      p_0 & AX (p_1 & AX (p_2 & ..))

as AX (f & g) is AX f & AX g. In each state but the first the variables are in their declared ranges besides.
"""

from __future__ import annotations

from venmas.errors import FormulaError
from venmas.logic import AX, And, Atom, Bottom, Formula, Or, Top, conjunction, fixpoints, subformulas
from venmas.model.system.system import System
from venmas.question import staying

MOST = 10_000
"""Steps, at most."""


def of_one_state(core: Formula) -> bool:
    """Is a core formula one about single states?"""
    return all(isinstance(node, Atom | And | Or | Top | Bottom) for node in subformulas(core))


def along_runs(system: System, formula: Formula) -> Formula:
    """The core form of a bounded formula as above, and that no run leaves its box as far as the formula looks.

    Raises `FormulaError` for one that joins what is ahead otherwise, or speaks of some runs.
    """
    if not 1 <= formula.depth <= MOST:  # that runs stay is said of one step at least
        raise FormulaError(f"cells show bounded formulas of 1 to {MOST} steps")
    steps: list[dict[Formula, None]] = [{} for _ in range(formula.depth + 1)]
    steps[0][fixpoints(formula)] = None
    for step, parts_ahead in enumerate(steps):
        waiting, present = list(parts_ahead), dict[Formula, None]()
        while waiting:
            node = waiting.pop()
            match node:
                case And(parts):
                    waiting += parts
                case AX(inner):
                    steps[step + 1][inner] = None
                case _ if of_one_state(node):
                    present[node] = None
                case _:
                    raise FormulaError("cells show bounded formulas that are conjunctions of what all runs have")
        steps[step] = present
    (box,) = staying(system, system.vocabulary.variables, 1).children
    made = conjunction([*steps[-1], *([box] if len(steps) > 1 else [])])
    for step in range(len(steps) - 2, -1, -1):
        made = conjunction([*steps[step], *([box] if step else []), AX(made)])
    return made
