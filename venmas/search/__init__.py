"""Our own decision procedures: reach graphs of regions and of explicit states (design section 4)."""
