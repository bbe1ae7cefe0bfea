"""Peers in a process of their own, which may crash or overrun its limit."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from contextlib import suppress
from typing import Any

import numpy as np

from experiments.policies.instances import ROOT
from venmas.nn import Network
from venmas.procedures.predicate_abstraction.states.queries import Queries

_GRACE = 5.0
"""Seconds beyond the limit until the process is ended: Marabou looks at its clock now and then."""
_LOADING = 120.0


class Peers:
    """Asks engines of `peers` about one policy after the other; a context manager."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._policy = ""

    def __enter__(self) -> Peers:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def about(self, network: Network) -> None:
        """The policy of the queries that follow: an argmax over all outputs, of ReLU layers but the last."""
        layers = network.layers
        sent = {"weights": [x.weight.tolist() for x in layers], "biases": [x.bias.tolist() for x in layers]}
        self._policy = json.dumps(sent)
        if self._process is not None:
            self._send(self._policy)

    def ask(self, engine: str, queries: Queries, q: int, limit: float) -> dict[str, Any]:
        """What it said, the point, why it does not know, and the CPU seconds."""
        first = self._process is None
        if first:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "experiments.policies.peers"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
            self._send(self._policy)
        rows = np.flatnonzero(queries.rows[q].any(1))
        sent = {
            "engine": engine, "limit": limit, "label": int(queries.label[q]),
            "low": queries.low[q].tolist(), "high": queries.high[q].tolist(),
            "rows": queries.rows[q][rows].tolist(), "constants": queries.constants[q][rows].tolist(),
        }  # fmt: skip
        self._send(json.dumps(sent))
        line = self._line(limit + _GRACE + (_LOADING if first else 0))
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        self._end()
        return {"said": "unknown", "point": None, "note": "crashed or overran its limit", "CPU": limit}

    def _send(self, line: str) -> None:
        assert self._process is not None and self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, which reading its answer tells
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def _line(self, seconds: float) -> bytes:
        assert self._process is not None and self._process.stdout is not None
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._process.stdout, selectors.EVENT_READ)
            # one question, one line: nothing waits in the buffer of the reader
            return self._process.stdout.readline() if waiting.select(seconds) else b""

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                with suppress(BrokenPipeError):
                    pipe.close()
            self._process = None
