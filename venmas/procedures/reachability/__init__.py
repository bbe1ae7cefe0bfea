"""Regions: a reachability graph of boxes, refined where something is open."""
