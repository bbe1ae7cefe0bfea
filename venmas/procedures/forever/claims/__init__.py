"""Bounded claims about sets of states, asked once each, and derivations from them."""
