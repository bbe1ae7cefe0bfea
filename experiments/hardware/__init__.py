"""LTL of hardware: the tasks of neural model checking, beside published seconds."""
