"""A small graph as SVG: layers by the distance from the initial states, each ordered by where its steps come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from venmas.procedures.predicate_abstraction.refinement.drawing import Drawn

_MOST_STATES, _MOST_LAYERS, _MOST_ROWS = 80, 16, 20
_WIDE, _HIGH, _SIZE = 78, 50, 13
_SWEEPS = 6
_STYLE = (
    "text{font:11px sans-serif;text-anchor:middle;fill:#222}"
    "line,path{stroke:#667;fill:none}.back{stroke-dasharray:4 3}"
    "circle{fill:#eef3fb;stroke:#345}.unsafe circle{fill:#f6c9c4;stroke:#a11}"
)


@dataclass(frozen=True)
class Picture:
    """A picture as a standalone ``<svg>`` element, its title, and what it shows, in words."""

    title: str
    alt: str
    svg: str


def picture_of(drawn: Drawn, title: str) -> Picture | None:
    """The picture; None for more states than can be told apart."""
    layers = _layers(drawn)
    if len(drawn.states) > _MOST_STATES or len(layers) > _MOST_LAYERS or max(map(len, layers)) > _MOST_ROWS:
        return None
    _order(layers, drawn)
    rows = max(map(len, layers))
    place = {
        state: (40 + x * _WIDE, 34 + (y + (rows - len(layer)) / 2) * _HIGH)
        for x, layer in enumerate(layers)
        for y, state in enumerate(layer)
    }
    parts = [_step(place[s], place[t]) for s, t, _ in drawn.steps]
    parts += [_state(i, *place[i], i < drawn.starts, i in drawn.unsafe) for i in range(len(drawn.states))]
    wide, high = max(80 + (len(layers) - 1) * _WIDE, 300), 68 + (rows - 1) * _HIGH
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high + 18}" width="{wide}" height="{high + 18}">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
        '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#667;stroke:none"/></marker></defs>'
        + "".join(parts)
        + f'<text x="{wide / 2}" y="{high + 10}">double ring: initial; red: unsafe; dashed: back</text></svg>'
    )
    alt = (
        f"A graph of {len(drawn.states)} abstract states, {drawn.starts} of them initial and {len(drawn.unsafe)} "
        f"unsafe, with {len(drawn.steps)} steps between them."
    )
    return Picture(title, alt, svg)


def _layers(drawn: Drawn) -> list[list[int]]:
    """States by the least number of steps from an initial one; those that no step leads to come last."""
    follows: dict[int, list[int]] = {}
    for s, t, _ in drawn.steps:
        follows.setdefault(s, []).append(t)
    seen, layer, layers = set(range(drawn.starts)), list(range(drawn.starts)), list[list[int]]()
    while layer:
        layers.append(layer)
        layer = list(dict.fromkeys(t for s in layer for t in follows.get(s, ()) if t not in seen))
        seen.update(layer)
    rest = [i for i in range(len(drawn.states)) if i not in seen]
    return [*layers, rest] if rest or not layers else layers


def _order(layers: list[list[int]], drawn: Drawn) -> None:
    """Order each layer by the mean place of its neighbours, some times over (Sugiyama, Tagawa, Toda 1981)."""
    near: dict[int, list[int]] = {}
    for s, t, _ in drawn.steps:
        near.setdefault(s, []).append(t)
        near.setdefault(t, []).append(s)
    place = {state: y / len(layer) for layer in layers for y, state in enumerate(layer)}
    for _ in range(_SWEEPS):
        for layer in layers:
            mean = {i: sum(place[j] for j in near.get(i, [i])) / len(near.get(i, [i])) for i in layer}
            layer.sort(key=lambda i: mean[i])
            place.update({state: y / len(layer) for y, state in enumerate(layer)})


def _state(number: int, x: float, y: float, initial: bool, unsafe: bool) -> str:
    ring = f'<circle cx="{x}" cy="{y:g}" r="{_SIZE + 3}"/>' if initial else ""
    kind = ' class="unsafe"' if unsafe else ""
    return f'<g{kind}>{ring}<circle cx="{x}" cy="{y:g}" r="{_SIZE}"/><text x="{x}" y="{y + 4:g}">{number}</text></g>'


def _step(start: tuple[float, float], end: tuple[float, float]) -> str:
    (a, b), (c, d) = start, end
    size = _SIZE + 4
    if start == end:
        return f'<path d="M{a - 5} {b - 14:g}C{a - 11} {b - 29:g} {a + 11} {b - 29:g} {a + 5} {b - 14:g}"/>'
    if c > a:
        return f'<line x1="{a + size}" y1="{b:g}" x2="{c - size}" y2="{d:g}" marker-end="url(#a)"/>'
    if c == a:
        sign = 1 if b < d else -1
        side, turn = a + sign * 12, a + sign * 30
        path = f"M{side} {b + sign * 8:g}C{turn} {b:g} {turn} {d:g} {side} {d - sign * 8:g}"
        return f'<path d="{path}" marker-end="url(#a)"/>'
    low = max(b, d) + 26
    path = f"M{a} {b + size:g}C{a} {low:g} {c} {low:g} {c} {d + size:g}"
    return f'<path class="back" d="{path}" marker-end="url(#a)"/>'
