"""Cycles of products, rearrangements, reductions and norms over rows of neighbouring sizes."""
