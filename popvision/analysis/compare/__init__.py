"""Two reports side by side: which parts of one are which parts of the other, and what differs (docs/compare.md).

Everywhere the first report is the *source*, the second the *target*, and a difference is target - source.
"""
