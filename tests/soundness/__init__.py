"""Never wrong: cases made to fool floats and tolerances, decision boundaries, and what rigour costs."""
