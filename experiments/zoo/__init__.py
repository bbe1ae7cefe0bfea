"""Forty closed loops as users write them: plants from the literature with small policies, and what is asked of them."""
