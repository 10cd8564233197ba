"""Caches: each keeps keys and values its own way and hands the model a view to attend over."""
