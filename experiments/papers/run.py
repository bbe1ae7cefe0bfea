"""Deciding cells one after the other, each kept the moment it is known, with progress on stderr and a clean Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import monotonic
from typing import Any

from rich.live import Live
from rich.text import Text

from experiments.papers.cell import Cell, How, Keys, decide, kept
from venmas.budget import Progress
from venmas.cli.interrupt import interruptible
from venmas.cli.output import console
from venmas.cli.progress import describe
from venmas.engine.store import Store

KIND, FORM = "experiment", 1
"""What the store is for, and the form of its entries (`cell.decide`)."""


class Watch:
    """How far it is and how long it will take: a moving line on a terminal, one line a cell elsewhere."""

    def __init__(self, cells: Sequence[Cell], wanted: bool, timeout: float | None = None) -> None:
        self.open, self.total, self.wanted, self.timeout = list(cells), len(cells), wanted, timeout
        self.begun = monotonic()
        self.seconds: dict[tuple[str, str], list[float]] = {}
        self.console = console(stderr=True)
        self.live = Live(console=self.console, auto_refresh=False, transient=True)

    def found(self, cell: Cell, seconds: float) -> None:
        """One more is known, now or since an earlier run."""
        self.seconds.setdefault((cell.mode, cell.k), []).append(seconds)
        self.open.remove(cell)

    def left(self, running: float = 0.0) -> float | None:
        """Seconds that the open cells will take, from the ones like them; None while nothing is known.

        running: how long (s) the first of them has been at work. One that takes longer than the others is expected to
        take as long again.
        """
        if not self.seconds:
            return None
        typical = {key: median(times) for key, times in self.seconds.items()}
        slowest: dict[str, float] = {}
        for (mode, _), seconds in typical.items():
            slowest[mode] = max(seconds, slowest.get(mode, 0.0))
        rest = max(slowest.values())
        each = [typical.get((c.mode, c.k), slowest.get(c.mode, rest)) for c in self.open]
        if each and running > 0:
            each[0] = max(each[0] - running, running)
            if self.timeout is not None:
                each[0] = min(each[0], max(self.timeout - running, 0.0))
        return sum(each)

    def line(self, doing: str, running: float = 0.0) -> str:
        left = self.left(running)
        more = "" if left is None else f", about {_clock(left)} left"
        return f"{self.total - len(self.open)}/{self.total}  {_clock(monotonic() - self.begun)}{more}  {doing}"

    def show(self, cell: Cell) -> Callable[[Progress], None] | None:
        """A cell is being decided; what to call with its progress."""
        if not (self.wanted and self.console.is_terminal):
            return None
        self.live.start()

        def update(progress: Progress | None) -> None:
            doing = cell.name if progress is None else f"{cell.name}: {describe(progress)}"
            running = 0.0 if progress is None else progress.seconds
            self.live.update(Text(self.line(doing, running), no_wrap=True, overflow="ellipsis"), refresh=True)

        update(None)
        return update

    def tell(self, cell: Cell, answer: Mapping[str, Any]) -> None:
        result = answer["result"]
        if self.wanted and not self.console.is_terminal:
            self.console.print(self.line(f"{cell.name}: {result['verdict']} in {result['seconds']['total']:.2f} s"))


def run(cells: Sequence[Cell], how: How, store: Store, watch: bool = True) -> tuple[dict[Cell, dict[str, Any]], bool]:
    """Answers of all cells, from the store where they are there; True where Ctrl-C ended it before.

    Raises `InputError` before anything is decided where a system cannot be built or the store cannot be read.
    """
    answers: dict[Cell, dict[str, Any]] = {}
    try:
        with interruptible():
            keys = Keys(how)
            named = {cell: keys.key(cell) for cell in cells}
            view = Watch(cells, watch, how.timeout)
            for cell, key in named.items():
                if (answer := store.get(key)) is not None:
                    answers[cell] = answer
                    view.found(cell, answer["result"]["seconds"]["total"])
            if watch and answers:
                view.console.print(f"{len(answers)} of {len(cells)} cells are known from {store.path}")
            try:
                for cell in list(view.open):
                    answer = decide(cell, how, view.show(cell))
                    if answer["result"]["reason"] == "interrupted":
                        return answers, True
                    if kept(answer):
                        store.put(named[cell], answer)
                    answers[cell] = answer
                    view.found(cell, answer["result"]["seconds"]["total"])
                    view.tell(cell, answer)
            finally:
                view.live.stop()
    except KeyboardInterrupt:
        return answers, True
    return answers, False


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
