"""Decision procedures, a package each; `space` and `states` are what several of them need to know of a system."""
