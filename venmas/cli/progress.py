"""The line that moves while a long run works: on stderr, and only on a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from venmas.cli.output import console

if TYPE_CHECKING:
    from venmas.engine.search import Progress


class ProgressLine:
    """A context that shows what `update` is told, and leaves nothing behind."""

    def __init__(self, wanted: bool) -> None:
        from rich.live import Live

        err = console(stderr=True)
        self._live = Live(console=err, auto_refresh=False, transient=True) if wanted and err.is_terminal else None

    def update(self, progress: Progress) -> None:
        """Show numbers."""
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(describe(progress), no_wrap=True, overflow="ellipsis"), refresh=True)

    def __enter__(self) -> ProgressLine:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()


def describe(progress: Progress) -> str:
    """The line."""
    minutes, seconds = divmod(int(progress.seconds), 60)
    return (
        f"{minutes}:{seconds:02d}  {progress.created} created, {progress.discarded} discarded by bounds, "
        f"{progress.solved} solved, {progress.in_flight} in flight, depth {progress.depth}"
    )
