"""Display of objects: as text by ``print``, as HTML in notebooks.

What is shown is put together in rooms above those of the objects, `venmas.report` and `venmas.report.notebook`. They
are named here and nowhere else, and imported when somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def written(shown: object) -> str:
    """A report, reach sets, or a witness, as the command line prints them."""
    return str(import_module("venmas.report.printed").as_text(shown))


def showing(work: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """A function with a keyword `progress`, for which True stands for a line that moves where the user looks."""

    @wraps(work)
    def told(*args: _Given.args, **options: _Given.kwargs) -> _Result:
        if options.get("progress") is not True:
            return work(*args, **options)
        more: Any = options
        with import_module("venmas.cli.progress").line_here() as line:
            return work(*args, **{**more, "progress": line.update})

    return told


class Shown:
    """Base of what notebooks show as HTML (`venmas.report.notebook`)."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(import_module("venmas.report.notebook").html(self))
