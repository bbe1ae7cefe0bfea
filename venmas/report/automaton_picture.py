"""A small automaton as SVG: states in a row, edges as arcs, forward ones above and backward ones below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from venmas.ltl.automaton import Automaton
from venmas.report.graph_picture import Picture

_MOST_STATES, _MOST_EDGES, _MOST_LABEL = 10, 40, 48
_SIZE, _LINE, _RISE = 16, 15, 42
_LETTER = 6.2
"""Width of a letter; pictures need no fonts to be laid out."""
_STYLE = (
    "text{font:11px sans-serif;text-anchor:middle;fill:#222;stroke:#fff;stroke-width:3px;paint-order:stroke}"
    "path{stroke:#667;fill:none}circle{fill:#eef3fb;stroke:#345}"
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
    place = [80 + gap / 2 + state * gap for state in range(automaton.states)]
    texts_at = _placed(labels, place)
    above = max([30.0, *(_LINE - y for _, y, _ in texts_at), *(_SIZE + _rise(a, b) for a, b in labels if a <= b)])
    below = max([10.0, *(y + _LINE for _, y, _ in texts_at), *(_SIZE + _rise(a, b) for a, b in labels if a > b)])
    wide = max([place[-1] + 60, *(x + len(text) * _LETTER / 2 + 10 for x, _, text in texts_at)])
    high, row = above + below + 20, above + 10
    parts = [f'<path d="M{place[0] - 60:g} {row:g}H{place[0] - _SIZE - 3:g}" marker-end="url(#a)"/>']
    parts += [_edge(place[source], place[target], row, _rise(source, target)) for source, target in labels]
    parts += [f'<text x="{x:g}" y="{row + y:g}">{escape(text)}</text>' for x, y, text in texts_at]
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


def _rise(source: int, target: int) -> int:
    """How far an edge goes away from the row of states."""
    return _RISE * max(1, abs(source - target))


def _placed(labels: Mapping[tuple[int, int], list[str]], place: Sequence[float]) -> list[tuple[float, float, str]]:
    """The labels with the middle of each, y from the row of states; one that would lie on another moves outward."""
    found: list[tuple[float, float, str]] = []
    for (source, target), texts in sorted(labels.items(), key=lambda item: abs(item[0][0] - item[0][1])):
        sign, x = (1 if target < source else -1), (place[source] + place[target]) / 2
        y = sign * (_SIZE + _rise(source, target) * 0.75 + 6) + (8 if sign > 0 else 0)
        for text in texts:
            while any(
                abs(y - other) < _LINE and abs(x - at) < (len(text) + len(one)) * _LETTER / 2 + _LETTER
                for at, other, one in found
            ):
                y += sign * _LINE
            found.append((x, y, text))
    return found


def _edge(start: float, end: float, row: float, rise: int) -> str:
    sign = 1 if end < start else -1
    turn = row + sign * (_SIZE + rise)
    if start == end:
        y = row - _SIZE
        path = f"M{start - 7:g} {y:g}C{start - 24:g} {turn:g} {start + 24:g} {turn:g} {start + 7:g} {y:g}"
    else:
        side = 8 if end > start else -8
        a, b, y = start + side, end - side, row + sign * (_SIZE - 2)
        path = f"M{a:g} {y:g}C{a:g} {turn:g} {b:g} {turn:g} {b:g} {y:g}"
    return f'<path d="{path}" marker-end="url(#a)"/>'
