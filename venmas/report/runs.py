"""The table of a run of a system that goes on for ever."""

from __future__ import annotations

from fractions import Fraction

from venmas.model.show import state_columns
from venmas.model.system.system import System
from venmas.model.witness.lasso import Run
from venmas.model.witness.tree import Value
from venmas.report.tables import Table


def run_table(run: Run, system: System, most: int) -> Table:
    """A run that goes on for ever, its first `most` steps at most."""
    declared = system.variables.values()
    columns = state_columns(declared)
    conditions = [name for name in run.conditions[0] if not name.startswith('"branch ')]
    rows = []
    for at, state in enumerate(run.states[:most]):
        labels = {d.name: dict(d.labels).get(int(state[d.name]), "") for d in declared}
        cells = {name: Value(name, Fraction(value), labels[name]) for name, value in state.items()}
        told = [str(int(run.conditions[at][name])) for name in conditions]
        step = f"{at} (loop)" if at == run.back else str(at)
        rows.append((step, *(column.show(cells) for column in columns), *told, run.branches[at] or "stays"))
    left = len(run.states) - most
    more = f"{left} more steps, then " if left > 0 else "then "
    note = f"{more}step {run.back} again, for ever; replayed in exact numbers"
    heads = ("step", *(column.title for column in columns), *conditions, "branch")
    return Table("The run, step by step", heads, tuple(rows), 1, note)
