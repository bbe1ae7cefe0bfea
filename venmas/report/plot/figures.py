"""All pictures of a result: what its scenario draws, states over time, and the tree of runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from venmas.errors import ScenarioError, UsageError
from venmas.model.system.system import System
from venmas.report.graph_picture import Picture
from venmas.report.plot import states, tree
from venmas.report.plot.panels import panels_of
from venmas.report.plot.style import FORMATS, WIDTH, new_figure, rendered, styled
from venmas.report.plot.trace import Trace, read_trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

log = logging.getLogger(__name__)

KINDS = ("picture", "states", "tree")
_LINE = 88


@dataclass(frozen=True)
class Part:
    """A picture to be drawn: `draw` fills a figure of `height` inches and returns a description."""

    kind: str
    title: str
    height: float
    draw: Callable[[Figure | SubFigure], str]


def figures(result: Mapping[str, Any], system: System | None) -> list[Picture]:
    """The pictures of a result (of verify, a bare witness, or a run of simulate); none where it has no witness.

    system: gives units, ranges and the scenario's own picture. A picture of a scenario that fails is left out with a
    warning. Raises `UsageError` for an object that is no result, a system that is not its own, and without matplotlib.
    """
    trace = read_trace(result, system)
    if trace is None:
        return []
    found = []
    with styled():
        for part in parts(trace):
            figure = new_figure(part.height)
            try:
                alt = part.draw(figure)
            except ScenarioError as error:
                log.warning("the picture of the scenario is left out: %s", error)
                continue
            title = _title(figure, part)
            found.append(Picture(title, alt, rendered(figure, "svg", title, alt).decode()))
    return found


def parts(trace: Trace, kinds: Sequence[str] = KINDS, only: Sequence[str] = ()) -> list[Part]:
    """What can be drawn of a trace, of the `kinds` asked for; `only` names the variables of the panels."""
    found = []
    hook = None if trace.system is None else trace.system.picture
    if hook is not None and "picture" in kinds:
        found.append(Part("picture", "Picture", 0.8 * WIDTH, lambda figure: _drawn(hook, figure, trace)))
    if "states" in kinds:
        panels = panels_of(trace, only)
        if panels.panels:
            name = "States over time"
            found.append(Part("states", name, states.height(panels), lambda f: states.draw_states(f, trace, panels)))
    if "tree" in kinds and not trace.is_path:
        layout = tree.laid_out(trace)
        found.append(Part("tree", "Tree of runs", tree.height(layout), lambda f: tree.draw_tree(f, trace, layout)))
    return found


def save(chosen: Sequence[Part], kind: str, title: str) -> bytes:
    """The parts one under the other in one file of the format `kind`. Raises what their drawing raises."""
    if kind not in FORMATS:
        raise UsageError(f"pictures are written as {', '.join(FORMATS)}; {kind!r} is none of these")
    with styled():
        figure = new_figure(sum(p.height for p in chosen) + 0.45)
        figure.suptitle(
            "\n".join(wrap(title, _LINE, max_lines=2, placeholder=" \u2026")), fontsize=9, x=0.01, ha="left"
        )
        rows = figure.subfigures(len(chosen), 1, squeeze=False, height_ratios=[p.height for p in chosen])[:, 0]
        told = [part.draw(row) for part, row in zip(chosen, rows, strict=True)]
        return rendered(figure, kind, title, " ".join(told))


def _drawn(hook: Callable[..., object], figure: Figure | SubFigure, trace: Trace) -> str:
    told = hook(figure, trace)
    return told if isinstance(told, str) else f"Picture of {trace.system.name if trace.system else 'the scenario'}."


def _title(figure: Figure, part: Part) -> str:
    """What the scenario calls its picture."""
    if part.kind != "picture":
        return part.title
    titles = [figure.get_suptitle(), *(ax.get_title("left") or ax.get_title() for ax in figure.axes)]
    return next((t for t in titles if t), part.title)
