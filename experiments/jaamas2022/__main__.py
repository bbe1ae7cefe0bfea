"""Tables 1 and 2 of the VenMAS paper (JAAMAS 2022) again: verdicts and times of its three modes.

table1: FrozenLake, safe and succ, k = 1..10. table2: VerticalCAS, twelve initial climb rates, k = 1..10.
"""

from __future__ import annotations

from experiments.benchmarks.vcas import CLIMBS
from experiments.papers.cell import Cell
from experiments.papers.main import Choice, Table, main
from experiments.papers.table import Claim

STEPS = range(1, 11)
KINDS = {"safe": "φ_safe", "succ": "φ_succ"}


def lake(choice: Choice) -> list[Cell]:
    return [
        Cell("table1", row, str(k), mode, "frozenlake", (), f"{kind}{k}")
        for k in choice.steps((1, 2, 4, 8))
        for kind, row in KINDS.items()
        for mode in choice.modes or TABLES["table1"].modes
    ]


def encounters(choice: Choice) -> list[Cell]:
    return [
        Cell("table2", climb, str(k), mode, "vcas", (("climb0", climb), ("pilot", "all")), f"safe{k}")
        for k in choice.steps((1, 2, 3, 5))
        for climb in choice.climbs(CLIMBS, ("-19.5", "-22.5", "-28.5", "-39", "-43.5"))
        for mode in choice.modes or TABLES["table2"].modes
    ]


# The numbers of the paper's tables are times; the verdicts are in its text.
LAKE = {f"φ_safe, {k}": Claim("satisfied", "the paper, section 7.1") for k in STEPS}
LAKE |= {f"φ_succ, {k}": Claim("violated", "the paper, section 7.1") for k in STEPS}
ENCOUNTERS = {f"-19.5, {k}": Claim("satisfied", "the paper, section 7.2.2") for k in STEPS}
ENCOUNTERS["-22.5, 3"] = Claim("violated", "the paper, section 7.2.2")

TABLES = {
    "table1": Table("Table 1: FrozenLake, 3x3", lake, LAKE),
    "table2": Table(
        "Table 2: VerticalCAS, |h| > 100 ft after k seconds, by initial climb rate (ft/s)", encounters, ENCOUNTERS
    ),
}

if __name__ == "__main__":
    raise SystemExit(main("jaamas2022", __doc__ or "", TABLES))
