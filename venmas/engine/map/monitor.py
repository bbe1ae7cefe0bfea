"""Maps as functions of the state in C (C99) and Python, which need nothing else: tables of the tree, and a loop.

Rounding. Arguments are doubles, and nothing is computed with them: they are compared with constants. A cut is a number
that a double holds (`venmas.engine.map.tree.cut_of`), so that ``x <= cut`` in doubles is the comparison of the exact
numbers. An end q of the whole box need not be: as x is a double, x >= q exactly where x >= the least double that is not
below q, and x <= q where x <= the greatest that is not above. So the answer for a state in doubles is that of the map
for the same numbers, whatever the rounding mode; ends are moved inward, never outward. Constants are written so that
they are read back exactly: hexadecimal floats in C, shortest decimals in Python. A NaN is in no interval. Compilers
that assume that there is none (``-ffast-math``) break this, and the text says so.

What the state is, is the caller's matter: a measured state stands for itself, not for the true one near it.

Texts of the map stand in comments only, without what ends a comment; variables are renamed to plain identifiers.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from typing import Literal, TypeAlias

from venmas.engine.map.tree import STATUSES, Axis, Cell, StateMap
from venmas.errors import UsageError

Language: TypeAlias = Literal["c", "py"]
LANGUAGES: tuple[Language, ...] = ("c", "py")
PROVED, VIOLATED, OPEN = range(3)
"""What the functions return."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")
_WHOLE = 2**53
_WIDTH = 88
"""Characters of a line of a table."""
_C = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl complex concept "
    "const const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast "
    "else enum explicit export extern false float for friend goto if imaginary inline int long main mutable "
    "namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct "
    "switch template this thread_local throw true try typedef typeid typename typeof union unsigned using "
    "virtual void volatile wchar_t while xor xor_eq linux unix i386 I NULL EOF assert errno"
)
_OWN = "axis cut next state node step low high whole value float range zip int TypeError ValueError OverflowError"
_RESERVED = {*_C.split(), *_OWN.split(), *keyword.kwlist, *keyword.softkwlist}


@dataclass(frozen=True)
class _Tables:
    """The tree without what makes no difference: by node its axis, its cut, and what comes next (-1 - an answer)."""

    axis: tuple[int, ...]
    cut: tuple[float, ...]
    next: tuple[tuple[int, int], ...]
    root: int
    depth: int


def monitor_text(stored: StateMap, language: Language, name: str = "venmas_monitor") -> str:
    """The function as a source text, with a line end at its end.

    Raises `UsageError` for a name that is no identifier, and where no double lies in the interval of a variable.
    """
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise UsageError(f"{name[:70]!r} can not name a function of C and Python: take letters, digits and _")
    ends = [_ends(axis) for axis in stored.axes]
    names = identifiers((axis.name for axis in stored.axes), name)
    write = _c if language == "c" else _python
    return write(stored, _tables(stored.root), ends, names, name)


def identifiers(names: Iterable[str], function: str = "") -> list[str]:
    """Plain identifiers of C and Python for variables, all different: ``x[1]`` becomes ``x_1``."""
    made: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:50]
        plain = plain if plain[:1].isalpha() else f"v{plain}"
        base, count = plain, 1
        while plain in _RESERVED or plain in made or plain == function:
            count += 1
            plain = f"{base}_{count}"
        made.append(plain)
    return made


def comment(text: str, most: int = 400) -> str:
    """A text as it may stand in a comment of either language: printable ASCII of one line that ends no comment."""
    plain = "".join(c if " " <= c <= "~" and c not in "\\?" else "." for c in text[:most])
    return re.sub(r"([*/])(?=[*/])", r"\1 ", plain) + ("..." if len(text) > most else "")


def _ends(axis: Axis) -> tuple[float, float]:
    """The least and the greatest double in the interval of an axis."""
    try:
        low, high = float(axis.low), float(axis.high)
    except OverflowError:
        low, high = inf, -inf
    else:
        low = low if Fraction(low) >= axis.low else nextafter(low, inf)
        high = high if Fraction(high) <= axis.high else nextafter(high, -inf)
    if not -inf < low <= high < inf:
        raise UsageError(
            f"no double lies in the interval of {axis.name!r}, {axis.low} to {axis.high}: the monitor would always "
            "answer open; map a set of initial states with a number that a double holds, such as 0.125"
        )
    if axis.integral and max(abs(low), abs(high)) > _WHOLE:
        raise UsageError(f"the integer {axis.name!r} is greater than 2^53, above which doubles have gaps")
    return low, high


def _tables(root: Cell) -> _Tables:
    """The nodes of the tree, each before its parts; parts that all have one answer are that answer."""
    order: list[Cell] = [root]
    for cell in order:
        if cell.cut is not None:
            order += cell.cut[2:]
    answer: dict[Cell, int | None] = {}
    for cell in reversed(order):
        if cell.cut is None:
            answer[cell] = STATUSES.index(cell.status)
        else:
            low, high = answer[cell.cut[2]], answer[cell.cut[3]]
            answer[cell] = low if low == high else None
    nodes = _below(root, answer)
    number = {cell: i for i, cell in enumerate(nodes)}

    def target(cell: Cell) -> int:
        known = answer[cell]
        return number[cell] if known is None else -1 - known

    depth = dict.fromkeys(order, 0)
    for cell in reversed(nodes):
        assert cell.cut is not None
        depth[cell] = 1 + max(depth[part] for part in cell.cut[2:])
    cuts = [cell.cut for cell in nodes if cell.cut is not None]
    return _Tables(
        tuple(cut[0] for cut in cuts),
        tuple(float(cut[1]) for cut in cuts),
        tuple((target(cut[2]), target(cut[3])) for cut in cuts),
        target(root),
        depth[root],
    )


def _below(root: Cell, answer: dict[Cell, int | None]) -> list[Cell]:
    """The nodes that are needed, depth first."""
    nodes, stack = [], [root]
    while stack:
        cell = stack.pop()
        if answer[cell] is None and cell.cut is not None:
            nodes.append(cell)
            stack += [cell.cut[3], cell.cut[2]]
    return nodes


def _head(stored: StateMap, names: Sequence[str]) -> list[str]:
    """Lines of the comment at the top."""
    settings = ", ".join(f"{n}={v}" for n, v in stored.parameters.items())
    lines = [
        "Monitor of a map of initial states, written by venmas monitor.",
        "",
        "Returns 0 where the formula is proved of the state, 1 where it is violated, 2 where",
        "that is open: outside of the map, too, and for NaN. A double is only compared, with",
        "constants that are exact, so that the answer is that of the map for the same numbers.",
        "",
        f"VenMAS: {comment(stored.venmas, 40)}",
        f"scenario: {comment(stored.scenario)}",
        *([f"parameters: {comment(settings)}"] if settings else []),
        f"formula: {comment(stored.formula)}",
        f"question (sha256 of system and formula): {comment(stored.question, 64)}",
    ]
    for axis, name in zip(stored.axes, names, strict=True):
        kind = "integer" if axis.integral else "real"
        unit = f", {comment(axis.unit, 40)}" if axis.unit else ""
        lines.append(f"{name}: {comment(axis.name, 80)}, {kind}{unit}, {_short(axis.low)} to {_short(axis.high)}")
    return lines


def _short(value: Fraction) -> str:
    return comment(str(value), 60)


def _rows(items: Iterable[str], indent: str) -> list[str]:
    """Items with commas between them, in lines."""
    lines = [""]
    for item in items:
        if len(lines[-1]) + len(item) > _WIDTH:
            lines.append("")
        lines[-1] += f"{item}, "
    return [f"{indent}{line.rstrip()}" for line in lines if line]


def _hex(value: float) -> str:
    """A hexadecimal float of C without zeros at its end."""
    return re.sub(r"\.?0*p", "p", value.hex())


def _c(stored: StateMap, tables: _Tables, ends: list[tuple[float, float]], names: list[str], name: str) -> str:
    arguments = ", ".join(f"double {n}" for n in names)
    lines = ["/* " + _head(stored, names)[0], *(f" * {line}".rstrip() for line in _head(stored, names)[1:])]
    lines += [
        " *",
        " * Do not compile it with options that assume that there is no NaN, such as -ffast-math.",
        " */",
        "",
    ]
    lines += [f"int {name}({arguments});", "", f"int {name}({arguments})", "{"]
    if tables.axis:
        size = len(tables.axis)
        lines += [f"    static const unsigned char axis[{size}] = {{", *_rows(map(str, tables.axis), " " * 8), "    };"]
        lines += [f"    static const double cut[{size}] = {{", *_rows((_hex(c) for c in tables.cut), " " * 8), "    };"]
        pairs = (f"{{{low}, {high}}}" for low, high in tables.next)
        lines += [f"    static const int next[{size}][2] = {{", *_rows(pairs, " " * 8), "    };"]
        lines += [f"    const double state[{len(names)}] = {{", *_rows(names, " " * 8), "    };"]
        lines += ["    int node = 0, step;", ""]
    for (low, high), n, axis in zip(ends, names, stored.axes, strict=True):
        lines.append(f"    if (!({n} >= {_hex(low)} && {n} <= {_hex(high)})) return {OPEN};")
        if axis.integral:
            lines.append(f"    if ((double)(long long){n} != {n}) return {OPEN};")
    if not tables.axis:
        return "\n".join([*lines, f"    return {-1 - tables.root};", "}", ""])
    lines += [
        f"    for (step = 0; step < {tables.depth} && node >= 0; ++step)",
        "        node = next[node][!(state[axis[node]] <= cut[node])];",
        f"    return node < 0 ? -1 - node : {OPEN};",
        "}",
        "",
    ]
    return "\n".join(lines)


def _python(stored: StateMap, tables: _Tables, ends: list[tuple[float, float]], names: list[str], name: str) -> str:
    lines = [f"# {line}".rstrip() for line in _head(stored, names)]
    for title, items in (
        ("_AXIS", map(str, tables.axis)),
        ("_CUT", map(repr, tables.cut)),
        ("_NEXT", (f"({low}, {high})" for low, high in tables.next)),
    ):
        lines += [f"{title} = (", *_rows(items, "    "), ")"]
    state = ", ".join(names) + ","
    lines += [
        "",
        "",
        f"def {name}({', '.join(names)}):",
        "    try:",
        f"        state = ({', '.join(f'float({n})' for n in names)},)",
        f"        if state != ({state}):  # a number that no double holds",
        f"            return {OPEN}",
        "    except (TypeError, ValueError, OverflowError):",
        f"        return {OPEN}",
        f"    {state} = state",
    ]
    for (low, high), n, axis in zip(ends, names, stored.axes, strict=True):
        lines += [f"    if not {low!r} <= {n} <= {high!r}:", f"        return {OPEN}"]
        if axis.integral:
            lines += [f"    if {n} != int({n}):", f"        return {OPEN}"]
    lines += [
        f"    node = {tables.root}",
        "    while node >= 0:",
        "        node = _NEXT[node][not state[_AXIS[node]] <= _CUT[node]]",
        "    return -1 - node",
        "",
    ]
    return "\n".join(lines)
