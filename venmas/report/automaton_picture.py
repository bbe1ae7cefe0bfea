"""A small automaton as SVG: states in a row, edges as arcs, forward ones above and backward ones below."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from venmas.logic.automata.automaton import Automaton
from venmas.report.graph_picture import Picture

_MOST_STATES, _MOST_EDGES, _MOST_LABEL = 10, 40, 48
_SIZE, _LINE, _RISE = 16, 15, 42
_LETTER = 6.2
"""Width of a letter; pictures need no fonts to be laid out."""
_STYLE = (
    "text{font:11px sans-serif;text-anchor:middle;fill:#222}path{stroke:#667;fill:none}circle{fill:#eef3fb;stroke:#345}"
)


def automaton_picture(automaton: Automaton, title: str) -> Picture | None:
    """The picture; None for more states or edges than can be told apart."""
    if automaton.states > _MOST_STATES or len(automaton.edges) > _MOST_EDGES:
        return None
    labels: dict[tuple[int, int], list[str]] = {}
    for edge in automaton.edges:
        marks = " ".join(str(i) for i in range(automaton.marks) if edge.marks >> i & 1)
        text = automaton.label_text(edge.label)
        text = text if len(text) <= _MOST_LABEL else f"{text[:_MOST_LABEL]}..."
        labels.setdefault((edge.source, edge.target), []).append(f"{text} {{{marks}}}" if marks else text)
    widest = max((len(text) for one in labels.values() for text in one), default=0)
    gap = max(90.0, widest * _LETTER + 2 * _SIZE)
    above, below = _heights(labels)
    wide, high = 2 * 60 + gap * max(automaton.states, 2) - gap / 2, above + below + 2 * _SIZE + 30
    row = above + _SIZE + 10
    place = [80 + gap / 2 + state * gap for state in range(automaton.states)]
    parts = [f'<path d="M{place[0] - 60:g} {row:g}H{place[0] - _SIZE - 3:g}" marker-end="url(#a)"/>']
    for (source, target), texts in labels.items():
        parts += _edge(place[source], place[target], row, texts, abs(source - target))
    for state, x in enumerate(place):
        parts.append(f'<circle cx="{x:g}" cy="{row:g}" r="{_SIZE}"/><text x="{x:g}" y="{row + 4:g}">{state}</text>')
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" width="{wide:g}" height="{high:g}">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
        '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#667;stroke:none"/></marker></defs>' + "".join(parts) + "</svg>"
    )
    alt = f"An automaton of {automaton.states} states, the first of them initial, with {len(automaton.edges)} edges."
    return Picture(title, alt, svg)


def _heights(labels: dict[tuple[int, int], list[str]]) -> tuple[float, float]:
    """Room above and below the row of states."""
    above, below = 30.0, 10.0
    for (source, target), texts in labels.items():
        need = _RISE * max(1, abs(source - target)) + _LINE * len(texts)
        if target < source:
            below = max(below, need)
        else:
            above = max(above, need)
    return above, below


def _edge(start: float, end: float, row: float, texts: list[str], distance: int) -> Iterator[str]:
    sign = 1 if end < start else -1
    peak = row + sign * (_SIZE + _RISE * max(1, distance) * 0.75)
    turn = row + sign * (_SIZE + _RISE * max(1, distance))
    if distance == 0:
        y = row - _SIZE
        path = f"M{start - 7:g} {y:g}C{start - 24:g} {turn:g} {start + 24:g} {turn:g} {start + 7:g} {y:g}"
    else:
        side = 8 if end > start else -8
        a, b, y = start + side, end - side, row + sign * (_SIZE - 2)
        path = f"M{a:g} {y:g}C{a:g} {turn:g} {b:g} {turn:g} {b:g} {y:g}"
    yield f'<path d="{path}" marker-end="url(#a)"/>'
    for at, text in enumerate(texts):
        y = peak + sign * (_LINE * at + 6) + (8 if sign > 0 else 0)
        yield f'<text x="{(start + end) / 2:g}" y="{y:g}">{escape(text)}</text>'
