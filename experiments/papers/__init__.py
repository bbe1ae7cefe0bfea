"""What the experiments of papers share: cells that are decided once and kept, what is known of them, and tables."""
