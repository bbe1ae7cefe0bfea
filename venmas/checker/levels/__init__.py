"""Checking that no run of a system of integers breaks a property of LTL: levels of pairs (docs/certificates.md)."""
