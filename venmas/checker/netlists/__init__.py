"""Checking that no run of a netlist breaks a property of LTL: certificates of ranks (docs/certificates.md)."""
