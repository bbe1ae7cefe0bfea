"""A result as one page of HTML that stands alone: what was asked, decided, proved, and how (extra ``report``)."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from venmas.report.page import Checks, Source, cautions, doubt, html_page

__all__ = ["Checks", "Source", "cautions", "doubt", "html_page"]


def __getattr__(name: str) -> Any:
    """The page is imported when it is asked for: the terminal shows the words and figures only."""
    if name in __all__:
        from venmas.report import page

        return getattr(page, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
