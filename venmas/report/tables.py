"""Tables of a page, and those of a counterexample: its trace, its exact initial state, the margins of comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from venmas.logic.linear import format_number
from venmas.model.show import Column, is_number, number, show_value, state_columns, title
from venmas.model.system.system import System
from venmas.model.witness.tree import Node, Value, Witness

_MOST_ROWS = 400
_MOST_COLUMNS = 9
"""Columns of states beside each other; more of them make more tables."""
_MOST_TABLES = 6
_MOST_MEASURES = 100
_MOST_DIGITS = 60
_SHORT = 14


@dataclass(frozen=True)
class Table:
    """Rows of texts under headings; the first `keys` cells of a row name it.

    indents: how far the cell number `keys - 1` of each row moves in. note: what was left out. kinds: of the columns,
    "number" for those aligned to the right. compact: all cells are short.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    keys: int = 1
    note: str = ""
    indents: tuple[int, ...] = ()

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """By column."""
        numbers = [i >= self.keys and all(is_number(row[i]) for row in self.rows) for i in range(len(self.head))]
        return tuple("number" if numeric else "" for numeric in numbers)

    @property
    def compact(self) -> bool:
        """Whether everything is so short that two cells fit beside each other on a narrow page."""
        return all(len(cell) <= _SHORT for row in (self.head, *self.rows) for cell in row[self.keys :])


def exactly(value: Value) -> str:
    """The exact number, where it can be read."""
    text = format_number(value.exact)
    return text if len(text) <= _MOST_DIGITS else f"{number(value.exact)} (rounded; the result file has it exactly)"


@dataclass(frozen=True)
class _Row:
    key: str
    name: str
    """Empty in a path; the branch that leads here in a tree."""
    indent: int
    node: Node | None
    """None for a state that was shown before."""
    last: str


def trace_tables(system: System | None, witness: Witness) -> tuple[list[Table], dict[int, str]]:
    """The trace, and under which name each node of the witness stands in it ("step 3", "state 7")."""
    path = witness.path
    rows, places = _path_rows(witness) if path is not None else _tree_rows(witness)
    shown = rows if len(rows) <= _MOST_ROWS else [*rows[: _MOST_ROWS - 50], *rows[-50:]]
    note = "" if shown is rows else f"{len(rows) - len(shown)} rows before the last 50 are left out. "
    columns = columns_of(system, witness)
    agents = [title(a.name, a.unit) for a in system.agents] if system else []
    names = [a.name for a in system.agents] if system else []
    if system is None:
        names = agents = agent_names(witness)
    headings = [c.title for c in columns] + agents
    most = _MOST_COLUMNS * _MOST_TABLES
    if len(headings) > most:
        note += f"{len(headings) - most} of {len(headings)} columns are left out. "
        headings, columns, names = headings[:most], columns[:most], names[: max(0, most - len(columns))]
    cells = [[""] * len(headings) if row.node is None else _cells(columns, names, row.node) for row in shown]
    rest = f"{note}The result file has everything." if note else ""
    parts = range(0, len(headings) or 1, _MOST_COLUMNS)
    return [_part(shown, headings, cells, start, rest, tree=path is None) for start in parts], places


def _part(
    rows: Sequence[_Row], headings: Sequence[str], cells: Sequence[Sequence[str]], start: int, rest: str, *, tree: bool
) -> Table:
    """The table of the columns from `start` on."""
    head = headings[start : start + _MOST_COLUMNS]
    caption = "The tree of runs" if tree else "The run"
    if len(headings) > _MOST_COLUMNS:
        caption += f", columns {start + 1} to {start + len(head)}"
    named = [((row.key, row.name) if tree else (row.key,), () if tree else (row.last,)) for row in rows]
    lines = tuple(
        (*first, *texts[start : start + _MOST_COLUMNS], *last)
        for (first, last), texts in zip(named, cells, strict=True)
    )
    names = ("state", "run") if tree else ("step",)
    indents = tuple(row.indent for row in rows) if tree else ()
    return Table(caption, (*names, *head, *(() if tree else ("branch",))), lines, len(names), rest, indents)


def agent_names(witness: Witness) -> list[str]:
    """The agents whose actions a witness shows."""
    return list(dict.fromkeys(v.name for node in witness.nodes for v in node.actions))


def columns_of(system: System | None, witness: Witness) -> list[Column]:
    """The columns of states; without a system one for each variable of the witness."""
    if system is not None:
        return state_columns(system.variables.values())
    return [Column(v.name, (v.name,), False) for v in witness.nodes[0].state]


def _cells(columns: Sequence[Column], actions: Sequence[str], node: Node) -> list[str]:
    """The state, then the actions; empty where a node of a file has none of that name."""
    state, acted = {v.name: v for v in node.state}, {v.name: v for v in node.actions}
    found = [column.show(state) if all(name in state for name in column.names) else "" for column in columns]
    return found + [show_value(acted[name]) if name in acted else "" for name in actions]


def _path_rows(witness: Witness) -> tuple[list[_Row], dict[int, str]]:
    rows: list[_Row] = []
    places: dict[int, str] = {}
    index = 0
    while True:
        node = witness.nodes[index]
        places[index] = f"step {len(rows)}"
        taken = "(no successor)" if node.deadlock else ", ".join(name for name, _ in node.children)
        rows.append(_Row(str(len(rows)), "", 0, node, taken))
        if not node.children:
            return rows, places
        index = node.children[0][1]


def _tree_rows(witness: Witness) -> tuple[list[_Row], dict[int, str]]:
    """Depth first; a state that several runs share is shown once and referred to."""
    rows: list[_Row] = []
    numbers: dict[int, int] = {}
    stack = [(0, "start", 0)]
    while stack:
        index, label, depth = stack.pop()
        node = witness.nodes[index]
        if index in numbers:
            rows.append(_Row("", f"{label} (to state {numbers[index]})", depth, None, ""))
            continue
        numbers[index] = len(numbers)
        rows.append(_Row(str(numbers[index]), label + (" (no successor)" if node.deadlock else ""), depth, node, ""))
        stack.extend((child, branch, depth + 1) for branch, child in reversed(node.children))
    return rows, {index: f"state {n}" for index, n in numbers.items()}


def initial_table(system: System | None, witness: Witness) -> Table | None:
    """The initial state in exact numbers; None where the trace says as much."""
    state = {v.name: v for v in witness.nodes[0].state}
    rows = tuple(
        (name, exactly(value), system.variables[name].unit if system and name in system.variables else "")
        for name, value in state.items()
        if not value.label and number(value.exact) != format_number(value.exact)
    )
    if not rows:
        return None
    note = f"{len(rows) - _MOST_ROWS} more are in the result file." if len(rows) > _MOST_ROWS else ""
    return Table("The initial state, exactly where the trace rounds", ("variable", "value", "unit"), rows, 1, note)


def margin_table(witness: Witness, places: dict[int, str]) -> Table | None:
    """The comparisons that show the violation, with their exact margins, the smallest of all if they are many."""
    measures = list(_measures(witness, places))
    if not measures:
        return None
    chosen: Sequence[tuple[Value, int, str, str]] = measures
    if len(measures) > _MOST_MEASURES:
        chosen = sorted(measures, key=lambda m: m[0].exact)[:_MOST_MEASURES]
    chosen = sorted(chosen, key=lambda m: m[1])
    rows = tuple((place, atom, number(margin.exact), exactly(margin)) for margin, _, place, atom in chosen)
    left = len(measures) - len(chosen)
    note = f"The {len(chosen)} of smallest margin are shown; {left} more are in the result file." if left else ""
    head = ("where", "comparison that holds", "margin", "at least" if witness.bits else "exactly")
    return Table("Comparisons that show the violation, and how far their sides are apart", head, rows, 1, note)


def _measures(witness: Witness, places: dict[int, str]) -> Iterator[tuple[Value, int, str, str]]:
    order = {index: i for i, index in enumerate(places)}
    for index, node in enumerate(witness.nodes):
        for measure in node.atoms if index in places else ():
            yield Value("", measure.margin), order[index], places[index], measure.atom
