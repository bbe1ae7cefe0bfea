"""How objects show themselves: to ``print`` as text, to notebooks as HTML.

What is shown is put together in rooms above those of the objects, `venmas.report` and `venmas.notebook`. They are named
here and nowhere else, and imported when somebody looks.
"""

from __future__ import annotations

from importlib import import_module


def written(shown: object) -> str:
    """A report, reach sets, or a witness, as the command line prints them."""
    return str(import_module("venmas.report.text").as_text(shown))


class Shown:
    """Base of what notebooks show as HTML (`venmas.notebook`)."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(import_module("venmas.notebook").html(self))
