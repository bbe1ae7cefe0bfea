"""Objects as text, as the command line prints them."""

from __future__ import annotations

import io

from rich.console import Console

from venmas.engine.reach.sets import ReachSets
from venmas.engine.report import Report
from venmas.model.witness.tree import Witness
from venmas.report.reach import print_reach
from venmas.report.text import print_report
from venmas.report.text_tables import print_trace

_WIDTH = 200
"""Columns of tables, as the command line has them in a file or a pipe, where no window limits them."""


def as_text(shown: Report | ReachSets | Witness) -> str:
    """What the command line prints of a report, of reach sets, or of a witness alone, into a file or a pipe."""
    lines = io.StringIO()
    out = Console(file=lines, markup=False, highlight=False, emoji=False, width=_WIDTH, force_terminal=False)
    if isinstance(shown, Report):
        print_report(out, shown, shown.model)
    elif isinstance(shown, ReachSets):
        print_reach(out, shown)
    else:
        print_trace(out, None, shown)
    return lines.getvalue().rstrip("\n")
