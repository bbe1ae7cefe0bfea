"""Neural ranking functions: certificates that no run of a product is fair (Giacobbe et al., NeurIPS 2024)."""
