"""The view of a system that procedures over real states share: locations, frames, and boxes of whole numbers."""
