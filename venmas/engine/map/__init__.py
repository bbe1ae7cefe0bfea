"""Maps of the initial states: which of them satisfy a formula, which violate it, and which are open."""
