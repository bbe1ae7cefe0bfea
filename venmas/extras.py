"""Compiled parts of the package, which not every machine can load."""

from __future__ import annotations

import logging
from functools import lru_cache
from importlib import import_module
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
