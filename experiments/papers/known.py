"""What is known of the cells without the verifier, from ``expected.json`` or worked out on the spot.

    python -m experiments.papers.known [NETWORKS ...]

writes that file anew for the bundled networks and those in the folders given (the published ones).
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from experiments.benchmarks.machine import DATA
from experiments.benchmarks.vcas import CLIMBS
from experiments.papers.cell import Cell, How
from experiments.papers.lines import least_distances, verdict
from experiments.published.checks import frozen_lake
from venmas import load_network, load_scenario
from venmas.logic import evaluate, parse
from venmas.nn import Network

FILE = Path(__file__).with_name("expected.json")
STEPS = 10
ARCH_CLIMBS = (-19.5, -22.5, -25.5, -28.5)
"""Initial climb rates (ft/s) of the ARCH-COMP instances."""


@dataclass(frozen=True)
class Known:
    """The verdict, empty where the check cannot tell; `why` is what it rests on, such as a distance."""

    verdict: str
    why: str


class Expected:
    """Answers for cells; networks that `expected.json` does not know are checked here, which takes a minute or two."""

    def __init__(self, how: How) -> None:
        self.how = how
        self._sets: dict[str, tuple[str, tuple[Network, ...]]] = {}
        self._facts = json.loads(FILE.read_text(encoding="utf-8"))["networks"]

    def networks(self, scenario: str) -> tuple[str, tuple[Network, ...]]:
        """Digest and networks that a scenario takes, in the order of their files."""
        if scenario not in self._sets:
            folder = self.how.folder(scenario)
            load_scenario(scenario).system(folder)
            networks = tuple(load_network(path, normalization="ignore") for path in sorted(folder.files))
            digest = hashlib.sha256(" ".join(n.digest for n in networks).encode()).hexdigest()
            self._sets[scenario] = digest, networks
        return self._sets[scenario]

    def name(self, scenario: str) -> str:
        """What the networks are called, such as ``published``."""
        found = self._facts.get(self.networks(scenario)[0])
        return str(found["name"]) if found else "others"

    def known(self, cell: Cell) -> Known:
        return self._lake(cell) if cell.scenario == "frozenlake" else self._encounter(cell)

    def _lake(self, cell: Cell) -> Known:
        digest, networks = self.networks(cell.scenario)
        facts = self._facts.get(digest) or {"verdicts": lake_verdicts(networks)}
        return Known(facts["verdicts"][cell.formula], "enumeration of all states and successors")

    def _encounter(self, cell: Cell) -> Known:
        digest, networks = self.networks(cell.scenario)
        settings = dict(cell.settings)
        pilot, climb = settings["pilot"], settings["climb0"]
        facts = self._facts.get(digest, {"least": {}})["least"].get(pilot, {})
        least = facts.get(climb) or _least(networks, pilot, climb)
        if ".." in cell.k:
            first, last = (int(k) for k in cell.k.split(".."))
            least = least[first - 1 : last]
        else:
            least = [least[int(cell.k) - 1]]
        return Known(verdict(min(least)), f"least distance {min(least):.2f} ft over every altitude and acceleration")


@cache
def _least(networks: tuple[Network, ...], pilot: str, climb: str) -> list[float]:
    return [round(d, 6) for d in least_distances(networks, float(climb), STEPS, pilot)]


def lake_verdicts(networks: Sequence[Network]) -> dict[str, str]:
    """Verdicts of safe<k> and succ<k>, k = 1..10, by enumeration of the nine cells."""
    (network,) = networks
    model = frozen_lake(network)
    system = load_scenario("frozenlake").system()  # for the texts of its properties, which no network changes
    found = {}
    for name in (f"{kind}{k}" for kind in ("safe", "succ") for k in range(1, STEPS + 1)):
        holds = 0 in evaluate(parse(system.properties[name], system.vocabulary), model)
        found[name] = "satisfied" if holds else "violated"
    return found


def compute(name: str, folder: Path | None) -> dict[str, Any]:
    """The entries of `expected.json` for one pair of network sets."""
    expected = Expected(How(networks=folder))
    lake, lake_networks = expected.networks("frozenlake")
    vcas, vcas_networks = expected.networks("vcas")
    least = {
        pilot: {f"{climb:g}": _least(vcas_networks, pilot, f"{climb:g}") for climb in climbs}
        for pilot, climbs in (("all", CLIMBS), ("middle", ARCH_CLIMBS), ("worst", ARCH_CLIMBS))
    }
    return {
        vcas: {"name": name, "scenario": "vcas", "least": least},
        lake: {"name": name, "scenario": "frozenlake", "verdicts": lake_verdicts(lake_networks)},
    }


def main() -> int:
    folders = [Path(name) for name in sys.argv[1:]] or [DATA]
    networks = compute("bundled", None)
    for folder in folders:
        networks |= compute("published" if folder == DATA else folder.name, folder)
    about = (
        "least: smallest |h| (ft) after 1..10 s by pilot and initial climb rate (ft/s), experiments/papers/lines.py; "
        "verdicts: explicit enumeration, experiments/published/checks.py; keys: digests of the networks"
    )
    text = json.dumps({"about": about, "networks": networks}, indent=1)
    text = re.sub(r"\[[^\[\]]*\]", lambda row: " ".join(row.group().split()), text)  # one line a row of the table
    FILE.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
