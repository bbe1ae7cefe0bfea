"""Running the command line on hostile input, with limits that hold."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SECONDS = 10
MEGABYTES = 1024


@dataclass(frozen=True)
class Result:
    """How a run ended; status -9 with `late` is a run that was stopped, `left` tells of processes left behind."""

    status: int
    late: bool
    left: bool
    seconds: float
    cpu: float
    megabytes: float
    stdout: str
    stderr: str


class Runner:
    """Runs commands in forks of one process that has imported everything."""

    def __init__(self) -> None:
        zygote = Path(__file__).with_name("hostile_zygote.py")
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(zygote)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(zygote.parents[2])},
        )

    def run(self, args: list[str], folder: Path, seconds: float = SECONDS, megabytes: int = MEGABYTES) -> Result:
        request = {"args": args, "folder": str(folder), "seconds": seconds, "megabytes": megabytes}
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        told = [(folder / name).read_text(errors="replace") for name in ("stdout", "stderr")]
        return Result(**answer, stdout=told[0], stderr=told[1])

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=20)
