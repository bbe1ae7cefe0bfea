"""How pictures look, and how they are written.

Colours are those of Okabe and Ito, which people with any colour vision tell apart; shapes and dashes say the same
again, so that nothing is lost in grey print. The background is white and opaque: dark lines on a transparent one would
vanish on a dark page.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from venmas.errors import UsageError, install

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, RED, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7"
CURVES = (BLUE, GREEN, PURPLE, ORANGE)
DASHES = ("-", "--", "-.", ":")
INK, GREY, FAINT = "#222222", "#8a8a8a", "#dddddd"

WIDTH = 6.0
"""Inches; narrow enough to be read on a telephone."""

FORMATS = ("svg", "png", "pdf")
_DPI = 200
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What may stand in a label of a stranger and in no XML."""
_RC = {
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.unicode_minus": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "text.parse_math": False,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": "venmas",
    "pdf.fonttype": 42,
    "hatch.linewidth": 0.6,
}


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """The style of the house, whatever the settings of the user. Raises `UsageError` without matplotlib."""
    try:
        import matplotlib
    except ImportError as error:
        raise UsageError(f"pictures need matplotlib: {install('plot')}") from error
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        settings: Any = matplotlib.rcParams  # releases of matplotlib differ in the type of its keys
        settings.update(_RC)
        yield


def new_figure(height: float) -> Figure:
    """An empty figure of the usual width, `height` inches high; no display is needed."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained")


def rendered(figure: Figure, kind: str, title: str, alt: str) -> bytes:
    """The picture as a file of one of `FORMATS`; the same figure gives the same SVG."""
    out = io.BytesIO()
    if kind == "svg":
        with warnings.catch_warnings():  # whoever shows the file has the letters that the font here has not
            warnings.filterwarnings("ignore", message="Glyph .* missing")
            figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        return accessible(out.getvalue().decode(), title, alt).encode()
    if kind == "pdf":
        figure.savefig(out, format="pdf", metadata={"Title": title, "Subject": alt, "CreationDate": None})
    else:
        figure.savefig(out, format="png", dpi=_DPI, metadata={"Title": title, "Description": alt})
    return out.getvalue()


def accessible(svg: str, title: str, alt: str) -> str:
    """One ``<svg>`` element with title and description, which may stand in a file of its own or in a page."""
    svg = svg[svg.index("<svg") :]
    svg = _NO_XML.sub("\ufffd", svg)
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, count=1, flags=re.DOTALL)
    told = f"<title>{escape(_printable(title))}</title>\n <desc>{escape(_printable(alt))}</desc>\n "
    head = svg.index(">") + 1
    return f'{svg[: head - 1]} role="img">\n {told}{svg[head:].lstrip()}'


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
