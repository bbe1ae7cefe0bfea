"""Something that takes a known time on a worker, in place of a program."""

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Sleeper:
    """Sleeps when a solver first looks at it, and then turns out to be no program. `padding`: its size when sent."""

    seconds: float
    padding: bytes = b""

    @property
    def kinds(self) -> None:
        time.sleep(self.seconds)
        raise TypeError("no program")

    variables = objective = implications = kinds
