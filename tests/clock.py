"""Clock for tests of time limits: what the tests themselves, and others on the machine, bring about is not counted."""

from __future__ import annotations

import time
from pathlib import Path

OWN = "thread-self"


def waited(process: int | str = OWN) -> float:
    """Seconds for which a process, or this thread, was ready and had no processor, as others wanted them."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    except OSError:  # not on Linux, or the process has ended
        return 0.0


def now() -> float:
    """Seconds from some moment on, without those in which this thread waited for a processor."""
    return time.monotonic() - waited()
