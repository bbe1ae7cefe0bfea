"""Processes that solve programs: pools, pipes, memory. They know jobs, not questions."""
