"""Toy procedures that another process can go on with."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from venmas.answer import Answer, Proved, Unknown
from venmas.budget import Budget
from venmas.errors import Reason
from venmas.procedure import Run
from venmas.question import Question

MAIN = os.getpid()


@dataclass
class Seen:
    """Figures."""

    where: int = 0

    def facts(self) -> list[tuple[str, str]]:
        return [("pid", str(self.where))]


@dataclass
class Toy:
    """Works for so many seconds elsewhere, for ever in the process that it began in; then does what it is told to."""

    seconds: float = 0.0
    ends: str = "proved"
    apart: bool = True
    ignored: object = None
    begun: int = field(default_factory=os.getpid)
    figures: Seen = field(default_factory=Seen)
    name = help = "toy"
    smooth = noisy = True

    def accepts(self, question: Question, run: Run) -> str | None:
        return None

    def eager(self, question: Question, run: Run) -> bool:
        return True

    def start(self, question: Question, run: Run) -> Toy:
        return self

    def advance(self, budget: Budget) -> Answer | None:
        self.figures.where = os.getpid()
        while os.getpid() == self.begun:
            if self.ends == "stopped":
                raise KeyboardInterrupt
            time.sleep(0.01)
            budget()
        time.sleep(self.seconds)
        if self.ends == "killed":
            os.kill(os.getpid(), 9)
        if self.ends == "failed":
            raise ValueError("it is broken")
        return Unknown(Reason.OPEN, "it is stuck") if self.ends == "stuck" else Proved("bounds")
