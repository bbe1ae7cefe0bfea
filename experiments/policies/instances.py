"""Instances: a model with a property, a policy and values of constants; the published ones and those made here."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from experiments.domains.make import MANIFEST
from venmas import load_jani
from venmas.formats.jani.load import JaniScenario

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "experiments" / "domains" / "out"
"""Where ``python -m experiments.domains`` writes."""


def data() -> Path:
    """The folder of published policies: $VENMAS_DATA/policy, or ../shared/data/policy beside the project."""
    return Path(os.environ.get("VENMAS_DATA", ROOT.parent / "shared" / "data")) / "policy"


@dataclass(frozen=True)
class Instance:
    """What is asked; `row` is the published row that it is set beside, such as ``4 Blocks awa 16``."""

    name: str
    model: Path
    policy: Path
    property: Path | None = None
    number: int | None = None
    constants: Mapping[str, str] = field(default_factory=dict)
    row: str = ""

    def load(self) -> JaniScenario:
        constants: dict[str, object] = dict(self.constants)
        return load_jani(self.model, self.property, self.policy, constants, property_name=self.number)


def published() -> list[Instance]:
    """The instances of the data folder; none where it is not there."""
    four, six, track = (data() / name for name in ("blocksworld_4", "blocksworld_6", "racetrack"))
    pa = "pa_compact_starts_cost_predicates_afterwards_blocksworld_6_5_32_32.jani"
    given = {"item_cost_bound": "50", "failing_probability": "0.5"}
    policies = (four / "blocksworld_4_3_16_16.jani2nnet", six / "blocksworld_6_5_32_32.jani2nnet")
    track_policy = track / "simple_barto-small_16_16.jani2nnet"
    found = [
        Instance(
            "published 4 blocks", four / "blocksworld_4_3.jani", policies[0], None, None, given, "4 Blocks awa 16"
        ),
        Instance(
            "published 6 blocks, 5_0", six / "blocksworld_6_5.jani", policies[1], six / pa, 1, row="6 Blocks awa 32"
        ),
        Instance("published 6 blocks, 6_0", six / "blocksworld_6_5.jani", policies[1], six / pa, 2),
        Instance("published racetrack", track / "racetrack_barto_small.jani", track_policy, track / "property.jani"),
    ]
    return [i for i in found if i.model.is_file()]


ROWS = {f"blocks_{n}_{kind}": f"{n} Blocks {kind[:3]}" for n in (4, 6, 8) for kind in ("ignoring", "aware")}
ROWS |= {"puzzle_8_ignoring": "8-puzzle ign", "puzzle_8_aware": "8-puzzle awa", "transport_10": "Transport"}
"""The published rows of own tasks of that kind and size, without the width of the network."""


def own(folder: Path = OUT) -> Iterator[Instance]:
    """What is in the folder of own domains."""
    for manifest in sorted(folder.glob(f"*/{MANIFEST}")):
        place = manifest.parent
        for entry in json.loads(manifest.read_text(encoding="utf-8"))["files"]:
            shape = Path(entry["file"]).stem
            row = ROWS.get(place.name)
            yield Instance(
                f"{place.name} {shape}",
                place / "model.jani",
                place / f"{shape}.jani2nnet",
                place / "property.jani",
                constants=entry["constants"],
                row="" if row is None else f"{row} {shape.split('_')[0]}",
            )
