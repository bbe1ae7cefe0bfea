"""The VerticalCAS instances of ARCH-COMP (AINNCS): pilots middle and worst, four initial climb rates, k = 1..10.

Beside them the same four with every pilot. An instance is safe if |h| > 100 ft after each of ten seconds: column 1..10.

Pilot middle always takes the middle acceleration, worst the weakest that the advisory allows (none under COC).
"""

from __future__ import annotations

from experiments.papers.cell import Cell
from experiments.papers.known import ARCH_CLIMBS
from experiments.papers.main import Choice, Table, main

PILOTS = ("middle", "worst", "all")
QUICK = ("-19.5", "-25.5")


def instances(choice: Choice) -> list[Cell]:
    steps = choice.steps((1, 3, 5))
    asked = {str(k): f"safe{k}" for k in steps}
    if len(steps) > 1:
        asked[f"1..{max(steps)}"] = f"AG^{max(steps)} safe"
    return [
        Cell("instances", f"{pilot} {climb}", k, mode, "vcas", (("climb0", climb), ("pilot", pilot)), formula)
        for k, formula in asked.items()
        for pilot in PILOTS
        for climb in choice.climbs(ARCH_CLIMBS, QUICK)
        for mode in choice.modes or TABLES["instances"].modes
    ]


TABLES = {
    "instances": Table(
        "ARCH-COMP VerticalCAS: |h| > 100 ft after k seconds, by pilot and initial climb rate (ft/s)",
        instances,
        modes=("adaptive", "mono", "comp-par", "comp-seq"),
    )
}

if __name__ == "__main__":
    raise SystemExit(main("archcomp_vcas", __doc__ or "", TABLES))
