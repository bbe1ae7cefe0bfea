"""What workers are made to unpickle in place of a program, to misbehave in ways that no solver does on demand."""

import logging
import time


class Noisy:
    """Logs without end as soon as a solver looks at it."""

    @property
    def kinds(self) -> None:
        log, count = logging.getLogger("venmas.noisy"), 0
        while True:
            log.warning("noise %d", count)
            count += 1

    variables = objective = implications = kinds


class Hungry:
    """Takes a lot of memory as soon as a solver looks at it."""

    @property
    def kinds(self) -> None:
        data = bytearray(b"x" * (500 * 2**20))
        time.sleep(60)
        assert data

    variables = objective = implications = kinds


class Broken:
    """Has nothing of a program."""
