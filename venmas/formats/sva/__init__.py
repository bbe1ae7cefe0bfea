"""Assertions of SystemVerilog as properties of linear temporal logic (IEEE 1800-2017, clause 16)."""
