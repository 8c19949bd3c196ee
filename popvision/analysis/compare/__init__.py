"""Two reports side by side: matching of their parts, and differences of their figures (docs/compare.md).

Everywhere the first report is the *source*, the second the *target*, and a difference is target - source.
"""
