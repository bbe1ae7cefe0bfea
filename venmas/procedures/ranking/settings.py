"""Options of ranking functions of netlists, as data (`venmas.procedure.Option`)."""

from __future__ import annotations

from typing import Any

from venmas.procedure import Option
from venmas.runtime.choices import LEARNERS, described


def _learner(name: Any) -> str:
    """A learner, of other packages too. Raises `UsageError`."""
    from venmas.procedures.ranking.learners import get_learner

    get_learner(str(name))
    return str(name)


LEARNER = Option("ranking", "learner", None, "auto", f"how they are found. {described(LEARNERS)}", _learner)
FROM = Option(
    "ranking", "from", ("initial", "all"), "initial", "prove it of the runs from initial states, or from every state"
)
OPTIONS = (LEARNER, FROM)
