"""Automata of other translators, where they are installed: `spin -f` (never claims) and `lbt` (prefix notation)."""

from __future__ import annotations

import re
import subprocess

from tests.logic.automata.hoa_reader import read_hoa
from venmas.logic import And, Bottom, Formula, Not, Or, Top
from venmas.logic.automata import Automaton
from venmas.logic.paths import Proposition, R, U, X

SECONDS = 10


class TooLongError(Exception):
    """The other translator does not end."""


def ran(command: list[str], given: str = "") -> str:
    try:
        return subprocess.run(command, input=given, capture_output=True, text=True, timeout=SECONDS, check=True).stdout
    except subprocess.TimeoutExpired:
        raise TooLongError from None


def infix(formula: Formula) -> str:
    """A formula in core form without X as spin reads it; p0 and p1 for a and b."""
    match formula:
        case Top() | Bottom():
            return "true" if isinstance(formula, Top) else "false"
        case Proposition(name):
            return f"p{'ab'.index(name)}"
        case Not(p):
            return f"!({infix(p)})"
        case And(parts) | Or(parts):
            return (" && " if isinstance(formula, And) else " || ").join(f"({infix(part)})" for part in parts)
        case U(p, q):
            return f"({infix(p)}) U ({infix(q)})"
        case R(p, q):
            return f"({infix(p)}) V ({infix(q)})"
    raise AssertionError(formula)


def prefix(formula: Formula) -> str:
    """The same for lbt."""
    match formula:
        case Top() | Bottom():
            return "t" if isinstance(formula, Top) else "f"
        case Proposition(name):
            return f"p{'ab'.index(name)}"
        case And(parts) | Or(parts):
            sign = "&" if isinstance(formula, And) else "|"
            return f"{sign} " * (len(parts) - 1) + " ".join(map(prefix, parts))
        case Not() | X() | U() | R():
            sign = {Not: "!", X: "X", U: "U", R: "V"}[type(formula)]
            return " ".join((sign, *map(prefix, formula.children)))
    raise AssertionError(formula)


def by_lbt(formula: Formula) -> Automaton:
    """A state-based generalised Büchi automaton."""
    words = ran(["lbt"], prefix(formula) + "\n").split()
    states, sets, *rest = words
    if states == "0":
        return text_of(["0"], 0, [], [])

    def guard() -> str:
        sign = rest.pop(0)
        if sign in "&|":
            left = guard()
            return f"({left} {sign} {guard()})"
        return f"!{guard()}" if sign == "!" else sign.removeprefix("p")

    initial, rows, edges = [], [], []
    while rest:
        state, first = rest.pop(0), rest.pop(0)
        initial += [state] if first == "1" else []
        marks = []
        while (mark := rest.pop(0)) != "-1":
            marks.append(mark)
        rows.append((state, " ".join(marks)))
        while (target := rest.pop(0)) != "-1":
            edges.append((state, guard(), target))
    return text_of(initial, int(sets), rows, edges)


def by_spin(formula: Formula) -> Automaton:
    """A Büchi automaton, accepting states by name; an ``assert`` leads to where everything is accepted."""
    text = re.sub(r"/\*.*?\*/", "", ran(["spin", "-f", infix(formula)]), flags=re.DOTALL)
    found = re.findall(r"((?:\w+:\n)+)(.*?)(?=\n\w+:|\n})", text, flags=re.DOTALL)
    blocks = [(names.replace(":", "").split(), body) for names, body in found]  # a state may have two names
    number = {name: str(i) for i, (names, _) in enumerate(blocks) for name in names}
    everything = str(len(blocks))
    rows = [(number[names[0]], "0" if any(n.startswith("accept") for n in names) else "") for names, _ in blocks]
    rows.append((everything, "0"))
    edges = [(everything, "t", everything)]
    for (name, *_), body in blocks:
        if re.search(r"^\s*skip", body, flags=re.MULTILINE):
            edges.append((number[name], "t", number[name]))
        for condition, target in re.findall(r"::\s*(?:atomic \{)?\s*(.*?) -> (?:goto (\w+)|assert)", body):
            label = condition.replace("(1)", "t").replace("&&", "&").replace("||", "|")
            label = label.replace("true", "t").replace("false", "f")
            edges.append((number[name], re.sub(r"p(\d)", r"\1", label), number[target] if target else everything))
    return text_of(["0"], 1, rows, edges)


def text_of(initial: list[str], sets: int, rows: list[tuple[str, str]], edges: list[tuple[str, str, str]]) -> Automaton:
    acceptance = " & ".join(f"Inf({i})" for i in range(sets)) or "t"
    lines = ["HOA: v1", *(f"Start: {state}" for state in initial), 'AP: 2 "a" "b"', f"Acceptance: {sets} {acceptance}"]
    lines.append("--BODY--")
    for state, marks in rows:
        lines.append(f"State: {state} {{{marks}}}")
        lines += [f"[{label}] {target}" for source, label, target in edges if source == state]
    return read_hoa("\n".join((*lines, "--END--")))
