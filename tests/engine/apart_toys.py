"""Toy procedures that another process can go on with."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from functools import partial

from venmas.answer import Answer, Proved, Unknown
from venmas.budget import Budget, ask
from venmas.errors import Reason
from venmas.procedure import Run
from venmas.question import Question
from venmas.runtime.helping import helper

MAIN = os.getpid()


def slow(seconds: float) -> int:
    """The process that does it, which asks for its limits."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)
        ask()
    return os.getpid()


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
    unwritten: Proved | None = None
    turns: int = 0
    name = help = "toy"
    smooth = noisy = True

    def accepts(self, question: Question, run: Run) -> str | None:
        return None

    def eager(self, question: Question, run: Run) -> bool:
        return True

    def start(self, question: Question, run: Run) -> Toy:
        return self

    helped = True

    def leaves(self) -> bool:
        return self.apart

    @staticmethod
    def _helped() -> int:
        """The process that did a piece."""
        other, gift = helper(), None
        assert other is not None
        work = partial(slow, 0.5)
        while gift is None:
            gift = other.give(work)
            time.sleep(0.01)
        return int(gift.wait().result)

    def advance(self, budget: Budget) -> Answer | None:
        self.figures.where = os.getpid()
        if self.ends == "stays" and self.turns > 2:
            self.apart = False
        self.turns += 1
        while os.getpid() == self.begun:
            if self.ends == "stopped":
                raise KeyboardInterrupt
            time.sleep(0.01)
            budget()
        time.sleep(self.seconds)
        if self.ends == "helped":
            self.figures.where = self._helped()
        if self.ends in ("unwritten", "refused"):
            self.unwritten = Proved("bounds")
        while self.ends == "unwritten":
            time.sleep(0.01)
            budget()
        if self.ends == "killed":
            os.kill(os.getpid(), 9)
        if self.ends == "failed":
            raise ValueError("it is broken")
        return Unknown(Reason.OPEN, "it is stuck") if self.ends in ("stuck", "refused") else Proved("bounds")
