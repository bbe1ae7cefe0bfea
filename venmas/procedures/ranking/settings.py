"""Options of ranking functions of netlists, as data (`venmas.procedure.Option`)."""

from __future__ import annotations

from venmas.procedure import Option
from venmas.runtime.choices import LEARNERS, described

LEARNER = Option("ranking", "learner", tuple(LEARNERS), "auto", f"how they are found. {described(LEARNERS)}")
FROM = Option(
    "ranking",
    "from",
    ("initial", "all"),
    "initial",
    "prove it of the runs from initial states, or from every state",
)
OPTIONS = (LEARNER, FROM)
