"""Designs for `verify_ltl`: ``venmas.hardware.read("lcd.btor2")``."""

from venmas.circuit.btor2 import read_btor2 as read

__all__ = ["read"]
