"""Formulas and witnesses as Graphviz (.dot): the graph in its language, nothing but text."""

from __future__ import annotations

from collections.abc import Iterator

from venmas.logic import Formula, subformulas
from venmas.logic.formula import AX, EX, And, Atom, Bottom, Finally, Globally, Iff, Implies, Next, Not, Or, Top, Until
from venmas.logic.printing import comparison_text
from venmas.model.show import precise, quoted, show_value, state_columns, title
from venmas.model.system.system import System
from venmas.model.witness.tree import Node, Witness

_MOST_ATOMS = 6


def formula_dot(formula: Formula, name: str = "formula") -> str:
    """The formula as a graph: an operator points to its operands, subformulas that are shared are drawn once."""
    nodes = list(subformulas(formula))
    number = {node: i for i, node in enumerate(reversed(nodes))}  # the whole formula is 0

    def lines() -> Iterator[str]:
        for node, i in sorted(number.items(), key=lambda item: item[1]):
            shape = "box" if isinstance(node, Atom | Top | Bottom) else "ellipse"
            yield f"  n{i} [label={quoted(_operator(node))}, shape={shape}];"
            sides = len(node.children) > 1 and isinstance(node, Implies | Iff | Until)
            for child, side in zip(
                node.children, ("left", "right") if sides else [""] * len(node.children), strict=True
            ):
                label = f" [label={quoted(side)}]" if side else ""
                yield f"  n{i} -> n{number[child]}{label};"

    return _graph(name, lines())


def witness_dot(system: System, witness: Witness, name: str = "witness") -> str:
    """The tree of runs: a state with what it shows, and at each arrow the action and the branch that leads on."""
    columns = state_columns(system.variables.values())
    units = {a.name: title(a.name, a.unit) for a in system.agents}

    def state(node: Node) -> Iterator[str]:
        values = {v.name: v for v in node.state}
        yield from (f"{c.title} = {c.show(values)}" for c in columns)
        nearest = sorted(node.atoms, key=lambda m: m.margin)
        yield from (f"{m.atom}, by {precise(m.margin)}" for m in nearest[:_MOST_ATOMS])
        if len(nearest) > _MOST_ATOMS:
            yield f"and {len(nearest) - _MOST_ATOMS} more comparisons"
        if node.deadlock:
            yield "no successor"

    def lines() -> Iterator[str]:
        yield "  node [shape=box];"
        for i, node in enumerate(witness.nodes):
            more = ", peripheries=2" if i == 0 else ""
            more += ", style=filled, fillcolor=mistyrose" if node.atoms and not node.children else ""
            yield f"  s{i} [label={quoted(*state(node))}{more}];"
            acted = [f"{units.get(v.name, v.name)} = {show_value(v)}" for v in node.actions]
            for branch, child in node.children:
                yield f"  s{i} -> s{child} [label={quoted(*acted, branch)}];"

    return _graph(name, lines())


def _graph(name: str, lines: Iterator[str]) -> str:
    return "\n".join([f"digraph {quoted(name)} {{", '  node [fontname="sans-serif"];', *lines, "}", ""])


def _operator(node: Formula) -> str:
    match node:
        case Top() | Bottom():
            return "true" if isinstance(node, Top) else "false"
        case Atom(comparison):
            return comparison_text(comparison)
        case Not():
            return "not"
        case And() | Or():
            return "and" if isinstance(node, And) else "or"
        case Implies() | Iff():
            return "implies" if isinstance(node, Implies) else "iff"
        case AX() | EX():
            return "AX" if isinstance(node, AX) else "EX"
        case Next(quantifier, k, _):
            return f"{quantifier.value}X^{k}"
        case Globally(quantifier, start, end, _):
            return f"{quantifier.value}G{_steps(start, end)}"
        case Finally(quantifier, start, end, _):
            return f"{quantifier.value}F{_steps(start, end)}"
        case Until(quantifier, start, end, _, _):
            return f"{quantifier.value}U{_steps(start, end)}"
    raise TypeError(f"{type(node).__name__} is no node of a formula")


def _steps(start: int, end: int | None) -> str:
    return f"[{start},{'*' if end is None else end}]"
