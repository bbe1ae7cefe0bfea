"""Our own decision procedures, a package each, and what several of them read of a system: `space`, `states`."""
