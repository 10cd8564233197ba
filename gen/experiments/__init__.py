"""Experiments: each runs the real model and returns records. One module a page; none knows pages, charts or files."""
