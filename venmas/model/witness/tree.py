"""The witness of a violation (design S8): as much of the tree of runs as the negated formula speaks about.

The tree is stored as a list of nodes in which parents come before children, so that shared states are stored once and
nothing recurses. Numbers are exact; floats in the JSON form are for reading and are ignored when it is read back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from venmas.errors import UsageError
from venmas.runtime.display import Shown, written

_WHOLE = r"(0x[0-9a-f]{1,40000}|[0-9]{1,4000})"  # reducing a quotient takes time that is quadratic in its length
_RATIONAL = re.compile(rf"-?{_WHOLE}(/{_WHOLE})?")
_MAX_DECIMAL_BITS = 10_000  # Python refuses to write longer integers as decimals


@dataclass(frozen=True)
class Value:
    """The value of a variable or of an agent's action, with its label where it has one.

    Where `radius` is not 0 it is a real number that lies within it of `exact`.
    """

    name: str
    exact: Fraction
    label: str = ""
    radius: Fraction = Fraction(0)


@dataclass(frozen=True)
class Measure:
    """An atom that helps to show the formula at a node, and how far inside the satisfied side it lies."""

    atom: str
    margin: Fraction


@dataclass(frozen=True)
class Node:
    """A state on the witness. `actions` are given where a step is taken; a deadlock has no successor at all."""

    state: tuple[Value, ...]
    actions: tuple[Value, ...] = ()
    atoms: tuple[Measure, ...] = ()
    children: tuple[tuple[str, int], ...] = ()
    deadlock: bool = False

    @property
    def point(self) -> dict[str, Fraction]:
        """The state by variable name."""
        return {v.name: v.exact for v in self.state}


@dataclass(frozen=True, repr=False)
class Witness(Shown):
    """Nodes, the initial state first; `children` of a node pair the name of a branch with the index of a later node.

    bits: the precision that shows it, where states are enclosed (`venmas.model.evaluation`); 0 where all are exact.
    stay: lines of a derivation (docs/certificates.md) that the negated property holds in its one state, where runs from
    there do not repeat; none where the nodes show it.
    """

    nodes: tuple[Node, ...]
    bits: int = 0
    stay: tuple[dict[str, Any], ...] = ()

    def __str__(self) -> str:
        return written(self)

    def __repr__(self) -> str:
        return f"<Witness: {len(self.nodes)} states, {'one run' if self.path else 'a tree of runs'}>"

    @property
    def initial(self) -> dict[str, Fraction]:
        """The initial state."""
        return self.nodes[0].point

    @property
    def path(self) -> tuple[Node, ...] | None:
        """The nodes in order when no node has two children, else None."""
        found = [self.nodes[0]]
        while found[-1].children:
            if len(found[-1].children) > 1:
                return None
            found.append(self.nodes[found[-1].children[0][1]])
        return tuple(found)

    @property
    def branches(self) -> tuple[str, ...] | None:
        """The branch taken at each step of a path, or None for a tree."""
        path = self.path
        return None if path is None else tuple(node.children[0][0] for node in path[:-1])

    @property
    def margin(self) -> Fraction | None:
        """The smallest margin of any atom, or None when no atom is involved."""
        return min((m.margin for node in self.nodes for m in node.atoms), default=None)

    @property
    def deadlocks(self) -> tuple[int, ...]:
        """Indices of nodes without successors."""
        return tuple(i for i, node in enumerate(self.nodes) if node.deadlock)

    def to_json(self) -> dict[str, Any]:
        """An object with `initial`, `margin`, and `steps` (a path) or `tree` (a list of nodes); the other is None."""
        path = self.path
        steps = tree = None
        if path is not None:
            names = [*(node.children[0][0] for node in path[:-1]), None]
            steps = [_node_json(node) | {"branch": name} for node, name in zip(path, names, strict=True)]
        else:
            tree = [_node_json(node) | {"children": dict(node.children)} for node in self.nodes]
        margin = None if self.margin is None else number_json(self.margin)
        data = {"initial": _values_json(self.nodes[0].state), "margin": margin, "steps": steps, "tree": tree}
        data |= {"stay": list(self.stay)} if self.stay else {}
        return data | ({"bits": self.bits} if self.bits else {})

    @staticmethod
    def from_json(data: object) -> Witness:
        """Read what `to_json` wrote. Raises `UsageError` that names the place where it is not of that form."""
        steps = _get(data, "steps", list | None, "witness")
        nodes = []
        if steps is not None:
            for i, item in enumerate(steps):
                where = f"witness, step {i}"
                branch = _get(item, "branch", str | None, where)
                if (branch is None) != (i == len(steps) - 1):
                    raise UsageError(f"{where}: every step but the last names its branch")
                nodes.append(_read_node(item, where, () if branch is None else ((branch, i + 1),)))
        else:
            for i, item in enumerate(_get(data, "tree", list, "witness")):
                where = f"witness, node {i} of the tree"
                children = tuple(_get(item, "children", dict, where).items())
                nodes.append(_read_node(item, where, children))
        if not nodes:
            raise UsageError("witness: it has no states")
        for i, node in enumerate(nodes):
            for branch, child in node.children:
                if type(child) is not int or not i < child < len(nodes):
                    raise UsageError(f"witness, node {i}: branch {branch!r} must lead to the index of a later node")
        if _read_values(_get(data, "initial", dict, "witness"), "witness, initial") != nodes[0].state:
            raise UsageError("witness: `initial` differs from the state of the first step")
        bits = _get(data, "bits", int, "witness") if isinstance(data, dict) and "bits" in data else 0
        stay = _get(data, "stay", list, "witness") if isinstance(data, dict) and "stay" in data else []
        if not all(isinstance(line, dict) for line in stay):
            raise UsageError("witness, stay: expected the lines of a derivation, an object each")
        return Witness(tuple(nodes), bits, tuple(stay))


def number_json(value: Fraction) -> dict[str, Any]:
    """An exact number as text "p/q" (hexadecimal where decimals would be too long) and a float for reading."""
    parts = [value.numerator] if value.denominator == 1 else [value.numerator, value.denominator]
    text = "/".join(str(p) if p.bit_length() <= _MAX_DECIMAL_BITS else hex(p) for p in parts)
    return {"exact": text, "float": float(value)}


def read_number(text: str, where: str) -> Fraction:
    """The rational that "p/q" writes. Raises `UsageError`."""
    if not _RATIONAL.fullmatch(text):
        raise UsageError(f'{where}: expected an exact number such as "-3909/40", got {text[:60]!r}')
    top, _, bottom = text.partition("/")
    numerator, denominator = (int(p, 16 if "0x" in p else 10) for p in (top, bottom or "1"))
    if denominator == 0:
        raise UsageError(f"{where}: the denominator of {text[:60]!r} is 0")
    return Fraction(numerator, denominator)


def _values_json(values: tuple[Value, ...]) -> dict[str, Any]:
    return {
        v.name: number_json(v.exact)
        | ({"label": v.label} if v.label else {})
        | ({"radius": number_json(v.radius)} if v.radius else {})
        for v in values
    }


def _node_json(node: Node) -> dict[str, Any]:
    return {
        "state": _values_json(node.state),
        "actions": _values_json(node.actions),
        "atoms": [{"atom": m.atom, "margin": number_json(m.margin)} for m in node.atoms],
        "deadlock": node.deadlock,
    }


def _read_node(item: object, where: str, children: tuple[tuple[str, int], ...]) -> Node:
    return Node(
        state=_read_values(_get(item, "state", dict, where), where),
        actions=_read_values(_get(item, "actions", dict, where), where),
        atoms=tuple(
            Measure(_get(a, "atom", str, where), _read_exact(_get(a, "margin", dict, where), f"{where}, margin"))
            for a in _get(item, "atoms", list, where)
        ),
        children=children,
        deadlock=_get(item, "deadlock", bool, where),
    )


def _read_values(data: Mapping[str, Any], where: str) -> tuple[Value, ...]:
    found = []
    for name, item in data.items():
        at = f"{where}, {name}"
        exact = _read_exact(item, at)
        label = _get(item, "label", str, at) if "label" in item else ""
        radius = _read_exact(_get(item, "radius", dict, at), f"{at}, radius") if "radius" in item else Fraction(0)
        if radius < 0:
            raise UsageError(f"{at}: a radius is not negative")
        found.append(Value(name, exact, label, radius))
    return tuple(found)


def _read_exact(item: object, where: str) -> Fraction:
    return read_number(_get(item, "exact", str, where), where)


def _get(data: object, key: str, kind: Any, where: str) -> Any:
    if not isinstance(data, dict) or key not in data:
        raise UsageError(f"{where}: expected an object with {key!r}, as written by --witness")
    if not isinstance(data[key], kind):
        raise UsageError(f"{where}: {key!r} has the wrong type {type(data[key]).__name__}")
    return data[key]
