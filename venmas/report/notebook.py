"""What notebooks show: verdict, trace and picture of a report; systems, witnesses and vectors as tables.

Everything that a scenario or a formula holds is escaped. Colours are those of the page around it, light or dark; only
pictures have a background of their own. Pictures need the extra ``plot``; without it they are left out.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Sequence
from functools import singledispatch
from html import escape

from venmas.engine.reach.sets import ReachSets
from venmas.engine.report import Report, Verdict
from venmas.errors import InputError
from venmas.logic.printing import to_short_text
from venmas.model.expressions.vector import Vector
from venmas.model.show import initial_texts
from venmas.model.system.system import System
from venmas.model.witness.tree import Witness
from venmas.report.assumptions import assumptions
from venmas.report.graph_picture import Picture
from venmas.report.linear import proof_texts, run_table
from venmas.report.partial import how_far, next_questions
from venmas.report.plot.partial import pictures as partial_pictures
from venmas.report.plot.reach import picture
from venmas.report.reach import head, notes, table
from venmas.report.sections import variable_table
from venmas.report.tables import Table, trace_tables
from venmas.report.words import SIGNS, basis, remedies, where

log = logging.getLogger(__name__)

_COLOURS = {Verdict.SATISFIED: "#1a7f37", Verdict.VIOLATED: "#cf222e", Verdict.UNKNOWN: "#9a6700"}
"""Of the sign and the border beside a verdict; text has the colour of the page."""
_MOST_ITEMS = 20


@singledispatch
def html(shown: object) -> str:
    """An object as a fragment of HTML."""
    raise TypeError(type(shown))


@html.register
def _(report: Report) -> str:
    colour = _COLOURS[report.verdict]
    lines = [
        f'<strong><span style="color:{colour}" aria-hidden="true">{SIGNS[report.verdict]}</span> {report.verdict}'
        f"</strong>: <code>{escape(report.formula)}</code>",
        escape(where(report)),
    ]
    if report.verdict is Verdict.UNKNOWN:
        lines += map(escape, (f"{report.reason}: {report.message}", *how_far(report)))
        lines += map(escape, (*next_questions(report), *remedies(report)))
    elif report.verdict is Verdict.SATISFIED:
        lines += map(escape, [*basis(report), *proof_texts(report)])
    lines += [escape(f"Note: {note}") for note in report.notes]
    shown = "".join(f"<div>{line}</div>" for line in lines)
    parts = [f'<div style="border-left:4px solid {colour};padding-left:0.8em">{shown}</div>']
    if report.witness is not None:
        parts += [_trace(report.model, report.witness), *_pictures(report)]
    if report.lasso is not None:
        parts += [_table(run_table(report.lasso, report.model)), *_pictures(report)]
    elif report.partial:
        parts += _images(lambda: partial_pictures(report))
    if assumed := assumptions(report, report.model or report.circuit):
        told = "".join(f"<li>{escape(f'{name}: {text}')}</li>" for name, text in assumed)
        parts.append(f"<details><summary>Assumptions of the model</summary><ul>{told}</ul></details>")
    return "".join(parts)


@html.register
def _(found: ReachSets) -> str:
    told = "".join(f"<div>{escape(note)}</div>" for note in notes(found))
    shown = [] if not found.layers else _images(lambda: [picture(found)])
    return f"<div><strong>{escape(head(found))}</strong></div>{_table(table(found))}{told}{''.join(shown)}"


@html.register
def _(witness: Witness) -> str:
    return _trace(None, witness)


@html.register
def _(system: System) -> str:
    head = f"<strong>{escape(system.name)}</strong>" + (f": {escape(system.description)}" if system.description else "")
    facts = [("initially", text) for text in initial_texts(system, _MOST_ITEMS)]
    facts += [("agent", a.name) for a in system.agents[:_MOST_ITEMS]]
    facts += [("branches", ", ".join(b.name for b in system.branches[:_MOST_ITEMS]))]
    facts += [(name, to_short_text(f, 400)) for name, f in list(system.propositions.items())[:_MOST_ITEMS]]
    facts += [(name, text[:400]) for name, text in list(system.properties.items())[:_MOST_ITEMS]]
    return f"<div>{head}</div>{_table(variable_table(system))}{_table(Table('Behaviour', ('', ''), tuple(facts)))}"


@html.register
def _(vector: Vector) -> str:
    rows = tuple((f"[{i}]", str(item)) for i, item in enumerate(vector.items[:_MOST_ITEMS]))
    left = len(vector) - len(rows)
    return _table(Table(f"Vector of {len(vector)}", ("", ""), rows, 1, f"{left} more are left out." if left else ""))


def _trace(system: System | None, witness: Witness) -> str:
    return "".join(map(_table, trace_tables(system, witness)[0]))


def _table(table: Table) -> str:
    aligned = [f"text-align:{'right' if kind else 'left'}" for kind in table.kinds]
    head = "".join(f'<th scope="col" style="{a}">{escape(h)}</th>' for h, a in zip(table.head, aligned, strict=True))
    indents = table.indents or (0,) * len(table.rows)
    rows = "".join(
        f"<tr>{_cells(table, row, aligned, indent)}</tr>" for row, indent in zip(table.rows, indents, strict=True)
    )
    note = f"<div>{escape(table.note)}</div>" if table.note else ""
    caption = f'<caption style="text-align:left">{escape(table.caption)}</caption>'
    return f"<table>{caption}<tr>{head}</tr>{rows}</table>{note}"


def _cells(table: Table, row: Sequence[str], aligned: Sequence[str], indent: int) -> str:
    moved = [f";padding-left:{1 + indent}em" if indent and i == table.keys - 1 else "" for i in range(len(row))]
    return "".join(f'<td style="{a}{m}">{escape(c)}</td>' for c, a, m in zip(row, aligned, moved, strict=True))


def _pictures(report: Report) -> list[str]:
    """Pictures of a violation."""
    from venmas.report.plot import figures

    return _images(lambda: figures(report.to_json(), report.model))


def _images(draw: Callable[[], Sequence[Picture]]) -> list[str]:
    """Pictures as images, in which nothing runs."""
    try:
        found = draw()
    except InputError as error:  # without matplotlib, or where a trace is too large to be drawn
        log.info("no picture: %s", error)
        return []
    return [
        f'<img alt="{escape(picture.alt)}" style="max-width:100%" '
        f'src="data:image/svg+xml;base64,{base64.b64encode(picture.svg.encode()).decode()}">'
        for picture in found
    ]
