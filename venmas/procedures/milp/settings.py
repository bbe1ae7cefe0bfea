"""Options of the procedures that make programs, as data (`venmas.procedure.Option`)."""

from __future__ import annotations

from venmas.procedure import Option
from venmas.runtime.choices import BOUNDS, ENCODINGS, described

ENCODING = Option("milp", "encoding", tuple(ENCODINGS), "big-m", f"how programs express ReLUs. {described(ENCODINGS)}")
BOUND_METHOD = Option(
    "milp",
    "bounds",
    tuple(BOUNDS),
    "symbolic",
    f"how ranges of values are computed before a program is built. {described(BOUNDS)}",
)
SUCCESSORS = Option(
    "milp",
    "successors",
    ("apart", "joined"),
    "apart",
    "what mono knows of a step. apart: a node for each state that bounds tell apart. joined: one node with the widest "
    "bounds of all, as in the paper's Figure 6",
)
ISOLATED = Option(
    "milp",
    "isolated",
    ("on", "off"),
    "on",
    "solve in worker processes. off: mono and comp-seq solve in this one, which hangs with a solver that hangs",
)
OPTIONS = (ENCODING, BOUND_METHOD, SUCCESSORS, ISOLATED)
