"""Lines of a proof by flowpipes: each leaf of the tree of the search made to pass the checker.

The checker's integers are rounded otherwise than the floats of the search. A leaf that does not pass is enclosed more
finely, and then cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from venmas.answer import IncompleteError
from venmas.checker.exact.initial import Box, initial_box
from venmas.checker.flowpipes.target import LIMITS, Target
from venmas.checker.flowpipes.tree import Choose, Enclosures, Tube, choice, halves
from venmas.checker.flowpipes.tree import Cut as CutLine
from venmas.checker.format.cuts import leaves
from venmas.checker.format.rule import Rule
from venmas.model.evaluation.cuts import Chosen, Cut, Fineness, Tree
from venmas.model.system.disturbances import Noise, ahead
from venmas.model.system.system import System
from venmas.question import Question, goals

BITS = 60
"""Values of certificates are in units of 2^-60."""
_CUTS = 40
"""Cuts above a leaf that are added here, at most."""
LEAST = Fineness(order=4, substeps=1, slices=1, symbols=20)
"""How finely a part is enclosed of which nothing is known."""


Asked: TypeAlias = tuple[Target, Noise, Box | None]
"""A target that no state of a box may meet, with the noise that may be chosen; None where there is no state."""


def asked(question: Question) -> list[Asked]:
    """Each goal in each initial set, in the order of the trees."""
    system = question.system
    boxes = [initial_box(system, region) for region in system.regions]
    about = [
        (Target(system, goal, question.semantics), noise)
        for goal, noise in goals(system, question.formula, question.chosen)
    ]
    return [(target, noise, box) for (target, noise), box in product(about, boxes)]


def lines(trees: tuple[Tree | None, ...], parts: Sequence[Asked], tick: Callable[[], None]) -> Iterator[Rule]:
    """The unit of values, and the trees."""
    yield Enclosures(BITS)
    for (target, noise, box), tree in zip(parts, trees, strict=True):
        if box is not None:
            yield from _lines(target, noise, box, tree or LEAST, tick)


@dataclass(frozen=True)
class _Part:
    """A box, its tree, and how many cuts above it were added here."""

    box: Box
    tree: Tree
    added: int = 0


def _lines(target: Target, chosen: Noise, box: Box, tree: Tree, tick: Callable[[], None]) -> Iterator[Rule]:
    """The lines about a box. chosen: the noise that may be."""
    system, known, made = target.system, list[int](), list[Rule]()

    def parts(part: _Part, _: int) -> Sequence[_Part]:
        tick()
        tree, added = part.tree, part.added
        if not isinstance(tree, Cut):
            noise, fine = (tree.values, tree.part) if isinstance(tree, Chosen) else ((), tree)
            box = choice(part.box, system, dict(zip(chosen, noise, strict=True))) if noise else part.box
            found = _passing(target, box, fine, known, tick)
            if isinstance(found, Fineness):
                made.extend([Choose(tuple(map(str, noise)))] if noise else [])
                made.append(Tube(found.order, found.substeps, found.slices, found.symbols, found.sets))
                return ()
            if added == _CUTS:
                raise IncompleteError(f"a part of the initial states does not follow in integers: {found}")
            tree, added = _in_half(system, box, tree, found), added + 1
        index = list(system.variables).index(tree.variable)
        made.append(CutLine(index, str(tree.at)))
        low, high = halves(part.box, system, index, tree.at)
        return _Part(low, tree.low, added), _Part(high, tree.high, added)

    for _ in leaves(_Part(box, tree), parts):
        yield from made
        made.clear()


def _passing(target: Target, box: Box, fine: Fineness, known: list[int], tick: Callable[[], None]) -> Fineness | str:
    """A fineness with which a box passes, or why it does not. known: how the last box that did was enclosed; coarser
    enclosures are not tried any more."""
    why = ""
    ladder = _ladder(fine, sum(not ahead(name) for name in target.system.variables))
    for rung in range(known[0] if known else 0, len(ladder)):
        tick()
        found = target.open_in(box, BITS, ladder[rung])
        if found is None:
            known[:] = [rung]
            return ladder[rung]
        why = found
    return why


def _ladder(fine: Fineness, variables: int) -> list[Fineness]:
    """Finer and finer enclosures. Symbols are those of a variable in the search, and of all in certificates."""
    return [
        replace(
            fine,
            substeps=min(factor * fine.substeps, LIMITS.substeps),
            slices=min(factor * fine.slices, LIMITS.slices),
            symbols=min(symbols * fine.symbols, LIMITS.symbols),
            sets=min(factor * fine.sets, LIMITS.sets),
        )
        for factor, symbols in ((1, 1), (1, max(variables, 2)), (2, 2), (4, 4))
    ]


def _in_half(system: System, box: Box, leaf: Chosen | Fineness, why: str) -> Cut:
    """The box cut across its longest side, as a part of the declared range. Raises `IncompleteError` for a point."""
    decls = list(system.variables.values())
    lengths = [(b - a) / (d.upper - d.lower) if b > a else 0 for d, (a, b) in zip(decls, box, strict=True)]
    index = lengths.index(max(lengths))
    if not lengths[index]:
        raise IncompleteError(f"an initial state does not follow in integers: {why}")
    low, high = box[index]
    return Cut(decls[index].name, (low + high) / 2, leaf, leaf)
