"""The 194 tasks of *Neural Model Checking* (NeurIPS 2024): published seconds, and designs of ours at the same sizes."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

TOOLS = {"NMC": "ours_8_5_s", "nuXmv": "nuxmv_s", "ABC": "abc_s", "X": "industry_x_s", "Y": "industry_y_s"}
"""Tools of Table 3 and their columns in the data; NMC is that of the paper."""
VARIANTS = {
    "(8, 5)": "default_8_5_s",
    "(3, 2)": "net_3_2_s",
    "(5, 3)": "net_5_3_s",
    "(15, 8)": "net_15_8_s",
    "ExtL": "extra_layer_s",
    "Mono": "monolithic_s",
}
"""Architectures of Table 4 and their columns."""
LEARNERS = dict(
    zip(VARIANTS, ("gradient", *(f"gradient-{name}" for name in ("3-2", "5-3", "15-8", "extl", "mono"))), strict=True)
)
"""What our learners of these are called."""
LIMIT = 18_000.0
"""Seconds that each tool was given: five hours."""
ORDER = ("LS", "LCD", "Tmcp", "i2cS", "7-Seg", "PWM", "VGA", "UARTt", "Delay", "Gray")
"""Families as Table 1 has them."""
_FAMILY = {
    "load_store": ("LS", "load_store"),
    "lcd": ("LCD", "lcd"),
    "thermocouple": ("Tmcp", "thermocouple"),
    "i2c": ("i2cS", "i2c"),
    "seven_seg": ("7-Seg", "seven_seg"),
    "PWM": ("PWM", "pwm"),
    "vga": ("VGA", "vga"),
    "uart_transmit": ("UARTt", "uart"),
    "delay": ("Delay", "delay"),
    "gray": ("Gray", "gray"),
}
_OWN = {
    "delay_a": "rings",
    "delay_b": "pulses",
    "lcd": "ready",
    "thermocouple": "reads",
    "seven_seg_a": "second",
    "seven_seg_b": "both",
    "i2c": "watches",
    "pwm": "low",
    "vga": "shows",
    "uart": "waits",
    "load_store": "switches",
    "gray_a": "rounds",
    "gray_b": "pulses",
    "gray_c": "both",
}
"""Properties of our designs that say what those of the paper say."""


@dataclass(frozen=True)
class Task:
    """A design with a property. seconds: of each tool, infinite where it did not solve it; variants: of Table 4.

    family: of Table 1. netlist: of the paper, None where the data have none (every fourth one). design, parameters,
    asked: ours. bits: of the paper's registers.
    """

    key: str
    index: int
    family: str
    train: float
    seconds: Mapping[str, float]
    variants: Mapping[str, float]
    formula: str
    netlist: Path | None
    bits: int
    design: str
    asked: str
    parameters: Mapping[str, int]

    @property
    def best(self) -> float:
        """*Our best*: the least of the default and the three other sizes."""
        return min(self.seconds["NMC"], *(self.variants.get(name, inf) for name in ("(3, 2)", "(5, 3)", "(15, 8)")))

    @property
    def academic(self) -> float:
        """The lesser of nuXmv and ABC."""
        return min(self.seconds["nuXmv"], self.seconds["ABC"])


def tasks(folder: Path) -> list[Task]:
    """All tasks, in the order of Table 3. folder: the published data."""
    properties = {row["property"]: row for row in _rows(folder / "properties24.csv")}
    designs = {row["design"]: row for row in _rows(folder / "designs.csv") if row["set"] == "designs24"}
    ablation = {row["key"]: row for row in _rows(folder / "figures" / "neurips24_table4_ablation.csv")}
    found = []
    for row in _rows(folder / "figures" / "neurips24_table3.csv"):
        asked, other = properties[row["property"]], ablation.get(row["key"], {})
        name = f"{asked['family']}_{row['index']}"
        family, design = _FAMILY[asked["family"]]
        netlist = folder / "btor24" / f"{name}.btor2"
        found.append(
            Task(
                row["key"],
                int(row["index"]),
                family,
                _seconds(row["train_s"]),
                {tool: _seconds(row[column]) for tool, column in TOOLS.items()},
                {kind: _seconds(other[column]) for kind, column in VARIANTS.items() if column in other},
                asked["ltl"],
                netlist if netlist.is_file() else None,
                int(designs[name]["register_bits_yosys"]),
                design,
                _OWN[row["property"]],
                own_size(asked["family"], designs[name]["parameters"]),
            )
        )
    return found


def own_size(family: str, parameters: str) -> dict[str, int]:
    """Parameters of our design by which its counters run as far as those of the paper's do."""
    given = dict(one.split("=", 1) for one in parameters.split(";"))
    size = int(next(iter(given.values())))
    match family:
        case "delay":
            return {"delay": size}
        case "load_store":
            return {"volume": size}
        case "lcd":
            return {"power": 500 * size, "setup": 440 * size, "send": 50 * size}
        case "thermocouple":
            return {"start": 5 * size, "pause": 3 * size}
        case "i2c":
            return {"quarter": size}
        case "seven_seg":
            return {"turn": size}
        case "PWM":
            return {"size": size}
        case "vga":
            return {"columns": 50 * size, "width": 66 * size, "rows": 25 * size, "height": 28 * size}
    return {"bits": size}


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def _seconds(text: str) -> float:
    """Infinity for what is no number (out of time, not trained, failed), and for five hours and more."""
    try:
        seconds = float(text.rstrip("."))
    except ValueError:
        return inf
    return seconds if seconds < LIMIT else inf
