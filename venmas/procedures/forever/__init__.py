"""Properties without a bound over reals: derivations from bounded questions, exact lassos, and stays."""
