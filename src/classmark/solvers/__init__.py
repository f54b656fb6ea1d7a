"""Find the weights."""
