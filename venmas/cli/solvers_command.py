"""``venmas solvers``: which solvers can be used here."""

from __future__ import annotations

import click

from venmas.cli.table import Command


@click.command("solvers", cls=Command)
def command() -> None:
    """List the solvers: versions, limits, and why one cannot be used."""
    from rich.table import Table

    from venmas.cli.output import console
    from venmas.solvers import get_solver, solver_names

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("solver", "version", "usable"):
        table.add_column(title, no_wrap=title != "usable")
    for name in solver_names():
        solver = get_solver(name)
        problem = solver.available()
        usable = f"no: {problem}" if problem else "yes"
        limit = None if problem else solver.features.size_limit
        if limit is not None:
            usable += f", up to {limit.variables} variables and {limit.constraints} constraints (its licence)"
        table.add_row(name, solver.version() or "-", usable)
    out = console()
    out.print(table)
    out.print("auto tries them in this order; programs beyond a licence go on to the next.")
