"""Reach sets by linear bounds in the initial state, part by part of the initial set."""
