"""Certificates of systems that are not piecewise linear: the tree of a proof, each leaf made to pass the checker.

The checker's integers are rounded otherwise than the floats of the search. A leaf that does not pass is enclosed more
finely, and then cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

from venmas.answer import IncompleteError
from venmas.checker.file import TUBES
from venmas.checker.flowpipes.tree import LIMITS, Box, Target, choice, halves, initial_box
from venmas.engine.certificates.file import Certificate, CertificateFile, Unwritten, header
from venmas.model.evaluation.cuts import Chosen, Cut, Fineness, Tree, Trees
from venmas.model.system.disturbances import Noise
from venmas.model.system.system import System
from venmas.question import Question, goals

BITS = 60
"""Values of certificates are in units of 2^-60."""
_CUTS = 40
"""Cuts above a leaf that are added here, at most."""


def certify_tubes(
    question: Question, proof: Trees, path: str | Path, about: Mapping[str, object], tick: Callable[[], None]
) -> Certificate | Unwritten:
    """Write the certificate of a bounded formula from the trees of its initial sets. about: for the header.

    Raises `IncompleteError` where a leaf does not pass however finely it is enclosed and cut.
    """
    system, chosen = question.system, question.chosen
    with CertificateFile(path) as file:
        head = header(replace(question, inside=True), about)
        noise = {"chosen": list(chosen)} if chosen else {}
        file.add({**head, **noise, "format": TUBES, "enclosures": {"domain": "affine", "bits": BITS}})
        asked = product(goals(system, question.formula, chosen), system.regions)
        for ((goal, able), region), tree in zip(asked, proof.trees, strict=True):
            box = initial_box(system, region)
            if box is not None:
                for line in _lines(Target(system, goal), able, box, tree or LEAST, tick):
                    file.add(line)
        return file.keep()


LEAST = Fineness(order=4, substeps=1, slices=1, symbols=20)
"""How finely a part is enclosed of which nothing is known."""


def _lines(
    target: Target, chosen: Noise, box: Box, tree: Tree, tick: Callable[[], None]
) -> Iterator[dict[str, object]]:
    """The lines about a box. chosen: the noise that may be."""
    names = list(target.system.variables)
    stack: list[tuple[Box, Tree, int]] = [(box, tree, 0)]
    known: list[int] = []
    while stack:
        tick()
        box, tree, added = stack.pop()
        if not isinstance(tree, Cut):
            noise, fine = (tree.values, tree.part) if isinstance(tree, Chosen) else ((), tree)
            part = choice(box, target.system, dict(zip(chosen, noise, strict=True))) if noise else box
            found = _passing(target, part, fine, known, tick)
            if isinstance(found, Fineness):
                if noise:
                    yield {"rule": "choose", "values": [str(value) for value in noise]}
                yield {"rule": "tube", **{name: value for name, value in asdict(found).items() if value}}
                continue
            if added == _CUTS:
                raise IncompleteError(f"a part of the initial states does not follow in integers: {found}")
            tree, added = _in_half(target.system, part, tree, found), added + 1
        index = names.index(tree.variable)
        low, high = halves(box, target.system, index, tree.at)
        stack += [(high, tree.high, added), (low, tree.low, added)]
        yield {"rule": "cut", "variable": index, "at": str(tree.at)}


def _passing(target: Target, box: Box, fine: Fineness, known: list[int], tick: Callable[[], None]) -> Fineness | str:
    """A fineness with which a box passes, or why it does not. known: how the last box that did was enclosed."""
    why = ""
    ladder = _ladder(fine, len(target.system.variables))
    for rung in (*known, *(rung for rung in range(len(ladder)) if rung not in known)):
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
