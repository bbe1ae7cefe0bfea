"""Reach sets of smooth systems: flowpipes from the parts of the initial boxes, cut where they move states most.

parts := the boxes of the initial regions, at level l in 2^l parts each, enclosed the more finely the greater l is
for each step: the ends of each direction over the affine forms of all parts
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import UnionType

import numpy as np

from venmas.bounds.affine.pieces import suited
from venmas.bounds.affine.step import unknown
from venmas.bounds.affine.tube import Tube
from venmas.checker.exact.initial import initial_box
from venmas.logic.linear import LinearExpr
from venmas.model.evaluation.cuts import Fineness
from venmas.model.expressions.expr import ArgMax, Condition, Expr, Where
from venmas.model.expressions.smooth_nodes import Extremum
from venmas.model.expressions.walk import walk
from venmas.model.system.disturbances import ahead, noise_of
from venmas.model.system.networks import networks_of
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.procedures.flowpipes.tree import USUAL, Tree, ladder
from venmas.procedures.reach import Layer
from venmas.question import Question

_FINEST = 10
_FAR, _WIDE = 20, 4
"""Steps and variables from which on choices of a policy are tried as affine laws."""
_PIECES = 32
"""Pieces of the box of a network's inputs."""
_VARIABLES, _BRANCHES = 64, 32
"""Variables that are not noise, and branches, of a piecewise linear system, at most."""


def unfollowed(system: System) -> str | None:
    """Why flowpipes do not follow the runs of a system; None where they do."""
    parts: list[tuple[str, Expr | Condition]] = []
    for branch in system.branches:
        parts.append((f"guard in branch {branch.name!r}", branch.guard))
        parts += [(f"update of {name!r} in branch {branch.name!r}", expr) for name, expr in branch.updates]
    if unknown(*(node for _, node in parts)) is None:  # what they share is looked at once
        return None
    where, kind = next((where, kind) for where, node in parts if (kind := unknown(node)))
    return f"the {where} has a {kind}, which it does not enclose"


def unsuited(question: Question) -> str | None:
    """Why a question about a piecewise linear system is left to others."""
    system = question.system
    if not question.target.depth:
        return "it is about the present state only"
    open_ = [decl for name, decl in system.variables.items() if not ahead(name)]
    if len(open_) > _VARIABLES or len(system.branches) > _BRANCHES:
        return f"the system has more than {_VARIABLES} variables or {_BRANCHES} branches"
    return "all variables are integers" if all(decl.integral for decl in open_) else None


def forks(system: System) -> bool:
    """Are there choices in its steps that a set of states may leave open?"""
    return _chosen(system, ArgMax | Where)


def _chosen(system: System, kinds: type | UnionType) -> bool:
    """Are there such choices in its steps?"""
    return any(isinstance(node, kinds) for b in system.branches for node in walk([e for _, e in b.updates]))


def pieces(question: Question) -> int:
    """Pieces of the inputs of networks, 0 where there are no small ones; the checker knows none, nor does float32.

    Scores that an argmax compares keep DeepZ's symbols, which they share.
    """
    if question.certified or question.semantics == "float32" or _chosen(question.system, ArgMax):
        return 0
    return _PIECES if any(map(suited, networks_of(question.system).values())) else 0


def recorded(system: System) -> frozenset[str]:
    """The variables that record what is between steps."""
    return frozenset(n for branch in system.branches for n, e in branch.updates if isinstance(e, Extremum))


def lawful(system: System, steps: int) -> bool:
    """Are choices of a policy tried as affine laws? Fewer variables are left to cells, short runs to sets that fork."""
    noise = noise_of(system)
    moving = [n for n, decl in system.variables.items() if n not in noise and not decl.integral]
    if len(system.branches) > 1 or steps < _FAR or len(moving) < _WIDE:
        return False
    return _chosen(system, ArgMax)


class FlowpipeLayers:
    """The source."""

    name = "flowpipes"
    help = "Affine forms over all steps, of systems that are not piecewise linear, part by part of the initial set."
    finest = _FINEST
    smooth = True

    def accepts(self, system: System) -> str | None:
        """Systems with smooth parts."""
        return unfollowed(system) if system.smooth else "it is for systems that are not piecewise linear"

    def layers(
        self, system: System, directions: Sequence[LinearExpr], steps: int, level: int, tick: Callable[[], None]
    ) -> Iterator[Layer]:
        """See `Source`."""
        levels = ladder(recorded=True, several=len(system.branches) > 1 or forks(system))
        usual = min(level, USUAL - 1)
        boxes: list[Box] = []
        for region in system.regions:
            if (found := initial_box(system, region)) is not None:
                whole = dict(zip(system.variables, found, strict=True))
                boxes += _parts(system, whole, level)
        if not boxes:
            for _ in range(steps + 1):
                yield Layer.nothing(len(directions))
            return
        tube = Tube(system, boxes, levels[usual])
        for step in range(steps + 1):
            tick()
            if step:
                tube = _advanced(tube, levels[usual + 1 :])
            if not tube.ring.size:  # no state has a successor
                yield Layer.nothing(len(directions))
                continue
            with np.errstate(all="ignore"):  # what overflows says nothing
                forms = [tube.ring.combine([(c, tube.state[n]) for n, c in d.terms], d.constant) for d in directions]
                ends = [form.ends for form in forms]
            low, high = (np.stack(side) for side in zip(*ends, strict=True))  # (D, B)
            nothing = tube.ring.broken | np.isnan(low).any(0) | np.isnan(high).any(0)
            low, high = np.where(nothing, -np.inf, low), np.where(nothing, np.inf, high)
            yield Layer.around(low.min(1), high.max(1), may_leave=_leaves(system, tube, step))


def _advanced(tube: Tube, finer: Sequence[Fineness]) -> Tube:
    """After one more step, with more substeps where a flow is not shown to exist with fewer; with a few more than that,
    as it is only just shown to exist then."""
    lost, margin = tube.ring.broken.any(), False
    for fine in (tube.fine, *(one for one in finer if one.substeps > tube.fine.substeps)):
        found = tube.again(fine)
        found.advance()
        if lost or margin or (fine is tube.fine and not found.ring.broken.any()):
            break
        margin = not found.ring.broken.any()
    return found


def exist(tube: Tube, steps: int) -> bool:
    """Do all runs exist for so many steps, as far as their enclosures tell?"""
    for _ in range(steps):
        if tube.ring.size and not tube.ring.broken.any():
            tube.advance()
    return not tube.ring.broken.any()


def _leaves(system: System, tube: Tube, step: int) -> bool:
    """May a run have left its declared range here?"""
    if tube.ring.broken.any():
        return True
    decls = system.variables
    ends = tube.ends().items() if step else ()
    return any(not (decls[n].lower <= lo.min() and hi.max() <= decls[n].upper) for n, (lo, hi) in ends)


def _parts(system: System, box: Box, level: int) -> list[Box]:
    """A box in 2^level parts, across the side that is the longest part of its declared range."""
    decls, parts = system.variables, [box]
    for _ in range(level):
        cut: list[Box] = []
        for part in parts:
            share = {n: (b - a) / (decls[n].upper - decls[n].lower) for n, (a, b) in part.items() if b > a}
            if not share:
                cut.append(part)
                continue
            axis = max(share, key=lambda n: share[n])
            cut += [half for _, half in Tree(part).split(system, 0, part, axis)]
        parts = cut
    return parts


FLOWPIPES = FlowpipeLayers()
