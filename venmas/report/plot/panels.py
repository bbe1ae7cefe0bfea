"""Which panels show the states of a trace over its steps, and what is in each: data, without matplotlib.

A number has a panel of its own; variables ``name[1] .. name[n]`` of one unit share one; Booleans of such a group are
rows, marked where they are true. Values with labels are rows, too. What never changes and is not asked about is told in
a line of text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from venmas.logic.linear import LinearExpr
from venmas.model.show import title as titled
from venmas.model.system.variables import VariableDecl
from venmas.report.plot.trace import Array, Trace, as_float, comparison_text, cut, number_text, value_text

MAX_PANELS = 12
_MAX_CURVES = 4


@dataclass(frozen=True)
class Threshold:
    """A comparison with a number: where its line is, and how it is written."""

    value: float
    text: str


@dataclass(frozen=True)
class Numbers:
    """Curves of numbers: name and value at every visit, shape (V,); nan where there is none.

    `held` values belong to the time until the next state: they are actions.
    """

    title: str
    curves: tuple[tuple[str, Array], ...]
    thresholds: tuple[Threshold, ...] = ()
    shown: frozenset[int] = frozenset()
    held: bool = False


@dataclass(frozen=True)
class Rows:
    """Marks in named rows, ``(visit, row)``, from the bottom up; `asked` are the rows that the formula names."""

    title: str
    rows: tuple[str, ...]
    marks: tuple[tuple[int, int], ...]
    asked: tuple[int, ...] = ()
    shown: frozenset[int] = frozenset()
    held: bool = False


Panel = Numbers | Rows


@dataclass(frozen=True)
class Panels:
    """The panels from top to bottom, and sentences about what they leave out."""

    panels: tuple[Panel, ...]
    notes: tuple[str, ...]


def panels_of(trace: Trace, only: Sequence[str] = ()) -> Panels:
    """The panels of a trace, or those of the variables, groups and agents that are named in `only`."""
    notes: list[str] = []
    listed, constant = _grouped(trace, only)
    listed += [(True, panel) for panel in _combined(trace) if not only]
    held = [panel for panel in _held(trace) if not only or panel.title.split(" (")[0] in only]
    taken = dict.fromkeys(branch for _, branch, _ in trace.edges)
    if len(taken) == 1 and not only:
        constant.insert(0, f"branch = {next(iter(taken))}")
    if constant:
        notes.append(f"Unchanged: {_shortened(constant)}")
    room = max(MAX_PANELS - len(held), 1)
    if len(listed) > room and not only:
        order = sorted(range(len(listed)), key=lambda i: not listed[i][0])  # first what the formula asks about
        kept = sorted(order[:room])
        notes.append(f"Not shown: {_shortened([listed[i][1].title for i in sorted(order[room:])])}")
        listed = [listed[i] for i in kept]
    if any(isinstance(panel, Rows) and panel.asked for _, panel in listed):
        notes.append("Shaded: named in the formula")
    return Panels((*(panel for _, panel in listed), *held), tuple(notes))


def _grouped(trace: Trace, only: Sequence[str]) -> tuple[list[tuple[bool, Panel]], list[str]]:
    """Panels of groups of variables, whether the formula or `only` names each, and what groups that stay are."""
    asked = {name for c in trace.comparisons for name in c.expr.variables}
    found: list[tuple[bool, Panel]] = []
    constant: list[str] = []
    for name, members in groups_of(trace.variables).items():
        wanted = name.partition("[")[0] in only or any(m.name in only for m in members)
        if only and not wanted:
            continue
        named = wanted or any(m.name in asked for m in members)
        if not named and (text := _constant(trace, name, members)):
            constant.append(text)
        else:
            found.append((named, _variable_panel(trace, name, members)))
    return found, constant


def _shortened(texts: Sequence[str]) -> str:
    return ", ".join(texts[:8]) + (f" and {len(texts) - 8} more" if len(texts) > 8 else "")


def groups_of(variables: Sequence[VariableDecl]) -> dict[str, list[VariableDecl]]:
    """Variables by panel: members of a group ``name[i]`` are together where kind and unit are the same."""
    bases: dict[str, list[VariableDecl]] = {}
    for decl in variables:
        bases.setdefault(decl.name.partition("[")[0], []).append(decl)
    found: dict[str, list[VariableDecl]] = {}
    for base, members in bases.items():
        alike = len({(m.boolean, m.unit, bool(m.labels)) for m in members}) == 1 and not members[0].labels
        if len(members) > 1 and alike and (members[0].boolean or len(members) <= _MAX_CURVES):
            found[base] = members
        else:
            found.update({m.name: [m] for m in members})
    return found


def _constant(trace: Trace, name: str, members: Sequence[VariableDecl]) -> str:
    """What a group is all the time, or nothing when it changes."""
    arrays = [trace.values(m.name) for m in members]
    if trace.steps == 0 or any((a != a[0]).any() for a in arrays):
        return ""
    if members[0].boolean and len(members) > 1:
        true = [m.name.partition("[")[2].rstrip("]") for m, a in zip(members, arrays, strict=True) if a[0] == 1]
        return f"{name} = {', '.join(true[:8]) or 'none'}"
    state = {v.name: v for v in trace.visits[0].node.state}
    return ", ".join(f"{m.name} = {value_text(state[m.name], m.unit)}" for m in members)


def _variable_panel(trace: Trace, name: str, members: Sequence[VariableDecl]) -> Panel:
    names = {m.name for m in members}
    shown = frozenset(
        i for i, v in enumerate(trace.visits) if any(c.expr.variables <= names for c in trace.shown(v.node))
    )
    if members[0].boolean:
        return _boolean_panel(trace, name, members, shown)
    first = members[0]
    if first.labels:
        return _labelled_panel(trace, first, shown)
    thresholds = [Threshold(*found) for found in trace.thresholds(*names)]
    curves = tuple((m.name, trace.values(m.name)) for m in members)
    return Numbers(titled(name, first.unit), curves, _merged(thresholds), shown)


def _boolean_panel(trace: Trace, name: str, members: Sequence[VariableDecl], shown: frozenset[int]) -> Rows:
    asked = {n for c in trace.comparisons for n in c.expr.variables}
    if len(members) == 1:
        marks = tuple((i, int(x)) for i, x in enumerate(trace.values(members[0].name)))
        return Rows(name, ("false", "true"), marks, (), shown)
    table = np.stack([trace.values(m.name) for m in members])
    rows = tuple(m.name.partition("[")[2].rstrip("]") for m in members)
    marks = tuple((int(i), int(row)) for i, row in zip(*np.nonzero(table.T == 1), strict=True))
    return Rows(name, rows, marks, tuple(i for i, m in enumerate(members) if m.name in asked), shown)


def _labelled_panel(trace: Trace, decl: VariableDecl, shown: frozenset[int]) -> Panel:
    values = trace.values(decl.name)
    asked = {value for value, _ in trace.thresholds(decl.name)}
    rows = sorted({*values.tolist(), *(a for a in asked if a == int(a))})
    labels = dict(decl.labels)
    texts = tuple(labels.get(int(r), number_text(r)) if r == int(r) else number_text(r) for r in rows)
    marks = tuple((i, rows.index(x)) for i, x in enumerate(values.tolist()))
    named = tuple(i for i, r in enumerate(rows) if r in asked)
    return Rows(titled(decl.name, decl.unit), texts, marks, named, shown)


def _combined(trace: Trace) -> list[Numbers]:
    """A panel for every combination of variables that the formula compares with a number."""
    found: dict[LinearExpr, list[Threshold]] = {}
    for comparison in trace.comparisons:
        if len(comparison.expr.terms) > 1:
            expr = LinearExpr(comparison.expr.terms)
            found.setdefault(expr, []).append(
                Threshold(as_float(-comparison.expr.constant), comparison_text(comparison))
            )
    units = {v.name: v.unit for v in trace.variables}
    panels = []
    for expr, thresholds in list(found.items())[:MAX_PANELS]:
        total = np.sum([as_float(c) * trace.values(n) for n, c in expr.terms], axis=0)
        unit = {units[n] for n in expr.variables}
        shown = frozenset(
            i
            for i, v in enumerate(trace.visits)
            if any(LinearExpr(c.expr.terms) in (expr, -expr) for c in trace.shown(v.node))
        )
        title = titled(cut(str(expr)), unit.pop() if len(unit) == 1 else "")
        panels.append(Numbers(title, (("", total),), _merged(thresholds), shown))
    return panels


def _held(trace: Trace) -> list[Panel]:
    """What the agents do, and which branches are taken (of a tree, its picture tells that)."""
    found: list[Panel] = []
    agents = {a.name: a.unit for a in trace.system.agents} if trace.system is not None else {}
    acted = [(i, {a.name: a for a in visit.node.actions}) for i, visit in enumerate(trace.visits)]
    names = dict.fromkeys(name for _, actions in acted for name in actions)
    for name in names:
        taken = [(i, actions[name]) for i, actions in acted if name in actions]
        title = titled(name, agents.get(name, ""))
        if any(v.label for _, v in taken):
            texts = {v.exact: value_text(v) for _, v in taken}
            found.append(_row_panel(title, [(i, texts[v.exact]) for i, v in taken], [texts[x] for x in sorted(texts)]))
        else:
            values = np.full(len(trace.visits), np.nan)
            for i, v in taken:
                values[i] = as_float(v.exact)
            found.append(Numbers(title, ((name, values),), held=True))
    if trace.is_path and len({branch for _, branch, _ in trace.edges}) > 1:
        taken_branches = [(i, branch) for i, branch, _ in trace.edges]
        found.append(_row_panel("branch", taken_branches, list(dict.fromkeys(b for _, b in taken_branches))))
    return found


def _row_panel(title: str, taken: Sequence[tuple[int, str]], rows: Sequence[str]) -> Rows:
    return Rows(title, tuple(rows), tuple((i, rows.index(text)) for i, text in taken), held=True)


def _merged(thresholds: Sequence[Threshold]) -> tuple[Threshold, ...]:
    """One line for comparisons with the same number."""
    found: dict[float, Threshold] = {}
    for t in thresholds:
        known = found.get(t.value)
        found[t.value] = t if known is None else replace(known, text=_joined(known.text, t.text))
    return tuple(found.values())


def _joined(known: str, text: str) -> str:
    return known if text in known.split(", ") else f"{known}, {text}"
