"""Smooth parts: rules of engine and checker, rings, systems and certificates against what shares nothing with them."""
