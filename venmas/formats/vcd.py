"""Lassos as waveforms: Value Change Dump (IEEE 1364-2005, clause 18), as GTKWave and others show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from venmas.model.witness.lasso import Run

_TICKS = 10
"""Time of a step, ns."""
_FIRST, _CODES = 33, 94
"""Printable characters, of which identifiers are made."""


def to_vcd(run: Run, design: str = "") -> str:
    """The stem, and the loop twice, if there is one; `lasso.step` numbers the steps, `lasso.loop` is 1 in the loop.

    Scopes: `lasso`, `registers`, `inputs`, `signals`, and `property` with the conditions of the formula. Characters
    that cannot stand in a name are `_`.
    """
    size = len(run.states)
    begin = size if run.back is None else run.back
    order = [*range(size), *range(begin, size)]
    comment = "broken whatever comes" if run.back is None else f"the loop begins at step {run.back}, written twice"
    scopes: dict[str, list[tuple[str, int, list[int]]]] = {
        "lasso": [("step", 32, order), ("loop", 1, [int(at >= begin) for at in order])],
        "registers": [(name, run.widths[name], [int(run.states[at][name]) for at in order]) for name in run.states[0]],
        "inputs": [(name, run.widths[name], [run.inputs[at][name] for at in order]) for name in run.inputs[0]],
        "signals": [(name, run.widths[name], [run.signals[at][name] for at in order]) for name in run.signals[0]],
        "property": [(name, 1, [int(run.conditions[at][name]) for at in order]) for name in run.conditions[0]],
    }
    lines = [f"$comment {_one_word(design, 200) or 'a run'}: {comment} $end", "$timescale 1 ns $end"]
    signals: list[tuple[str, int, list[int]]] = []
    for scope, columns in scopes.items():
        if columns:
            lines.append(f"$scope module {scope} $end")
            for name, (_, width, values) in zip(_names([name for name, _, _ in columns]), columns, strict=True):
                code = _code(len(signals))
                signals.append((code, width, values))
                kind = "integer" if scope == "lasso" and width > 1 else "wire"
                lines.append(f"$var {kind} {width} {code} {name} $end")
            lines.append("$upscope $end")
    lines += ["$enddefinitions $end", *_changes(signals, len(order))]
    return "\n".join(lines) + "\n"


def _changes(signals: Sequence[tuple[str, int, list[int]]], steps: int) -> Iterator[str]:
    for at in range(steps):
        yield f"#{at * _TICKS}"
        if at == 0:
            yield "$dumpvars"
        for code, width, values in signals:
            if at == 0 or values[at] != values[at - 1]:
                yield f"{values[at]}{code}" if width == 1 else f"b{values[at]:b} {code}"
        if at == 0:
            yield "$end"
    yield f"#{steps * _TICKS}"


def _code(number: int) -> str:
    out = ""
    while True:
        number, digit = divmod(number, _CODES)
        out += chr(_FIRST + digit)
        if not number:
            return out


def _names(texts: Sequence[str]) -> list[str]:
    """Names without white space, all different."""
    names: dict[str, None] = {}
    for text in texts:
        name = _one_word(text.replace("#", "unnamed_", 1) if text.startswith("#") else text, 1000)
        while name in names or not name or name.startswith("$"):
            name = f"_{name}"
        names[name] = None
    return list(names)


def _one_word(text: str, most: int) -> str:
    return "".join(c if "!" <= c <= "~" else "_" if not c.isspace() else "" for c in text[:most])
