"""Kinds of questions times kinds of systems: bounded CTL, CTL for ever, LTL of six small loops."""
