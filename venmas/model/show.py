"""States, variables and initial sets as people read them, on a terminal and on a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from venmas.logic import TRUE
from venmas.logic.linear import format_number
from venmas.logic.printing import to_short_text
from venmas.model.evaluation.regions import bounding_box
from venmas.model.system.system import System
from venmas.model.system.variables import Region, VariableDecl
from venmas.model.witness.tree import Value

_SMALL = Fraction(1, 10**9)


@dataclass(frozen=True)
class Column:
    """A variable, or a group of Boolean variables ``name[1] .. name[n]`` that is shown as the indices that are 1."""

    title: str
    names: tuple[str, ...]
    group: bool

    def show(self, state: Mapping[str, Value]) -> str:
        """The cell for a state."""
        if not self.group:
            return show_value(state[self.names[0]])
        ones = [_index(name) for name in self.names if state[name].exact == 1]
        return ",".join(ones) or "none"


def number(value: Fraction | float) -> str:
    """Six significant digits, whole numbers in full."""
    if -1e12 < value < 1e12 and value == int(value):
        return str(int(value))
    return _digits(value)


def _digits(value: Fraction | float) -> str:
    try:
        return f"{float(value):.6g}"
    except OverflowError:  # no number of a system that was verified, but a file may hold it
        return f"{'below -' if value < 0 else 'above '}1e308"


def is_number(text: str) -> bool:
    """Whether a cell may stand in a column of numbers: it is one, or empty."""
    try:
        float(text)
    except ValueError:
        return text == ""
    return True


def precise(value: Fraction) -> str:
    """A short decimal in full; of other numbers what can be read, with a short exact quotient or marked as rounded."""
    text = format_number(value)
    if "/" not in text and len(text) <= 12:
        return text
    return f"{_digits(value)} " + (f"(exactly {text})" if len(text) <= 24 else "(rounded)")


def show_value(value: Value) -> str:
    """The label where there is one, else the number, with its radius where fewer than five digits are known."""
    wide = value.radius > max(_SMALL, abs(value.exact) / 10**5)
    return value.label or number(value.exact) + (f" +- {float(value.radius):.3g}" if wide else "")


def title(name: str, unit: str) -> str:
    """Heading with the unit."""
    return f"{name} ({unit})" if unit else name


def state_columns(variables: Iterable[VariableDecl]) -> list[Column]:
    """Columns in the order of the declarations."""
    found: dict[str, list[VariableDecl]] = {}
    for decl in variables:
        key = decl.name.split("[")[0] if decl.boolean and _index(decl.name) else decl.name
        found.setdefault(key, []).append(decl)
    return [
        Column(title(key, members[0].unit), tuple(m.name for m in members), True)
        if members[0].boolean and members[0].name != key
        else Column(title(members[0].title or key, members[0].unit), (key,), False)
        for key, members in found.items()
    ]


def _index(name: str) -> str:
    return name.partition("[")[2].rstrip("]")


def variable_groups(system: System) -> list[list[VariableDecl]]:
    """Vectors whose members are declared alike become one row."""
    groups: list[list[VariableDecl]] = []
    for decl in system.variables.values():
        base, kind = decl.name.split("[")[0], (decl.lower, decl.upper, decl.integral, decl.boolean, decl.unit)
        last = groups[-1][-1] if groups else None
        alike = last is not None and kind == (last.lower, last.upper, last.integral, last.boolean, last.unit)
        if last is not None and alike and "[" in decl.name and last.name.split("[")[0] == base:
            groups[-1].append(decl)
        else:
            groups.append([decl])
    return groups


def group_name(group: Sequence[VariableDecl]) -> str:
    """``cell[1..9]`` for a vector, else the name."""
    first, last = group[0].name, group[-1].name
    return first if len(group) == 1 else f"{first.rstrip(']')}..{last.partition('[')[2]}"


def kind_of(system: System, decl: VariableDecl) -> str:
    """Real, integer, Boolean, or a disturbance."""
    if decl.name in system.disturbances:
        return "disturbance"
    return "Boolean" if decl.boolean else "integer" if decl.integral else "real"


def initial_texts(system: System, most: int) -> list[str]:
    """The initial set in words, part by part, `most` parts of it."""
    regions = system.initial_set.regions
    texts = [region_text(system, region) for region in regions[:most]]
    if len(regions) > most:
        texts.append(f"and {len(regions) - most} more sets")
    if system.initial_condition is not TRUE:
        texts.append(f"where {to_short_text(system.initial_condition)}")
    return texts


def region_text(system: System, region: Region) -> str:
    """The box around a set of initial states, and the constraints that are more than a box."""
    box = bounding_box(system, region)
    if box is None:
        return "empty"

    def text(name: str, value: Fraction) -> str:
        labels = dict(system.variables[name].labels)
        return show_value(Value(name, value, labels.get(int(value), "") if value.denominator == 1 else ""))

    parts = []
    for column in state_columns(system.variables.values()):
        spans = {n: box[n] for n in column.names}
        heading = column.title
        if all(low == high for low, high in spans.values()):
            shown = column.show({n: Value(n, low) for n, (low, _) in spans.items()}) if column.group else ""
            parts.append(f"{heading} = {shown or text(column.names[0], spans[column.names[0]][0])}")
        elif not column.group:
            low, high = (text(column.names[0], v) for v in spans[column.names[0]])
            parts.append(f"{heading} in {low} .. {high}")
    more = [str(c) for c in region if len(c.expr.terms) > 1]
    return ", ".join([*parts, *more])


def quoted(*lines: str) -> str:
    """A label of several lines as a string of Graphviz: nothing in it is an escape or an end."""
    texts = ("".join(c if c.isprintable() else " " for c in line) for line in lines)
    return '"' + "\\n".join(text.replace("\\", "\\\\").replace('"', '\\"') for text in texts) + '"'
