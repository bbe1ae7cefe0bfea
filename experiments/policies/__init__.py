"""What the experiments on policies share: instances, published and own, and answers that are kept."""
