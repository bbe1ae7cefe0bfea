"""Assertions taken out of a source in SystemVerilog, before Yosys reads it.

In the place of each one come wires, one for each condition: the design itself says what its parameters, widths and
names mean. Lines stay where they are. What Yosys reads by itself (immediate assertions, assumptions without a clock)
stays, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from venmas.errors import CircuitError
from venmas.formats.sva.properties import AssertionRefused, Meaning, meaning, stated
from venmas.logic.formula import Formula, replaced
from venmas.logic.paths import Proposition, leaves
from venmas.logic.printing import to_text
from venmas.model.circuit.nodes import Circuit

WIRE = "venmas_sva_"
"""How names of the wires begin."""
_IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_MODULE = re.compile(r"\bmodule\s+(?:automatic\s+|static\s+)?\w+.*?\bendmodule\b", re.DOTALL)
_ITEM = re.compile(
    r"(?P<initial>\binitial\s+)?(?:\b(?P<label>[A-Za-z_]\w*)\s*:\s*)?"
    r"\b(?P<kind>assert|assume|cover|restrict|expect)\s*(?P<final>#\s*0|\bfinal\b)?\s*\bproperty\b\s*\("
)
_CLOCKING = re.compile(
    r"\bdefault\s+clocking\b(?:\s+\w+)?\s*(@[^;]*);\s*endclocking(?:\s*:\s*\w+)?|\bdefault\s+clocking\b"
)
_DISABLE = re.compile(r"\bdefault\s+disable\s+iff\b([^;]*);")
_PROPERTY = re.compile(r"\bproperty\s+(\w+)\s*(\(\s*\)|\()?\s*;?(.*?);?\s*\bendproperty\b(?:\s*:\s*\w+)?", re.DOTALL)
_SEQUENCE = re.compile(r"(?<!\w)sequence\s+\w+")
_CONDITIONAL = re.compile(r"`(ifn?def|endif)\b")
_BRACKET = {"(": 1, ")": -1}


@dataclass(frozen=True)
class Assertion:
    """One assertion. wires: of each condition the wire that has it. place: file, line and column."""

    name: str
    meaning: Meaning
    once: bool
    wires: Mapping[str, str]
    place: str


def taken_out(source: str, path: str) -> tuple[str, list[Assertion]]:
    """The source with wires in the place of its assertions, and these. Raises `CircuitError` for what is not read."""
    plain = _IGNORED.sub(lambda one: _blank(one[0]), source)
    if not _ITEM.search(plain):
        return source, []
    text, assertions = list(source), list[Assertion]()
    for module in _MODULE.finditer(plain):
        _module(_Source(path, source, plain, module.start(), module.end()), text, assertions)
    return "".join(text), assertions


def with_properties(circuit: Circuit, assertions: list[Assertion], clocks: Mapping[str, str], path: str) -> Circuit:
    """The circuit with its assertions as properties, one for each instance of their module.

    clocks: names of the clock with its edge. Raises `CircuitError` where an assertion has another one.
    """
    names, properties = dict(circuit.names), dict(circuit.properties)
    for one in assertions:
        first = next(iter(one.wires.values()))
        for prefix in sorted(name.removesuffix(first) for name in circuit.names if _is(name, first)):
            if one.meaning.clock is not None and clocks:
                edge, clock = one.meaning.clock
                if clocks.get(prefix + clock) != edge:
                    there = ", ".join(f"{edge} {name}" for name, edge in clocks.items())
                    raise CircuitError(
                        f"{one.place}: the assertion has the clock `{edge} {clock}`, and the design {there}; a step is "
                        "a tick of the design's clock"
                    )
            called: dict[Formula, Formula] = {}
            for condition, wire in one.wires.items():
                node = circuit.names[prefix + wire]
                name = prefix + condition.replace('"', "'")
                while names.get(name, node) != node:
                    name += " "
                names[name], called[Proposition(condition)] = node, Proposition(name)
            disabled = None if one.meaning.disabled is None else Proposition(one.meaning.disabled)
            formula = replaced(stated(one.meaning.attempt, disabled, one.once), called)
            properties[prefix + one.name] = to_text(formula)
    kept = {name: node for name, node in names.items() if WIRE not in name}
    return replace(circuit, names=kept, properties=properties)


def _is(name: str, wire: str) -> bool:
    return name.endswith(wire) and name.removesuffix(wire)[-1:] in ("", ".")


@dataclass
class _Source:
    path: str
    source: str
    plain: str
    start: int
    end: int

    def fail(self, at: int, message: str) -> NoReturn:
        raise CircuitError(f"{self.place(at)}: {message}")

    def place(self, at: int) -> str:
        before = self.source[:at]
        return f"{self.path}, line {before.count(chr(10)) + 1}, column {at - before.rfind(chr(10))}"

    def always_there(self, at: int, what: str) -> None:
        """Refuse what a condition of the preprocessor may leave out, where more than its place depends on it."""
        opened = [one[1] != "endif" for one in _CONDITIONAL.finditer(self.plain, self.start, at)]
        if 2 * sum(opened) != len(opened):
            self.fail(at, f"{what} between `ifdef and `endif is not read: move it out of them")

    def closed(self, at: int) -> int:
        """Place at which the bracket that opens before `at` is closed."""
        depth = 1
        for place in range(at, self.end):
            depth += _BRACKET.get(self.plain[place], 0)
            if depth == 0:
                return place
        self.fail(at - 1, "a bracket is not closed")


def _module(here: _Source, text: list[str], found: list[Assertion]) -> None:
    plain, bounds = here.plain, (here.start, here.end)
    for one in _SEQUENCE.finditer(plain, *bounds):
        here.fail(one.start(), "`sequence` is not read: write the sequence where it is used")
    clocking, disable, declared = "", "", dict[str, tuple[int, str]]()
    for one in _CLOCKING.finditer(plain, *bounds):
        if one[1] is None:
            here.fail(one.start(), "`default clocking` is read as `default clocking @(posedge clk); endclocking`")
        here.always_there(one.start(), "`default clocking`")
        clocking = one[1]
        _erase(text, one.start(), one.end())
    for one in _DISABLE.finditer(plain, *bounds):
        here.always_there(one.start(), "`default disable iff`")
        disable = f" disable iff {one[1].strip()} "
        _erase(text, one.start(), one.end())
    for one in _PROPERTY.finditer(plain, *bounds):
        if one[2] is not None and one[2].endswith("("):
            here.fail(one.start(), "`property` with arguments is not read: write the property where it is used")
        here.always_there(one.start(), "`property`")
        if one[1] in declared:
            here.fail(one.start(), f"a second `property {one[1]}` in a module is not read: give it another name")
        declared[one[1]] = one.start(3), here.plain[one.start(3) : one.end(3)]
        _erase(text, one.start(), one.end())
    for one in _ITEM.finditer(plain, *bounds):
        opened, kind = one.end(), one["kind"]
        closed = here.closed(opened)
        begin, body = opened, here.plain[opened:closed]
        if kind != "assert" or one["final"]:
            if body.lstrip().startswith(("@", "disable")) or body.strip() in declared:
                here.fail(one.start("kind"), f"`{kind} property` is not read: state it in the formula, or with --fair")
            continue
        if re.search(r"\)\s*$|\belse\s*$", plain[here.start : one.start()]):
            here.fail(one.start("kind"), "`assert property` within a procedure is not read: move it into the module")
        end = here.plain.find(";", closed)
        if end < 0 or re.search(r"\bbegin\b", here.plain[closed:end]):
            here.fail(closed, "a block after `assert property` is not read: end the assertion with `;`")
        if (name := body.strip()) in declared:
            begin, body = declared[name]
        started = clocking if clocking and not body.lstrip().startswith("@") else ""
        ended = disable if disable and not re.match(r"\s*(@\s*(\([^)]*\)|\w+)\s*)?disable\b", body) else ""
        try:
            what = meaning(_headed(body, started, ended))
        except AssertionRefused as error:
            here.fail(begin + max(0, error.at - len(started) - len(ended)), str(error))
        names = [leaf.name for leaf in leaves(what.attempt) if isinstance(leaf, Proposition)]
        names = list(dict.fromkeys([*names, *([] if what.disabled is None else [what.disabled])]))
        wires = {condition: f"{WIRE}{len(found)}_{at}" for at, condition in enumerate(names)}
        label = one["label"] or (name if name in declared else f"assert{len(found)}")
        found.append(Assertion(label, what, one["initial"] is not None, wires, here.place(one.start("kind"))))
        _erase(text, one.start(), end + 1)
        text[one.start()] = "".join(f"wire {wire} = ({condition}) ? 1'b1 : 1'b0; " for condition, wire in wires.items())


def _headed(body: str, clocking: str, disable: str) -> str:
    """The body with the module's clock and reset before it, or the latter after its own clock."""
    clock = re.match(r"\s*@\s*(\([^)]*\)|\w+)", body)
    return f"{clocking}{disable}{body}" if clock is None else f"{body[: clock.end()]}{disable}{body[clock.end() :]}"


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _erase(text: list[str], start: int, end: int) -> None:
    for at in range(start, end):
        if text[at] != "\n":
            text[at] = " "
