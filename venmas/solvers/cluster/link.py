"""Connection to a Dask cluster: a thread with an event loop, which reports events to a queue."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from venmas.errors import UsageError
from venmas.solvers.cluster import node

if TYPE_CHECKING:
    from distributed import Client

log = logging.getLogger(__name__)

CONNECT = 10.0
"""Seconds to reach the scheduler, at the start and again when the connection breaks."""

LOOK = 0.25
"""Seconds between two looks at which workers there are."""

GOODBYE = 2.0
"""Seconds to disconnect."""


@dataclass(frozen=True)
class Worker:
    """A process of the cluster that takes `threads` orders at a time. `instance` names it for ever."""

    address: str
    threads: int
    instance: str


@dataclass(eq=False)
class Attempt:
    """One order given to one worker; `order` is a pickled `node.Order`."""

    worker: Worker
    order: bytes
    wanted: bool = True
    running: asyncio.Task[None] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Workers:
    """The workers that are there and fit. `resting`: those that take nothing new for now, by Dask's own judgement."""

    fit: tuple[Worker, ...] = ()
    resting: frozenset[Worker] = frozenset()


@dataclass(frozen=True)
class Offline:
    """The connection is broken, and tried again; all orders are void."""


@dataclass(frozen=True)
class Misfit:
    """A worker that is of no use, and why."""

    address: str
    why: str


@dataclass(frozen=True, eq=False)
class Ended:
    """An attempt brought a reply, or none: then `why` says what became of it, and `lost` that its worker is gone."""

    attempt: Attempt
    reply: node.Reply | None
    why: str = ""
    lost: bool = False


@dataclass(frozen=True)
class Gone:
    """The scheduler does not answer any more."""

    why: str


Event: TypeAlias = Workers | Offline | Misfit | Ended | Gone


class Link:
    """Talks to the scheduler at `address` and calls `post` from its own thread with what happens.

    Raises `UsageError` where no scheduler can be reached, or one that runs another version.
    """

    def __init__(self, address: str, solvers: Sequence[str], post: Callable[[Event], None]) -> None:
        self._address, self._solvers, self._post = address, tuple(solvers), post
        self._known: dict[str, Worker | None] = {}  # None: asked for its versions, or of no use
        self._client: Client | None = None
        self._comm: Any = None  # that of the client as it was made
        self._tasks: set[asyncio.Task[None]] = set()
        self._introduced = asyncio.Event()
        self._levels = _hush()
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda _, context: log.debug("%s", context))  # of connections that end
        self._thread = threading.Thread(target=self._loop.run_forever, name="venmas-cluster", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._connect(), self._loop).result()
        except BaseException:  # an interrupt, too
            self.close()
            raise
        self._loop.call_soon_threadsafe(self._begin, self._watch())

    def start(self, attempt: Attempt) -> None:
        """Send an order; one `Ended` follows unless it is cancelled, or void by `Offline`."""

        def begin() -> None:
            attempt.running = self._begin(self._run(attempt))

        self._loop.call_soon_threadsafe(begin)

    def cancel(self, attempt: Attempt) -> None:
        """Give an order up: its worker stops working at it."""
        attempt.wanted = False
        self._loop.call_soon_threadsafe(lambda: attempt.running and attempt.running.cancel())

    def close(self) -> None:
        """Give everything up and disconnect. May be called again."""
        if not self._thread.is_alive():
            return
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._disconnect(), self._loop).result(2 * GOODBYE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(GOODBYE)
        if not self._thread.is_alive():
            self._loop.close()
        for logger, level in self._levels.items():
            logger.setLevel(level)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start `work` on the loop, in its thread."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _connect(self) -> None:
        try:
            await self._reach()
        except (OSError, ValueError, ImportError) as error:
            raise UsageError(
                f"no Dask scheduler answers at {self._address!r} ({_line(error)}): start one with `dask scheduler` and "
                "give the address that it prints, such as tcp://host:8786, or `local:2` to try it on this machine"
            ) from error
        await self._examine()

    async def _reach(self) -> None:
        """Connect by a client of a new name.

        A client of Dask that connects again keeps its name, and a scheduler that learns only then that the first
        connection is broken removes the name, with all that was asked under it since.
        """
        from distributed import Client

        if self._client is not None:
            self._begin(_leave(self._client))
        self._client = Client(self._address, asynchronous=True, set_as_default=False, timeout=CONNECT, name="venmas")
        await self._client
        self._comm = self._client.scheduler_comm

    async def _examine(self) -> None:
        """Raise `UsageError` where the scheduler runs another version."""
        assert self._client is not None
        where, remedy = f"the scheduler at {self._address!r}", "install the same version there as here"
        try:
            wrong = node.differences(node.versions(), await self._client.run_on_scheduler(node.versions))
        except Exception as error:
            raise UsageError(f"{where} cannot load VenMAS ({_line(error)}): {remedy}") from error
        if wrong:
            raise UsageError(f"{where} is of no use: {'; '.join(wrong)}; {remedy}")

    def _whole(self) -> bool:
        """Whether the connection is the one that was made."""
        assert self._client is not None
        comm = self._client.scheduler_comm
        return comm is not None and comm is self._comm and not comm.closed() and self._client.status == "running"

    async def _watch(self) -> None:
        """Tell which workers there are whenever that changes, and when the scheduler does not come back."""
        why = f"is gone and did not come back within {CONNECT:g} s"
        try:
            await self._look_on()
        except Exception as error:  # who does not look on does not hear of losses, and would wait for ever
            why = f"can not be watched any more ({_line(error)})"
        self._post(Gone(f"the scheduler at {self._address!r} {why}"))

    async def _look_on(self) -> None:
        """Look until the scheduler does not answer any more."""
        reported: Workers | Offline = Workers()
        while True:
            now: Workers | Offline = reported
            if self._whole():
                try:
                    now = await asyncio.wait_for(self._look(), CONNECT)
                except TimeoutError:
                    return
                except (OSError, AttributeError):
                    pass  # the connection is breaking, which the next look will see
            else:
                now = Offline()
            if now != reported:
                reported = now
                self._post(now)
            if self._whole():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._introduced.wait(), LOOK)
                self._introduced.clear()
            elif isinstance(now, Offline):
                try:
                    await self._reach()
                except OSError:
                    return
                await self._examine()

    async def _look(self) -> Workers:
        """The workers that are there and fit; new ones are asked who they are."""
        assert self._client is not None
        there = (await self._client.scheduler.identity())["workers"]
        awake = {address for address, worker in there.items() if worker.get("status", "running") == "running"}
        self._known = {address: worker for address, worker in self._known.items() if address in there}
        for address in awake - set(self._known):
            self._known[address] = None
            self._begin(self._ask(address, there[address]["nthreads"]))
        fit = tuple(worker for worker in self._known.values() if worker is not None)
        return Workers(fit, frozenset(worker for worker in fit if worker.address not in awake))

    async def _ask(self, address: str, threads: int) -> None:
        """Have a worker introduce itself; keep it if it fits, and tell why if it does not."""
        assert self._client is not None
        try:
            answers = await self._client.run(node.introduce, self._solvers, workers=[address], on_error="return")
            answer = answers[address]
        except Exception as error:
            answer = error
        if isinstance(answer, OSError | KeyError):
            self._known.pop(address, None)  # it is gone, or will be asked again
        elif isinstance(answer, Exception):
            self._post(Misfit(address, _line(answer)))
        elif wrong := node.differences(node.versions(self._solvers), answer[1]):
            self._post(Misfit(address, "; ".join(wrong)))
        else:
            self._known[address] = Worker(address, threads, answer[0])
            self._introduced.set()

    async def _run(self, attempt: Attempt) -> None:
        from distributed import KilledWorker

        client, worker, future = self._client, attempt.worker, None
        assert client is not None
        try:
            future = client.submit(
                node.solve_order,
                worker.instance,
                attempt.order,
                key=f"venmas-{uuid4().hex}",
                workers=[worker.address],
                pure=False,
            )
            reply = await future
        except asyncio.CancelledError:
            if attempt.wanted and client is self._client and self._whole():  # somebody restarts the cluster
                self._post(Ended(attempt, None, "the cluster has dropped it", lost=True))
            raise
        except Exception as error:
            if client is self._client and self._whole():  # else all orders are void
                self._post(Ended(attempt, None, _line(error), lost=isinstance(error, KilledWorker | OSError)))
        else:
            if reply is None and attempt.wanted:  # another process has taken its place
                self._known.pop(worker.address, None)
                self._post(Ended(attempt, None, "its worker was restarted", lost=True))
            else:
                self._post(Ended(attempt, reply))
        finally:
            if future is not None:
                future.release()  # nobody else wants it: the scheduler tells the worker

    async def _disconnect(self) -> None:
        me = asyncio.current_task()
        for task in [task for task in self._tasks if task is not me]:
            task.cancel()
        await asyncio.sleep(0)
        if self._client is not None:
            await _leave(self._client)


async def _leave(client: Client) -> None:
    with suppress(Exception):
        await asyncio.wait_for(client.close(timeout=GOODBYE), GOODBYE)


def _hush() -> dict[logging.Logger, int]:
    """Have Dask print nothing on stderr: what happens is told by events. Returns the levels as they were."""
    import distributed  # noqa: F401  sets up its loggers

    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in ("distributed", "tornado")]
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    return levels


def _line(error: object) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
