"""`justice` and `bad` lines of BTOR2 as properties of LTL, named ``justice0``, ``bad0``, ...

A `justice` line is met by a run on which each of its conditions, and each `fair` line of the netlist, holds again and
again (BTOR2: Niemetz, Preiner, Wolf, Biere, CAV 2018; AIGER 1.9): the property is that no run does. A `bad` line is met
by a run on which it holds once; `fair` lines do not matter for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from venmas.errors import CircuitError
from venmas.logic.printing import quoted
from venmas.model.circuit.nodes import Circuit

_Line = TypeVar("_Line")
_LINE = re.compile(r"(justice|bad)(\d{1,9})")


def property_names(circuit: Circuit) -> tuple[str, ...]:
    """Names of the properties that a circuit has."""
    lines = [*(f"justice{at}" for at in range(len(circuit.justice))), *(f"bad{at}" for at in range(len(circuit.bad)))]
    return (*circuit.properties, *lines)


def named_property(circuit: Circuit, name: str) -> tuple[Circuit, str, tuple[str, ...]]:
    """The circuit, formula and conditions of fairness of a property by its name; any other text is the formula.

    A `bad` or `justice` line has its own name unless a signal is called so. Raises `CircuitError` for a line that is
    not there.
    """
    name = name.strip()
    if name in circuit.properties:
        return circuit, circuit.properties[name], ()
    line = _LINE.fullmatch(name)
    if line is None or name in circuit.names:
        return circuit, name, ()
    if line[1] == "justice":
        return justice_asked(circuit, int(line[2]))
    return (*bad_asked(circuit, int(line[2])), ())


def justice_asked(circuit: Circuit, number: int) -> tuple[Circuit, str, tuple[str, ...]]:
    """The circuit with names for the conditions, the formula, and the conditions of fairness.

    Raises `CircuitError` where there is no such line.
    """
    conditions = _line(circuit.justice, number, "justice")
    circuit, names = _named(circuit, [(f"justice{number}_{at}", node) for at, node in enumerate(conditions)])
    circuit, fair = _named(circuit, [(f"fair{at}", node) for at, node in enumerate(circuit.fair)])
    formula = f"!({' & '.join(f'G F {name}' for name in names) or 'true'})"
    return replace(circuit, fair=()), formula, tuple(fair)


def bad_asked(circuit: Circuit, number: int) -> tuple[Circuit, str]:
    """The circuit with a name for the condition, and the formula. Raises `CircuitError` where there is no such line."""
    circuit, (name,) = _named(circuit, [(f"bad{number}", _line(circuit.bad, number, "bad"))])
    return replace(circuit, fair=()), f"G !{name}"


def _line(lines: Sequence[_Line], number: int, kind: str) -> _Line:
    if number >= len(lines):
        many = f"{kind} lines 0 to {len(lines) - 1}" if lines else f"no {kind} line"
        raise CircuitError(f"{kind}{number}: the netlist has {many}")
    return lines[number]


def _named(circuit: Circuit, nodes: Sequence[tuple[str, int]]) -> tuple[Circuit, list[str]]:
    """The circuit in which each node has a name, its own or a new one; the names as formulas write them."""
    names, formulas = dict(circuit.names), []
    for wish, node in nodes:
        name = circuit.named.get(node)
        if name is None or '"' in name:
            name = wish
            while names.get(name, node) != node:
                name += "_"
            names[name] = node
        formulas.append(quoted(name))
    return replace(circuit, names=names), formulas
