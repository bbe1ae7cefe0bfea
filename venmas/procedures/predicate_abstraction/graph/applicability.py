"""Selection and applicability tests by name (Vinzent et al., ICAPS 2022, Appendix E)."""

from __future__ import annotations

TESTS = (
    "none", "selection", "applicability", "both", "relaxed-selection", "relaxed-applicability", "relaxed-both",
)  # fmt: skip
"""What is asked before the transitions of a label, exactly or by the continuous relaxation."""
