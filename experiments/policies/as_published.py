"""Instances as the papers describe them (ICAPS 2022, appendix D): their starts, bounds and limits, by conditions.

Blocksworld: blocks stand on blocks of a greater number or on the table, at most n - 1 of them there (202 starts of 6
blocks, 4,139 of 8). SlidingTiles: within the groups of three, three and two, tiles are in the order of their numbers,
and one tile is not on the place that is unsafe (4,900 starts). Transport: ten places, fifteen packages, limit 1, truck
and packages before the bridge, some of which may be loaded already (11,767,536 starts). Costs end where the published
sweet spots, 0.4 and 0.56 of all predicates, say: at 12 and, for 8 blocks, at 8.

The policies are those of ``policies`` of the domains, which imitate planners for other starts (and for Transport
another limit): the published ones are not to be had, but for those in the data folder.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from experiments.domains import blocksworld, jani, puzzle, transport
from experiments.domains.jani import BOUND, FAILING, Json, binary, different, equal, every, least, some
from experiments.domains.make import KEPT, MANIFEST
from experiments.policies.instances import OUT, Instance, published

FOLDER = OUT / "as_published"
PLACES, PACKAGES, LIMIT = 10, 15, 1
UNSAFE_TILE, UNSAFE_PLACE = 8, 1
"""Of the choices for which there are 4,900 starts: the last tile of the group of two at the second place."""
WIDTHS = (16, 32, 64)


@dataclass(frozen=True)
class Published:
    """A task of the papers: files, the kept policies that are put to it, and values of constants."""

    name: str
    row: str
    kept: str
    model: Json
    start: Json
    unsafe: Json
    constants: dict[str, str]

    def write(self, folder: Path) -> Iterator[Instance]:
        """Its files, where they are not there as they are to be, and its instances."""
        place = folder / self.name
        goal = equal(self.model["variables"][0]["name"], 0)  # verification reads no goal
        jani.write(place / "model.jani", self.model)
        asked = jani.safety("safe", "16_16.jani2nnet", {"op": "state-condition", "exp": self.start}, self.unsafe, goal)
        jani.write(place / "property.jani", asked)
        for entry in json.loads((KEPT / self.kept / MANIFEST).read_text(encoding="utf-8"))["files"]:
            network, width = place / entry["file"], entry["file"].split("_")[0]
            shutil.copyfile(KEPT / self.kept / entry["file"], network)
            policy, hidden = network.with_suffix(".jani2nnet"), entry["architecture"][1:-1]
            jani.write(policy, jani.interface(network.name, hidden, entry["inputs"], entry["outputs"]))
            row, files = f"{self.row} {width}", (place / "model.jani", policy, place / "property.jani")
            yield Instance(row, *files, constants=self.constants, row=row)


def blocks(n: int, aware: bool) -> Published:
    """Blocksworld of n blocks."""
    kind = "aware" if aware else "ignoring"
    bound = 8 if n == 8 else 12
    return Published(
        f"blocks_{n}_{kind}", f"{n} Blocks {kind[:3]}", f"blocks_{n}_{kind}", blocksworld.model(n),
        stacks(n), least(n, "table-counter"), {BOUND: str(bound), FAILING: "0.5"},
    )  # fmt: skip


def stacks(n: int) -> Json:
    """Of two blocks the one above has the smaller number; some block is not on the table, the hand is empty.

    Each block that is not clear holds one block, so that as many are on the table as are clear.
    """
    on = {c: [(b, equal(f"block_{b}", blocksworld.on(b, c))) for b in range(c)] for c in range(n)}
    parts = [equal("hand-empty", 1), equal("step_cost", 0), *(equal(f"cost_block_{b}", 0) for b in range(n))]
    for b in range(n):
        above = (equal(f"block_{b}", blocksworld.on(b, c)) for c in range(b + 1, n))
        parts.append(some(equal(f"block_{b}", 1), *above))
    for c in range(n):
        held = [holds for _, holds in on[c]]
        parts += [not_both(held[i], held[j]) for i in range(len(held)) for j in range(i)]
        none = [different(holds["left"], holds["right"]) for holds in held]
        clear, covered = equal(f"clear_{c}", 1), equal(f"clear_{c}", 0)
        parts.append(some(every(clear, *none), every(covered, some(*held))) if held else clear)
    total: Json = "clear_0"
    for c in range(1, n):
        total = binary(total, "+", f"clear_{c}")
    return every(*parts, equal("table-counter", total), binary("table-counter", "≤", n - 1))


def not_both(one: Json, other: Json) -> Json:
    """Two equations that do not hold together."""
    return some(different(one["left"], one["right"]), different(other["left"], other["right"]))


def tiles(aware: bool) -> Published:
    """The 8-puzzle."""
    kind = "aware" if aware else "ignoring"
    return Published(
        f"puzzle_8_{kind}", f"8-puzzle {kind[:3]}", f"puzzle_8_{kind}", puzzle.model(),
        arranged(), equal(f"tile_{UNSAFE_TILE}", UNSAFE_PLACE), {BOUND: "12", FAILING: "0.5"},
    )  # fmt: skip


def arranged() -> Json:
    """All places are different, and in each group in the order of tiles."""
    names = puzzle.names()
    parts = [binary(a, "≠", b) for i, a in enumerate(names) for b in names[:i]]
    parts += [binary(f"tile_{a}", "<", f"tile_{b}") for g in puzzle.GROUPS for a, b in pairwise(g)]
    parts += [equal(f"cost_tile_{t}", 0) for t in puzzle.TILES]
    return every(*parts, equal("step_cost", 0), different(f"tile_{UNSAFE_TILE}", UNSAFE_PLACE))


def road(places: int = PLACES, packages: int = PACKAGES, limit: int = LIMIT) -> Published:
    """Transport, whose policies know another limit."""
    unsafe = every(least(places - 1, "truck"), least(limit + 1, "load"))
    return Published(
        f"transport_{places}", "Transport", f"transport_{places}", transport.model(places, packages),
        loaded(places, packages), unsafe, {},
    )  # fmt: skip


def loaded(places: int, packages: int) -> Json:
    """Truck and packages before the bridge; what does not lie anywhere is on the truck."""
    total: Json = "load"
    for p in range(places - 1):
        total = binary(total, "+", f"packages_{p}")
    return every(binary("truck", "≤", places - 2), equal(f"packages_{places - 1}", 0), equal(total, packages))


def tasks() -> list[Published]:
    """In the order of the papers' tables."""
    found = [blocks(n, False) for n in (4, 6, 8)] + [tiles(False)]
    return [*found, *(blocks(n, True) for n in (4, 6, 8)), tiles(True), road()]


def instances(folder: Path = FOLDER) -> list[Instance]:
    """The 27 of AAAI 2023, Table 1; with published policies in place of our own where the data folder has them."""
    theirs = {i.row: replace(i, name=f"{i.row} (theirs)") for i in published() if i.row}
    return [theirs.get(i.row, i) for task in tasks() for i in task.write(folder)]
