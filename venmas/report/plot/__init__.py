"""Pictures of witnesses: states over time, the tree of runs, and what scenarios draw themselves (extra ``plot``)."""

from venmas.report.plot.figures import Part, Picture, figures, parts, save
from venmas.report.plot.trace import Trace, Visit, read_trace

__all__ = ["Part", "Picture", "Trace", "Visit", "figures", "parts", "read_trace", "save"]
