"""Requirements on the operating system, checked before the modules that need it are imported."""

import os
import signal
from importlib.util import find_spec
from types import ModuleType

from venmas.errors import UsageError

_MODULES = ("resource",)
_FUNCTIONS: tuple[tuple[ModuleType, str], ...] = (
    (os, "register_at_fork"),
    (os, "sysconf"),
    (signal, "SIGALRM"),
    (signal, "setitimer"),
    (signal, "pthread_sigmask"),
)


def require_posix() -> None:
    """Raise `UsageError` on systems without the parts of POSIX that VenMAS is built on, such as Windows."""
    missing = [name for name in _MODULES if find_spec(name) is None]
    missing += [f"{module.__name__}.{name}" for module, name in _FUNCTIONS if not hasattr(module, name)]
    if missing:
        raise UsageError(
            f"VenMAS needs Linux or another POSIX system: Python has no {missing[0]} here; "
            "on Windows, install it in WSL (the Windows Subsystem for Linux)"
        )
