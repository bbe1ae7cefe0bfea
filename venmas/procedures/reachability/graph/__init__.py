"""The graph itself: layers of boxes, and one step of them, cut where a choice is open and moved."""
