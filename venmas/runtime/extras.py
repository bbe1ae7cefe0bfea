"""Optional compiled parts of the package, which not every machine can load."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

log = logging.getLogger(__name__)


@lru_cache
def compiled(name: str) -> ModuleType | None:
    """A module that needs numba, or None where numba refuses what it finds here, or has no place for its cache."""
    try:
        return import_module(name)
    except ImportError as error:
        log.warning("compiled code is not used, long searches take several times as long: %s", error)
    except RuntimeError as error:
        log.warning("compiled code is not used: %s; set NUMBA_CACHE_DIR to a folder that can be written", error)
    return None


def forget_stale(folder: Path) -> None:
    """Delete numba's indices of kernels older than a source in a folder: it looks at the kernel's own file only."""
    newest = max(source.stat().st_mtime for source in folder.glob("*kernel.py"))
    for index in (folder / "__pycache__").glob("*kernel.*.nbi"):
        with suppress(OSError):  # another process may have deleted it
            if index.stat().st_mtime < newest:
                index.unlink()
