"""Designs for `verify_ltl`: ``venmas.formats.hardware.read("lcd.btor2")``."""

from venmas.formats.btor2.reader import read_btor2 as read

__all__ = ["read"]
