"""What to do and what it costs, in plain Python: never a tensor, and importing it loads no torch."""
