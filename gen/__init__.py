"""From weights to numbers (left of `docs/data`) and from numbers to pages (right of it)."""
