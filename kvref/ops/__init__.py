"""Functions on tensors, without state: positions, attention, and how to watch them."""
