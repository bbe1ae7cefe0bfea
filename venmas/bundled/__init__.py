"""Scenarios and networks that come with the package (the top-level folders of the repository)."""
