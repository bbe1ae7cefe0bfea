"""``local:N``: a scheduler and N workers on this machine, to try a cluster or to test with one.

Started like the workers of the pool (`process`), not by Dask's own `LocalCluster`: that imports the user's `__main__`
again in each worker, and leaves processes behind when this one is killed.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from venmas.solvers.workers.process import WorkerError, interrupts_held

HOST = "127.0.0.1"
_BRIEF = 5.0  # s: a worker that lived no longer has failed to start
_FAILED_STARTS = 3  # of them in a row, beyond one for each worker, that end the run


class LocalCluster:
    """A scheduler and `workers` workers of one thread each. Raises `WorkerError` where they cannot be started."""

    def __init__(self, workers: int) -> None:
        self._folder = TemporaryDirectory(prefix="venmas-cluster-", ignore_cleanup_errors=True)
        self.workers: list[subprocess.Popen[bytes]] = []
        self._started: dict[int, float] = {}
        self._failed = 0
        self.scheduler = self._start("scheduler", HOST)
        try:
            assert self.scheduler.stdout is not None
            self.address = self.scheduler.stdout.readline().decode().strip()
            if not self.address:
                raise WorkerError(f"the scheduler of a local cluster does not start: {self._last_words()}")
            for _ in range(workers):
                self._add()
        except BaseException:
            self.close()
            raise

    def heal(self) -> None:
        """Replace workers that have died. Raises `WorkerError` when they die again and again at their start."""
        for worker in [worker for worker in self.workers if worker.poll() is not None]:
            self.workers.remove(worker)
            brief = time.monotonic() - self._started.pop(worker.pid) < _BRIEF
            self._failed = self._failed + 1 if brief else 0
            if self._failed > len(self.workers) + _FAILED_STARTS:
                raise WorkerError(f"the workers of the local cluster die as they start: {self._last_words()}")
            self._add()

    def close(self) -> None:
        """Kill everything and wait for its end."""
        processes = [*self.workers, self.scheduler]
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        self._folder.cleanup()

    def _add(self) -> None:
        worker = self._start("worker", self.address)
        self.workers.append(worker)
        self._started[worker.pid] = time.monotonic()

    def _start(self, role: str, address: str) -> subprocess.Popen[bytes]:
        path, folder = [entry for entry in sys.path if isinstance(entry, str)], self._folder.name
        call = f"serve({role!r}, {address!r}, {folder!r})"
        code = f"import sys; sys.path[:] = {path!r}; from {__name__} import serve; {call}"
        try:
            with interrupts_held(), open(self._log, "ab") as log:
                return subprocess.Popen(
                    [sys.executable, "-P", "-c", code],
                    stdin=subprocess.PIPE,  # its end tells that this process is gone
                    stdout=subprocess.PIPE if role == "scheduler" else subprocess.DEVNULL,
                    stderr=log,
                )
        except OSError as error:
            raise WorkerError(f"cannot start a {role} of a local cluster: {error}; see `ulimit -u`") from error

    @property
    def _log(self) -> Path:
        return Path(self._folder.name) / "log"

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "they say nothing")


def serve(role: str, address: str, folder: str) -> None:
    """Main function of these processes: run until killed, or until the one that started them ends."""

    def watch() -> None:
        os.read(0, 1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    asyncio.run(_scheduler(address) if role == "scheduler" else _worker(address, folder))


async def _scheduler(host: str) -> None:
    from distributed import Scheduler

    async with Scheduler(host=host, port=0, dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()


async def _worker(address: str, folder: str) -> None:
    from distributed import Worker

    # memory_limit: what the run allows is looked at by the pools, not a share of the machine's by Dask
    async with Worker(
        address, nthreads=1, host=HOST, local_directory=folder, memory_limit=0, dashboard=False
    ) as worker:
        await worker.finished()
