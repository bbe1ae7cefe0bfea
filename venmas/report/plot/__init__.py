"""Pictures of witnesses: states over time, the tree of runs, and what scenarios draw themselves (extra ``plot``)."""

from venmas.report.graph_picture import Picture
from venmas.report.plot.figures import Part, figures, parts, save
from venmas.report.plot.trace import Trace, Visit, read_trace

__all__ = ["Part", "Picture", "Trace", "Visit", "figures", "parts", "read_trace", "save"]
