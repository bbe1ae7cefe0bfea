"""Tables of states: units, labels, digits that can be read, one-hot groups as the index that is 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from venmas.model.show import is_number, show_value, title
from venmas.model.system.system import System
from venmas.model.witness.tree import Node, Witness
from venmas.report.tables import agent_names, columns_of

if TYPE_CHECKING:
    from rich.console import Console

_MOST_ROWS = 300
_GAP = 3


def print_table(
    out: Console, headers: Sequence[str], rows: Sequence[Sequence[str]], keys: int = 1, wrap: bool = False
) -> None:
    """Print rows; where they are wider than the window, in several tables that repeat the first `keys` columns.

    With `wrap` the last column is text, which takes several lines where it must.
    """
    from rich import box
    from rich.table import Table

    widths = [max([len(h), *(len(r[i]) for r in rows)]) + _GAP for i, h in enumerate(headers)]
    parts: list[list[int]] = [[]]
    for i in range(keys, len(headers)):
        if parts[-1] and not wrap and sum(widths[j] for j in (*range(keys), *parts[-1], i)) > out.width:
            parts.append([])
        parts[-1].append(i)
    for part in parts:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
        shown = [*range(keys), *part]
        for i in shown:
            numeric = all(is_number(r[i]) for r in rows) and bool(rows)
            table.add_column(
                headers[i], justify="right" if numeric else "left", no_wrap=not wrap or i < len(headers) - 1
            )
        for row in rows[:_MOST_ROWS]:
            table.add_row(*(row[i] for i in shown))
        out.print(table)
    if len(rows) > _MOST_ROWS:
        out.print(f"... and {len(rows) - _MOST_ROWS} more rows; --json FILE has all of them")


def print_trace(out: Console, system: System | None, witness: Witness) -> dict[int, int]:
    """A path as rows of steps, a tree of runs with the branches that lead to each state.

    Steps with the same state, actions and branch share a row, "3..17". system: None where it is not known. Returns the
    number under which each node of the witness is shown.
    """
    columns = columns_of(system, witness)
    names = [a.name for a in system.agents] if system else agent_names(witness)
    agents = [title(a.name, a.unit) for a in system.agents] if system else names

    def cells(node: Node) -> list[str]:
        state, acted = {v.name: v for v in node.state}, {v.name: v for v in node.actions}
        actions = [show_value(acted[name]) if name in acted else "" for name in names]
        return [*(c.show(state) for c in columns), *actions]

    headers = [c.title for c in columns] + agents
    path = witness.path
    if path is not None:
        rows = [[key, *cells(node), _taken(node)] for key, node in alike(path)]
        print_table(out, ["step", *headers, "branch"], rows)
        return _positions(witness)
    numbers: dict[int, int] = {}
    print_table(out, ["#", "run", *headers], list(_tree_rows(witness, cells, numbers, out.options.ascii_only)), keys=2)
    return numbers


def alike(path: Sequence[Node]) -> list[tuple[str, Node]]:
    """Steps of a path, those that follow each other with the same exact state, actions and branch in one row."""
    found: list[tuple[str, Node]] = []
    groups = groupby(enumerate(path), key=lambda item: (item[1].state, item[1].actions, _taken(item[1])))
    for _, group in groups:
        members = list(group)
        (first, node), (last, _) = members[0], members[-1]
        found.append((str(first) if first == last else f"{first}..{last}", node))
    return found


def again(witness: Witness, index: int, numbers: Mapping[int, int]) -> str:
    """Where a run goes on as from another node with the same state, which is shown (S8), says so."""
    node = witness.nodes[index]
    if node.children or node.deadlock:
        return ""
    same = (i for i, other in enumerate(witness.nodes) if other.children and other.state == node.state and i in numbers)
    first = next(same, None)
    return "" if first is None else f" (again #{numbers[first]})"


def _positions(witness: Witness) -> dict[int, int]:
    """Step of each node of a path."""
    steps, index = {0: 0}, 0
    while witness.nodes[index].children:
        index = witness.nodes[index].children[0][1]
        steps[index] = len(steps)
    return steps


def _taken(node: Node) -> str:
    return "(no successor)" if node.deadlock else ", ".join(name for name, _ in node.children)


def _tree_rows(
    witness: Witness, cells: Callable[[Node], list[str]], numbers: dict[int, int], ascii_only: bool
) -> Iterator[list[str]]:
    """Depth first; a state that several runs share is written once and referred to."""
    fork, last, bar = ("|- ", "`- ", "|  ") if ascii_only else ("├─ ", "└─ ", "│  ")
    stack = [(0, "start", "")]
    while stack:
        index, label, indent = stack.pop()
        node = witness.nodes[index]
        if index in numbers:
            yield ["", f"{label} (as #{numbers[index]})", *("" for _ in cells(node))]
            continue
        numbers[index] = len(numbers)
        note = " (no successor)" if node.deadlock else again(witness, index, numbers)
        yield [f"{numbers[index]}", label + note, *cells(node)]
        for i, (branch, child) in reversed(list(enumerate(node.children))):
            end = i == len(node.children) - 1
            stack.append((child, indent + (last if end else fork) + branch, indent + ("   " if end else bar)))
