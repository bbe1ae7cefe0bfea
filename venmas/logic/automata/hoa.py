"""Automata as text: written in the Hanoi Omega-Automata format (HOA v1, Babiak et al., CAV 2015), and drawn by dot."""

from __future__ import annotations

from venmas.logic.automata.automaton import Automaton, Edge
from venmas.logic.automata.label import Label
from venmas.logic.printing import to_text


def to_hoa(automaton: Automaton, name: str = "") -> str:
    """The automaton in HOA v1, which Spot and others read."""
    sets = range(automaton.marks)
    acceptance = " & ".join(f"Inf({i})" for i in sets) or "t"
    kinds = {0: "all", 1: "Buchi"}
    lines = [
        "HOA: v1",
        *([f"name: {_string(name)}"] if name else []),
        f"States: {automaton.states}",
        "Start: 0",
        " ".join((f"AP: {len(automaton.atoms)}", *(_string(to_text(atom)) for atom in automaton.atoms))),
        f"acc-name: {kinds.get(automaton.marks, f'generalized-Buchi {automaton.marks}')}",
        f"Acceptance: {automaton.marks} {acceptance}",
        "properties: trans-labels explicit-labels trans-acc",
        "--BODY--",
    ]
    for state, leaving in enumerate(automaton.leaving):
        lines.append(f"State: {state}")
        lines += [f"[{_label(edge.label)}] {edge.target}{_marks(edge, automaton.marks)}" for edge in leaving]
    return "\n".join((*lines, "--END--\n"))


def to_dot(automaton: Automaton, name: str = "") -> str:
    """The automaton as a graph for Graphviz; acceptance sets are written behind labels."""
    lines = [
        "digraph automaton {",
        f"  label={_string(name)};",
        "  rankdir=LR;",
        "  start [shape=point];",
        "  start -> 0;",
    ]
    lines += [f"  {state} [shape=circle];" for state in range(automaton.states)]
    for edge in automaton.edges:
        text = automaton.label_text(edge.label) + _marks(edge, automaton.marks)
        lines.append(f"  {edge.source} -> {edge.target} [label={_string(text)}];")
    return "\n".join((*lines, "}\n"))


def _label(label: Label) -> str:
    return "&".join(f"{'' if sign else '!'}{i}" for i, sign in label.literals()) or "t"


def _marks(edge: Edge, marks: int) -> str:
    numbers = [str(i) for i in range(marks) if edge.marks >> i & 1]
    return f" {{{' '.join(numbers)}}}" if numbers else ""


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
