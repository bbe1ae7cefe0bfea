"""The line that moves while a long run works: on stderr, and only on a terminal; in notebooks below the cell."""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any

from venmas.cli.output import console

if TYPE_CHECKING:
    from venmas.budget import Progress


class ProgressLine:
    """A context that shows what `update` is told, and leaves nothing behind."""

    def __init__(self, wanted: bool, tell: Callable[[Progress, float | None], str] | None = None) -> None:
        """tell: what is shown of the progress and the seconds left [default: `describe`]."""
        from rich.live import Live

        err = console(stderr=True)
        self._estimate, self._tell = Estimate(), tell or describe
        self._live = Live(console=err, auto_refresh=False, transient=True) if wanted and err.is_terminal else None

    def update(self, progress: Progress) -> None:
        """Show numbers."""
        left = self._estimate.left(progress)
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(self._tell(progress, left), no_wrap=True, overflow="ellipsis"), refresh=True)

    def __enter__(self) -> ProgressLine:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()


class NotebookLine:
    """The same in a notebook: an output of the cell that is written anew, which needs no widgets."""

    def __init__(self) -> None:
        self._estimate = Estimate()
        self._handle: Any = None

    def update(self, progress: Progress) -> None:
        """Show numbers."""
        self._show(describe(progress, self._estimate.left(progress)))

    def _show(self, text: str) -> None:
        shown = {"text/plain": text, "text/html": f"<code>{escape(text)}</code>"}
        if self._handle is None:
            self._handle = import_module("IPython.display").display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def __enter__(self) -> NotebookLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            self._show("")


def line_here() -> ProgressLine | NotebookLine:
    """The line that the user sees: in a notebook below the cell, elsewhere on the terminal."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return NotebookLine() if hasattr(shell, "kernel") else ProgressLine(wanted=True)


class Estimate:
    """How long a stream may still take, from the part of its tree of choices that is done.

    The search is depth first, so that this part grows steadily once programs are solved. Before, bounds may refute
    half of it at once, and what a journal knows is skipped as fast: the clock starts after either.
    """

    _LEAST_SECONDS, _LEAST_SHARE = 3.0, 0.01

    def __init__(self) -> None:
        self._seconds = self._share = self._last = 0.0
        self._skipped = self._solved = 0

    def left(self, progress: Progress) -> float | None:
        """Seconds; None where nothing can be said yet, or no more."""
        anew = progress.skipped != self._skipped or progress.share < self._last  # the latter: another stream
        self._last = progress.share
        if anew:
            self._skipped, self._solved = progress.skipped, progress.solved
        if anew or progress.solved == self._solved:
            self._seconds, self._share = progress.seconds, progress.share
        seconds, share = progress.seconds - self._seconds, progress.share - self._share
        if seconds < self._LEAST_SECONDS or share < self._LEAST_SHARE or progress.share >= 1:
            return None
        return seconds / share * (1 - progress.share)


def describe(progress: Progress, left: float | None = None) -> str:
    """The line; `left`: seconds that the search may still take."""
    parts = [f"{progress.created} created", f"{progress.discarded} discarded by bounds"]
    parts += [f"{progress.skipped} known from the journal"] if progress.skipped else []
    pace = f" ({progress.solved / progress.seconds:.2g}/s)" if progress.solved and progress.seconds >= 1 else ""
    parts += [f"{progress.solved} solved{pace}", f"{progress.in_flight} in flight", f"depth {progress.depth}"]
    parts += [f"{progress.share:.0%} of the choices"] if progress.share else []
    ahead = "" if left is None else f", about {clock(left)} left"
    return f"{clock(progress.seconds)}{ahead}  {', '.join(parts)}"


def clock(seconds: float) -> str:
    """A time as ``h:mm:ss`` or ``m:ss``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
