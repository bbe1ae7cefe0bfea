"""Derivations of properties without a bound from bounded ones: sequents, rules, and their check."""
