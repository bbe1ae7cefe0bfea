"""The format of certificates as its dataclasses have it: ``python -m tests.checker.format_docs`` writes it to the docs.

docs/certificate.schema.json has a form for the header and for each rule; docs/certificates.md a row for each rule.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from venmas.checker import file
from venmas.checker.format.fields import Limit, Number, key_of, plain_type, power
from venmas.checker.format.header import Header
from venmas.checker.format.rule import RULES, Rule

for _module in (*(kind.module for kind in file.KINDS.values()), file.NETLISTS):
    import_module(_module)  # registers its rules

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA, PAGE = DOCS / "certificate.schema.json", DOCS / "certificates.md"
BEGIN, END = "<!-- rules: python -m tests.checker.format_docs -->\n", "<!-- end of the rules -->\n"
NUMBER: dict[str, object] = {
    "type": "string",
    "maxLength": 100_000,
    "pattern": "^(-?[0-9]+(/[0-9]+)?|#-?[0-9a-f]+(/[0-9a-f]+)?)$",
}
SUBJECT = {
    "oneOf": [
        {
            "type": "object",
            "required": ["system", "networks"],
            "additionalProperties": False,
            "properties": {
                "system": {
                    "description": "The canonical form of docs/system.md.",
                    "type": "object",
                    "required": ["format", "name", "variables", "nodes", "branches", "initial"],
                },
                "networks": {"type": "array", "items": {"type": "string", "pattern": "^[0-9a-f]{64}$"}},
            },
        },
        {
            "type": "object",
            "required": ["netlist"],
            "additionalProperties": False,
            "properties": {"netlist": {"type": "string"}},
        },
    ]
}
TOLD = {"Derivations"}  # parts whose table is the only place on the page that says what a rule shows
ROOMS = {
    "format": "All",
    "goals": "Goals",
    "inductive": "Inductive sets, and two phases",
    "flowpipes": "Flowpipes",
    "covers": "Covers",
    "forever": "Derivations",
    "netlists": "Linear temporal logic",
    "levels": "Linear temporal logic",
}


def form(hint: Any) -> dict[str, object]:
    """The schema of a type."""
    if hint == Number:
        return NUMBER
    hint, limit = plain_type(hint)
    origin, args = get_origin(hint), get_args(hint)
    ends = {"minimum": limit.least, "maximum": limit.most}
    sizes = {"minItems": limit.least, "maxItems": limit.most}
    if hint is int:
        return _with({"type": "integer"}, ends)
    if hint is str:
        return _with({"type": "string"}, {"maxLength": limit.most})
    if hint is bool:
        return {"type": "boolean"}
    if hint is object:
        return {}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is np.ndarray:
        return {"type": "array", "items": _with({"type": "integer"}, ends)}
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return _with({"type": "array", "items": form(args[0])}, sizes)
    if origin is tuple:
        return _fixed(args)
    if isinstance(hint, type) and issubclass(hint, tuple):
        return _fixed(tuple(get_type_hints(hint, include_extras=True).values()))
    if is_dataclass(hint) and isinstance(hint, type):
        return record(hint)
    if args and args[-1] is NoneType:
        return {"oneOf": [form(args[0]), {"type": "null"}]}
    assert origin is not None and issubclass(origin, Mapping), hint
    return {"type": "object"}


def record(kind: type, rule: str = "") -> dict[str, object]:
    """The schema of an object with the fields of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    named: dict[str, object] = {"rule": {"const": rule}} if rule else {}
    shapes = {key_of(f): form(hints[f.name]) for f in fields(kind)}
    needed = [key_of(f) for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
    return {
        "type": "object",
        "required": [*named, *needed],
        "additionalProperties": False,
        "properties": {**named, **shapes},
    }


def schema() -> dict[str, object]:
    """All forms."""
    header = record(Header)
    header["properties"] |= {"proof": {"enum": [*file.KINDS, file.NETLIST]}, "subject": SUBJECT}  # type: ignore[operator]
    forms = {"header": header, **{name: _described(kind, record(kind, name)) for name, kind in registry().items()}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a venmas certificate",
        "description": "The first line is the header, the last an end; docs/certificates.md gives the meaning.",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in forms],
        "$defs": forms,
    }


def registry() -> dict[str, type[Rule]]:
    """The rules of VenMAS by name, by the kind of proof."""
    rooms = list(ROOMS)
    mine = {name: kind for name, kind in RULES.items() if kind.__module__.startswith("venmas.checker.")}
    return dict(sorted(mine.items(), key=lambda pair: (rooms.index(room(pair[1])), pair[1].__module__)))


def room(kind: type[Rule]) -> str:
    """The room of a rule."""
    return kind.__module__.split(".")[2]


def table() -> str:
    """The rules as rows of a page."""
    rows, before = [], ""
    for name, kind in registry().items():
        title = ROOMS[room(kind)]
        if title != before:
            once = shared(title)
            types = f" Types of entries in several rules: {', '.join(map(' '.join, once.items()))}." if once else ""
            head = (
                ["| rule | entries | says |", "|---|---|---|"] if title in TOLD else ["| rule | entries |", "|---|---|"]
            )
            rows += [*([""] if rows else []), f"*{title}.*{types}", "", *head]
            before = title
        entries = ", ".join(
            f"{key}{_left_out(f)}" + ("" if key in once else f" {hint}") for f, key, hint in _entries(kind)
        )
        rows.append(f"| `{name}` | {entries or 'none'} |" + (f" {_first(kind)} |" if title in TOLD else ""))
    return "\n".join(rows) + "\n"


def shared(title: str) -> dict[str, str]:
    """Types of the entries that four rules or more of a part of the table have, all of one type."""
    found: dict[str, list[str]] = {}
    for kind in registry().values():
        if ROOMS[room(kind)] == title:
            for _, key, hint in _entries(kind):
                found.setdefault(key, []).append(hint)
    return {key: hints[0] for key, hints in found.items() if len(hints) > 3 and len(set(hints)) == 1}


def _entries(kind: type[Rule]) -> list[tuple[Any, str, str]]:
    """Of each entry its field, its key and its type, as the table has them."""
    hints = get_type_hints(kind, include_extras=True)
    return [(f, f"`{key_of(f)}`", said(hints[f.name])) for f in fields(kind)]


def said(hint: Any) -> str:
    """A type in a few characters; the schema has the limits of sizes."""
    if hint == Number:
        return "number"
    hint, limit = plain_type(hint)
    origin, args = get_origin(hint), get_args(hint)
    if hint is int:
        return "count" if limit == Limit(least=0) else "int" if limit == Limit() else _ends(limit)
    if hint in (str, bool, object):
        return {str: "text", bool: "truth", object: "token"}[hint]
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in args)
    if origin is np.ndarray:
        return f"[{said(Annotated[int, limit])}]"
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return f"[{said(args[0])}]"
    if isinstance(hint, type) and issubclass(hint, tuple):
        args = tuple(get_type_hints(hint, include_extras=True).values())
    if args and args[-1] is NoneType:
        return f"{said(args[0])} or null"
    return f"({', '.join(said(part) for part in args)})"


def _ends(limit: Limit) -> str:
    low, high = ("" if end is None else power(end) for end in (limit.least, limit.most))
    return f"{low}..{high}"


def page() -> str:
    """The page with its table."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.partition(END)[2]


def _first(kind: type[Rule]) -> str:
    text = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
    return re.sub(r"``(.+?)``", r"`\1`", text).replace("|", "\\|")


def _left_out(field: Any) -> str:
    return "" if field.default is MISSING else "?"


def _described(kind: type[Rule], shape: dict[str, object]) -> dict[str, object]:
    return {"description": _first(kind).replace("`", ""), **shape}


def _fixed(hints: tuple[Any, ...]) -> dict[str, object]:
    return {"type": "array", "prefixItems": [form(h) for h in hints], "minItems": len(hints), "items": False}


def _with(shape: dict[str, object], more: Mapping[str, object]) -> dict[str, object]:
    return shape | {key: value for key, value in more.items() if value is not None}


def as_text(value: dict[str, object]) -> str:
    """JSON, a form a paragraph."""
    text = json.dumps({**value, "$defs": None}, indent=2)
    forms = ",\n".join(f'    "{name}": {json.dumps(shape)}' for name, shape in value["$defs"].items())  # type: ignore[attr-defined]
    return text.replace('"$defs": null', '"$defs": {\n' + forms + "\n  }") + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(as_text(schema()))
    PAGE.write_text(page())
