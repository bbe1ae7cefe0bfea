"""Loading of what numba compiles."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from venmas.extras import compiled as compiled


def forget_stale() -> None:
    """Delete numba's indices of kernels that are older than a source here: it looks at the kernel's own file only."""
    here = Path(__file__).parent
    newest = max(source.stat().st_mtime for source in here.glob("*_kernel.py"))
    for index in (here / "__pycache__").glob("*_kernel.*.nbi"):
        if index.stat().st_mtime < newest:
            with suppress(OSError):
                index.unlink()
