"""Programs solved in the process of the test, which starts no workers: `verify(.., tune=in_process(mode))`."""

from __future__ import annotations

IN_PROCESS = {"milp.isolated": "off"}


def in_process(mode: str) -> dict[str, object]:
    """The options, none for the mode that makes no programs, which refuses them."""
    return {} if mode == "exact" else dict(IN_PROCESS)
