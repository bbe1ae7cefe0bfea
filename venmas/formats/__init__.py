"""Foreign descriptions of questions and systems."""
