"""From boxes in which the target may hold to exact witnesses: candidates, random runs, lines and points of the root."""
