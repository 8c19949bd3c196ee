"""Lightweight profiling: which programs are recorded, and what recording costs."""
