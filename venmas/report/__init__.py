"""A result as one page of HTML that stands alone: what was asked, decided, proved, and how (extra ``report``)."""

from venmas.report.page import Checks, Drawing, Source, doubt, html_page

__all__ = ["Checks", "Drawing", "Source", "doubt", "html_page"]
